"""Keep BLAS from spreading small products over threads, which costs more than it gains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 1e8  # floating-point operations of a matrix product that is not worth a second thread


@contextmanager
def blas_threads_for(operations: float) -> Iterator[None]:
    """Run a block with one BLAS thread if its largest matrix product is small, else with all.

    Parameters
    ----------
    operations : float
        Floating-point operations of that product.
    """
    if operations > _SMALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
