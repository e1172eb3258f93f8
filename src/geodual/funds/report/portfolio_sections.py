"""Sections on the portfolios: Figures 1 and 2, months, the index, random portfolios, and risk."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from ..evaluation.study_tables import StudyTables
from ..evaluation.trailing import trailing_returns
from ..language import phrase, say, say_all
from .curves import compared_curves
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
    make_tabs,
    name_column,
)
from .wording import (
    SPANS,
    format_day,
    format_number,
    format_percent,
    format_two,
    format_whole,
    join_words,
    name_curve,
    name_forecaster,
    name_index,
    name_month,
)

_STEPS = (0.01, 0.03, 0.06)  # from these sizes on, the color is stronger; a year is three times a month
_AGAINST_INDEX = (
    Column("alpha", "Alpha p.a.", format_percent, hint="Annual return beyond beta times that of the index"),
    Column("beta", "Beta", format_two, hint="Slope of daily returns against those of the index"),
    Column("tracking_error", "Tracking error", format_percent, hint="Annual deviation of the excess return"),
    Column("information_ratio", "Information ratio", format_two, hint="Excess return over tracking error"),
    Column(
        "up_capture", "Up capture", format_percent, hint="Share of the index's return in its rising months"
    ),
    Column(
        "down_capture",
        "Down capture",
        format_percent,
        hint="Share of the index's return in its falling months",
    ),
    Column("sortino", "Sortino", format_two, hint="Annual mean return over downside deviation"),
    Column("cvar", "CVaR", format_percent, hint="Mean of the worst 5 % of daily returns"),
)


def make_heat_map(months: pd.Series[float], years: pd.Series[float], caption: str) -> str:
    """Return monthly returns as a colored table, with the return of the year in the last column.

    Parameters
    ----------
    months : Series
        Return by first day of the month.
    years : Series
        Return by calendar year.
    caption : str
        Caption of the table.
    """
    days = pd.DatetimeIndex(months.index)
    table = months.set_axis(pd.MultiIndex.from_arrays([days.year, days.month])).unstack()
    table = table.reindex(columns=range(1, 13)).rename_axis("year")
    table["total"] = years.reindex(table.index)
    columns = (
        Column("year", "Year", str, kind="text"),
        *(_month(key, name_month(key)) for key in range(1, 13)),
        Column("total", "Year", _percent, tint=partial(_tint, scale=3.0)),
    )
    return make_table(table.reset_index(), columns, caption, kind="heat")


def _month(key: Any, title: str) -> Column:
    return Column(key, title, _percent, tint=_tint)


def _percent(value: float) -> str:
    # A month outside the study is an empty cell; the caption says that the values are in per cent.
    return "" if pd.isna(value) else format_number(100.0 * value, 1)


def _tint(value: float, scale: float = 1.0) -> str:
    """Return the style class of a value: loss or gain, and how strong."""
    if pd.isna(value):
        return "empty"
    strength = sum(abs(value) >= scale * step for step in _STEPS)
    return f"{'gain' if value > 0.0 else 'loss'}{strength}" if strength else "flat"


def show_performance(study: StudyTables) -> Section:
    """Return Figure 1: accumulated returns above, one-year rolling maximum drawdowns below."""
    name = partial(name_curve, study.index_name)
    last = compared_curves(study).iloc[-1] - 1.0
    told = say(
        "Line chart of accumulated returns. On the last day, {day}: {values}.",
        day=format_day(last.name),
        values=join_words([f"{name(key)} {format_percent(value)}" for key, value in last.items()]),
    )
    plots = (
        Plot("equity", told),
        Plot("drawdown", "Line chart of one-year rolling maximum drawdowns on the same days.", tall=False),
    )
    lead = phrase(
        "Accumulated return (above), and the deepest drawdown within the past year (below: one-year rolling "
        "maximum drawdown). Click a name to hide its curve."
    )
    return make_section(
        "performance",
        "Figure 1: accumulated return and drawdown",
        make_paragraph(lead),
        make_chart(plots, log_switch=True),
        make_foot(
            make_filled_table("equity", "Table of accumulated returns", "growth"),
            make_filled_table("rolling_drawdown", "Table of one-year rolling drawdowns", "percent"),
            csv=["equity", "baseline_equity", "rolling_drawdown"],
        ),
        short="Figure 1: return",
    )


def show_annual_returns(study: StudyTables) -> Section:
    """Return Figure 2: the returns of calendar years."""
    name, returns = partial(name_curve, study.index_name), study.annual_returns()
    columns = [
        Column("year", "Year", str, kind="text"),
        *(Column(str(key), name(key), format_percent) for key in returns.columns),
    ]
    days = study.equity.index
    lead = say(
        "Returns of calendar years. The curves run from {first} to {last}, so the first and the last year "
        "may be incomplete.",
        first=format_day(days[0]),
        last=format_day(days[-1]),
    )
    table = make_table(returns.reset_index(), columns, "Returns of calendar years")
    plot = Plot("annual", "Grouped bar chart of the returns of calendar years, by forecaster.")
    return make_section(
        "annual",
        "Figure 2: annual returns",
        make_paragraph(lead),
        make_chart([plot]),
        make_foot(make_details("Table of annual returns", table), csv=["annual_returns"]),
        short="Figure 2: years",
    )


def show_trailing_returns(study: StudyTables) -> Section | None:
    """Return what portfolios, baselines and index earned over the last 1, 3, 5 and 10 years."""
    table = trailing_returns(compared_curves(study)).dropna(axis=1, how="all")
    if table.empty:
        return None
    rows = table.rename_axis("forecaster").rename(columns=str).reset_index()
    spans = [Column(str(years), SPANS[str(years)], format_percent) for years in table]
    lead = say(
        "Returns up to {day}, after cost, per year where longer than a year. A span that begins before the "
        "portfolios is left out.",
        day=format_day(study.equity.index[-1]),
    )
    shown = make_table(rows, [name_column(study), *spans], "Returns over the last years")
    return make_section(
        "trailing", "Last 1, 3, 5 and 10 years", make_paragraph(lead), shown, short="Last years"
    )


def show_monthly_returns(study: StudyTables, headline: Headline) -> Section:
    """Return the returns of calendar months as a colored table, with one panel per portfolio."""
    name = partial(name_curve, study.index_name)
    months, years = study.monthly_returns, study.annual_returns()
    panels = {
        name(key): make_heat_map(
            months[key],
            years[key],
            say("Monthly returns of {forecaster}, in per cent", forecaster=name(key)),
        )
        for key in months.columns
    }
    lead = phrase(
        "Returns of calendar months in per cent: blue for gains, orange for losses; the last column is the "
        "year."
    )
    chosen = name(headline.best or study.config.compared[-1])
    return make_section(
        "monthly",
        "Monthly returns",
        make_paragraph(lead),
        make_tabs("monthly-panel", panels, chosen, label="Portfolio"),
        make_foot(csv=["monthly_returns"]),
    )


def show_against_index(study: StudyTables, headline: Headline) -> Section | None:
    """Return alpha, beta and other measures against the index, with one panel per period."""
    if not study.known_periods:
        return None
    columns = (
        name_column(study),
        *_AGAINST_INDEX,
    )
    tabs = make_period_tabs(
        study, headline.period, "against-index", study.against_index, columns, "Against the index"
    )
    lead = say(
        "Each portfolio measured against {index}, from daily returns after cost. Beta is how much of a move "
        "of the index it shares; alpha is what it earned beyond that.",
        index=name_index(study.index_name),
    )
    return make_section(
        "against-index",
        "Against the index",
        make_paragraph(lead),
        tabs,
        make_foot(csv=["against_index"]),
    )


def show_random_portfolios(study: StudyTables) -> Section | None:
    """Return the annual returns of random portfolios, and how many of them each forecaster beats."""
    if study.random_portfolios.empty:
        return None
    n = len(study.random_portfolios)
    lead = say_all(
        _tell_drawn(study),
        say(
            "The lines are the forecasters. A high rank alone is no proof of skill: the funds that a "
            "forecaster picks are alike, so luck moves them together, while random funds differ."
        ),
    )
    shares = study.random_rank["annual_return"]
    beaten = join_words(
        [
            say("{forecaster} beats {share}", forecaster=name_forecaster(key), share=format_percent(share))
            for key, share in shares.items()
        ]
    )
    columns = (
        name_column(study),
        Column("earned", "Return p.a.", format_percent, hint="After cost, over the whole study"),
        Column("annual_return", "Beats, by return", format_percent, hint="Share of the random portfolios"),
        Column("sharpe_earned", "Sharpe", format_two, hint="Annualized, beyond the risk-free rate"),
        Column("sharpe", "Beats, by Sharpe", format_percent, hint="Share of the random portfolios"),
    )
    caption = say("Rank among {n:,} random portfolios, whole study", n=n)
    table = make_table(_ranks(study), columns, caption)
    told = say("Histogram of the annual returns of {n:,} random portfolios. {shares}.", n=n, shares=beaten)
    plot = Plot("random", told)
    return make_section(
        "random",
        "Among random portfolios",
        make_paragraph(lead),
        make_pair(make_chart([plot]), table),
        make_foot(csv=["random_rank", "random_portfolios"]),
    )


def _tell_drawn(study: StudyTables) -> str:
    """Return what random portfolios are, and how they differ: their weights are always equal."""
    n, weights = len(study.random_portfolios), study.config.weights
    if weights == "equal":
        return say(
            "Annual returns of {n:,} portfolios drawn at random from the same universe, on the same days and "
            "under the same rules.",
            n=n,
        )
    return say(
        "Annual returns of {n:,} portfolios drawn at random from the same universe, on the same days and "
        "under the same rules, but with equal weights: the rank also shows what {weights} weights did.",
        n=n,
        weights=weights,
    )


def _ranks(study: StudyTables) -> pd.DataFrame:
    """Return the rank of each forecaster with the return and Sharpe ratio that it belongs to."""
    whole = study.table().loc["both"]
    ranks = study.random_rank.assign(earned=whole["annual_return"], sharpe_earned=whole["sharpe"])
    return ranks.rename_axis("forecaster").reset_index()


def show_rolling(study: StudyTables) -> Section | None:
    """Return the Sharpe ratio and the beta over the past year, by day."""
    if study.rolling_sharpe.notna().sum().max() < 2:  # less than a year, and a line needs two points
        return None
    plots = (
        Plot("rolling_sharpe", "Line chart of the Sharpe ratio over the past year.", title="Sharpe ratio"),
        Plot(
            "rolling_beta",
            "Line chart of the beta against the index over the past year.",
            tall=False,
            title="Beta against the index",
        ),
    )
    lead = phrase("Each value is measured over the 365 days before it, so the curves begin after one year.")
    return make_section(
        "rolling",
        "Rolling Sharpe ratio and beta",
        make_paragraph(lead),
        make_chart(plots),
        make_foot(
            make_filled_table("rolling_sharpe", "Table of rolling Sharpe ratios"),
            make_filled_table("rolling_beta", "Table of rolling betas"),
            csv=["rolling_sharpe", "rolling_beta"],
        ),
        short="Rolling Sharpe and beta",
    )


def _show_recovery(day: Any) -> str:
    return say("not yet") if pd.isna(day) else format_day(day)


def show_drawdowns(study: StudyTables) -> Section:
    """Return the worst drawdowns of each portfolio and of the index."""
    columns = (
        name_column(study),
        Column("depth", "Depth", format_percent),
        Column("peak", "Peak", format_day, kind="text"),
        Column("trough", "Trough", format_day, kind="text"),
        Column("recovery", "Recovered", _show_recovery, kind="text"),
        Column("days", "Days", format_whole, hint="Calendar days from the peak to the recovery"),
    )
    lead = phrase(
        "How far each curve was below its highest value so far, and the deepest drawdown of each. A drawdown "
        "lasts from a peak until its value is reached again."
    )
    plot = Plot("underwater", "Line chart of the distance of each portfolio below its highest value so far.")
    worst = study.drawdowns.drop_duplicates("forecaster")  # the deepest stands first
    title = phrase("Three worst drawdowns of each portfolio and of the index")
    return make_section(
        "drawdowns",
        "Worst drawdowns",
        make_paragraph(lead),
        make_chart([plot]),
        make_table(worst, columns, "Worst drawdown of each portfolio and of the index"),
        make_foot(
            make_details("Three worst of each", make_table(study.drawdowns, columns, title)),
            csv=["worst_drawdowns"],
        ),
    )


def show_exposure(study: StudyTables) -> Section | None:
    """Return the weight of each type of fund through time; nothing if no types are known."""
    if study.exposure.empty:
        return None
    lead = phrase("Share of the portfolio in each type of fund, as decided on each rebalance day.")
    plot = Plot(
        "exposure",
        "Stacked bar chart of the share of each type of fund by rebalance day, for one forecaster.",
    )
    return make_section(
        "exposure",
        "Exposure by type of fund",
        make_paragraph(lead),
        make_chart([plot], chooser=True),
        make_foot(
            make_filled_table("exposure", "Table of the exposure by type", "percent"), csv=["exposure"]
        ),
        short="Exposure by type",
    )
