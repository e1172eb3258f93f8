"""Keep BLAS from spreading small products over threads, which costs more than it gains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 1e8  # floating-point operations below which a second thread costs more than it gains


def product_operations(rows: int, inner: int, columns: int) -> float:
    """Return the floating-point operations of a product of a rows × inner and an inner × columns matrix."""
    return 2.0 * rows * inner * columns


@contextmanager
def blas_threads_for(operations: float) -> Iterator[None]:
    """Run a block with one BLAS thread if its largest matrix product is small, otherwise with all.

    Parameters
    ----------
    operations : float
        Floating-point operations of that product, as `product_operations` counts them.
    """
    if operations > _SMALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
