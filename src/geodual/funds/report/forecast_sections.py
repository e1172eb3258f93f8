"""Sections on the forecasts: ICs by day, their distribution and decay, returns by fifth, types, stability."""

from __future__ import annotations

import pandas as pd

from ..evaluation.forecast_diagnostics import FIFTHS
from ..evaluation.statistics import summarize_ic
from ..evaluation.study_tables import StudyTables
from ..language import phrase, say, say_all
from .headline import Headline
from .markup import (
    Column,
    Plot,
    Section,
    make_chart,
    make_details,
    make_filled_table,
    make_foot,
    make_pair,
    make_paragraph,
    make_period_tabs,
    make_section,
    make_table,
)
from .wording import (
    PERIOD_TITLES,
    format_day,
    format_number,
    format_p,
    format_percent,
    format_two,
    format_whole,
    join_words,
    name_forecaster,
    name_term,
)

_FORECASTER = Column("forecaster", "Forecaster", name_forecaster, kind="text")


def show_ic(study: StudyTables) -> Section:
    """Return the information coefficients by rebalance day, and their running sum."""
    term = name_term(study.config.frequency)
    columns = [Column("date", "Rebalance", format_day, kind="text"), *_one_per_forecaster(study)]
    plots = (
        Plot(
            "ic",
            say("Line chart of the information coefficient of each {term}, by forecaster.", term=term),
        ),
        Plot("ic_cumulated", "Line chart of the running sum of the information coefficients.", tall=False),
    )
    lead = say(
        "Rank correlation (Spearman) of forecast and realized returns in each {term} (above), and its "
        "running sum (below). All funds of a {term} share one market, so a single value says little.",
        term=term,
    )
    return make_section(
        "ic",
        say("Information coefficient by {term}", term=term),
        make_paragraph(lead),
        make_chart(plots),
        make_foot(
            make_details(
                "Table of the IC", make_table(study.ic.reset_index(), columns, "IC by rebalance day")
            ),
            make_details(
                "Table of the cumulated IC",
                make_table(study.ic.cumsum().reset_index(), columns, "Cumulated IC by rebalance day"),
            ),
            csv=["ic", "ic_cumulated"],
        ),
        short=say("IC by {term}", term=term),
    )


def _one_per_forecaster(study: StudyTables) -> list[Column]:
    return [Column(name, name_forecaster(name), format_number) for name in study.config.compared]


def show_distribution(study: StudyTables) -> Section | None:
    """Return the histogram of the ICs, and the mean IC with the return over 1 to 12 months."""
    if not study.known_periods or study.ic_decay.empty:
        return None
    term = name_term(study.config.frequency)
    histogram = Plot(
        "ic_histogram",
        say("Histogram of the ICs of one forecaster, one per {term}.", term=term),
        title="Distribution of the IC",
    )
    decay = Plot(
        "ic_decay",
        "Line chart of the mean IC with the return over 1 to 12 months after the decision, by forecaster.",
        title="Mean IC by holding time",
    )
    lead = phrase(
        "How often an IC was how large (left; the dashed line is the mean), and how the mean IC depends on "
        "the number of months over which the return is measured (right). A forecast that lasts keeps its IC."
    )
    columns = [Column("months", "Months", format_whole), *_one_per_forecaster(study)]
    table = make_table(study.ic_decay.reset_index(), columns, "Mean IC by months after the decision")
    return make_section(
        "distribution",
        "Distribution and decay of the IC",
        make_paragraph(lead),
        make_pair(make_chart([histogram], chooser=True), make_chart([decay])),
        make_foot(make_details("Table of the decay", table), csv=["ic_decay"]),
        short="Distribution and decay",
    )


def show_fifths(study: StudyTables, headline: Headline) -> Section | None:
    """Return the mean returns by fifth of the forecasts, and the spread of best and worst through time."""
    if not study.known_periods:
        return None
    verdict = _tell_rising(study)
    term = name_term(study.config.frequency)
    lead = say_all(
        say(
            "Funds are split into fifths by forecast. Left: the mean return of each fifth in the next "
            "{term}, over the whole study.",
            term=term,
        ),
        verdict,
        say("Right: what the best fifth earned more than the worst, summed up."),
    )
    plots = (
        Plot(
            "fifths",
            say_all(say("Bar chart of mean returns by fifth."), verdict),
            title="Mean return by fifth",
        ),
        Plot(
            "spreads",
            "Line chart of the running sum of the return of the best fifth minus that of the worst.",
            title="Best fifth minus worst, cumulated",
        ),
    )
    return make_section(
        "fifths",
        "Returns by fifth of the forecasts",
        make_paragraph(lead),
        make_chart(plots, beside=True),
        _spread_tabs(study, headline),
        make_foot(
            make_details("Table of returns by fifth", _fifths_table(study)),
            make_filled_table("spreads", say("Table of the spread by {term}", term=term), "percent"),
            csv=["spread_summary", "spreads", "quantile_returns"],
        ),
        short="Returns by fifth",
    )


