"""The kinds of entry points; each has a file with a function `draw` that makes a case from random numbers."""

from collections.abc import Callable

from ..case import Case, Rng
from . import commands, compat, dask_arrays, geometry, metrics, pairs, saving, solver, studies, tables

KINDS: dict[str, Callable[[Rng], Case]] = {
    "geometry": geometry.draw,
    "solver": solver.draw,
    "metrics": metrics.draw,
    "pairs": pairs.draw,
    "compat": compat.draw,
    "dask": dask_arrays.draw,
    "saving": saving.draw,
    "tables": tables.draw,
    "studies": studies.draw,
    "commands": commands.draw,
}
"""Draws a case, by the name of the kind."""
