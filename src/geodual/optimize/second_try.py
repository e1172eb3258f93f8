"""A second try by the interior-point method where the method of multipliers gives up.

The two fail on different problems: one follows penalties from outside, the other barriers from inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from geodual.arrays import Array

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .interior_point import interior_point
from .kkt import Units
from .multiplier_progress import Progress, worst
from .updates import Stop, Update

_STEPS = 150  # of the second try at most


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

    If it does not reach the tolerance either, the best update and the stop of the first try come last.
    """
    last: Update | None = None
    for update in updates:
        if isinstance(update, Update):
            last = update  # a method yields its best update before it gives up
            yield update
            continue
        if last is not None and update.status in ("breakdown", "infeasible") and constraints.n_inequalities:
            progress = Progress()
            progress.note(last, unfinished=False)
            tries = interior_point(constraints, start, units=units, tol=tol, multipliers=multipliers)
            for second in islice(tries, _STEPS):
                # Before a stop an update may come without a residual.
                if isinstance(second, Stop) or second.kkt is None or not math.isfinite(worst(second)):
                    break
                progress.note(second, unfinished=False)
                yield second
            # The point of least violation belongs to "infeasible"; otherwise the best point is of most use.
            yield last if update.status == "infeasible" else progress.best or last
        yield update
