"""Weak duality: no dual value exceeds any primal value, at whatever points they are taken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodual.manifolds import SPD
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.pair_list import PairList
from geodual.metric.losses import OneSidedBurg, SquaredHinge
from geodual.metric.program.logdet_program import LogDetProgram
from geodual.metric.terms.term import PairTerm


def random_program(seed: int, kind: str, strength: float) -> LogDetProgram:
    rng = np.random.default_rng(seed)
    n_samples, n_features = int(rng.integers(4, 15)), int(rng.integers(1, 7))
    X = rng.standard_normal((n_samples, n_features)) * np.exp(rng.standard_normal(n_features))
    labels = np.sort(rng.integers(2, size=n_samples))
    i, j = np.triu_indices(n_samples, 1)
    u, l = np.percentile(((X[i] - X[j]) ** 2).sum(axis=1), [10, 90])  # noqa: E741
    u, l = max(u, 1e-3), max(l, 2e-3)  # noqa: E741
    loss = (
        SquaredHinge(u, l, u**2 / strength, l**2 / strength)
        if kind == "hinge"
        else OneSidedBurg(u, l, strength)
    )
    pairs = AllPairs(labels)
    if seed % 2:
        pairs = PairList(np.column_stack([i, j]), labels[i] == labels[j], rng.uniform(0.1, 2.0, len(i)))
    return LogDetProgram(X, PairTerm(pairs, loss), SPD(n_features).random_point(rng))


@pytest.mark.parametrize("kind", ["hinge", "burg"])
@given(seed=st.integers(0, 10**6), strength=st.floats(-3.0, 3.0), far=st.floats(0.0, 3.0))
def test_any_dual_value_is_below_any_primal_value(kind: str, seed: int, strength: float, far: float) -> None:
    program = random_program(seed, kind, 10.0**strength)
    rng = np.random.default_rng(seed)
    manifold = SPD(program.X.shape[1])
    start = np.linalg.inv(program.prior_inverse)
    points = [manifold.exp(start, far * manifold.random_tangent(start, rng)) for _ in range(3)]
    models = [program(point, weight) for point in points for weight in (1.0, 0.1)]
    assert max(model.dual for model in models) <= min(model.primal for model in models) * (1 + 1e-10) + 1e-10
    assert all(np.isfinite(model.dual) for model in models)


@pytest.mark.parametrize("kind", ["hinge", "burg"])
@given(seed=st.integers(0, 10**6), strength=st.floats(-3.0, 2.0))
def test_every_program_is_solved_to_its_tolerance(kind: str, seed: int, strength: float) -> None:
    program = random_program(seed, kind, 10.0**strength)
    found = program.solve(np.linalg.inv(program.prior_inverse), tol=1e-7, max_iter=500)
    assert found.converged
    assert found.dual <= found.primal * (1 + 1e-12)
