"""Sections on risk: rolling Sharpe ratio and beta, worst drawdowns, exposure by type of fund."""

from __future__ import annotations

from functools import partial

import pandas as pd

from ..evaluation.study_tables import StudyTables
from .html_table import Column, make_table
from .markup import (
    Plot,
    Section,
    make_chart,
    make_details,
    make_filled_table,
    make_foot,
    make_paragraph,
    make_section,
)
from .wording import format_day, format_percent, format_whole, name_curve


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
    lead = "Each value is measured over the 365 days before it, so the curves begin after one year."
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


def show_drawdowns(study: StudyTables) -> Section:
    """Return the worst drawdowns of each portfolio and of the index."""
    columns = (
        Column("forecaster", "Forecaster", partial(name_curve, study.index_name), kind="text"),
        Column("depth", "Depth", format_percent),
        Column("peak", "Peak", format_day, kind="text"),
        Column("trough", "Trough", format_day, kind="text"),
        Column(
            "recovery", "Recovered", lambda day: "not yet" if pd.isna(day) else format_day(day), kind="text"
        ),
        Column("days", "Days", format_whole, hint="Calendar days from the peak to the recovery"),
    )
    lead = (
        "The deepest drawdown of each portfolio and of the index. A drawdown lasts from a peak until its "
        "value is reached again."
    )
    worst = study.drawdowns.drop_duplicates("forecaster")  # the deepest stands first
    title = "Three worst drawdowns of each portfolio and of the index"
    return make_section(
        "drawdowns",
        "Worst drawdowns",
        make_paragraph(lead),
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
    lead = "Share of the portfolio in each type of fund, as decided on each rebalance day."
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
