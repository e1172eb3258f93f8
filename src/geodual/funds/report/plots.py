"""The figures of a study, in one style: color-blind safe colors, the index in gray, no chart junk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from geodual.atomic_file import write_atomically
from geodual.metric.registry import FEATURED

from ..evaluation.performance import rolling_drawdown
from ..evaluation.persistence import Persistence
from ..language import say
from .curves import COLORS, color_map
from .wording import name_curve, name_forecaster

_DARKEST = 0.6  # share of a quartile that has the darkest blue
# A fixed hash salt makes the identifiers in SVG files, and so the files, the same in every run.
_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "geodual",
    "figure.constrained_layout.use": True,
}
_CHINESE_FONTS = ("Noto Sans CJK SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei", "SimHei")


@contextmanager
def _style() -> Iterator[None]:
    """Use our style, with a Chinese font for what is Chinese if one is installed."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in _CHINESE_FONTS if name in installed)]
    with mpl.rc_context(_STYLE | {"font.family": fonts}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # without such a font, boxes are drawn
        yield


def _plain(name: object) -> str:
    """Return a name in which matplotlib does not take `$` for the start of a formula."""
    return str(name).replace("$", r"\$")


def draw_performance(equity: pd.DataFrame, index_name: str, test_start: str) -> Figure:
    """Draw Figure 1: accumulated returns above, one-year rolling maximum drawdowns below.

    Parameters
    ----------
    equity : DataFrame
        Day × forecaster and `index`, starting at 1.
    index_name : str
        Name of the index in the legend.
    test_start : str
        First day of the test period; a vertical line marks it if it lies within the data.
    """
    with _style():
        figure = Figure(figsize=(8.0, 6.0))
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        drawdowns = pd.DataFrame({name: rolling_drawdown(equity[name]) for name in equity})
        _draw_curves(above, equity - 1.0, index_name)
        _draw_curves(below, drawdowns, index_name)
        above.set_ylabel(say("accumulated return"))
        below.set_ylabel(say("one-year rolling\nmaximum drawdown"))
        for axes in (above, below):
            axes.axhline(0.0, color="black", linewidth=0.8)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            if equity.index[0] < pd.Timestamp(test_start) <= equity.index[-1]:
                axes.axvline(pd.Timestamp(test_start), color="black", linewidth=0.8, linestyle=":")
        above.legend(ncols=4, loc="upper left", fontsize=8)
        return figure


def _draw_curves(axes: Axes, curves: pd.DataFrame, index_name: str) -> None:
    colors = color_map(curves)
    for name, curve in curves.items():
        is_index = name == "index"
        axes.plot(
            curves.index,
            curve,
            color=colors[str(name)],
            linewidth=1.6 if name == FEATURED else 1.1,
            linestyle="--" if is_index else "-",
            label=_plain(name_curve(index_name, name)),
        )


def draw_annual_returns(returns: pd.DataFrame, index_name: str) -> Figure:
    """Draw Figure 2: the returns of calendar years as grouped bars.

    Parameters
    ----------
    returns : DataFrame
        Year × forecaster and `index`.
    index_name : str
        Name of the index in the legend.
    """
    with _style():
        figure = Figure(figsize=(8.0, 3.6))
        axes = figure.subplots()
        # The bars of a year take 84 % of its width; the rest separates the years.
        colors, width = color_map(returns), 0.84 / returns.shape[1]
        places = np.arange(len(returns))
        for i, (name, values) in enumerate(returns.items()):
            offset = (i - 0.5 * (returns.shape[1] - 1)) * width
            label = _plain(name_curve(index_name, name))
            axes.bar(places + offset, values, width, color=colors[str(name)], label=label)
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set_xticks(places, [str(year) for year in returns.index])
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_ylabel(say("return of the year"))
        axes.grid(visible=False, axis="x")
        axes.legend(ncols=4, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1))
        return figure


def draw_ic(ic: pd.DataFrame) -> Figure:
    """Draw the information coefficients by rebalance day, and their running sum.

    Parameters
    ----------
    ic : DataFrame
        Rebalance day × forecaster.
    """
    with _style():
        figure = Figure(figsize=(8.0, 5.0))
        above, below = figure.subplots(2, 1, sharex=True)
        for name, color in color_map(ic).items():
            if name in ic:
                label = _plain(name_forecaster(name))
                above.plot(ic.index, ic[name], "o-", color=color, markersize=3, linewidth=0.8, label=label)
                below.plot(ic.index, ic[name].cumsum(), color=color, linewidth=1.2)
        above.axhline(0.0, color="black", linewidth=0.8)
        above.set_ylabel(say("IC"))
        below.set_ylabel(say("cumulated IC"))
        above.legend(ncols=6, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        return figure


def draw_persistence(persistence: Persistence) -> Figure:
    """Draw where the funds of each quartile of a year are in the next, and rank correlations by year.

    Parameters
    ----------
    persistence : Persistence
        From `measure_persistence`.

    Returns
    -------
    matplotlib.figure.Figure
        A figure with two axes side by side.

    See Also
    --------
    measure_persistence : The tables that it shows.

    Examples
    --------
    >>> from geodual.funds import draw_persistence, measure_persistence, synthetic_universe
    >>> panel = synthetic_universe(100, "2011-12-26", "2014-12-31").panel
    >>> len(draw_persistence(measure_persistence(panel)).axes)
    2
    """
    with _style():
        figure = Figure(figsize=(8.0, 3.4))
        left, right = figure.subplots(1, 2, width_ratios=(3, 4))
        shares = persistence.transitions
        left.imshow(shares.to_numpy(float), cmap="Blues", vmin=0.0, vmax=_DARKEST)
        for (row, column), share in np.ndenumerate(shares.to_numpy(float)):
            color = "white" if share > 0.6 * _DARKEST else "black"
            left.text(
                column, row, f"{100.0 * share:.1f} %", ha="center", va="center", color=color, fontsize=8
            )
        left.set_xticks(range(shares.shape[1]), list(map(str, shares.columns)))
        left.set_yticks(range(len(shares)), list(map(str, shares.index)))
        left.set_xlabel(say("quartile of the next year"))
        left.set_ylabel(say("quartile of a year (1 is best)"))
        left.grid(visible=False)
        years = persistence.years["rank_correlation"].astype(float)
        right.bar(years.index, years, color=COLORS[0])
        right.axhline(0.0, color="black", linewidth=0.8)
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        right.set_ylabel(say("rank correlation with the year before"))
        return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as SVG and PNG, without a time stamp, so that equal figures give equal files."""
    with _style():
        for suffix, options in ((".svg", {"metadata": {"Date": None}}), (".png", {"dpi": 160})):
            write_atomically(path.with_suffix(suffix), partial(figure.savefig, **options))
