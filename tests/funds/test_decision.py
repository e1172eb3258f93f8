"""One decision, by hand: neighbors, forecasts, picks and reasons."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import SparseRandomProjection

from geodual.funds import DataError, Forecast, NeighborForecaster, StudyConfig, Today, Training
from geodual.funds.decisions.decision import decide
from geodual.funds.decisions.picking import explain
from geodual.funds.evaluation.result_tables import reasons_table
from geodual.funds.forecasters.make import resolve_metrics
from geodual.metric import GMML, RPDML, EuclideanMetric, MahalanobisMetric

DAY = pd.Timestamp("2016-12-30")


def names(count, prefix="F"):
    return pd.Index([f"{prefix}{j:02d}" for j in range(count)], name="fund", dtype=str)


def training_set(features, returns, funds=None):
    returns = np.array(returns, dtype=float)
    funds = names(len(returns), "T") if funds is None else pd.Index(funds, name="fund", dtype=str)
    return Training(np.array(features, dtype=float), returns, np.zeros(len(returns), dtype=int), funds)


def today_of(features, funds=None):
    funds = names(len(features)) if funds is None else pd.Index(funds, name="fund", dtype=str)
    return Today(DAY, funds, np.array(features, dtype=float), np.ones(len(funds)))


class Made:
    """A decision with its picks, the best `top` funds, as one object."""

    def __init__(self, decision, picks, rows):
        self.decision, self.explained, self.rows = decision, picks, rows

    def __getattr__(self, name):
        return getattr(self.decision if name in ("forecast", "notes", "label") else self.explained, name)


def make(training, today, estimator=None, **settings):
    top = settings.pop("top", 10)
    forecaster = NeighborForecaster(estimator or EuclideanMetric(), **settings)
    decision = decide("m", forecaster, training, today)
    rows = decision.ranking[:top]
    return Made(decision, explain(decision, rows, forecaster, training, today), rows)


def random_case(seed=0, n=40, d=6):
    rng = np.random.default_rng(seed)
    training = training_set(rng.standard_normal((n, d)), 0.1 * rng.standard_normal(n))
    return training, today_of(rng.standard_normal((n // 2, d)))


def test_a_line_by_hand():
    training = training_set([[0.0], [1.0], [10.0], [11.0]], [0.1, 0.3, -0.2, 0.0])
    made = make(training, today_of([[0.4], [10.9], [5.4]]), k=2, top=2)
    assert made.forecast == pytest.approx([0.2, -0.1, 0.05])
    assert made.funds.tolist() == ["F00", "F02"]
    assert made.neighbors.tolist() == [["T00", "T01"], ["T01", "T02"]]
    assert made.distances == pytest.approx(np.array([[0.4, 0.6], [4.4, 4.6]]))
    assert made.returns == pytest.approx(np.array([[0.1, 0.3], [0.3, -0.2]]))
    assert (made.day, made.forecaster, made.label, made.notes) == (DAY, "m", "sign", ())


def test_ties_go_to_the_first_name():
    training = training_set([[0.0]] * 3, [0.1, 0.1, 0.1])
    made = make(training, today_of([[1.0]] * 4, ["D", "B", "C", "A"]), k=3, top=3)
    assert made.funds.tolist() == ["A", "B", "C"]


def test_funds_with_the_same_neighbors_have_the_same_forecast():
    rng = np.random.default_rng(0)
    training = training_set(rng.standard_normal((10, 2)), 0.1 * rng.standard_normal(10))
    made = make(training, today_of(rng.standard_normal((50, 2))), k=10)
    assert len(set(made.forecast)) == 1


def test_current_neighbors_leave_the_fund_out():
    funds = ["A", "B", "C", "D"]
    training = training_set(np.zeros((4, 1)), [0.1, 0.2, 0.4, 0.8], funds)
    made = make(training, today_of([[0.0], [1.0], [3.0], [3.1]], funds), k=2, top=4, neighbors="current")
    assert made.forecast == pytest.approx([0.3, 0.25, 0.5, 0.3])


def test_current_neighbors_of_funds_that_are_alike():
    funds = list("ABCDEFGH")
    training = training_set(np.zeros((8, 1)), np.arange(1.0, 9.0), funds)
    made = make(training, today_of(np.ones((8, 1)), funds), k=2, top=8, neighbors="current")
    assert made.neighbors.shape == (8, 2)
    for fund, neighbors in zip(made.funds, made.neighbors, strict=True):
        assert fund not in neighbors


def test_a_fund_without_a_return_is_forecast_but_is_no_neighbor():
    training = training_set(np.zeros((3, 1)), [0.1, 0.2, 0.4], ["A", "B", "gone"])
    today = today_of([[0.0], [1.0], [1.1]], ["A", "B", "new"])
    made = make(training, today, k=1, top=3, neighbors="current")
    assert made.forecast == pytest.approx([0.2, 0.1, 0.2])


def test_more_picks_and_neighbors_than_funds():
    made = make(training_set([[0.0], [1.0]], [0.1, 0.3]), today_of([[0.0], [1.0]]), k=9, top=9)
    assert made.forecast == pytest.approx([0.2, 0.2])
    assert len(made.funds) == 2


def slow_shares(metric, training, today, made):
    """Shares of the squared distance, with W taken from what the transformer does to unit vectors."""
    fitted = metric.fit(training.features, (training.returns > 0.0).astype(int))
    d = today.features.shape[1]
    A = fitted.transform(np.eye(d)) - fitted.transform(np.zeros((1, d)))
    W = A @ A.T
    near, apart = [], []
    for pick, funds in zip(made.rows, made.neighbors, strict=True):
        x = today.features[pick]
        V = [training.features[training.funds.get_loc(fund)] - x for fund in funds]
        for v, distance in zip(V, made.distances[len(near)], strict=True):
            assert v @ W @ v == pytest.approx(distance**2, rel=1e-8)
        to_all = np.mean([(c - x) * (W @ (c - x)) for c in training.features], axis=0)
        near.append(to_all - np.mean([v * (W @ v) for v in V], axis=0))
        apart.append(x * (W @ x))
    return tuple(np.array([part / sum(map(abs, part)) for part in parts]) for parts in (near, apart))


@pytest.mark.parametrize(
    "metric",
    [
        EuclideanMetric(),
        GMML(reg=0.1),
        RPDML(),
        PCA(3),
        NeighborhoodComponentsAnalysis(2, max_iter=20, random_state=0),
        PCA(3, whiten=True),
        FactorAnalysis(3),
        SparseRandomProjection(3, random_state=0, dense_output=True),
        StandardScaler(),
        make_pipeline(StandardScaler(), PCA(3)),
    ],
    ids=str,
)
def test_reasons_are_right_or_absent(metric):
    training, today = random_case()
    made = make(training, today, metric, k=5, top=4)
    expected = slow_shares(metric, training, today, made)
    for found, right in zip((made.near, made.apart), expected, strict=True):
        if np.isfinite(found).all():
            assert np.allclose(found, right, rtol=1e-7, atol=1e-9)
            assert np.allclose(np.abs(found).sum(axis=1), 1.0)
        else:
            assert np.isnan(found).all()
            assert not isinstance(metric, EuclideanMetric | GMML | RPDML)


def test_what_made_neighbors_near_is_where_they_agree():
    """In the first factor they are as far from the pick as all are, in the second they agree with it."""
    agree, differ = np.full(3, 2.0), np.linspace(-3.0, 3.0, 9)
    neighbors = np.column_stack([np.linspace(-2.0, 2.0, 3), agree])
    others = np.column_stack([differ, differ - 8.0])
    training = training_set(np.vstack([neighbors, others]), [0.3] * 3 + [-0.1] * 9)
    made = make(training, today_of([[0.0, 2.0], [0.0, -8.0]]), k=3, top=1)
    assert sorted(made.neighbors[0]) == ["T00", "T01", "T02"]
    ((first, second),) = made.near
    assert second > 0.9
    assert second > first
    table = reasons_table([made], ["differs", "agrees"])
    assert table[table["view"] == "near"]["factor"].tolist() == ["agrees", "differs"]


def test_a_factor_in_which_neighbors_differ_more_has_a_negative_share_and_comes_last():
    training = training_set([[-2.0, 0.0], [2.0, 0.0], *[[0.1, 9.0]] * 6], [0.2, 0.2, *[-0.1] * 6])
    made = make(training, today_of([[0.0, 0.0]]), k=2, top=1)
    to_all, to_neighbors = (np.array([8.06, 486.0]) / 8, np.array([4.0, 0.0]))
    expected = to_all - to_neighbors
    assert made.near[0] == pytest.approx(expected / np.abs(expected).sum())
    assert made.near[0, 0] < 0.0
    table = reasons_table([made], ["more", "less"])
    assert table[table["view"] == "near"]["factor"].tolist() == ["less", "more"]


def test_shares_stay_within_one_for_correlated_factors():
    rng = np.random.default_rng(2)
    common = rng.standard_normal((60, 1))
    training = training_set(common + 1e-3 * rng.standard_normal((60, 5)), rng.standard_normal(60))
    today = today_of(common[:20] + 1e-3 * rng.standard_normal((20, 5)))
    made = make(training, today, MahalanobisMetric(), k=5, top=5)
    assert (made.apart < 0.0).any()
    for shares in (made.near, made.apart):
        assert np.abs(shares).sum(axis=1) == pytest.approx(1.0)


def test_nothing_made_them_near_if_all_are_neighbors():
    training, today = random_case()
    made = make(training, today, k=40, top=3)
    assert np.array_equal(made.near, np.zeros((3, 6)))


class Squares(TransformerMixin, BaseEstimator):
    """Not linear, and it warns."""

    def fit(self, X, y):
        for text in ("odd", "odd", "strange"):
            warnings.warn(text, UserWarning, stacklevel=2)
        return self

    def transform(self, X):
        return X**2


def test_warnings_of_a_metric_become_remarks():
    made = make(*random_case(), Squares(), k=3)
    assert made.notes == ("odd", "strange")
    assert np.isnan(made.near).all()
    assert np.isnan(made.apart).all()


def test_a_metric_that_cannot_be_fitted_is_named():
    training, today = random_case()
    alike = training_set(training.features, np.ones(40))
    with pytest.raises(
        DataError,
        match=r"The forecaster 'm' could not be fitted on 2016-12-30: GMML needs .*[^.]\. Leave it out",
    ):
        make(alike, today, GMML())


def test_an_estimator_that_does_not_transform_is_refused():
    with pytest.raises(DataError, match="'m'"):
        resolve_metrics({"m": LogisticRegression()}, StudyConfig())


def test_the_estimator_and_the_inputs_are_left_alone():
    training, today = random_case()
    before = training.features.copy(), today.features.copy()
    metric = PCA(2)
    make(training, today, metric)
    assert not hasattr(metric, "components_")
    assert np.array_equal(before[0], training.features)
    assert np.array_equal(before[1], today.features)


def test_the_largest_parts_of_a_forecast_are_kept_as_shares():
    class Sum:
        def forecast(self, training, today):
            parts = np.array([[1.0, -2.0, 3.0, 0.5, 4.0, 2.5, 7.0], np.zeros(7)])
            return Forecast(parts.sum(axis=1), parts=parts, part_names=tuple("abcdefg"))

    training, today = training_set(np.zeros((3, 1)), np.zeros(3)), today_of(np.zeros((2, 1)))
    made = decide("sum", Sum(), training, today)
    assert made.part_names[0].tolist() == list("gecfa")
    np.testing.assert_allclose(made.parts[0], np.array([7.0, 4.0, 3.0, 2.5, 1.0]) / 20.0)
    np.testing.assert_array_equal(made.parts[1], 0.0)
