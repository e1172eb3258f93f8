"""Charts of pages without scripts, written as SVG.

A page of ten picks has sixty of them, and matplotlib would take longer to draw them than all else takes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd

from geodual.arrays import Array

from ..evaluation.performance import YEAR
from ..language import current_language, say
from .curves import COLORS, INDEX_COLOR
from .wording import format_number, format_percent, name_month

# A picture does not inherit the language of its page, so browsers must be told which Chinese letters to use.
_FONTS = {"zh": "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"}
_POINT = 72  # per inch, the unit of all lengths
_SIZES = {"sheet": ((8.6, 2.6), (4.2, 2.7)), "record": ((4.6, 4.8), (4.2, 3.4))}  # inches, wide and narrow
_FONT, _SMALL = 9.0, 8.0
_LETTER = 0.56  # width of a letter as a share of its height, on average
_WIDE = 0x2E80  # from this character on, letters are as wide as high
_LINE = 13.0  # from one row of the legend to the next
_KEY = 20.0  # length of a line in the legend
_MOST_POINTS = 600  # of a curve; more cannot be seen
_BETWEEN = 28.0  # least length from one tick of the values to the next
_ROOM = 0.05  # share of the range of the values left free above and below
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)  # steps of an axis, times a power of ten


@dataclass(frozen=True)
class _Line:
    """A curve as it is drawn."""

    label: str
    color: str
    width: float = 1.2
    dashes: str = ""

    def stroke(self) -> str:
        dashes = f' stroke-dasharray="{self.dashes}"' if self.dashes else ""
        return f'fill="none" stroke="{self.color}" stroke-width="{self.width}"{dashes}'


@dataclass(frozen=True)
class _Axes:
    """Where days and values stand in a figure: its size, its margins, and the ranges between them."""

    size: tuple[float, float]
    left: float
    top: float
    days: tuple[pd.Timestamp, pd.Timestamp]
    values: tuple[float, float]

    @property
    def right(self) -> float:
        return self.size[0] - 14.0  # half a year of the last tick

    @property
    def bottom(self) -> float:
        return self.size[1] - 18.0  # the row of the days

    def x(self, days: pd.DatetimeIndex) -> Array:
        whole = (self.days[1] - self.days[0]) / pd.Timedelta(days=1)
        return np.asarray(self.left + (self.right - self.left) * ((days - self.days[0]).days / whole))

    def y(self, values: Array) -> Array:
        low, high = self.values
        return np.asarray(self.bottom - (self.bottom - self.top) * (values - low) / (high - low))


def draw_lines(
    curves: pd.DataFrame, labels: Mapping[str, str], *, percent: bool = True, narrow: bool = False
) -> str:
    """Return curves of a fact sheet by day as SVG, on an axis with zero; the index is gray.

    Parameters
    ----------
    curves : DataFrame
        Day × curve: `fund`, and `index` if there is one.
    labels : mapping
        Name of each curve in the legend.
    percent : bool
        Whether the values are shares.
    narrow : bool
        Whether the figure is for a phone.
    """
    lines = [
        _index_line(labels["index"]) if name == "index" else _Line(labels[str(name)], COLORS[0])
        for name in curves
    ]
    return _draw(curves, lines, "sheet", 1 if narrow else 4, percent=percent, narrow=narrow)


def draw_record(curves: pd.DataFrame, labels: Mapping[str, str], *, narrow: bool = False) -> str:
    """Return what a strategy returned beside what it is compared with, as SVG; the index is gray.

    Parameters
    ----------
    curves : DataFrame
        Day × curve, each starting at 1; the first is the strategy.
    labels : mapping
        Name of each curve in the legend.
    narrow : bool
        Whether the figure is for a phone.
    """
    free = iter(COLORS)
    lines = [
        _index_line(labels["index"])
        if name == "index"
        else _Line(labels[str(name)], next(free), 1.1 if place else 1.8)
        for place, name in enumerate(curves)
    ]
    return _draw(curves - 1.0, lines, "record", 1, percent=True, narrow=narrow)


def draw_style(weights: pd.DataFrame, *, narrow: bool = False) -> str:
    """Return the style of a fund in the course of time as SVG: weights of indices, stacked to one.

    Parameters
    ----------
    weights : DataFrame
        Last month of the window × index.
    narrow : bool
        Whether the figure is for a phone.
    """
    days = pd.DatetimeIndex(weights.index)
    lines = [_Line(str(name), COLORS[i % len(COLORS)], 6.0) for i, name in enumerate(weights)]
    size = _size("sheet", narrow)
    legend, top = _legend(lines, size[0], 1 if narrow else 4)
    axes = _Axes(size, 40.0, top, (days[0], days[-1]), (0.0, 1.0))
    stacked, x = weights.cumsum(axis=1).to_numpy(float).T, axes.x(days)
    areas = []
    for low, high, line in zip([np.zeros(len(days)), *stacked[:-1]], stacked, lines, strict=True):
        outline = _path(np.append(x, x[::-1]), axes.y(np.append(high, low[::-1])))
        areas.append(f'<path d="{outline}Z" fill="{line.color}"/>')
    return _svg(size, [*areas, *_grid(axes, np.linspace(0.0, 1.0, 6), percent=True, narrow=narrow), *legend])


def _index_line(label: str) -> _Line:
    return _Line(label, INDEX_COLOR, 1.2, "4 2.5")


def _size(kind: str, narrow: bool) -> tuple[float, float]:
    width, height = _SIZES[kind][narrow]
    return width * _POINT, height * _POINT


def _draw(
    curves: pd.DataFrame, lines: Sequence[_Line], kind: str, columns: int, *, percent: bool, narrow: bool
) -> str:
    """Return curves as SVG, with a legend above them."""
    shown = _thinned(curves)
    days, values = pd.DatetimeIndex(shown.index), shown.to_numpy(float)
    size = _size(kind, narrow)
    legend, top = _legend(lines, size[0], columns)
    between = _range_with_zero(values)
    ticks = round_ticks(*between, int((size[1] - top) / _BETWEEN))
    left = 10.0 + max(_width(text, _FONT) for text in _value_texts(ticks, percent))
    axes = _Axes(size, left, top, (days[0], days[-1]), between)
    paths = [
        f'<path d="{_path(axes.x(days), axes.y(column))}" {line.stroke()}/>'
        for column, line in zip(values.T, lines, strict=True)
    ]
    return _svg(size, [*_grid(axes, ticks, percent=percent, narrow=narrow), *paths, *legend])


def _range_with_zero(values: Array) -> tuple[float, float]:
    """Return the range of an axis: that of the values and zero, and some room beyond the values."""
    low, high = min(0.0, float(np.nanmin(values))), max(0.0, float(np.nanmax(values)))
    room = _ROOM * (high - low) or _ROOM
    return low - room * (low < 0.0), high + room * (high > 0.0 or low == high)


def _thinned(curves: pd.DataFrame) -> pd.DataFrame:
    """Return at most some 600 rows, the last one among them."""
    step = -(-len(curves) // _MOST_POINTS)
    return curves.iloc[::-step].iloc[::-1] if step > 1 else curves


def _path(x: Array, y: Array) -> str:
    """Return the path through the points that are known; it begins anew after a gap."""
    known = np.isfinite(y)
    follows = np.append(False, known[:-1])
    points = zip(x[known].tolist(), y[known].tolist(), follows[known].tolist(), strict=True)
    return "".join(f"{'L' if joined else 'M'}{a:.1f} {b:.1f}" for a, b, joined in points)


def _grid(axes: _Axes, ticks: Array, *, percent: bool, narrow: bool) -> list[str]:
    """Return lines at round values and days, with their texts; the line at zero is black."""
    drawn = []
    for tick, at, text in zip(ticks, axes.y(ticks), _value_texts(ticks, percent), strict=True):
        color = "#000000" if tick == 0.0 else "#E4E4E4"
        drawn.append(f'<path d="M{axes.left:.1f} {at:.1f}H{axes.right:.1f}" stroke="{color}"/>')
        drawn.append(_text(axes.left - 4.0, at + 0.35 * _FONT, text, "end"))
    marks = day_ticks(*axes.days, 5 if narrow else 10)
    for at, text in zip(axes.x(pd.DatetimeIndex(list(marks))), marks.values(), strict=True):
        drawn.append(f'<path d="M{at:.1f} {axes.top:.1f}V{axes.bottom:.1f}" stroke="#E4E4E4"/>')
        most = axes.size[0] - 0.5 * _width(text, _FONT)
        drawn.append(_text(min(at, most), axes.bottom + 13.0, text, "middle"))
    return drawn


def _legend(lines: Sequence[_Line], width: float, columns: int) -> tuple[list[str], float]:
    """Return the names of the curves in rows, each with its line, and where the axes may begin below them."""
    drawn, x, y, placed = [], 4.0, 0.0, columns
    for line in lines:
        wide = _KEY + 5.0 + _width(line.label, _SMALL)
        if placed == columns or x + wide > width:
            x, y, placed = 4.0, y + _LINE, 0
        drawn.append(f'<path d="M{x:.1f} {y - 3.0:.1f}h{_KEY}" {line.stroke()}/>')
        drawn.append(_text(x + _KEY + 5.0, y, line.label, "start", _SMALL))
        x, placed = x + wide + 14.0, placed + 1
    return drawn, y + 8.0


def _width(text: str, height: float) -> float:
    """Return how wide a text is, roughly."""
    return height * sum(1.0 if ord(letter) >= _WIDE else _LETTER for letter in text)


def _text(x: float, y: float, text: str, anchor: str, height: float = _FONT) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{height}"'
    return f"<text {place}>{escape(text)}</text>"


def _svg(size: tuple[float, float], drawn: Sequence[str]) -> str:
    width, height = (round(length, 1) for length in size)
    fonts = _FONTS.get(current_language(), "sans-serif")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="{fonts}" stroke-width="0.8" stroke-linejoin="round">'
        f"{''.join(drawn)}</svg>"
    )


def round_ticks(low: float, high: float, most: int = 6) -> Array:
    """Return the round values in an interval, at equal steps.

    Parameters
    ----------
    low, high : float
        The interval.
    most : int
        Largest number of steps; two at least are allowed.
    """
    raw = (high - low) / max(most, 2)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * each for each in _ROUND if size * each >= raw * (1.0 - 1e-9))
    return np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step


def _value_texts(ticks: Array, percent: bool) -> list[str]:
    """Return the texts of ticks, with the digits that their step needs."""
    step = (100.0 if percent else 1.0) * (ticks[1] - ticks[0])
    digits = next(n for n in range(12) if abs(round(step, n) - step) < 1e-6 * step)
    return [format_percent(tick, digits) if percent else format_number(tick, digits) for tick in ticks]


def day_ticks(first: pd.Timestamp, last: pd.Timestamp, most: int) -> dict[pd.Timestamp, str]:
    """Return days for the marks of an axis, and their texts: new years, first days of months, or days.

    Parameters
    ----------
    first, last : Timestamp
        The ends of the axis.
    most : int
        Roughly the largest number of years.
    """
    years = (last - first) / pd.Timedelta(days=YEAR)
    if years > 2.5:
        step = math.ceil(years / most)
        starts = [pd.Timestamp(year, 1, 1) for year in range(first.year, last.year + 1) if year % step == 0]
        return {day: str(day.year) for day in starts if first <= day <= last}
    every = next((n for n in (1, 2, 3, 6) if 12.0 * years / n <= 0.7 * most), 12)
    months = pd.date_range(first, last, freq="MS", normalize=True)
    found = {
        day: say("{month} {year}", month=name_month(day.month), year=day.year)
        for day in months
        if (day.month - 1) % every == 0
    }
    return found if len(found) > 1 else {day: f"{day:%Y-%m-%d}" for day in (first, last)}
