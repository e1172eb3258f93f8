"""Each kind of forecaster against scikit-learn or slow loops, and the laws that hold for all of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from geodual.funds import (
    DataError,
    EnsembleForecaster,
    FactorForecaster,
    Forecast,
    NeighborForecaster,
    RegressorForecaster,
)
from geodual.funds.config import StudyConfig
from geodual.funds.decisions.decision import decide
from geodual.funds.forecasters.learning import make_target
from geodual.funds.forecasters.make import Workshop
from geodual.metric import GMML, EuclideanMetric
from tests.funds.forecasters.cases import make_today, make_training

KINDS = {
    "paper": NeighborForecaster(GMML(reg=0.1), k=5),
    "pooled return": NeighborForecaster(GMML(reg=0.1), k=5, window="all"),
    "pooled ranks": NeighborForecaster(
        EuclideanMetric(), k="sqrt", weights="distance", target="rank", window="all", half_life=2.0
    ),
    "factor": FactorForecaster("signal"),
    "ridge": RegressorForecaster(Ridge(1.0), half_life=3.0),
    "excess": RegressorForecaster(LinearRegression(), target="return", window=2),
}
KINDS["ensemble"] = EnsembleForecaster({"ridge": KINDS["ridge"], "factor": KINDS["factor"]})


SEEN = []  # what the estimators below were fitted to


def values(forecaster, training, today):
    return decide("m", forecaster, training, today).forecast


@pytest.mark.parametrize("kind", KINDS)
def test_permuted_funds_give_permuted_forecasts(kind):
    training, today = make_training(), make_today()
    order = np.random.default_rng(2).permutation(len(today.funds))
    permuted = replace(
        today,
        funds=today.funds[order],
        features=today.features[order],
        factors={name: raw[order] for name, raw in today.factors.items()},
    )
    found, expected = values(KINDS[kind], training, permuted), values(KINDS[kind], training, today)[order]
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "paper"])
def test_the_level_of_the_market_never_changes_a_forecast_from_several_intervals(kind):
    training, today = make_training(), make_today()
    lifted = replace(training, returns=training.returns + np.where(training.age == 1, 0.3, -0.1))
    assert np.allclose(
        values(KINDS[kind], training, today), values(KINDS[kind], lifted, today), rtol=1e-10, atol=1e-13
    )


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_left_alone(kind):
    training, today = make_training(), make_today()
    before = [each.copy() for each in (training.features, training.returns, today.features)]
    values(KINDS[kind], training, today)
    for old, new in zip(before, (training.features, training.returns, today.features), strict=True):
        assert np.array_equal(old, new)


def test_a_factor_ranks_and_unknown_values_are_in_the_middle():
    today = make_today(n=5)
    raw = {"signal": np.array([0.3, np.nan, -1.0, 0.3, 2.0])}
    made = FactorForecaster("signal", -1).forecast(make_training(), replace(today, factors=raw))
    assert made.values.tolist() == [0.0, 0.0, 0.375, 0.0, -0.375]
    assert made.unit == "rank"


def test_ridge_is_that_of_scikit_learn_on_ranks_with_weights():
    training, today = make_training(), make_today()
    ranks = np.concatenate([(rankdata(training.returns[training.age == a]) - 10.5) / 20 for a in (2, 1, 0)])
    weights = 0.5 ** (training.age / 3.0)
    peer = Ridge(1.0).fit(training.features, ranks, sample_weight=weights)
    made = KINDS["ridge"].forecast(training, today)
    assert made.values == pytest.approx(peer.predict(today.features), rel=1e-12)
    assert made.unit == "rank"


def test_the_parts_of_a_linear_forecast_add_up_to_it():
    made = KINDS["ridge"].forecast(make_training(), make_today())
    rest = made.values - made.parts.sum(axis=1)
    assert np.allclose(rest, rest[0], atol=1e-12)
    assert made.part_names == ("roc_1", "roc_2", "roc_3", "roc_4")


def test_a_forecast_that_is_no_sum_has_no_parts():
    made = RegressorForecaster(DecisionTreeRegressor(random_state=0)).forecast(make_training(), make_today())
    assert made.parts.size == 0
    assert made.part_names == ()


def test_neighbors_weigh_by_distance_and_age_as_slow_loops_do():
    training, today = make_training(), make_today()
    forecaster = NeighborForecaster(
        EuclideanMetric(), k=7, weights="distance", target="excess", window=3, half_life=1.5
    )
    target = make_target(training, "excess")
    expected = []
    for x in today.features:
        distance = np.sqrt(((training.features - x) ** 2).sum(axis=1))
        nearest = np.argsort(distance)[:7]
        weight = 0.5 ** (training.age[nearest] / 1.5) / distance[nearest]
        expected.append((weight * target[nearest]).sum() / weight.sum())
    assert values(forecaster, training, today) == pytest.approx(expected, rel=1e-10)


def test_uniform_neighbors_are_those_of_scikit_learn_and_k_can_be_a_rule():
    training, today = make_training(), make_today()
    peer = KNeighborsRegressor(8).fit(training.features, make_target(training, "rank"))
    forecaster = NeighborForecaster(EuclideanMetric(), k="sqrt", target="rank", window="all")
    assert values(forecaster, training, today) == pytest.approx(peer.predict(today.features), rel=1e-12)


def test_only_candidates_at_the_same_place_count_if_there_are_any():
    training = make_training(n_intervals=1)
    today = replace(make_today(n=20), features=training.features.copy())
    forecaster = NeighborForecaster(EuclideanMetric(), k=4, weights="distance")
    assert values(forecaster, training, today) == pytest.approx(training.returns)


class ByValue(RegressorMixin, TransformerMixin, BaseEstimator):
    """A metric that is a regressor by its tags: it remembers what it learned from."""

    def fit(self, X, y):
        SEEN.append(np.array(y))
        return self

    def transform(self, X):
        return np.asarray(X)

    def predict(self, X):
        return np.zeros(len(X))


def test_a_metric_that_is_a_regressor_learns_from_the_target_itself():
    training = make_training()
    made = NeighborForecaster(ByValue(), target="rank", window="all").forecast(training, make_today())
    assert np.array_equal(SEEN[-1], make_target(training, "rank"))
    assert made.label == "none"


class ByPeriod(RegressorMixin, BaseEstimator):
    """A regressor that asks for the interval of each row."""

    def fit(self, X, y, sample_weight=None, periods=None):
        SEEN.append((sample_weight, periods))
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_an_estimator_that_asks_for_intervals_gets_their_numbers_oldest_first():
    training = make_training()
    RegressorForecaster(ByPeriod(), window=2).forecast(training, make_today())
    weights, periods = SEEN[-1]
    assert weights is None
    assert periods.tolist() == [0] * 20 + [1] * 20


def test_an_ensemble_of_one_ranks_as_its_member_does():
    training, today = make_training(), make_today()
    alone = values(KINDS["ridge"], training, today)
    one = values(EnsembleForecaster({"ridge": KINDS["ridge"]}), training, today)
    assert spearmanr(alone, one).statistic == pytest.approx(1.0)
    assert one == pytest.approx((rankdata(alone) - 8.0) / 15)


def test_an_ensemble_is_the_mean_rank_of_its_members():
    training, today = make_training(), make_today()
    parts = [rankdata(values(KINDS[kind], training, today)) for kind in ("ridge", "factor")]
    decision = decide("m", KINDS["ensemble"], training, today)
    assert decision.forecast == pytest.approx((sum(parts) / 2 - 8.0) / 15)
    assert decision.unit == "rank"
    assert set(decision.part_names.ravel()) == {"ridge", "factor"}
    assert (KINDS["ensemble"].window, KINDS["ensemble"].factors) == ("all", ("signal",))


def test_planted_linear_skill_is_found_by_ridge_and_not_by_a_single_factor():
    slope = [0.5, -0.5, 0.5, -0.5]
    training, today = make_training(n=60, n_intervals=8, slope=slope, noise=3.0), make_today(n=200)
    truth = today.features @ slope
    found = spearmanr(values(RegressorForecaster(Ridge(10.0)), training, today), truth).statistic
    alone = spearmanr(values(FactorForecaster("signal"), training, today), truth).statistic
    assert found > 0.8
    assert abs(alone) < 0.25


class Own:
    """A forecaster of one's own, with nothing but the method."""

    def __init__(self, answer):
        self.answer = answer

    def forecast(self, training, today):
        return Forecast(self.answer(training, today))


