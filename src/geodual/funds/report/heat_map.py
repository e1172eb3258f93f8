"""Monthly returns as a table coloured by value: year × month, readable without the colours."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from .html_table import Column, make_table
from .wording import format_number

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_STEPS = (0.01, 0.03, 0.06)  # from these sizes on, the colour is stronger; a year is three times a month


def make_heat_map(months: pd.Series[float], years: pd.Series[float], caption: str) -> str:
    """Return monthly returns as a coloured table, with the return of the year in the last column.

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
        *(_month(key, title) for key, title in enumerate(_MONTHS, start=1)),
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
