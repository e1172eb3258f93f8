"""Sparse metrics: the program of SDML, its certificate, and what it refuses."""

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from geodual.compat.metric_learn import SDML, SDML_Supervised
from geodual.compat.metric_learn.sdml import sparse_metric


def indefinite(seed: int, n: int) -> np.ndarray:
    """Ones on the diagonal, ±0.6 elsewhere."""
    signs = np.tril(np.random.default_rng(seed).choice([-0.6, 0.6], (n, n)), -1)
    return np.eye(n) + signs + signs.T


def objective(S, W, penalty: float) -> float:
    off = W - np.diag(np.diag(W))
    return float(np.sum(S * W) - np.linalg.slogdet(W)[1] + penalty * np.abs(off).sum())


def wine_pairs(n_pairs: int = 300):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    pairs = np.random.default_rng(0).integers(len(X), size=(n_pairs, 2))
    return X[pairs], np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


@pytest.mark.parametrize("penalty", [0.0, 0.05, 0.5])
def test_the_optimum_of_a_positive_definite_matrix_is_that_of_the_graphical_lasso(penalty: float) -> None:
    A = np.random.default_rng(0).standard_normal((6, 20))
    S = A @ A.T / 20
    expected = graphical_lasso(S, penalty, tol=1e-10, enet_tol=1e-12, max_iter=1000)[1]
    found = sparse_metric(S, penalty, 1e-10, 20_000)
    assert found.primal == pytest.approx(objective(S, expected, penalty), abs=1e-8)
    np.testing.assert_allclose(found.W, expected, atol=1e-4)
    np.testing.assert_array_equal(found.W == 0.0, expected == 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_an_indefinite_matrix_meets_its_conditions(seed: int) -> None:
    """S − W⁻¹ + λ sign(W) = 0 where W is not 0, and |S − W⁻¹| ≤ λ where it is; on the diagonal S = W⁻¹."""
    S, penalty = indefinite(seed, 7), 0.5
    assert np.linalg.eigvalsh(S)[0] < 0.0
    found = sparse_metric(S, penalty, 1e-11, 50_000)
    assert found.gap <= 1e-11
    assert found.primal == pytest.approx(objective(S, found.W, penalty), rel=1e-9)
    slope = S - np.linalg.inv(found.W)
    off = ~np.eye(7, dtype=bool)
    np.testing.assert_allclose(np.diag(slope), 0.0, atol=1e-4)
    assert np.abs(slope[off]).max() <= penalty + 1e-4
    used = off & (found.W != 0.0)
    np.testing.assert_allclose(slope[used], -penalty * np.sign(found.W[used]), atol=1e-4)


def test_the_lower_bound_holds_before_the_end() -> None:
    A = np.random.default_rng(0).standard_normal((6, 20))
    best = sparse_metric(A @ A.T / 20, 0.1, 1e-11, 50_000).primal
    for n_iter in (3, 5, 8):
        early = sparse_metric(A @ A.T / 20, 0.1, 0.0, n_iter)
        assert early.n_iter == n_iter
        assert early.dual < best - 1e-7
        assert early.primal > best + 1e-7


def test_other_units_change_neither_the_iterations_nor_the_metric_in_them() -> None:
    A = np.random.default_rng(2).standard_normal((5, 9))
    S, units = A @ A.T, 2.0 ** np.array([-40, -10, 0, 7, 30])
    plain = sparse_metric(S, 0.0, 1e-9, 1000)
    scaled = sparse_metric(S / np.outer(units, units), 0.0, 1e-9, 1000)
    np.testing.assert_array_equal(scaled.W, plain.W * np.outer(units, units))


def test_pairs_give_the_stated_program_with_a_certificate(capsys: pytest.CaptureFixture) -> None:
    pairs, signs = wine_pairs()
    prior = np.diag(np.linspace(0.5, 2.0, 13))
    learner = SDML(1e-4, 0.05, prior, verbose=True).fit(pairs, signs)
    V = pairs[:, 0] - pairs[:, 1]
    S = np.linalg.inv(prior) + 1e-4 * sum(s * np.outer(v, v) for s, v in zip(signs, V, strict=True))
    W = learner.get_mahalanobis_matrix()
    assert learner.objective_ == pytest.approx(objective(S, W, 0.05), rel=1e-9)
    assert learner.dual_objective_ <= learner.objective_
    assert learner.duality_gap_ <= 1e-6
    assert (np.abs(W) < 1e-12).mean() > 0.3
    assert learner.score(pairs, signs) > 0.8
    assert "SDML: objective" in capsys.readouterr().out


def test_the_covariance_is_that_of_distinct_samples() -> None:
    pairs, signs = wine_pairs(40)
    rows = np.unique(pairs.reshape(-1, 13), axis=0)
    expected = SDML(1e-4, prior=np.linalg.inv(np.cov(rows.T))).fit(pairs, signs)
    found = SDML(1e-4, prior="covariance").fit(pairs, signs)
    np.testing.assert_allclose(
        found.get_mahalanobis_matrix(), expected.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-4
    )


def test_labels_draw_pairs_by_the_seed() -> None:
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    fits = [SDML_Supervised(1e-4, n_constraints=50, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)
    assert not np.allclose(fits[0].components_, fits[2].components_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"balance_param": 5.0}, "no optimum .* lower `balance_param`"),
        ({"balance_param": 0.02, "sparsity_param": 0.001}, "no optimum"),
        ({"balance_param": -1.0}, "`balance_param` must not be negative"),
        ({"sparsity_param": "a"}, "`sparsity_param` must be a number"),
        ({"prior": "pca"}, "`prior` must be"),
    ],
)
def test_what_has_no_answer_is_refused(parameters, message: str) -> None:
    pairs, signs = wine_pairs()
    with pytest.raises(ValueError, match=message):
        SDML(**parameters).fit(pairs, signs)


def test_an_early_end_is_told() -> None:
    """From 4.3e-4 on, these pairs have no optimum; just below, the iteration is slow."""
    with pytest.warns(ConvergenceWarning, match="SDML stopped at a duality gap of .* lower `balance_param`"):
        SDML(4.27e-4).fit(*wine_pairs())
