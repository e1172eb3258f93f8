"""Limit the threads of numerical libraries: one is faster for small products and gives reproducible bits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

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
        Number of floating-point operations of the product, from `product_operations`.
    """
    with nullcontext() if operations > _SMALL else _one_blas_thread:
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Run a block with one thread in numerical libraries, so that results have the same bits."""
    # OpenMP has one limit per calling thread, BLAS one for all threads.
    with _controller("openmp").limit(limits=1), _one_blas_thread:
        yield


def in_threads(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Apply a function to each item in as many threads as BLAS has now; return the results in order.

    Each call has one BLAS thread, so that a thread waiting for a busy core does not hold up the others.
    """
    n_threads = max((library["num_threads"] for library in _controller("blas").info()), default=1)
    with one_thread(), ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, items))


class _OneBlasThread:
    """A context with one BLAS thread that several threads can share.

    The first thread to enter sets the limit, and the last to leave lifts it. If each thread restored what it
    found, the last of two overlapping blocks would restore the limit set by the other.
    """

    def __init__(self) -> None:
        self._lock, self._entered = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._entered:
                self._limits = _controller("blas").limit(limits=1)
            self._entered += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered:
                self._limits.restore_original_limits()


_one_blas_thread = _OneBlasThread()


@cache  # finding the BLAS libraries takes milliseconds
def _controller(user_api: str) -> ThreadpoolController:
    return ThreadpoolController().select(user_api=user_api)
