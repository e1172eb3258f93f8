"""Limit the threads of numerical libraries: one is faster for small products, and gives the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 1e8  # number of floating-point operations below which one thread is faster than two


def product_operations(rows: int, inner: int, columns: int) -> float:
    """Return the number of floating-point operations of a (rows × inner) by (inner × columns) product."""
    return 2.0 * rows * inner * columns


@contextmanager
def blas_threads_for(operations: float) -> Iterator[None]:
    """Run a block with one BLAS thread if its largest matrix product is small, otherwise with all threads.

    Parameters
    ----------
    operations : float
        Number of floating-point operations of that product, from `product_operations`.
    """
    if operations > _SMALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which numerical libraries use one thread, so that results have the same bits."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1)
    return limited


@cache  # finding the BLAS libraries takes milliseconds
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
