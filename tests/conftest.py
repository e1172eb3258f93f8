"""Settings for all tests: the same draws in every run, no time limits, one BLAS thread; what is slow."""

import os
from pathlib import Path

# On small matrices idle BLAS threads spin and slow down the other test processes. The variable is for the
# processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
import scipy.linalg  # noqa: F401 - loads the BLAS libraries to limit
from hypothesis import Phase, settings
from threadpoolctl import threadpool_limits

threadpool_limits(limits=1, user_api="blas")

# Draws are fixed, so that a law does not fail now and then. There is no shrinking, because a smaller seed is
# not a simpler case.
settings.register_profile(
    "laws", derandomize=True, deadline=None, max_examples=10, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("laws")

TESTS = Path(__file__).parent
# Folders and files that take more than three seconds; `make quick` leaves them out without importing them.
SLOW = (TESTS / "slow_tests.txt").read_text("utf-8").split()


def is_slow(path: Path) -> bool:
    inside = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return any(inside == slow or inside.startswith(slow + "/") for slow in SLOW)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.markexpr == "not slow" and is_slow(collection_path) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    if is_slow(item.path):
        item.add_marker(pytest.mark.slow)
