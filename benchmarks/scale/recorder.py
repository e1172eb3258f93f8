"""Record the passes of a fit: which kind, over how many pairs, and how long each took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

KINDS = {"evaluate": "evaluation", "curvature_product": "product", "curvature_moment": "moment"}


class PassRecord(NamedTuple):
    """One pass over pairs: its kind, the number of pairs, and its seconds."""

    kind: str
    n_pairs: int
    seconds: float


@contextmanager
def recorded_passes(
    pairs: type, clock: Callable[[], float] = time.perf_counter
) -> Iterator[list[PassRecord]]:
    """Record the passes over pairs of this class while a block runs.

    Parameters
    ----------
    pairs : type
        `AllPairs` or `ClusterPairs`.
    clock : callable
        Returns a time in seconds.
    """
    records: list[PassRecord] = []
    with ExitStack() as stack:
        for method, kind in KINDS.items():
            stack.enter_context(
                patch.object(pairs, method, _timed(getattr(pairs, method), kind, records, clock))
            )
        yield records


def _timed(
    method: Callable[..., Any], kind: str, records: list[PassRecord], clock: Callable[[], float]
) -> Callable[..., Any]:
    def wrapper(self: Any, *arguments: Any) -> Any:
        started = clock()
        found = method(self, *arguments)
        records.append(PassRecord(kind, self.n_pairs, clock() - started))
        return found

    return wrapper
