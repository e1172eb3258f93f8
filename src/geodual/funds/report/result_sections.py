"""Sections with the results: Table 1, Figures 1 and 2, ICs, returns by fifth, metric against metric."""

from __future__ import annotations

from functools import partial

from geodual.metric.registry import metric_label

from ..evaluation.forecast_tables import FIFTHS
from ..evaluation.study_tables import StudyTables
from .headline import Headline
from .html_table import Column, make_table
from .markup import (
    Plot,
    make_chart,
    make_details,
    make_downloads,
    make_filled_table,
    make_paragraph,
    make_section,
    make_tabs,
)
from .wording import (
    PERIOD_TITLES,
    TERMS,
    format_day,
    format_number,
    format_p,
    format_percent,
    join_words,
    name_curve,
)

_two = partial(format_number, digits=2)
_whole = partial(format_number, digits=0)

_TABLE1 = (
    Column(
        "ic_mean", "IC mean", format_number, hint="Mean rank correlation (Spearman) of forecast and return"
    ),
    Column("ic_std", "IC std", format_number, hint="Standard deviation of the IC over the rebalance days"),
    Column("icir", "ICIR", _two, hint="IC mean divided by IC std, not annualised"),
    Column("t", "t", _two, hint="t-statistic of the mean IC (Newey and West)"),
    Column("low", "95 % low", format_number, hint="Lower end of the bootstrap interval for the mean IC"),
    Column("high", "95 % high", format_number, hint="Upper end of the bootstrap interval for the mean IC"),
    Column("hit_rate", "Hit rate", format_percent, hint="Share of rebalance days with an IC above zero"),
    Column("n", "n", _whole, hint="Number of ICs"),
    Column("annual_return", "Return p.a.", format_percent, hint="Geometric annual return, after cost"),
    Column("volatility", "Volatility", format_percent, hint="Annualised standard deviation of daily returns"),
    Column("sharpe", "Sharpe", _two, hint="Annualised, with a risk-free rate of zero"),
    Column("max_drawdown", "Max drawdown", format_percent, hint="Deepest fall from an earlier peak"),
    Column(
        "turnover", "Turnover", format_percent, hint="Mean share of the portfolio exchanged per rebalance"
    ),
)


def show_table1(study: StudyTables, headline: Headline) -> str:
    """Return Table 1, with one panel per period."""
    columns = (Column("metric", "Metric", partial(name_curve, study.index_name), kind="text"), *_TABLE1)
    panels = {
        PERIOD_TITLES[period]: make_table(
            study.table().loc[period].reset_index(), columns, f"Table 1, {_span(study, period)}"
        )
        for period in study.known_periods or ["both"]
    }
    lead = (
        "How well each metric's forecasts ranked the funds (IC), and what a portfolio of its "
        f"{study.config.top} best funds earned. Click a heading to sort."
    )
    tabs = make_tabs("table1-panel", panels, PERIOD_TITLES[headline.period])
    return make_section(
        "table1", "Table 1: forecasts and portfolios", make_paragraph(lead), tabs, make_downloads("table1")
    )


def _span(study: StudyTables, period: str) -> str:
    decided = study.decided(period)
    days = f", rebalance days {decided[0]:%Y-%m-%d} to {decided[-1]:%Y-%m-%d}" if len(decided) else ""
    return {"both": "both periods"}.get(period, f"{period} period") + days


def show_performance(study: StudyTables) -> str:
    """Return Figure 1: accumulated returns above, one-year rolling maximum drawdowns below."""
    name = partial(name_curve, study.index_name)
    last = study.equity.iloc[-1] - 1.0
    values = join_words([f"{name(key)} {format_percent(value)}" for key, value in last.items()])
    plots = (
        Plot(
            "equity", f"Line chart of accumulated returns. On the last day, {last.name:%Y-%m-%d}: {values}."
        ),
        Plot("drawdown", "Line chart of one-year rolling maximum drawdowns on the same days.", tall=False),
    )
    lead = (
        "Accumulated return (above), and the deepest fall within the past year (below: one-year rolling "
        "maximum drawdown). Click a name to hide its curve."
    )
    return make_section(
        "performance",
        "Figure 1: accumulated return and drawdown",
        make_paragraph(lead),
        make_chart("days", plots, log_switch=True),
        make_filled_table("equity", "Table of accumulated returns by day", "growth"),
        make_filled_table("rolling_drawdown", "Table of one-year rolling drawdowns by day", "percent"),
        make_downloads("equity", "rolling_drawdown"),
    )


