"""The LogDet program at a point: derivatives in turned coordinates against differences of values."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from geodual.manifolds import SPD
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.pair_list import PairList
from geodual.metric.losses import OneSidedBurg, SquaredHinge
from geodual.metric.program.logdet_program import LogDetProgram, StraightFrame
from geodual.metric.terms.term import PairTerm


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
    program = LogDetProgram(X, PairTerm(pairs, OneSidedBurg(1.0, 5.0, 0.7)), SPD(3).random_point(rng))
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
    model = LogDetProgram(X, PairTerm(pairs, SquaredHinge(1e-9, 1.0, 1e4, 1e4)), np.eye(3))(np.eye(3))
    model.turn()
    S = rng.standard_normal((3, 3))
    S = S + S.T
    np.testing.assert_allclose(model.precondition(model.hessian_product(S)), S, atol=0.05 * np.abs(S).max())


def test_a_light_solve_is_near_the_optimum_for_a_light_loss() -> None:
    """Its loss counts n at the prior; weights of the pairs stand for the lighter loss here."""
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    i, j = np.triu_indices(len(X), 1)
    pairs, similar, eye = np.column_stack([i, j]), y[i] == y[j], np.eye(X.shape[1])
    loss = SquaredHinge.weighted(5.0, 40.0, C1=1.0, C2=0.0)
    program = LogDetProgram(X, PairTerm(PairList(pairs, similar), loss), eye)
    W, n_iter = program.solve_lightly(eye, max_iter=50)
    at_prior = program(eye).primal  # the divergence is zero there
    assert at_prior > 10.0 * len(eye)
    light = PairList(pairs, similar, np.full(len(pairs), len(eye) / at_prior))
    light_program = LogDetProgram(X, PairTerm(light, loss), eye)
    assert light_program(eye).primal == pytest.approx(len(eye))
    best = light_program.solve(eye, 1e-10, 100)
    assert best.converged
    assert best.primal <= light_program(W).primal <= 1.12 * best.primal
    assert 1 <= n_iter < best.n_iter


def test_a_loss_that_is_light_already_is_taken_as_it_is() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.5], [3.0, 1.0], [2.0, 4.0]])
    pairs, similar = np.array([[0, 1], [2, 3], [0, 2]]), np.array([True, True, False])
    loss = SquaredHinge.weighted(1.0, 4.0, C1=1e-3, C2=0.0)
    program = LogDetProgram(X, PairTerm(PairList(pairs, similar), loss), np.eye(2))
    assert program(np.eye(2)).light_weight() == 1.0


@pytest.mark.parametrize("n_features", [1, 3])
def test_the_loss_of_a_light_fit_is_at_most_the_number_of_features(n_features: int) -> None:
    labels = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).standard_normal((40, n_features)) + labels[:, None]
    term = PairTerm(AllPairs(labels), SquaredHinge(0.1, 9.0, 0.01, 0.01))
    program = LogDetProgram(X, term, np.eye(n_features))
    model = program(np.eye(n_features))
    loss = model.primal  # at the prior the divergence is 0
    assert loss > n_features
    assert model.light_weight() * loss == pytest.approx(n_features)


def test_a_step_that_overflows_leads_nowhere() -> None:
    frame = StraightFrame(np.eye(2))
    for wrong in ([[np.nan, 1.0], [1.0, 0.0]], [[-np.inf, 0.0], [0.0, 1.0]]):
        assert np.isnan(frame.move(np.array(wrong))).all()
