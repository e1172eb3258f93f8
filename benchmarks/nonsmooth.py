"""Solve problems with nonsmooth terms and cones, and compare with published results and other programs."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat, savemat

from geodual.optimize import Result, minimize
from testing.problems import nonsmooth
from testing.problems.nonsmooth import NonsmoothProblem

from .timing import format_seconds, format_table

_SECONDS = 300.0  # limit per solve
SEEDS = range(10)

# Objective and seconds of the best method on the pages of ManoptExamples.jl, read on 2026-11-18: means of ten
# draws for sparse PCA, one draw for the others, on its authors' machine and other random data.
PUBLISHED = {
    "oblique 0.1": (5.22159, 1.59039),
    "oblique 0.5": (19.1849, 0.717006),
    "oblique 1": (24.8266, 0.00780451),
    "row-sparse 1": (np.nan, 7.75729),
    "row-sparse 2": (np.nan, 11.6917),
    "row-sparse 3": (np.nan, 16.4164),
    "Procrustes": (235.46, 5.8049),
}


@dataclass(frozen=True)
class Peer:
    """The cost and seconds reported by another program or a page; NaN if not reported."""

    name: str
    cost: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """Solves of a problem with several seeds, and the results of others."""

    case: NonsmoothProblem
    results: Sequence[Result]
    seconds: Sequence[float]
    peers: Sequence[Peer]

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table: means over the seeds, and the worst residual."""
        values = [result.terms[0] for result in self.results]
        worst = max(result.kkt.worst for result in self.results)
        costs = np.array([result.cost for result in self.results])
        others = np.array([peer.cost for peer in self.peers])
        lower = np.sum(costs <= others + 1e-6 * np.abs(others)) if len(others) == len(costs) else None
        peer = "" if not self.peers else self.peers[0].name
        return (
            self.case.name,
            self.case.size,
            str(len(self.results)),
            f"{worst:.0e}",
            f"{np.mean([np.mean(~value.support) for value in values]):.1%}",
            "" if values[0].rank is None else f"{np.mean([value.rank for value in values]):.3g}",
            f"{costs.mean():.7g}",
            peer,
            _number(others) + ("" if lower is None or len(costs) == 1 else f" ({lower}/{len(costs)})"),
            format_seconds(float(np.mean(self.seconds))),
            _time(np.array([peer.seconds for peer in self.peers])),
        )


def nonsmooth_table(manpg: Path | None = None, report: Callable[[str], object] = print) -> str:
    """Solve all problems and return the table.

    Parameters
    ----------
    manpg : Path, optional
        Folder of the authors' Matlab code of ManPG, to run it with Octave on the same data.
    report : callable
        Receives each row as soon as it is known.
    """
    rows = []
    for make, seeds, peer in _cases(manpg):
        rows.append(_row(make, seeds, peer).cells())
        report("  " + "  ".join(rows[-1]))
    header = (
        "problem",
        "size",
        "runs",
        "residual",
        "zeros",
        "rank",
        "cost",
        "peer",
        "its cost",
        "time",
        "its time",
    )
    return (
        "Means over runs, worst residual; (how often ours is no higher). Processor time, not if published\n"
        f"{format_table(header, rows)}"
    )


def _cases(manpg: Path | None) -> list[tuple[Callable[..., NonsmoothProblem], Sequence[int], Any]]:
    weights = (0.1, 0.5, 1.0)
    oblique = [(partial(nonsmooth.oblique_sparse_pca, mu=mu), SEEDS, f"oblique {mu:g}") for mu in weights]
    sizes = [(n, r) for n in (100, 200, 300, 400, 500) for r in (5, 10)]
    on_stiefel = [partial(nonsmooth.stiefel_sparse_pca, n, r) for n, r in sizes]
    on_stiefel += [partial(nonsmooth.compressed_modes, n) for n in (64, 128)]
    other = None if manpg is None else partial(_by_manpg, manpg)
    rows = [
        (partial(nonsmooth.row_sparse_recovery, r=r, measurements=m), range(1), f"row-sparse {r}")
        for r, m in ((1, 300), (2, 500), (3, 700))
    ]
    return [
        *oblique,
        *((make, range(5), other) for make in on_stiefel),
        *rows,
        (nonsmooth.robust_completion, range(3), None),
        (nonsmooth.graphical_model, range(3), _graphical_lasso),
        (nonsmooth.spectral_procrustes, range(1), "Procrustes"),
        (nonsmooth.largest_inner_ellipsoid, range(3), _inner_ellipsoid),
        (nonsmooth.robust_linear_program, range(3), _cone_program),
    ]


