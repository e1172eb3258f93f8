"""Measure the cost of fits: RPDML against its bare matrix products and NCA, ITML against metric-learn's."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from geodual.metric import ITML, RPDML
from testing.metric_learn_shim import working_metric_learn

from .samples import classes, synthetic_set
from .scale.passes import bare_products
from .timing import best_seconds, fitted_exponent, format_seconds, format_table, peak_megabytes

TOL = 1e-6
ROUNDS = 3
LONGEST = 60.0  # seconds; sizes expected to take longer are skipped
SAMPLES = (500, 1000, 2000, 4000, 8000)
FEATURES = (10, 50, 100, 200, 500)
PAIRS = (1_000, 10_000, 100_000, 1_000_000)
# On all pairs, this has about the same total weight as metric-learn's default, 1, on its constraints.
ITML_GAMMA = 0.01
CONSTRAINTS = 1000

Array = NDArray[np.float64]


def metric_fit_table(
    Cs: Sequence[float] = (100.0, 1000.0, 10_000.0), report: Callable[[str], object] = print
) -> str:
    """Fit RPDML to all pairs of the 697 × 70 set and return times and memory as a table.

    Parameters
    ----------
    Cs : sequence of float
        Weights of the violations.
    report : callable
        Receives a progress line for each fit.
    """
    X, y = synthetic_set()
    learners = [RPDML(C=C, pairs="all", tol=TOL) for C in Cs]
    report(f"  RPDML at {len(Cs)} values of C, scikit-learn's NCA and bare matrix products in turn …")
    functions = [
        bare_products(X[np.argsort(y, kind="stable")], np.sort(y)),
        lambda: NeighborhoodComponentsAnalysis(random_state=0).fit(X, y),
        *(partial(learner.fit, X, y) for learner in learners),
    ]
    product, nca, *fits = best_seconds(functions, rounds=ROUNDS)
    rows = []
    for learner, seconds in zip(learners, fits, strict=True):
        report(f"  memory of RPDML, C = {learner.C:g} …")
        peak = peak_megabytes(partial(learner.fit, X, y))
        passes = learner.history_[-1].passes
        ratios = (f"{seconds / bare:.2f}" for bare in (passes * product, nca))
        gap = f"{learner.duality_gap_:.0e}"
        rows.append(
            [f"C = {learner.C:,.0f}", format_seconds(seconds), str(passes), gap, *ratios, f"{peak:.1f}"]
        )
    header = ["RPDML", "time", "passes", "gap", "÷ products", "÷ NCA", "peak MB"]
    return (
        f"{X.shape[0]} × {X.shape[1]}, all {learners[0].n_pairs_:,} pairs, to a relative gap of {TOL:g}; "
        f"best of {ROUNDS}. The bare matrix products of a pass take {format_seconds(product)},\n"
        f"scikit-learn's NCA {format_seconds(nca)}; memory is Python's peak above the data.\n\n"
        + format_table(header, rows)
    )


def itml_table(report: Callable[[str], object] = print) -> str:
    """Fit our ITML to all pairs and metric-learn's to 2 × 1,000 constraints; return the times as a table.

    Parameters
    ----------
    report : callable
        Receives a progress line for each fit.
    """
    X, y = synthetic_set()
    report("  ITML on all pairs …")
    ours = ITML(gamma=ITML_GAMMA, pairs="all", tol=TOL)
    seconds = _best(lambda: ours.fit(X, y))
    rows = [["geodual", f"{ours.n_pairs_:,}", format_seconds(seconds), f"{ours.duality_gap_:.0e}", "1"]]
    with working_metric_learn() as metric_learn:
        for bounds, name in ((None, "metric-learn"), (np.array(ours.bounds_), "metric-learn, our bounds")):
            report(f"  {name} …")
            peer = metric_learn.ITML_Supervised(n_constraints=CONSTRAINTS, random_state=0)
            peer_seconds = _best(lambda peer=peer, bounds=bounds: peer.fit(X, y, bounds=bounds), rounds=1)
            ended = "—" if peer.n_iter_ + 1 < peer.max_iter else "out of sweeps"
            rows.append(
                [
                    name,
                    f"2 × {CONSTRAINTS:,}",
                    format_seconds(peer_seconds),
                    ended,
                    f"{peer_seconds / seconds:.1f}",
                ]
            )
    table = format_table(["ITML", "pairs", "time", "gap", "times ours"], rows)
    return f"ITML on {X.shape[0]} × {X.shape[1]}, gamma = {ITML_GAMMA:g} on all pairs\n\n{table}"


def metric_scaling_table(longest: float = LONGEST, report: Callable[[str], object] = print) -> str:
    """Fit RPDML with C = 100 to sets of increasing size and return the times with fitted exponents.

    Parameters
    ----------
    longest : float
        Seconds; sizes that would take longer, extrapolated from smaller ones, are skipped.
    report : callable
        Receives a progress line for each fit.
    """
    series: list[tuple[str, Sequence[int], Callable[[int], tuple[RPDML, Array, Any]]]] = [
        ("N, all pairs, n = 20", SAMPLES, lambda N: (RPDML(pairs="all"), *classes(N, 20))),
        ("n, all pairs, N = 500", FEATURES, lambda n: (RPDML(pairs="all"), *classes(500, n))),
        (
            "sampled pairs, N = 3,000, n = 20",
            PAIRS,
            lambda m: (RPDML(pairs=m, random_state=0), *classes(3000, 20)),
        ),
    ]
    return "\n\n".join(_series_table(*one, longest, report) for one in series)


def _series_table(
    name: str,
    sizes: Sequence[int],
    case: Callable[[int], tuple[RPDML, Array, Any]],
    longest: float,
    report: Callable[[str], object],
) -> str:
    done: list[int] = []
    times: list[float] = []
    rows = []
    for size in sizes:
        if len(done) > 1 and _predicted(done, times, size) > longest:
            report(f"  {name}: {size:,} skipped, it would take over {longest:g} s")
            break
        report(f"  {name}: {size:,} …")
        learner, X, y = case(size)
        seconds = _best(lambda learner=learner, X=X, y=y: learner.fit(X, y))
        done.append(size)
        times.append(seconds)
        passes = learner.history_[-1].passes
        per_pass = format_seconds(learner.history_[-1].seconds / passes)
        rows.append(
            [f"{size:,}", format_seconds(seconds), str(passes), per_pass, f"{learner.duality_gap_:.0e}"]
        )
    exponent = fitted_exponent(done, times)
    table = format_table([name.split(",")[0], "time", "passes", "per pass", "gap"], rows)
    return f"RPDML(C=100) over {name}: time ∝ size^{exponent:.2f}\n\n{table}"


def _predicted(sizes: Sequence[int], times: Sequence[float], size: int) -> float:
    return times[-1] * (size / sizes[-1]) ** fitted_exponent(sizes[-2:], times[-2:])


def _best(function: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the shortest time of several calls; a slow function is called fewer times."""
    times: list[float] = []
    while len(times) < rounds and sum(times) < LONGEST / 4:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            function()
        times.append(time.perf_counter() - started)
    return min(times)
