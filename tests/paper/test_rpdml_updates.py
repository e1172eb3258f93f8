"""Section IV: updates (1)–(4), as printed and as corrected, against values computed entry by entry."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from geodual.manifolds import SPD, NotOnManifoldError
from geodual.metric import RPDML
from geodual.metric.geometry.pair_set import PairTable
from geodual.metric.losses import SquaredHinge
from geodual.metric.program.paper_updates import SlackProgram
from geodual.optimize.primal_dual import iterate_primal_dual
from geodual.optimize.problem import ConstraintVector

C1, C2, U, L = 0.7, 0.05, 1.2, 3.4
RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3))
LEFT, RIGHT = np.array([0, 1, 2, 3, 0]), np.array([1, 2, 4, 5, 5])
SIMILAR = np.array([True, False, True, False, False])
W0 = SPD(3).random_point(RNG)


@pytest.fixture
def program() -> SlackProgram:
    table = PairTable(LEFT, RIGHT, SIMILAR, np.ones(5))
    return SlackProgram(X, table, SquaredHinge(U, L, 1.0, 1.0), np.linalg.inv(W0), C1)


def state(program: SlackProgram, W, xi):
    return ConstraintVector(program.problem, (W, xi)).evaluate((W, xi))


def h_by_hand(W, xi):
    values = []
    for k in range(5):
        v = X[LEFT[k]] - X[RIGHT[k]]
        d = v @ W @ v
        values.append(d - U * (1 + xi[k]) if SIMILAR[k] else -d + L * (1 - xi[k]))
    return np.array(values)


def gradient_by_hand(W, lam):
    """½ (W₀⁻¹ − W⁻¹) + Σ ± λ v vᵀ."""
    gradient = 0.5 * (np.linalg.inv(W0) - np.linalg.inv(W))
    for k in range(5):
        v = X[LEFT[k]] - X[RIGHT[k]]
        gradient += (1.0 if SIMILAR[k] else -1.0) * lam[k] * np.outer(v, v)
    return gradient


LAM, GAMMA = RNG.uniform(0.0, 0.4, 5), RNG.uniform(0.0, 0.4, 5)
W, XI, ETA = SPD(3).random_point(RNG), RNG.uniform(0.0, 1.0, 5), 0.06


def test_the_constraints_are_those_of_eq_9(program) -> None:
    np.testing.assert_allclose(program.h((W, XI)), h_by_hand(W, XI), rtol=1e-12)


def test_update_1_printed_is_a_euclidean_step(program) -> None:
    found = program.update_W(state(program, W, XI), LAM, ETA, "printed")
    np.testing.assert_allclose(found, W - ETA * gradient_by_hand(W, LAM), rtol=1e-12)


def test_update_1_corrected_is_an_affine_invariant_step(program) -> None:
    """The Riemannian gradient is W G W; the retraction W + V + ½ V W⁻¹ V stays positive definite."""
    found = program.update_W(state(program, W, XI), LAM, ETA, "corrected")
    V = -ETA * W @ gradient_by_hand(W, LAM) @ W
    np.testing.assert_allclose(found, W + V + 0.5 * V @ np.linalg.solve(W, V), rtol=1e-10)


@pytest.mark.parametrize("errata", ["printed", "corrected"])
def test_update_2(program, errata: str) -> None:
    found = program.update_xi(XI, LAM, GAMMA, ETA, errata)
    for k in range(5):
        weight = ETA if errata == "printed" else 1.0 / ETA
        pull = LAM[k] * (U if SIMILAR[k] else L)
        expected = max((weight * XI[k] + GAMMA[k] + pull) / (C1 + weight), 0.0)
        assert found[k] == pytest.approx(expected, rel=1e-12)


def test_e10_only_the_corrected_update_2_minimizes_its_objective(program) -> None:
    def objective(xi):
        coupling = LAM @ h_by_hand(W, xi) - GAMMA @ xi
        return 0.5 * C1 * xi @ xi + coupling + np.sum((xi - XI) ** 2) / (2.0 * ETA)

    corrected, printed = (program.update_xi(XI, LAM, GAMMA, ETA, e) for e in ("corrected", "printed"))
    assert objective(corrected) < objective(printed)
    for step in 1e-4 * np.eye(5):
        assert objective(corrected) <= min(objective(corrected + step), objective(corrected - step))


@pytest.mark.parametrize("errata", ["printed", "corrected"])
def test_updates_3_and_4(program, errata: str) -> None:
    """λ ← [(1 − C₂η) λ + η h]₊ and γ ← [(1 − C₂η) γ − η ξ]₊, at the new W and ξ."""
    constraints = ConstraintVector(program.problem, (W0, np.zeros(5)))
    start = constraints.evaluate((W0, np.zeros(5)))
    updates = iterate_primal_dual(constraints, start, C2, 0.01, program.primal_step(constraints, errata))
    lam, gamma = np.zeros(5), np.zeros(5)
    for _ in range(6):
        update = next(updates)
        W_next, xi_next = update.point.x
        lam = np.maximum((1 - C2 * 0.01) * lam + 0.01 * h_by_hand(W_next, xi_next), 0.0)
        gamma = np.maximum((1 - C2 * 0.01) * gamma - 0.01 * xi_next, 0.0)
        np.testing.assert_allclose(update.multipliers, np.concatenate([lam, gamma]), atol=1e-12)


def test_e8_the_printed_retraction_leaves_the_cone(program) -> None:
    """A long printed step gives an indefinite matrix; the corrected step does not."""
    lam = np.where(SIMILAR, 50.0, 0.0)
    printed = program.update_W(state(program, W, XI), lam, 1.0, "printed")
    corrected = program.update_W(state(program, W, XI), lam, 1.0, "corrected")
    with pytest.raises(NotOnManifoldError):
        SPD(3).check_point(printed)
    SPD(3).check_point(corrected)


def test_e9_the_euclidean_gradient_is_not_the_affine_invariant_one() -> None:
    gradient = gradient_by_hand(W, LAM)
    riemannian = SPD(3).gradient(W, gradient)
    np.testing.assert_allclose(riemannian, W @ gradient @ W, rtol=1e-10)
    assert np.abs(riemannian - gradient).max() > 0.1
    direction = SPD(3).random_tangent(W, np.random.default_rng(1))
    slope = np.vdot(gradient, direction)
    assert SPD(3).inner(W, riemannian, direction) == pytest.approx(slope)
    assert SPD(3).inner(W, gradient, direction) != pytest.approx(slope, rel=0.1)


def test_e11_dissimilar_constraints_are_not_geodesically_convex() -> None:
    """−d(W) + l is concave along geodesics: its value at the midpoint exceeds the mean of the ends."""
    v = np.array([1.0, 0.5, -0.3])
    start, direction = np.eye(3), np.diag([1.5, -0.7, 0.2])
    ends = [-v @ SPD(3).exp(start, t * direction) @ v for t in (-1.0, 1.0)]
    middle = -v @ start @ v
    assert middle > np.mean(ends) + 1e-3


def test_e12_the_logdet_divergence_is_not_a_squared_distance() -> None:
    """It is not symmetric, and its root violates the triangle inequality."""

    def divergence(a, b):
        return a / b - np.log(a / b) - 1.0

    assert divergence(4.0, 1.0) != pytest.approx(divergence(1.0, 4.0), rel=0.1)
    a, b, c = 1.0, 10.0, 100.0
    assert np.sqrt(divergence(c, a)) > np.sqrt(divergence(b, a)) + np.sqrt(divergence(c, b))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_printed_iteration_diverges_on_iris_and_scaled_steps_are_slow() -> None:
    data, labels = load_iris(return_X_y=True)
    data = StandardScaler().fit_transform(data)
    options = {"C": 100.0, "pairs": 200, "random_state": 0}
    certified = RPDML(**options).fit(data, labels)
    printed = RPDML(**options, solver="paper", errata="printed").fit(data, labels)
    assert printed.n_iter_ <= 5
    assert printed.objective_ > 10.0 * certified.objective_
    scaled = RPDML(**options, solver="paper", step=lambda t: 0.005 / np.sqrt(t + 1)).fit(data, labels)
    assert scaled.objective_ > 1.01 * certified.objective_
    assert certified.duality_gap_ <= 1e-6 < scaled.duality_gap_
