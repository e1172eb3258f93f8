"""Small versions of the problems of `python -m benchmarks nonsmooth`: residuals, zeros and peers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.nonsmooth import _cone_program, _graphical_lasso, _inner_ellipsoid
from geodual.optimize import check_gradient, minimize
from testing.independent_check import check_result
from testing.problems import nonsmooth
from testing.problems.nonsmooth import NonsmoothProblem

SMALL = {
    "oblique": lambda: nonsmooth.oblique_sparse_pca(20, 2, 0.5),
    "Stiefel": lambda: nonsmooth.stiefel_sparse_pca(20, 2),
    "modes": lambda: nonsmooth.compressed_modes(24, 2),
    "row-sparse": lambda: nonsmooth.row_sparse_recovery(30, 6, 1, 60),
    "completion": lambda: nonsmooth.robust_completion(12, 8, 1),
    "graphical": lambda: nonsmooth.graphical_model(6),
    "Procrustes": lambda: nonsmooth.spectral_procrustes(12, 4),
    "ellipsoid": lambda: nonsmooth.largest_inner_ellipsoid(4, 2),
    "cones": lambda: nonsmooth.robust_linear_program(5, 8),
}


@pytest.mark.parametrize("make", SMALL.values(), ids=SMALL)
def test_it_is_solved_and_an_independent_check_agrees(make: Callable[[], NonsmoothProblem]) -> None:
    case = make()
    assert check_gradient(case.problem, case.problem.manifold.random_point(np.random.default_rng(1)))
    result = minimize(case.problem, case.start)
    assert result.success, result.message
    verdict = check_result(case.problem, case.start, result)
    assert verdict.is_kkt_point, verdict
    assert verdict.is_minimum or result.second_order != "holds", verdict


@pytest.mark.parametrize("name", ["oblique", "Stiefel", "modes", "row-sparse", "completion", "graphical"])
def test_some_entries_are_exactly_zero(name: str) -> None:
    case = SMALL[name]()
    value = minimize(case.problem, case.start).terms[0].value
    assert 0 < np.count_nonzero(value) < value.size


def test_a_weak_norm_beside_a_large_cost_is_no_harder() -> None:
    """With a first penalty for strong terms, the envelope of a weak one is as sharp as its kink."""
    case = nonsmooth.row_sparse_recovery(60, 20, 1, 60)
    result = minimize(case.problem, case.start)
    assert result.success
    # 566 products; with the first penalty of strong terms 1,635, and with 500 rows no end.
    assert sum(row.hessian_products for row in result.history) < 1000
    assert result.terms[0].support.any(axis=1).sum() < 20


@pytest.mark.parametrize(
    ("name", "peer"),
    [("graphical", _graphical_lasso), ("ellipsoid", _inner_ellipsoid), ("cones", _cone_program)],
)
def test_convex_problems_agree_with_peers(name: str, peer: Callable[[NonsmoothProblem], object]) -> None:
    if name != "graphical":
        pytest.importorskip("cvxpy")
    case = SMALL[name]()
    assert minimize(case.problem, case.start).cost == pytest.approx(peer(case).cost, rel=1e-6)
