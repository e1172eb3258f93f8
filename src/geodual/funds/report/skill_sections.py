"""Sections on whether the results are more than chance: skill, overfitting, forecaster against forecaster."""

from __future__ import annotations

import pandas as pd

from ..evaluation.study_tables import StudyTables
from ..forecasters.registry import forecaster_label
from .headline import LEAST, LEVEL, Headline
from .html_table import Column, make_table
from .markup import (
    Section,
    make_details,
    make_foot,
    make_pair,
    make_paragraph,
    make_section,
    make_tabs,
)
from .wording import (
    PERIOD_PHRASES,
    PERIOD_TITLES,
    count_things,
    format_number,
    format_p,
    format_percent,
    format_two,
    format_whole,
    name_period,
)

_FORECASTER = Column("forecaster", "Forecaster", lambda name: forecaster_label(str(name)), kind="text")
_SKILL = (
    _FORECASTER,
    Column("ic_mean", "IC mean", format_number),
    Column(
        "p", "p", format_p, hint="Of a mean IC of zero, corrected for the choice of forecasters and settings"
    ),
)
_OVERFITTING = (
    _FORECASTER,
    Column("sharpe", "Sharpe", format_two, hint="Sharpe ratio of the portfolio over the whole study"),
    Column(
        "probabilistic_sharpe",
        "P(Sharpe > 0)",
        format_percent,
        hint="Probability that the true Sharpe ratio is above zero, if this were the only trial",
    ),
    Column(
        "deflated_sharpe",
        "Deflated",
        format_percent,
        hint="The same probability after the number of trials (deflated Sharpe ratio)",
    ),
    Column("trials", "Trials", format_whole, hint="Number of forecasters and settings that were tried"),
)


def show_skill(study: StudyTables, headline: Headline) -> Section | None:
    """Return the tests of skill by period, and the signs of overfitting."""
    if not study.known_periods:
        return None
    panels = {
        PERIOD_TITLES[period]: make_table(
            study.skill.loc[period].reset_index(),
            _SKILL,
            f"Skill of the forecasts, {name_period(period, study.decided(period))}",
        )
        for period in study.known_periods
    }
    lead = (
        "A mean IC counts as skill if its p-value, corrected for the choice among all forecasters and "
        "settings that were tried, is below 0.05."
    )
    overfitting = make_table(
        study.overfitting.reset_index(), _OVERFITTING, "Sharpe ratios after the number of trials, whole study"
    )
    return make_section(
        "skill",
        "Is it skill?",
        make_paragraph(lead),
        make_pair(
            make_tabs("skill-panel", panels, PERIOD_TITLES[headline.period]),
            overfitting + make_paragraph(_tell_overfitting(study.overfitting_probability), "note"),
        ),
        make_foot(csv=["skill", "overfitting"]),
    )


def _tell_overfitting(probability: float) -> str:
    if pd.isna(probability):
        return "The probability of overfitting needs at least two forecasters and enough days."
    return (
        f"Probability of overfitting: {format_percent(probability, 0)}. So often the forecaster that did "
        "best in one half of the days was not above the median in the other half."
    )


def show_comparisons(study: StudyTables, headline: Headline) -> Section | None:
    """Return the paired differences of the ICs, with one panel per period."""
    if study.comparisons_by_period.empty:
        return None
    columns = (
        _FORECASTER,
        Column("against", "Against", lambda name: forecaster_label(str(name)), kind="text"),
        Column("difference", "IC difference", format_number),
        Column("low", "95 % low", format_number),
        Column("high", "95 % high", format_number),
        Column("t", "t", format_two, hint="t-statistic of the mean difference (Newey and West)"),
        Column("p", "p", format_p, hint="Two-sided, for this comparison alone"),
        Column("p_holm", "p (Holm)", format_p, hint="Corrected for the number of comparisons in this table"),
        Column("n", "n", format_whole, hint="Rebalance days on which both have an IC"),
    )
    tables = study.comparisons_by_period
    panels = {
        PERIOD_TITLES[period]: make_table(
            tables.loc[period].reset_index(),
            columns,
            f"Paired differences of the IC, {name_period(period, study.decided(period))}",
        )
        for period in study.known_periods
    }
    lead = (
        "Mean difference between the ICs of two forecasters on the same rebalance days. Two forecasters "
        "differ by more than chance alone would produce if p, after Holm's correction, is below 0.05."
        f"{_count(tables, headline)}"
    )
    tabs = make_tabs("comparisons-panel", panels, PERIOD_TITLES[headline.period])
    return make_section(
        "comparisons",
        "Forecaster against forecaster",
        make_paragraph(lead),
        make_foot(make_details("Table of all pairs", tabs), csv=["comparisons_by_period"]),
    )


def _count(tables: pd.DataFrame, headline: Headline) -> str:
    """Return how many differences of the headline's period are more than chance, if it is long enough."""
    rows = pd.DataFrame(tables.loc[headline.period])
    if rows["n"].min() < LEAST:
        return ""
    n = int((rows["p_holm"] < LEVEL).sum())
    return f" {PERIOD_PHRASES[headline.period]}, {n or 'none'} of {count_things(len(rows), 'pair')} do so."
