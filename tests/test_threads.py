"""Limits on the threads of numerical libraries, also where blocks overlap in time."""

from threadpoolctl import threadpool_limits

from geodual.threads import _controller, blas_threads_for, one_thread


def blas_threads() -> set[int]:
    # Of the libraries that were there at the first limit: other tests may load more.
    return {pool["num_threads"] for pool in _controller("blas").info()}


def test_small_products_and_one_thread_limit_and_restore() -> None:
    with threadpool_limits(2, user_api="blas"):
        for block in (one_thread(), blas_threads_for(10.0)):
            with block:
                assert blas_threads() == {1}
            assert blas_threads() == {2}
        with blas_threads_for(1e12):
            assert blas_threads() == {2}


def test_overlapping_blocks_do_not_leave_a_limit_behind() -> None:
    """As in two threads: the first block to begin is the first to end."""
    with threadpool_limits(2, user_api="blas"):
        first, second = one_thread(), blas_threads_for(10.0)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}
