"""The LogDet program at a point: derivatives in turned coordinates against differences of values."""

import numpy as np
import pytest

from geodual.manifolds import SPD
from geodual.metric.logdet.program import LogDetProgram
from geodual.metric.pairs.all_pairs import AllPairs
from geodual.metric.pairs.pair_list import PairList
from geodual.metric.pairs.pair_loss import OneSidedBurg, SquaredHinge


@pytest.fixture(params=["all", "list"])
def model(request):
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((9, 3)), np.repeat([0, 1], [4, 5])
    i, j = np.triu_indices(9, 1)
    pairs = (
        AllPairs(labels)
        if request.param == "all"
        else PairList(np.column_stack([i, j]), labels[i] == labels[j])
    )
    program = LogDetProgram(X, pairs, OneSidedBurg(1.0, 5.0, 0.7), SPD(3).random_point(rng))
    return program(SPD(3).random_point(rng), weight=0.4)


@pytest.mark.parametrize("turned", [False, True])
def test_derivatives_are_those_of_the_value(model, turned: bool) -> None:
    if turned:
        model.turn()
    S = np.random.default_rng(1).standard_normal((3, 3))
    S = S + S.T
    h = 1e-4
    before, here, after = (model.program(model.frame.move(t * S), model.weight).value for t in (-h, 0.0, h))
    assert (after - before) / (2 * h) == pytest.approx(np.vdot(model.gradient, S), rel=1e-6)
    assert (after - 2 * here + before) / h**2 == pytest.approx(np.vdot(S, model.hessian_product(S)), rel=1e-4)
    assert here == pytest.approx(model.value)


def test_turning_changes_coordinates_only(model) -> None:
    value, norm, dual = model.value, np.linalg.norm(model.gradient), model.dual
    W = model.frame.move(np.zeros((3, 3)))
    model.turn()
    assert (model.value, model.dual) == (value, dual)
    assert np.linalg.norm(model.gradient) == pytest.approx(norm)
    np.testing.assert_allclose(model.frame.move(np.zeros((3, 3))), W)
    other, fresh = model.weighted(0.9), model.program(W, 0.9)
    assert (other.value, other.dual) == pytest.approx((fresh.value, fresh.dual))
    np.testing.assert_allclose(other.gradient, fresh.gradient, atol=1e-10)


def test_the_preconditioner_inverts_the_hessian_for_normal_differences() -> None:
    """All pairs have the same curvature, and there are many of them."""
    rng = np.random.default_rng(2)
    V = rng.standard_normal((50_000, 3)) * [1.0, 2.0, 0.5]
    X, far = np.vstack([V, np.zeros((1, 3))]), len(V)
    indices = np.column_stack([np.arange(far), np.full(far, far)])
    pairs = PairList(indices, np.ones(far, dtype=bool))
    model = LogDetProgram(X, pairs, SquaredHinge(1e-9, 1.0, 1e4, 1e4), np.eye(3))(np.eye(3))
    model.turn()
    S = rng.standard_normal((3, 3))
    S = S + S.T
    np.testing.assert_allclose(model.precondition(model.hessian_product(S)), S, atol=0.05 * np.abs(S).max())
