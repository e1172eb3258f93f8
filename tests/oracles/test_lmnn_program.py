"""LMNN against its semidefinite program, solved by cvxpy: objective and bound enclose the optimum."""

import cvxpy as cp
import numpy as np
import pytest

from geodual.metric.estimators.lmnn import LMNN
from geodual.metric.margin.large_margin import target_neighbors


def optimal_value(X, y, targets, regularization):
    W = cp.Variable((X.shape[1], X.shape[1]), PSD=True)

    def distances(first, second):
        difference = X[first] - X[second]
        return cp.sum(cp.multiply(difference @ W, difference), axis=1)

    samples, impostors = np.nonzero(y[:, None] != y)
    pull, push = 0.0, 0.0
    for column in targets.T:
        pull += cp.sum(distances(np.arange(len(X)), column))
        push += cp.sum(cp.pos(1.0 + distances(samples, column[samples]) - distances(samples, impostors)))
    problem = cp.Problem(cp.Minimize(regularization * pull + (1.0 - regularization) * push))
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("regularization", [0.5, 0.8])
def test_objective_and_bound_enclose_the_optimum(seed, regularization):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [12, 10, 8])
    X = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 3)) + 0.8 * np.eye(3)[y]
    optimum = optimal_value(X, y, target_neighbors(X, y, 2), regularization)
    model = LMNN(n_neighbors=2, regularization=regularization, tol=1e-5).fit(X, y)
    assert model.dual_objective_ <= optimum * (1.0 + 1e-6)
    assert optimum * (1.0 - 1e-6) <= model.objective_ <= optimum * (1.0 + 1e-4)
    assert model.duality_gap_ < 0.02