def _row(make: Callable[..., NonsmoothProblem], seeds: Sequence[int], peer: Any) -> Row:
    cases, results, seconds, peers = [make(seed=seed) for seed in seeds], [], [], []
    for case in cases:
        started = time.process_time()
        results.append(minimize(case.problem, case.start, max_time=_SECONDS))
        seconds.append(time.process_time() - started)
        if callable(peer):
            peers.append(peer(case))
    if isinstance(peer, str):
        peers.append(Peer("published", *PUBLISHED[peer]))
    return Row(cases[0], results, seconds, peers)


_SCRIPT = """
arguments = argv(); code = arguments{1}; load(arguments{2});
for folder = {'misc', 'SSN_subproblem', 'SPCA', 'compressed modes'}, addpath([code '/' folder{1}]); end
[n, r] = size(X0);
o = struct('phi_init', X0, 'maxiter', 20000, 'tol', 1e-8*n*r, 'r', r, 'n', n, 'mu', mu, 'inner_iter', 100, ...
           'adap', 0, 'type', kind, 'F_manpg', -1e10, 'L', 50);
started = cputime();
if kind == 0, [X, F, ~, ~, ~, ok] = manpg_orth_sparse(B, o);
else, [X, F, ~, ~, ~, ok] = manpg_CMS(sparse(B), o, 50/n, 0); end
seconds = cputime() - started;
if ~ok, F = NaN; end  % it ran out of iterations
save('-v7', arguments{3}, 'F', 'seconds');
"""


def _by_manpg(code: Path, case: NonsmoothProblem) -> Peer:
    """Run the authors' code in Octave on the same data and start, with the tolerance of their demo."""
    with tempfile.TemporaryDirectory() as folder:
        script, given, found = (Path(folder) / name for name in ("run.m", "in.mat", "out.mat"))
        script.write_text(_SCRIPT, encoding="utf-8")
        savemat(given, {**case.data, "X0": case.start})
        command = ["octave-cli", "-q", script, code, given, found]
        subprocess.run(command, check=True, capture_output=True)
        answer = loadmat(found)
    return Peer("ManPG", float(answer["F"].item()), float(answer["seconds"].item()))


def _timed(name: str, solve: Callable[[], float]) -> Peer:
    started = time.process_time()
    cost = solve()
    return Peer(name, cost, time.process_time() - started)


def _graphical_lasso(case: NonsmoothProblem) -> Peer:
    from sklearn.covariance import graphical_lasso

    S, alpha = case.data["S"], case.data["alpha"]

    def solve() -> float:
        X = graphical_lasso(S, alpha, tol=1e-10, enet_tol=1e-12, max_iter=1000)[1]
        off = np.abs(X).sum() - np.trace(X)
        return float(np.sum(S * X) - np.linalg.slogdet(X)[1] + alpha * off)

    return _timed("scikit-learn", solve)


def _inner_ellipsoid(case: NonsmoothProblem) -> Peer:
    import cvxpy as cp

    C = case.data["C"]
    X = cp.Variable(C[0].shape, PSD=True)
    problem = cp.Problem(cp.Minimize(-cp.log_det(X)), [each - X >> 0 for each in C])
    return _timed("cvxpy", lambda: float(problem.solve(solver=cp.CLARABEL)))


def _cone_program(case: NonsmoothProblem) -> Peer:
    import cvxpy as cp

    x = cp.Variable(len(case.data["c"]))
    images = [each @ x + case.data["offset"] for each in case.data["maps"]]
    problem = cp.Problem(cp.Minimize(case.data["c"] @ x), [cp.SOC(z[0], z[1:]) for z in images])
    return _timed("cvxpy", lambda: float(problem.solve(solver=cp.CLARABEL)))


def _number(values: Any) -> str:
    return f"{np.mean(values):.7g}" if len(values) and np.isfinite(values).all() else ""


def _time(values: Any) -> str:
    return format_seconds(float(np.mean(values))) if len(values) else ""
