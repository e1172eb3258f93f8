"""The time of a fund study: one metric at a time, the whole demo, many funds, and many settings."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from threadpoolctl import threadpool_limits

from geodual.funds import backtest, sweep, synthetic_universe
from geodual.metric import metric_names

from .timing import format_seconds, format_table

_LARGE_METRICS = ("rpdml", "gmml")


def study_table(n_funds: int = 697, n_large: int = 1000, first_decision: str = "2015-12-01") -> str:
    """Measure the processor time of studies and return the tables.

    Parameters
    ----------
    n_funds : int
        Number of funds of the study with one metric at a time.
    n_large : int
        Number of funds of the large study over 15 years. The claim is for 5,000, which take minutes.
    first_decision : str
        First day of its decisions, which end in 2017.
    """
    return f"{_table_by_metric(n_funds)}\n\n{_table_of_whole_studies(n_large, first_decision)}"


def _table_by_metric(n_funds: int) -> str:
    universe = synthetic_universe(n_funds)
    rows, least = [], float("inf")
    for name in metric_names(in_paper=True):
        started = time.process_time()
        study = backtest(universe.panel, universe.index, name, n_jobs=1)
        seconds = time.process_time() - started
        least = min(least, seconds)
        rows.append((name, format_seconds(seconds), format_seconds(seconds / len(study.ic))))
    return (
        f"A study of {n_funds} funds × {len(universe.panel.nav)} days, one metric at a time, one process\n"
        f"{format_table(('metric', 'study', 'per rebalance'), rows)}\n"
        f"Factors, ledger and tables, which every metric needs, take less than {format_seconds(least)}"
    )


def _table_of_whole_studies(n_large: int, first_decision: str) -> str:
    demo = "demo: 697 funds, six metrics, all files written"
    large = f"{n_large} funds × 15 years, {' and '.join(_LARGE_METRICS)}, decisions from {first_decision}"
    runs = [(demo, _measured(_run_demo)), (large, _measured(_run_large, n_large, first_decision))]
    rows = [(name, format_seconds(seconds), f"{megabytes:.0f} MB") for name, (seconds, megabytes) in runs]
    return "Whole studies, one process and thread\n" + format_table(("study", "processor", "peak"), rows)


def _measured(run: Callable[..., float], *arguments: object) -> tuple[float, float]:
    """Run in a new process, so that the peak memory is its own; return seconds and megabytes."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        seconds = pool.submit(run, *arguments).result()
        return seconds, pool.submit(_peak).result()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _run_demo() -> float:
    universe, started = synthetic_universe(), time.process_time()
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        backtest(universe.panel, universe.index, metric_names(in_paper=True), n_jobs=1).save(folder)
    return time.process_time() - started


def _run_large(n_funds: int, first_decision: str) -> float:
    universe = synthetic_universe(n_funds, "2003-01-02", "2017-12-29")
    started = time.process_time()
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        backtest(universe.panel, metrics=_LARGE_METRICS, n_jobs=1, start=first_decision).save(folder)
    return time.process_time() - started


def sweep_table(n_funds: int = 747) -> str:
    """Time one study, the same traded anew, and nine settings, in processor time of one process.

    Parameters
    ----------
    n_funds : int
        Number of funds.
    """
    universe = synthetic_universe(n_funds)
    one, study = _worked(lambda: backtest(universe.panel, universe.index, n_jobs=1))
    anew, _ = _worked(lambda: study.retrade(top=20))
    grid = {"k": [5, 10, 20], "top": [5, 10, 20]}
    nine, tried = _worked(lambda: sweep(universe.panel, grid, universe.index, n_jobs=1).table)
    rows = [
        ("backtest, six metrics", format_seconds(one), ""),
        ("study.retrade(top=20)", format_seconds(anew), f"{anew / one:.2f}"),
        (f"sweep, {len(tried)} settings of k and top", format_seconds(nine), f"{nine / one:.2f}"),
    ]
    title = f"Many settings: {n_funds} funds × {len(universe.panel.nav)} days, {len(study.ic)} rebalances"
    return f"{title}, one process\n{format_table(('', 'processor', 'of one study'), rows)}"


def _worked(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    made = run()
    return time.process_time() - started, made
