"""The curves that the pages and figures of a study show, and their colors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import pandas as pd

from geodual.metric.registry import metric_names

from ..evaluation.skill import MOMENTUM
from ..evaluation.study_tables import StudyTables
from ..forecasters.registry import UNIVERSE

# The palette of Okabe and Ito without yellow and black, and two more colors.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F3C8D", "#8C613C")
INDEX_COLOR = "#6B6B6B"


def color_map(names: Iterable[Hashable]) -> dict[str, str]:
    """Return the color of each curve by name.

    The index is gray. A forecaster of the paper has the same color in every study. Other forecasters take
    the colors that are left, and share them if there are too few.
    """
    forecasters = [str(name) for name in names if name != "index"]
    fixed = dict(zip(metric_names(in_paper=True), COLORS, strict=False))
    colors = {name: fixed[name] for name in forecasters if name in fixed}
    others = [name for name in forecasters if name not in fixed]
    free = [color for color in COLORS if color not in colors.values()] or COLORS
    colors |= {name: free[i % len(free)] for i, name in enumerate(others)}
    return {name: colors[name] for name in forecasters} | {"index": INDEX_COLOR}


def compared_curves(study: StudyTables) -> pd.DataFrame:
    """Return the curves of Figure 1: those of the study, all funds with equal weights, and momentum.

    Parameters
    ----------
    study : StudyTables
        A finished study. Without an index, its index is the universe already.
    """
    known = study.baseline_equity
    shown = [MOMENTUM, *([UNIVERSE] if study.index_digest else [])]
    more = [name for name in shown if name in known and name not in study.equity]
    return study.equity.join(known[more]) if more else study.equity