def _tell_rising(study: StudyTables) -> str:
    """Return for which forecasters a better fifth of the forecasts earned more."""
    both = study.fifths.loc["both"]
    rising = [name_forecaster(name) for name in both.index[both["rising"]]]
    if len(rising) == len(both):
        return say("Returns rise from each fifth to the next for all forecasters.")
    if rising:
        return say("Returns rise from each fifth to the next for {others} only.", others=join_words(rising))
    return say("Returns rise from each fifth to the next for no forecaster.")


def _spread_tabs(study: StudyTables, headline: Headline) -> str:
    """Return the table of the spread of each known period."""
    columns = (
        _FORECASTER,
        Column(
            "mean", "Spread", format_percent, hint="Mean return of the best fifth minus that of the worst"
        ),
        Column("low", "95 % low", format_percent, hint="Lower end of the bootstrap interval for the mean"),
        Column("high", "95 % high", format_percent, hint="Upper end of the bootstrap interval for the mean"),
        Column("t", "t", format_two, hint="t-statistic of the mean (Newey and West)"),
        Column("p", "p", format_p, hint="Corrected for the choice among forecasters and settings"),
        Column("n", "n", format_whole, hint="Number of rebalance days"),
    )
    return make_period_tabs(
        study, headline.period, "fifths", study.spread_summary, columns, "Best fifth minus worst"
    )


def _fifths_table(study: StudyTables) -> str:
    columns = [
        _FORECASTER,
        Column("period", "Period", lambda period: say(PERIOD_TITLES[period]), kind="text"),
        *(Column(str(fifth), _fifth_title(fifth), format_percent) for fifth in FIFTHS),
        Column("spread", "Best − worst", format_percent),
        Column("rising", "Rising", lambda value: say("yes") if value else say("no"), kind="text"),
    ]
    return make_table(study.fifths.reset_index(), columns, "Mean realized return by fifth of the forecasts")


def _fifth_title(fifth: int) -> str:
    return {
        FIFTHS[0]: say("{n} (worst)", n=fifth),
        FIFTHS[-1]: say("{n} (best)", n=fifth),
    }.get(fifth, str(fifth))


def show_types(study: StudyTables) -> Section | None:
    """Return the ICs within types of funds; nothing if no types are known."""
    if study.ic_by_type.empty:
        return None
    columns = (
        _FORECASTER,
        Column("overall", "IC overall", format_number, hint="Mean IC over all funds"),
        Column("within", "IC within types", format_number, hint="Mean of the ICs within types, by funds"),
        Column("t", "t within types", format_two, hint="t-statistic of the mean (Newey and West)"),
    )
    table = make_table(_ic_within(study), columns, "Mean IC overall and within types, whole study")
    lead = phrase(
        "A forecast that only separates types of funds has an IC overall, but none within a type. The bars "
        "show the mean IC among the funds of each type."
    )
    plot = Plot("ic_by_type", "Bar chart of the mean IC within each type of fund, for one forecaster.")
    details = (
        _FORECASTER,
        Column("type", "Type", str, kind="text"),
        Column("ic_mean", "IC mean", format_number),
        Column("t", "t", format_two, hint="t-statistic of the mean IC (Newey and West)"),
        Column("n", "n", format_whole, hint="Number of rebalance days with an IC"),
        Column("funds", "number\x04Funds", format_whole, hint="Mean number of funds of the type"),
    )
    by_type = make_table(study.ic_by_type.reset_index(), details, "Mean IC within each type of fund")
    return make_section(
        "types",
        "IC by type of fund",
        make_paragraph(lead),
        make_pair(table, make_chart([plot], chooser=True)),
        make_foot(make_details("Table of the IC by type", by_type), csv=["ic_by_type", "ic_within_types"]),
        short="IC by type",
    )


def _ic_within(study: StudyTables) -> pd.DataFrame:
    """Return the mean IC of each forecaster over all funds and within types."""
    rows = []
    for name in study.config.compared:
        within = summarize_ic(study.ic_within_types[name])
        rows.append((name, study.ic[name].mean(), within.mean, within.t))
    return pd.DataFrame(rows, columns=["forecaster", "overall", "within", "t"])


def show_stability(study: StudyTables) -> Section | None:
    """Return the rank correlation of the forecasts with those of the rebalance day before."""
    values = study.rank_autocorrelation
    if values.notna().sum().max() < 2:  # a line needs two points
        return None
    term = name_term(study.config.frequency)
    means = join_words(
        [f"{name_forecaster(name)} {format_two(mean)}" for name, mean in values.mean().items()]
    )
    lead = say(
        "Rank correlation of the forecasts with those of the {term} before, among funds that have both. "
        "High values mean steady forecasts and little turnover. Mean: {means}.",
        term=term,
        means=means,
    )
    plot = Plot(
        "rank_autocorrelation",
        say(
            "Line chart of the rank correlation with the forecasts of the {term} before. Mean: {means}.",
            term=term,
            means=means,
        ),
        tall=False,
    )
    return make_section(
        "stability",
        "Stability of the forecasts",
        make_paragraph(lead),
        make_chart([plot]),
        make_foot(
            make_filled_table("rank_autocorrelation", "Table of the rank autocorrelation"),
            csv=["rank_autocorrelation"],
        ),
        short="Stability",
    )
