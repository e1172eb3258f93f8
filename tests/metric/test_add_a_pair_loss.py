"""The guide docs/add_a_pair_loss.md: its loss is consistent, its estimator works from outside the package."""

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from tests.guides import run_guide


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    with pytest.MonkeyPatch.context() as patch:
        yield run_guide("add_a_pair_loss.md", tmp_path_factory.mktemp("guide"), patch)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_the_loss_is_consistent(names: dict) -> None:
    loss, d = names["loss"], np.linspace(0.01, 40.0, 997)
    for similar in (True, False):
        a = loss.slope(d, similar)
        step = 1e-6
        slope = (loss.value(d + step, similar) - loss.value(d - step, similar)) / (2 * step)
        np.testing.assert_allclose(a, slope, atol=1e-8)
        np.testing.assert_allclose(loss.conjugate(a, similar), a * d - loss.value(d, similar), atol=1e-9)
    assert loss.value(np.zeros(1), True).item() == 0.0


def test_the_estimator_keeps_the_conventions_of_scikit_learn(names: dict) -> None:
    learner = names["HuberML"](C=10.0, width=0.1, pairs="local")
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    assert copy.get_params()["width"] == 0.1
    assert copy.set_params(C=20.0).C == 20.0
    assert learner.C == 10.0


@pytest.mark.parametrize("pairs", ["all", "local", 500])
def test_the_estimator_is_certified_on_other_data(names: dict, cancer, pairs) -> None:
    learner = names["HuberML"](pairs=pairs, tol=1e-7, random_state=0).fit(*cancer)
    assert learner.duality_gap_ <= 1e-7
    assert 0.0 < learner.dual_objective_ <= learner.objective_
    assert learner.transform(cancer[0]).shape == cancer[0].shape


def test_the_objective_is_the_divergence_plus_the_sum_of_the_loss(names: dict, cancer) -> None:
    X, y = cancer
    pairs = np.random.default_rng(0).permutation(len(X))[:500].reshape(-1, 2)
    learner = names["HuberML"](C=50.0, width=0.1, pairs=pairs, bounds=(5.0, 100.0)).fit(X, y)
    W, V = learner.W_, X[pairs[:, 0]] - X[pairs[:, 1]]
    d, similar = np.einsum("ki,ij,kj->k", V, W, V), y[pairs[:, 0]] == y[pairs[:, 1]]
    excess = np.maximum(np.where(similar, d - 5.0, 100.0 - d), 0.0)
    loss = np.where(excess < 10.0, excess**2 / 2, 10.0 * excess - 50.0) * 50.0 / (250 * 100.0**2)
    divergence = np.trace(W) - np.linalg.slogdet(W)[1] - len(W)
    assert learner.objective_ == pytest.approx(0.5 * divergence + loss.sum(), rel=1e-9)


def test_bad_parameters_are_named(names: dict) -> None:
    with pytest.raises(ValueError, match="`width` must be positive, got 0"):
        names["HuberML"](width=0.0).fit(names["X"], names["y"])
