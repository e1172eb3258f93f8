"""Section on the baselines: what an analyst would have done without any learning."""

from __future__ import annotations

from functools import partial

from ..evaluation.study_tables import StudyTables
from .headline import Headline
from .html_table import Column, make_table
from .markup import Section, make_details, make_foot, make_paragraph, make_section, make_tabs
from .summary_sections import TABLE1
from .wording import PERIOD_TITLES, format_number, format_p, format_two, format_whole, name_curve, name_period


def show_baselines(study: StudyTables, headline: Headline) -> Section | None:
    """Return the baselines in the columns of Table 1, and how what was compared differs from them."""
    if study.baselines.empty or not study.known_periods:
        return None
    name = partial(name_curve, study.index_name)
    columns = (Column("forecaster", "Baseline", name, kind="text"), *TABLE1)
    panels = {
        PERIOD_TITLES[period]: make_table(
            study.baselines.loc[period].reset_index(),
            columns,
            f"Baselines, {name_period(period, study.decided(period))}",
        )
        for period in study.known_periods
    }
    lead = (
        "What can be had without any learning: funds ranked by one number, under the same rules and fees, "
        "and all funds of the universe, equally weighted, without fees. What was learnt should be better."
    )
    return make_section(
        "baselines",
        "Baselines",
        make_paragraph(lead),
        make_tabs("baselines-panel", panels, PERIOD_TITLES[headline.period]),
        make_foot(*_differences(study, headline), csv=["baselines", "against_baselines"]),
    )


def _differences(study: StudyTables, headline: Headline) -> list[str]:
    """Return the table of paired differences of the IC, in the period of the headline."""
    if study.against_baselines.empty:
        return []
    name = partial(name_curve, study.index_name)
    columns = (
        Column("forecaster", "Forecaster", name, kind="text"),
        Column("baseline", "Baseline", name, kind="text"),
        Column("difference", "IC difference", format_number),
        Column("low", "95 % low", format_number, hint="Lower end of the interval, corrected as p is"),
        Column("high", "95 % high", format_number, hint="Upper end of the interval, corrected as p is"),
        Column("t", "t", format_two, hint="t-statistic of the mean difference (Newey and West)"),
        Column("p", "p", format_p, hint="Corrected for the choice among forecasters, settings and baselines"),
        Column("n", "n", format_whole, hint="Rebalance days on which both have an IC"),
    )
    title = f"Paired differences of the IC, {name_period(headline.period, study.decided(headline.period))}"
    table = make_table(study.against_baselines.loc[headline.period].reset_index(), columns, title)
    return [make_details("Table of differences from the baselines", table)]
