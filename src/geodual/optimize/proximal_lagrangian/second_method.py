"""The last safeguard: the interior-point method, where the method of multipliers does not get to an end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from geodual.arrays import Array

from ..interior_point import interior_point
from ..kkt import Units
from ..problem import ConstraintVector, EvaluatedPoint
from ..updates import Progress, Stop, Update

_STEPS = 150  # of the second method at most: it takes 30 to 60 where it succeeds
_PATIENCE = 30  # iterations of the first method after which the second may come in between


def with_second_try(
    updates: Iterator[Update | Stop],
    constraints: ConstraintVector,
    start: EvaluatedPoint,
    *,
    units: Units,
    tol: float,
    multipliers: Array,
) -> Iterator[Update | Stop]:
    """Pass updates on; if they end in a breakdown or as infeasible, try the interior-point method.

    If it does not reach the tolerance either, the best update and the stop of the first try come last. On
    Hadamard manifolds the second try comes in between if the first takes long.
    """
    has_inequalities = constraints.n_inequalities > 0 and not constraints.functions
    # On Hadamard manifolds both mostly find the same minimum, so try early. Elsewhere only as a last resort.
    patience = _PATIENCE if has_inequalities and constraints.problem.manifold.hadamard else -1
    progress = Progress()
    last: Update | None = None

    def second_try() -> Iterator[Update]:
        tries = interior_point(constraints, start, units=units, tol=tol, multipliers=multipliers)
        for update in islice(tries, _STEPS):
            # Before a stop an update may come without a residual.
            if isinstance(update, Stop) or update.kkt is None or not math.isfinite(update.worst):
                return
            update = replace(update, by="interior-point")
            progress.note(update, unfinished=False)
            yield update

    for count, update in enumerate(updates, start=1):
        if isinstance(update, Update):
            last = update  # a method yields its best update before it gives up
            yield update
            if count == patience:
                yield from second_try()
            continue
        if last is not None and update.status in ("breakdown", "infeasible") and has_inequalities:
            progress.note(last, unfinished=False)
            if count <= patience or patience < 0:
                yield from second_try()
            # The point of least violation belongs to "infeasible"; otherwise the best point is of most use.
            yield last if update.status == "infeasible" else progress.best or last
        yield update