def test_plain_numbers_will_do():
    class Plain:
        def forecast(self, training, today):
            return list(today.features[:, 1])

    today = make_today()
    assert np.array_equal(values(Plain(), make_training(), today), today.features[:, 1])


def test_a_forecaster_of_ones_own_needs_one_method_only():
    training, today = make_training(), make_today()
    decision = decide("mine", Own(lambda past, now: now.features[:, 0] + past.n_intervals), training, today)
    assert np.array_equal(decision.forecast, today.features[:, 0] + 3)
    assert (decision.label, decision.unit, decision.nearest.size, decision.parts.size) == (
        "none",
        "return",
        0,
        0,
    )


def test_an_unknown_unit_is_refused():
    class Scores:
        def forecast(self, training, today):
            return Forecast(today.features[:, 0], unit="score")

    with pytest.raises(DataError, match="`unit` must be one of return, excess, rank, got 'score'"):
        decide("mine", Scores(), make_training(), make_today())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda past, now: np.zeros(3), "one finite number per fund, 15 on 2016-12-30, got 3 values"),
        (lambda past, now: np.full(15, np.nan), "got a value that is not finite"),
        (lambda past, now: np.zeros((15, 1)), "got 15 values"),
    ],
)
def test_forecasts_that_are_not_one_number_per_fund_are_refused(answer, message):
    with pytest.raises(DataError, match=message):
        decide("mine", Own(answer), make_training(), make_today())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NeighborForecaster(Ridge()), "`metric` must be a scikit-learn transformer"),
        (lambda: NeighborForecaster(EuclideanMetric(), k=0), "`k` must be a number of neighbors or 'sqrt'"),
        (lambda: NeighborForecaster(EuclideanMetric(), weights="age"), "`weights` must be one of uniform"),
        (lambda: RegressorForecaster(EuclideanMetric()), "`estimator` must be a scikit-learn regressor"),
        (lambda: FactorForecaster("roc_10", sign=0), "`sign` must be 1 or -1, got 0"),
        (lambda: FactorForecaster(""), "`factor` must be the name of a factor"),
        (lambda: EnsembleForecaster({}), "`members` must be one or more forecasters by name"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(DataError, match=message):
        make()


class Plain:
    """A forecaster of one's own that returns plain numbers."""

    def __init__(self, values, window=1):
        self.values, self.window = values, window

    def forecast(self, training, today):
        return [self.values[at % len(self.values)] for at in range(len(today.funds))]


def test_a_member_of_an_ensemble_may_return_plain_numbers_but_no_gaps():
    training, today = make_training(), make_today()
    ramp = list(np.linspace(0.0, 1.0, len(today.funds)))
    found = decide("mixed", EnsembleForecaster({"one": Plain(ramp), "same": Plain(ramp)}), training, today)
    assert found.forecast == pytest.approx((rankdata(ramp) - (len(ramp) + 1) / 2) / len(ramp))
    with pytest.raises(DataError, match="'holes' must return one finite number per fund"):
        decide("mixed", EnsembleForecaster({"holes": Plain([0.1, np.nan])}), training, today)


@pytest.mark.parametrize("window", [2.5, 0, "x", True])
def test_the_window_of_ones_own_forecaster_is_checked(window):
    with pytest.raises(DataError, match="`window` must be a number of past intervals or 'all'"):
        decide("own", Plain([0.0], window), make_training(), make_today())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"members": 5}, "the members of 'x' must be a list of names, got 5"),
        ({"like": 3}, "`like` of 'x' must be the name of a forecaster, got 3"),
        (lambda n_funds: None, "needs a value for 'n_funds'"),
    ],
)
def test_what_makes_no_forecaster_is_told(given, message):
    with pytest.raises(DataError, match=message):
        Workshop(StudyConfig()).wrap("x", given)
