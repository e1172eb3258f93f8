"""Settings for all tests: the same draws in every run, no time limits, one BLAS thread; what is slow."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

# On small matrices idle BLAS threads spin and slow down the other test processes. The variable is for the
# processes that tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Where a command asks for one worker per core, it works alone: a worker takes two seconds to start. Tests of
# workers ask for two.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")
# Functions of the tests are compiled once and run a few times.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

import pytest
import scipy.linalg  # noqa: F401 - loads the BLAS libraries to limit
from hypothesis import Phase, settings
from threadpoolctl import threadpool_limits

threadpool_limits(limits=1, user_api="blas")

# Draws are fixed, so that a law does not fail now and then. There is no shrinking, because a smaller seed is
# not a simpler case.
settings.register_profile(
    "laws", derandomize=True, deadline=None, max_examples=6, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("laws")

TESTS = Path(__file__).parent
# Folders and files that take more than three seconds; `make quick` leaves them out without importing them.
SLOW = (TESTS / "slow_tests.txt").read_text("utf-8").split()


@cache
def is_slow(path: Path) -> bool:
    inside = path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else ""
    return any(inside == slow or inside.startswith(slow + "/") for slow in SLOW)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.markexpr == "not slow" and is_slow(collection_path) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    if is_slow(item.path):
        item.add_marker(pytest.mark.slow)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Build the site first: it takes longest, and at the end one process would wait for it."""
    items.sort(key=lambda item: item.path.name != "test_site.py")


@pytest.fixture
def geodual(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Run the command in an empty folder; return exit code, output and error output."""
    from geodual.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["geodual", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def blank_figures() -> Iterator[None]:
    """Let studies save empty figures, where a test is about other files: drawing takes half a second."""

    def save_blank(figure: object, path: Path) -> None:
        for suffix in (".svg", ".png"):
            path.with_suffix(suffix).touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geodual.funds.report.plots.save_figure", save_blank)
        yield


@pytest.fixture
def blank_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let studies save an empty report, where a test is about other files."""
    monkeypatch.setattr("geodual.funds.study.study.write_report", lambda study, path, title="": path.touch())


@pytest.fixture
def no_fresh_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leakage checks stay in this process, where nothing remembers: another takes a second to start."""
    for module in ("leakage", "without_future"):
        monkeypatch.setattr(
            f"geodual.funds.decisions.{module}.run_fresh",
            lambda chains: (task() for chain in chains for task in chain),
        )
