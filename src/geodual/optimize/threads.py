"""Keep BLAS from spreading small products over threads, which costs more than it gains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 300**2  # entries of the largest matrix for which one thread is at least as fast as two


@contextmanager
def blas_threads_for(n_entries: int) -> Iterator[None]:
    """Run a block with one BLAS thread if its matrices have at most 300² entries, else with all."""
    if n_entries > _SMALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
