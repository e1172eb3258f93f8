"""Sections on trading costs and risk: turnover, cost, worst drawdowns."""

from __future__ import annotations

from functools import partial

import pandas as pd

from ..evaluation.study_tables import StudyTables
from .html_table import Column, make_table
from .markup import Plot, make_chart, make_downloads, make_filled_table, make_paragraph, make_section
from .wording import format_day, format_number, format_percent, join_words, name_curve

_one = partial(format_number, digits=1)
_whole = partial(format_number, digits=0)
_percent2 = partial(format_percent, digits=2)


def _show_break_even(value: float) -> str:
    return "none" if value <= 0.0 else format_percent(value, 2)


_COSTS = (
    Column("turnover", "Turnover p.a.", _one, hint="Times the portfolio is exchanged per year, ½ Σ|Δw|"),
    Column(
        "traded",
        "Traded p.a.",
        _one,
        hint="Value bought and sold per year, as a multiple of the portfolio",
    ),
    Column("cost", "Cost paid p.a.", _percent2, hint="As a share of the portfolio's value"),
    Column("cash", "In cash", _percent2, hint="Mean share of the portfolio in cash"),
    Column("unfilled", "Not bought", _percent2, hint="Mean weight per rebalance that could not be bought"),
    Column("gross", "Gross return p.a.", format_percent, hint="Before cost"),
    Column("net", "Net return p.a.", format_percent, hint="After cost"),
    Column("excess", "Net over index", format_percent, hint="Net return minus that of the index"),
    Column(
        "break_even",
        "Break-even cost",
        _show_break_even,
        hint="Cost per traded value at which the portfolio earns as much as the index",
    ),
)


def show_costs(study: StudyTables) -> str:
    """Return turnover, cost, gross and net return, and the break-even cost of each portfolio."""
    columns = (
        Column("metric", "Metric", partial(name_curve, study.index_name), kind="text"),
        *_COSTS,
    )
    lead = (
        f"{_tell_fees(study)} An order for a fund that has no value on its day waits for its next value, "
        "for at most ten rows. At the break-even cost a portfolio would earn as much as the "
        "index. To first order, this is the logarithm of its final value before cost over that of the index, "
        "divided by the total value traded. “None” means that it is behind the index even before cost."
    )
    table = make_table(study.costs.reset_index(), columns, "Turnover, cost and break-even cost, whole study")
    chart = make_chart(
        "days", [Plot("cash", "Line chart of the share of each portfolio in cash.", tall=False)]
    )
    return make_section(
        "costs",
        "Turnover, cost and cash",
        make_paragraph(lead),
        table,
        make_paragraph("Share of each portfolio in cash, after the trades of each day:"),
        chart,
        make_filled_table("cash", "Table of the share in cash by day", "percent"),
        make_downloads("costs", "cash"),
    )


def _tell_fees(study: StudyTables) -> str:
    """Return what a trade costs in this study."""
    cost, redemption = study.config.cost, study.config.redemption_fees
    if not redemption:
        rate = f"{format_percent(cost, 2)} of the value bought or sold" if cost else "nothing"
        return f"In this study a trade costs {rate}."
    steps = [rule.partition(":") for rule in redemption]
    rates = [f"{format_percent(float(rate), 2)} below {days} days" for days, _, rate in steps]
    return (
        f"In this study a purchase costs {format_percent(cost, 2)} of its value, and a sale "
        f"{join_words(rates)}, then nothing; the oldest lots are sold first."
    )


def show_drawdowns(study: StudyTables) -> str:
    """Return the worst drawdowns of each portfolio and of the index."""
    columns = (
        Column("metric", "Metric", partial(name_curve, study.index_name), kind="text"),
        Column("peak", "Peak", format_day, kind="text"),
        Column("trough", "Trough", format_day, kind="text"),
        Column(
            "recovery", "Recovered", lambda day: "not yet" if pd.isna(day) else format_day(day), kind="text"
        ),
        Column("days", "Days", _whole, hint="Calendar days from the peak to the recovery"),
        Column("depth", "Depth", format_percent),
    )
    lead = (
        "The three deepest falls of each portfolio and of the index. A fall lasts from a peak until its "
        "value is reached again."
    )
    table = make_table(study.drawdowns, columns, "Three worst drawdowns of each portfolio and of the index")
    return make_section(
        "drawdowns", "Worst drawdowns", make_paragraph(lead), table, make_downloads("worst_drawdowns")
    )
