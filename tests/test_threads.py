"""Limits on the threads of numerical libraries, also where blocks overlap in time."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from geodual.threads import blas_threads_for, one_thread


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def allowed() -> Iterator[list[int]]:
    """Threads of the BLAS libraries of this process: two, where a library can have so many."""
    with threadpool_limits(2, user_api="blas"):
        assert 2 in blas_threads()
        yield blas_threads()


def test_small_products_and_one_thread_limit_and_restore(allowed: list[int]) -> None:
    for block in (one_thread(), blas_threads_for(10.0)):
        with block:
            assert set(blas_threads()) == {1}
        assert blas_threads() == allowed
    with blas_threads_for(1e12):
        assert blas_threads() == allowed


def test_overlapping_blocks_do_not_leave_a_limit_behind(allowed: list[int]) -> None:
    """As in two threads: the first block to begin is the first to end."""
    first, second = one_thread(), blas_threads_for(10.0)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == allowed
