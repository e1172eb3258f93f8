"""partial_fit: the last metric is the prior of the next step, and every step has its certificate."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from geodual.metric import RPDML, PairITML, PairRPDML, QuadrupletRPDML, TripletRPDML


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return StandardScaler().fit_transform(X)[order], y[order]


@pytest.fixture(scope="module")
def pairs(wine):
    X, y = wine
    indices = np.random.default_rng(1).integers(len(X), size=(300, 2))
    return X[indices], np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)


@pytest.mark.parametrize("options", [{}, {"pairs": "local"}, {"prior": "covariance", "n_components": 3}])
def test_a_step_is_a_fit_with_the_last_metric_as_prior(wine, options: dict) -> None:
    X, y = wine
    learner = RPDML(**options).partial_fit(X[:90], y[:90])
    first = RPDML(**options).fit(X[:90], y[:90])
    np.testing.assert_array_equal(learner.W_, first.W_)
    learner.partial_fit(X[90:], y[90:])
    second = RPDML(**options).set_params(prior=first.W_, bounds=first.bounds_).fit(X[90:], y[90:])
    np.testing.assert_array_equal(learner.W_, second.W_)
    np.testing.assert_array_equal(learner.transform(X), second.transform(X))
    assert [step.objective for step in learner.certificates_] == [first.objective_, second.objective_]
    assert all(step.duality_gap <= 1e-6 for step in learner.certificates_)
    assert learner.get_params() == RPDML(**options).get_params()


def test_what_holds_already_changes_nothing(wine) -> None:
    """Bounds that all new pairs respect under the last metric: the divergence alone decides."""
    X, y = wine
    learner = RPDML(bounds=(60.0, 61.0)).fit(X, y)
    near = np.vstack([0.01 * X[:3], 40.0 + 0.01 * X[:3]])
    W = learner.W_
    learner.partial_fit(near, [0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(learner.W_, W, atol=1e-9)
    assert learner.certificates_[1].objective == pytest.approx(0.0, abs=1e-9)


def test_steps_add_to_what_was_learned(wine) -> None:
    """The distances of unseen samples tell classes apart better after three steps than after one."""
    X, y = wine
    i, j = np.triu_indices(58, 1)
    unseen, same = X[120:], y[120:][i] == y[120:][j]
    learner, found = RPDML(C=10.0), []
    for start in range(0, 120, 40):
        learner.partial_fit(X[start : start + 40], y[start : start + 40])
        found.append(roc_auc_score(same, learner.pair_score(np.stack([unseen[i], unseen[j]], axis=1))))
    assert roc_auc_score(same, -np.linalg.norm(unseen[i] - unseen[j], axis=1)) < found[0] < found[-1]
    assert len(learner.certificates_) == 3
    assert pickle.loads(pickle.dumps(learner)).certificates_ == learner.certificates_


def test_fit_starts_afresh(wine) -> None:
    X, y = wine
    learner = RPDML().partial_fit(X[:90], y[:90]).partial_fit(X[90:], y[90:]).fit(X, y)
    assert len(learner.certificates_) == 1
    np.testing.assert_array_equal(learner.W_, RPDML().fit(X, y).W_)


def test_pairs_in_steps(pairs) -> None:
    samples, signs = pairs
    learner = PairRPDML().partial_fit(samples[:150], signs[:150]).partial_fit(samples[150:], signs[150:])
    first = PairRPDML().fit(samples[:150], signs[:150])
    second = PairRPDML(prior=first.W_, bounds=first.bounds_).fit(samples[150:], signs[150:])
    np.testing.assert_array_equal(learner.W_, second.W_)
    assert learner.threshold_ == second.threshold_
    assert [step.n_pairs for step in learner.certificates_] == [150, 150]


@pytest.mark.parametrize(("kind", "size"), [(TripletRPDML, 3), (QuadrupletRPDML, 4)])
def test_comparisons_in_steps(kind, size: int) -> None:
    tuples = np.random.default_rng(2).standard_normal((40, size, 3))
    learner = kind().partial_fit(tuples[:20]).partial_fit(tuples[20:], sample_weight=np.ones(20))
    first = kind().fit(tuples[:20])
    second = kind(prior=first.W_, margin=first.margin_).fit(tuples[20:])
    np.testing.assert_array_equal(learner.W_, second.W_)
    assert len(learner.certificates_) == 2
    with pytest.raises(ValueError, match="has 2 features, but the metric was learned on 3"):
        learner.partial_fit(tuples[:, :, :2])


def test_a_step_that_fails_changes_nothing(wine, pairs) -> None:
    X, y = wine
    learner = RPDML().partial_fit(pd.DataFrame(X).add_prefix("x"), y)
    before = learner.W_.copy()
    with pytest.raises(ValueError, match="feature names"):
        learner.partial_fit(pd.DataFrame(X).add_prefix("z"), y)
    with pytest.raises(ValueError, match="two classes"):
        learner.partial_fit(pd.DataFrame(X).add_prefix("x"), np.zeros(len(X)))
    np.testing.assert_array_equal(learner.W_, before)
    assert len(learner.certificates_) == 1
    with pytest.raises(ValueError, match="has 4 features"):
        PairRPDML().fit(*pairs).partial_fit(pairs[0][:, :, :4], pairs[1])


def test_a_step_without_proof_says_so(wine) -> None:
    X, y = wine
    learner = RPDML(max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning):
        learner.partial_fit(X, y)
    with pytest.warns(ConvergenceWarning):
        learner.partial_fit(X, y)
    assert all(step.duality_gap > 1e-12 for step in learner.certificates_)


@pytest.mark.parametrize("learner", [RPDML, PairRPDML, PairITML, TripletRPDML, QuadrupletRPDML])
def test_all_learners_continue_by_the_same_arguments(learner: type) -> None:
    assert list(inspect.signature(learner().partial_fit).parameters) == ["X", "y", "sample_weight"]
    assert "certificates_" in (learner.partial_fit.__doc__ or "")
