"""Check the speed: measure a few ratios of our time to a peer's, and compare them with recorded ones."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pymanopt.manifolds import SymmetricPositiveDefinite
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from geodual.funds import compute_factors
from geodual.manifolds import SPD
from geodual.metric import RPDML
from geodual.optimize import minimize
from testing.problems import BenchmarkProblem, determinant_under_trace, nonnegative_pca, rank_one_constraints

from .factor_speed import peer_factors, synthetic_nav
from .pymanopt_lagrangian import TUNED, solve_with_pymanopt
from .samples import synthetic_set
from .timing import best_seconds, format_table

RECORDED = Path(__file__).with_name("recorded_ratios.toml")
TOLERANCE = 1.5  # two runs on a busy machine differed by up to a fifth
ROUNDS = 5
_PASSES = 20  # a fit is compared with this many passes of bare matrix products
_FUNDS = 10


class Pair(NamedTuple):
    """Our function and the peer's, for the same work."""

    ours: Callable[[], object]
    peer: Callable[[], object]


def speed_pairs() -> dict[str, Pair]:
    """Return the pairs to compare, by name."""
    rng, ours, peer = np.random.default_rng(0), SPD(70), SymmetricPositiveDefinite(70)
    x, y = ours.random_point(rng), ours.random_point(rng)
    u = ours.log(x, y)
    X, labels = synthetic_set()
    nav = synthetic_nav().iloc[:, :_FUNDS]
    rows = nav.index.get_indexer(compute_factors(nav.iloc[:, :1]).index.unique("date"))
    return {
        "exp on SPD(70), pymanopt": Pair(partial(ours.exp, x, u), partial(peer.exp, x, u)),
        "dist on SPD(70), pymanopt": Pair(partial(ours.dist, x, y), partial(peer.dist, x, y)),
        "logdet under trace, pymanopt": _solve(determinant_under_trace()),
        "rank-one constraints, pymanopt": _solve(rank_one_constraints(n=30, m=300)),
        "non-negative PCA, pymanopt": _solve(nonnegative_pca()),
        "RPDML on all pairs, bare products": Pair(
            partial(RPDML(pairs="all").fit, X, labels), partial(_bare_passes, X)
        ),
        "RPDML on local pairs, NCA": Pair(
            partial(RPDML().fit, X[:300, :30], labels[:300]),
            partial(
                NeighborhoodComponentsAnalysis(max_iter=20, random_state=0).fit, X[:300, :30], labels[:300]
            ),
        ),
        "70 factors, TA-Lib and empyrical": Pair(
            partial(compute_factors, nav), partial(peer_factors, nav, rows)
        ),
    }


def measure_ratios(
    pairs: Mapping[str, Pair], rounds: int = ROUNDS, report: Callable[[str], object] = print
) -> dict[str, float]:
    """Return our processor time divided by the peer's, by name; they alternate, and the shortest counts."""
    ratios = {}
    for name, pair in pairs.items():
        mine, theirs = best_seconds(pair, rounds=rounds, clock=time.process_time)
        ratios[name] = mine / theirs
        report(f"  {name}: {ratios[name]:.3g}")
    return ratios


def slower_than_recorded(
    measured: Mapping[str, float], recorded: Mapping[str, float], tolerance: float = TOLERANCE
) -> list[str]:
    """Return a line per ratio above `tolerance` times the recorded one, and per name on only one side."""
    complaints = [f"{name}: recorded, but not measured" for name in recorded if name not in measured]
    for name, ratio in measured.items():
        if name not in recorded:
            complaints.append(f"{name}: not recorded; run python -m benchmarks check --record")
        elif not ratio <= tolerance * recorded[name]:
            complaints.append(f"{name}: {ratio:.3g}, recorded {recorded[name]:.3g}")
    return complaints


def check_speed(record: bool = False) -> bool:
    """Measure, print and compare; return whether all ratios are within the tolerance.

    Parameters
    ----------
    record : bool
        Whether to record the measured ratios instead.
    """
    measured = measure_ratios(speed_pairs())
    if record:
        RECORDED.write_text(write_ratios(measured), "utf-8")
        print(f"Recorded in {RECORDED.name}.")
        return True
    recorded = tomllib.loads(RECORDED.read_text("utf-8"))
    rows = [(name, f"{measured[name]:.3g}", f"{recorded.get(name, np.nan):.3g}") for name in measured]
    print(format_table(("our time divided by that of …", "now", "recorded"), rows))
    complaints = slower_than_recorded(measured, recorded)
    print("\n".join(complaints) if complaints else f"All within {TOLERANCE} times the recorded ratio.")
    return not complaints


def write_ratios(ratios: Mapping[str, float]) -> str:
    """Format ratios as a TOML file."""
    lines = [f'"{name}" = {ratio:.3g}' for name, ratio in ratios.items()]
    return "\n".join(("# Written by: python -m benchmarks check --record", *lines, ""))


def _solve(case: BenchmarkProblem) -> Pair:
    x0 = case.infeasible_start
    return Pair(
        lambda: minimize(case.problem, x0, tol=1e-6), lambda: solve_with_pymanopt(case, x0, TUNED, 1e-6)
    )


def _bare_passes(X: np.ndarray) -> None:
    """Compute the two matrix products of a pass over all pairs, and nothing else."""
    for _ in range(_PASSES):
        (X @ X.T) @ X
