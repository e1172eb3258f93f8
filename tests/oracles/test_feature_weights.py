"""FeatureWeights against cvxpy."""

import cvxpy as cp
import numpy as np
import pytest

from geodual.metric import FeatureWeights, LocalPairs


@pytest.mark.parametrize("distance", ["l1", "l2"])
@pytest.mark.parametrize("target", ["classes", "numbers", "several numbers"])
@pytest.mark.parametrize("sparsity", [0.0, 0.3])
def test_the_optimum_is_that_of_cvxpy(distance: str, target: str, sparsity: float) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=20)
    X = rng.standard_normal((20, 4)) + y[:, None] * [1.0, 1.0, 0.0, 0.0]
    y = np.column_stack([y, X[:, 2]]) if target == "several numbers" else y
    kind = "classes" if target == "classes" else "numbers"
    pairs = LocalPairs(2, 3)
    learner = FeatureWeights(distance, C=30.0, target=kind, pairs=pairs, tol=1e-10, sparsity=sparsity)
    learner.fit(X, y)
    V = np.abs(X[learner.neighbors_[:, 0]] - X[learner.neighbors_[:, 1]]) ** (1 if distance == "l1" else 2)
    V, w = V / learner.widths_[:, None], cp.Variable(4, nonneg=True)
    i = learner.neighbors_[:, 0]
    if sparsity:
        cost = 0.5 * cp.sum_squares(w - 1.0) + learner.penalty_ * cp.sum(w)
    else:
        cost = 0.5 * cp.sum(w - cp.log(w) - 1.0)
    for sample in np.unique(i):
        own = i == sample
        loss = learner.targets_[own] @ (V[own] @ w) + cp.log_sum_exp(-(V[own] @ w))
        cost += 30.0 / len(np.unique(i)) * loss
    optimum = cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL")
    assert learner.objective_ == pytest.approx(optimum, rel=1e-6)
    assert learner.dual_objective_ <= optimum * (1.0 + 1e-6)
    np.testing.assert_allclose(learner.weights_, w.value, rtol=1e-3, atol=1e-4)
