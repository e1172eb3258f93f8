"""Ridge regression towards an anchor: formulas by slow loops, planted skill, and no skill."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import check_estimator

from geodual.funds.forecasters.anchored_ridge import AnchoredRidge


def draw(weights, noise=1.0, seed=0, n_periods=12, n_rows=40):
    """Return standardised features, a target and periods; the target has weights and noise."""
    rng = np.random.default_rng(seed)
    periods = np.repeat(np.arange(n_periods), n_rows)
    X = rng.standard_normal((len(periods), len(weights)))
    X[:, 1] += X[:, 0]  # so that factors go together
    y = X @ np.asarray(weights, dtype=float) + noise * rng.standard_normal(len(periods))
    for p in range(n_periods):
        rows = periods == p
        X[rows] = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0)
        y[rows] = (y[rows] - y[rows].mean()) / y[rows].std()
    return X, y, periods


def prior_by_loop(X, periods, anchor):
    """Return b₀ by its formula, from correlations by numpy."""
    among = np.mean([np.corrcoef(X[periods == p], rowvar=False) for p in np.unique(periods)], axis=0)
    e = np.isin(np.arange(X.shape[1]), anchor).astype(float)
    s = among @ e
    return 0.1 * 0.5 * (e / np.sqrt(e @ among @ e) + s / np.sqrt(s @ among @ s))


def slopes_by_ridge(X, y, periods, anchor, penalty):
    """Return b by scikit-learn: ridge regression on what the prior leaves, each period weighing one."""
    prior = prior_by_loop(X, periods, anchor)
    _, counts = np.unique(periods, return_counts=True)
    weights = 1.0 / np.repeat(counts, counts)
    left = Ridge(penalty, fit_intercept=False).fit(X, y - X @ prior, sample_weight=weights)
    return prior + left.coef_


@pytest.mark.parametrize("anchor", [None, [0]])
def test_scikit_learn_accepts_it(anchor):
    check_estimator(AnchoredRidge(anchor), on_skip=None)


def test_slopes_and_record_follow_the_formulas():
    X, y, periods = draw([0.0, 0.5, -0.5, 0.0], seed=1)
    model = AnchoredRidge([0, 1], penalties=(3.0, 30.0)).fit(X, y, periods=periods)
    record = []
    for p in range(2, 12):
        before, now = periods < p, periods == p
        learnt = [prior_by_loop(X[before], periods[before], [0, 1])]
        learnt += [slopes_by_ridge(X[before], y[before], periods[before], [0, 1], c) for c in (3.0, 30.0)]
        record.append([np.corrcoef(X[now] @ b, y[now])[0, 1] for b in learnt])
    np.testing.assert_allclose(model.record_, record, atol=1e-10)
    assert model.penalty_ == 3.0
    np.testing.assert_allclose(model.coef_, slopes_by_ridge(X, y, periods, [0, 1], 3.0), atol=1e-10)


def test_the_anchor_stays_without_evidence():
    stayed = 0
    for seed in range(40):
        X, y, periods = draw([0.0] * 5, seed=seed)
        model = AnchoredRidge([0]).fit(X, y, periods=periods)
        if model.penalty_ == np.inf:
            stayed += 1
            np.testing.assert_allclose(model.coef_, prior_by_loop(X, periods, [0]), atol=1e-10)
    assert stayed >= 32  # a difference above two standard errors happens by chance, too


def test_more_evidence_is_harder_to_give():
    X, y, periods = draw([0.0, 0.1, -0.1, 0.0], seed=3)
    gain = AnchoredRidge([3]).fit(X, y, periods=periods).record_
    gain = gain[:, 1:] - gain[:, :1]
    t = (gain.mean(axis=0) / gain.std(axis=0, ddof=1) * np.sqrt(len(gain))).max()
    assert t > 0.0
    assert AnchoredRidge([3], evidence=0.99 * t).fit(X, y, periods=periods).penalty_ < np.inf
    assert AnchoredRidge([3], evidence=1.01 * t).fit(X, y, periods=periods).penalty_ == np.inf


def test_few_periods_leave_the_anchor():
    X, y, periods = draw([0.0, 0.0, 5.0], noise=0.1, n_periods=6)
    assert AnchoredRidge([0]).fit(X, y, periods=periods).penalty_ < np.inf
    few = periods < 5
    model = AnchoredRidge([0]).fit(X[few], y[few], periods=periods[few])
    assert model.penalty_ == np.inf
    assert model.record_.shape == (3, 5)
    one = AnchoredRidge([0]).fit(X, y)
    assert one.record_.shape == (0, 5)
    assert one.coef_[0] > 0.0


def test_without_an_anchor_it_starts_from_the_mean_correlations():
    X, y, periods = draw([0.3, 0.0, -0.3], n_periods=4)
    model = AnchoredRidge().fit(X, y, periods=periods)
    mean = np.mean(
        [[np.corrcoef(x, y[periods == p])[0, 1] for x in X[periods == p].T] for p in range(4)], axis=0
    )
    assert model.penalty_ == np.inf
    np.testing.assert_allclose(model.coef_ / np.linalg.norm(model.coef_), mean / np.linalg.norm(mean))


def test_later_periods_do_not_change_an_earlier_record():
    X, y, periods = draw([0.0, 0.2, -0.2, 0.1], seed=4)
    garbage = np.where(periods == 11, -50.0 * y, y)
    whole, other = (AnchoredRidge([0]).fit(X, target, periods=periods) for target in (y, garbage))
    np.testing.assert_array_equal(whole.record_[:-1], other.record_[:-1])
    assert not np.allclose(whole.record_[-1], other.record_[-1])


def test_order_of_rows_and_columns_and_names_of_periods_do_not_matter():
    X, y, periods = draw([0.0, 0.2, -0.2, 0.1], seed=5)
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(len(y)), np.array([2, 0, 3, 1])
    model = AnchoredRidge([0]).fit(X, y, periods=periods)
    mixed = AnchoredRidge([1]).fit(X[rows][:, columns], y[rows], periods=7.5 + 3 * periods[rows])
    np.testing.assert_allclose(mixed.coef_, model.coef_[columns], atol=1e-10)


def test_age_counts():
    X, y, periods = draw([0.0, 1.0, 0.0], seed=6)
    y = np.where(periods < 6, -y, y)
    weights = np.exp2(periods - 11.0)
    old, new = (
        AnchoredRidge([0], penalties=[1.0], evidence=0.0).fit(X, y, sample_weight=w, periods=periods)
        for w in (None, weights)
    )
    assert new.penalty_ == 1.0
    assert new.coef_[1] > 2.0 * abs(old.coef_[1])


def test_constant_columns_are_harmless():
    X, y, periods = draw([0.0, 1.0, -1.0, 0.0])
    X[:, 3] = 2.0
    model = AnchoredRidge([0]).fit(X, y, periods=periods)
    assert np.isfinite(model.coef_).all()
    assert model.coef_[3] == 0.0
    nothing = AnchoredRidge([3]).fit(X, y)  # an anchor that never varies says nothing
    assert not nothing.coef_.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"anchor": [4]}, "`anchor` must be columns of `X`, from 0 to 3"),
        ({"anchor": []}, "`anchor` must be columns"),
        ({"anchor": ["sharpe_90"]}, "`anchor` must be columns"),
        ({"penalties": (0.0,)}, "`penalties` must be positive"),
        ({"penalties": (np.nan,)}, "`penalties` must be positive"),
        ({"evidence": -1.0}, "`evidence` must not be negative"),
        ({"evidence": np.nan}, "`evidence` must not be negative"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X, y, periods = draw([0.0, 1.0, -1.0, 0.0], n_periods=3)
    with pytest.raises(ValueError, match=message):
        AnchoredRidge(**parameters).fit(X, y, periods=periods)
