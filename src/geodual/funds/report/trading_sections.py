"""Sections on trading costs and risk: turnover, cost, worst drawdowns."""

from __future__ import annotations

from functools import partial

import pandas as pd

from ..evaluation.study_tables import StudyTables
from .html_table import Column, make_table
from .markup import make_downloads, make_paragraph, make_section
from .wording import format_day, format_number, format_percent, name_curve

_one = partial(format_number, digits=1)
_whole = partial(format_number, digits=0)


def show_costs(study: StudyTables) -> str:
    """Return turnover, cost, gross and net return, and the break-even cost of each portfolio."""
    percent2 = partial(format_percent, digits=2)
    columns = (
        Column("metric", "Metric", partial(name_curve, study.index_name), kind="text"),
        Column("turnover", "Turnover p.a.", _one, hint="Times the portfolio is exchanged per year, ½ Σ|Δw|"),
        Column(
            "traded",
            "Traded p.a.",
            _one,
            hint="Value bought and sold per year, as a multiple of the portfolio",
        ),
        Column("cost", "Cost paid p.a.", percent2, hint="As a share of the portfolio's value"),
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
    rate = (
        f"{format_percent(study.config.cost, 2)} of the value bought and sold"
        if study.config.cost
        else "nothing"
    )
    lead = (
        f"In this study a trade costs {rate}. At the break-even cost a portfolio would earn as much as the "
        "index. To first order, this is the logarithm of its final value before cost over that of the index, "
        "divided by the total value traded. “None” means that it is behind the index even before cost."
    )
    table = make_table(study.costs.reset_index(), columns, "Turnover, cost and break-even cost, whole study")
    return make_section("costs", "Turnover and cost", make_paragraph(lead), table, make_downloads("costs"))


def _show_break_even(value: float) -> str:
    return "none" if value <= 0.0 else format_percent(value, 2)


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