def show_annual_returns(study: StudyTables) -> str:
    """Return Figure 2: the returns of calendar years."""
    name, returns = partial(name_curve, study.index_name), study.annual_returns()
    columns = [
        Column("year", "Year", str, kind="text"),
        *(Column(str(key), name(key), format_percent) for key in returns.columns),
    ]
    days = study.equity.index
    lead = (
        f"Returns of calendar years. The curves run from {days[0]:%Y-%m-%d} to {days[-1]:%Y-%m-%d}, so the "
        "first and the last year may be incomplete."
    )
    table = make_table(returns.reset_index(), columns, "Returns of calendar years")
    plot = Plot("annual", "Grouped bar chart of the returns of calendar years, by metric.")
    return make_section(
        "annual",
        "Figure 2: annual returns",
        make_paragraph(lead),
        make_chart("groups", [plot]),
        make_details("Table of annual returns", table),
        make_downloads("annual_returns"),
    )


def show_ic(study: StudyTables) -> str:
    """Return the information coefficients by rebalance day, and their running sum."""
    term = TERMS[study.config.frequency]
    columns = [
        Column("date", "Rebalance", format_day, kind="text"),
        *(Column(name, metric_label(name), format_number) for name in study.config.metrics),
    ]
    plots = (
        Plot("ic", f"Line chart of the information coefficient of each {term}, by metric."),
        Plot("ic_cumulated", "Line chart of the running sum of the information coefficients.", tall=False),
    )
    lead = (
        f"Rank correlation (Spearman) of forecast and realised returns in each {term} (above), and its "
        f"running sum (below). All funds of a {term} share one market, so a single value says little."
    )
    return make_section(
        "ic",
        f"Information coefficient by {term}",
        make_paragraph(lead),
        make_chart("days", plots),
        make_details(
            "Table of information coefficients",
            make_table(study.ic.reset_index(), columns, "IC by rebalance day"),
        ),
        make_details(
            "Table of cumulated information coefficients",
            make_table(study.ic.cumsum().reset_index(), columns, "Cumulated IC by rebalance day"),
        ),
        make_downloads("ic", "ic_cumulated"),
    )


def show_fifths(study: StudyTables) -> str:
    """Return the mean realised returns by fifth of the forecasts, and whether they rise."""
    if not study.known_periods:
        return ""
    both = study.fifths.loc["both"]
    rising = [metric_label(str(name)) for name in both.index[both["rising"]]]
    which = (
        "all metrics" if len(rising) == len(both) else f"{join_words(rising)} only" if rising else "no metric"
    )
    verdict = f"Returns rise from each fifth to the next for {which}"
    lead = (
        "Funds are split into fifths by forecast. The bars show the mean return of each fifth in the next "
        f"{TERMS[study.config.frequency]}, over the whole study. They rise if forecasts rank well. {verdict}."
    )
    columns = [
        Column("metric", "Metric", lambda name: metric_label(str(name)), kind="text"),
        Column("period", "Period", lambda period: PERIOD_TITLES[period], kind="text"),
        *(Column(str(fifth), _fifth_title(fifth), format_percent) for fifth in FIFTHS),
        Column("spread", "Best − worst", format_percent),
        Column("rising", "Rising", lambda value: "yes" if value else "no", kind="text"),
    ]
    table = make_table(study.fifths.reset_index(), columns, "Mean realised return by fifth of the forecasts")
    return make_section(
        "fifths",
        "Returns by fifth of the forecasts",
        make_paragraph(lead),
        make_chart("groups", [Plot("fifths", f"Grouped bar chart of mean returns by fifth. {verdict}.")]),
        make_details("Table of returns by fifth and period", table),
        make_downloads("quantile_returns"),
    )


def _fifth_title(fifth: int) -> str:
    return {FIFTHS[0]: f"{fifth} (worst)", FIFTHS[-1]: f"{fifth} (best)"}.get(fifth, str(fifth))


def show_comparisons(study: StudyTables, headline: Headline) -> str:
    """Return the paired differences of the ICs, with one panel per period."""
    if study.comparisons_by_period.empty:
        return ""
    columns = (
        Column("metric", "Metric", lambda name: metric_label(str(name)), kind="text"),
        Column("against", "Against", lambda name: metric_label(str(name)), kind="text"),
        Column("difference", "IC difference", format_number),
        Column("low", "95 % low", format_number),
        Column("high", "95 % high", format_number),
        Column("t", "t", _two, hint="t-statistic of the mean difference (Newey and West)"),
        Column("p", "p", format_p, hint="Two-sided, for this comparison alone"),
        Column("p_holm", "p (Holm)", format_p, hint="Corrected for the number of comparisons in this table"),
        Column("n", "n", _whole, hint="Rebalance days on which both have an IC"),
    )
    panels = {
        PERIOD_TITLES[period]: make_table(
            study.comparisons_by_period.loc[period].reset_index(),
            columns,
            f"Paired differences of the IC, {_span(study, period)}",
        )
        for period in study.known_periods
    }
    lead = (
        "Mean difference between the ICs of two metrics on the same rebalance days. A difference counts as "
        "more than chance alone would produce if p, after Holm's correction, is below 0.05."
    )
    tabs = make_tabs("comparisons-panel", panels, PERIOD_TITLES[headline.period])
    return make_section(
        "comparisons",
        "Metric against metric",
        make_paragraph(lead),
        tabs,
        make_downloads("comparisons_by_period"),
    )
