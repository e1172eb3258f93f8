"""The whole study against a slow one in loops; parallel, permuted, interrupted and resumed."""

import inspect
import re
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geodual.funds import DataError, Panel, StudyConfig, compute_factors
from geodual.funds import backtest as full_backtest
from geodual.metric import GMML, EuclideanMetric
from tests.funds.test_ledger import slow_ledger

backtest = partial(full_backtest, baselines=())  # nothing here is about baselines

TABLES = ("predictions", "ic", "holdings", "equity", "trades", "neighbors", "reasons", "universe")


def slow_scores(raw):
    """z-scores column by column in plain loops."""
    scores = np.zeros(raw.shape)
    for j in range(raw.shape[1]):
        known = [x for x in raw[:, j] if np.isfinite(x)]
        mean = sum(known) / len(known)
        spread = (sum((x - mean) ** 2 for x in known) / len(known)) ** 0.5
        for i, x in enumerate(raw[:, j]):
            if np.isfinite(x) and spread > 0.0:
                scores[i, j] = min(max((x - mean) / spread, -3.0), 3.0)
    return scores


def slow_return(nav, fund, start, end):
    """What a fund earned from one day to another, or to its last value in between; None without one."""
    values = nav[fund].loc[start:end].iloc[1:].dropna()
    return values.iloc[-1] / nav.at[start, fund] - 1.0 if len(values) else None


def slow_classes(returns, label):
    """Classes of the returns of some periods, by sign unless one class has less than 5 % of the funds."""
    rises = [r > 0.0 for period in returns for r in period]
    if label == "sign" and 0.05 <= np.mean(rises) <= 0.95:
        return rises
    return [r > np.median(period) for period in returns for r in period]


def slow_forecasts(estimator, training, today, k, neighbors):
    """Return the mean return of the nearest neighbors for each fund of today."""
    X, y, R, _, latest = training
    fitted = clone(estimator).fit(X, np.array(y, dtype=int))
    points = fitted.transform(np.array(list(today.values())))
    if neighbors == "train":
        regressor = KNeighborsRegressor(k, algorithm="kd_tree").fit(fitted.transform(X), R)
        return dict(zip(today, regressor.predict(points), strict=True))
    forecasts = {}
    for i, fund in enumerate(today):
        others = [j for j, other in enumerate(today) if other != fund and other in latest]
        others.sort(key=lambda j: np.linalg.norm(points[i] - points[j]))
        forecasts[fund] = np.mean([latest[list(today)[j]] for j in others[:k]])
    return forecasts


class SlowData:
    """Universes and returns in loops; made once for all studies of a panel at a frequency."""

    def __init__(self, nav, period):
        self.nav = nav
        self.ends = nav.index.to_series().groupby(nav.index.to_period(period)).max().tolist()
        factors = compute_factors(nav, dates=self.ends)
        self.universe = {day: self.scores(day, factors.loc[day]) for day in self.ends}
        self.earned = cache(partial(slow_return, nav))

    def scores(self, day, factors):
        nav, past = self.nav, self.nav.loc[:day]
        funds = [f for f in nav if np.isfinite(nav.at[day, f]) and past[f].count() >= 120]
        funds = [f for f in funds if past[f].dropna().iloc[-21:].nunique() > 1]  # still priced
        if not funds:
            return {}
        return dict(zip(funds, slow_scores(factors.loc[funds].to_numpy()), strict=True))


@pytest.fixture(scope="module")
def slow_data(rough_panel):
    return cache(partial(SlowData, rough_panel.nav))


def slow_predictions(data, estimator, k, label, neighbors, train_quarters):
    """The protocol in loops: one row per decision day and fund, with forecast and realized return."""
    ends, universe, rows = data.ends, data.universe, []
    for t in range(1, len(ends) - 1):
        X, returns, names = [], [], []
        for s in range(max(1, t - train_quarters + 1), t + 1):
            earned = {f: data.earned(f, ends[s - 1], ends[s]) for f in universe[ends[s - 1]]}
            earned = {f: r for f, r in earned.items() if r is not None}
            X += [universe[ends[s - 1]][f] for f in earned]
            returns.append(list(earned.values()))
            names += list(earned)
        if min(len(earned), len(universe[ends[t]])) < max(10, k + 1):
            continue
        if train_quarters > 1:  # several quarters are compared by the excess over each one's mean
            means = [np.mean(period) if period else 0.0 for period in returns]
            returns = [[r - mean for r in period] for period, mean in zip(returns, means, strict=True)]
            earned = {f: r - means[-1] for f, r in earned.items()}
        training = (np.array(X), slow_classes(returns, label), np.concatenate(returns), names, earned)
        forecasts = slow_forecasts(estimator, training, universe[ends[t]], k, neighbors)
        for fund, forecast in forecasts.items():
            earned = data.earned(fund, ends[t], ends[t + 1])
            rows.append((ends[t], fund, forecast, 0.0 if earned is None else earned))
    return pd.DataFrame(rows, columns=["date", "fund", "forecast", "realized"]).astype({"realized": float})


def slow_holdings(predictions, top, weights):
    """The best forecasts of each day, ties by name, with their weights."""
    chosen = {}
    for day, group in predictions.groupby("date"):
        ranked = sorted(zip(-group["forecast"], group["fund"], strict=True))[:top]
        sizes = [max(-minus, 0.0) if weights == "forecast" else 1.0 for minus, _ in ranked]
        sizes = sizes if sum(sizes) > 0.0 else [1.0] * len(ranked)
        chosen[day] = {f: size / sum(sizes) for (_, f), size in zip(ranked, sizes, strict=True)}
    return chosen


def slow_equity(nav, holdings, cost, lag):
    """The slow ledger of the tests of the ledger, for holdings by day."""
    targets = pd.DataFrame(holdings).T.reindex(columns=nav.columns).fillna(0.0)
    first = nav.index.get_loc(targets.index[0]) + lag
    return pd.Series(slow_ledger(nav, targets, cost, lag), index=nav.index[first:])


CASES = {
    "the paper": {},
    "median": {"label": "median", "k": 5},
    "current, three quarters": {"neighbors": "current", "train_quarters": 3, "k": 7},
    "weights, cost, lag": {"weights": "forecast", "cost": 0.0015, "execution_lag": 1, "top": 6},
    "monthly": {"frequency": "monthly", "cost": 0.01, "k": 3, "top": 3},
    "yearly": {"frequency": "yearly", "label": "median", "execution_lag": 2},
}


@pytest.mark.parametrize(
    "settings",
    [pytest.param(CASES[n], id=n) for n in CASES],
)
def test_a_study_is_what_slow_loops_make_of_the_protocol(rough_panel, slow_data, settings):
    estimators = {"euclidean": EuclideanMetric(), "gmml": GMML(reg=0.1)}
    study = backtest(rough_panel, metrics=estimators, **settings)
    full = vars(study.config)
    period = {"monthly": "M", "quarterly": "Q", "yearly": "Y"}[full["frequency"]]
    for name, estimator in estimators.items():
        asked = {key: full[key] for key in ("k", "label", "neighbors", "train_quarters")}
        expected = slow_predictions(slow_data(period), estimator, **asked)
        found = study.predictions[study.predictions["forecaster"] == name].drop(columns="forecaster")
        pd.testing.assert_frame_equal(
            found.reset_index(drop=True), expected, check_dtype=False, rtol=1e-9, atol=1e-12
        )
        for day, group in found.dropna().groupby("date"):
            ic = spearmanr(group["forecast"], group["realized"]).statistic
            assert study.ic.at[day, name] == pytest.approx(ic, abs=1e-12)
        chosen = slow_holdings(found, full["top"], full["weights"])
        held = study.holdings[study.holdings["forecaster"] == name]
        for day, weights in chosen.items():
            assert dict(held[held["date"] == day][["fund", "weight"]].to_numpy()) == pytest.approx(weights)
        curve = slow_equity(rough_panel.nav, chosen, full["cost"], full["execution_lag"])
        pd.testing.assert_series_equal(
            study.equity[name], curve, rtol=1e-9, check_names=False, check_freq=False
        )


def test_without_an_index_the_universe_stands_in(rough_panel):
    study = backtest(rough_panel, metrics="euclidean", cost=0.01)
    groups = study.predictions.groupby("date")["fund"]
    everyone = {day: dict.fromkeys(funds, 1.0 / len(funds)) for day, funds in groups}
    curve = slow_equity(rough_panel.nav, everyone, cost=0.0, lag=0)
    assert np.allclose(study.equity["index"], curve, rtol=1e-12)
    assert study.index_name == "equal-weight universe"


def test_an_index_is_taken_at_its_last_known_level(universe):
    levels = universe.index.drop(universe.index.index[300:305]).rename("CSI") * 3000.0
    study = backtest(universe.panel, levels, metrics="euclidean")
    days = study.equity.index
    expected = [levels[levels.index <= day].iloc[-1] for day in days]
    assert np.allclose(study.equity["index"], np.array(expected) / levels[days[0]], rtol=1e-14)
    assert study.index_name == "CSI"


def test_an_index_that_begins_too_late_is_refused(universe):
    message = "The index begins on 2013-01-10, after the first trade, on 2012-12-31"
    with pytest.raises(DataError, match=message):
        backtest(universe.panel, universe.index.loc["2013-01-10":], metrics="euclidean")
    late = universe.index.loc["2013-01-01":]
    with pytest.raises(DataError, match=f"begins on {late.index[0].date()}"):
        backtest(universe.panel, late, metrics="euclidean")
    lagged = backtest(universe.panel, late, metrics="euclidean", execution_lag=1)
    assert lagged.equity["index"].iloc[0] == 1.0


@pytest.mark.parametrize(
    "cut",
    [
        lambda levels: levels.iloc[:-6],
        lambda levels: levels.loc[:"2012-12-01"],
        lambda levels: levels.set_axis(levels.index - pd.Timedelta(days=4000)),
    ],
    ids=["six rows", "before the first trade", "before the data"],
)
def test_an_index_that_ends_too_early_is_refused_before_anything_is_learned(universe, cut):
    Counting.fits = 0
    levels = cut(universe.index)
    with pytest.raises(DataError, match=f"The index ends on {levels.index[-1].date()}, .* 2014-12-31"):
        backtest(universe.panel, levels, metrics={"mine": Counting()})
    assert Counting.fits == 0


def test_an_index_may_end_five_rows_early(universe):
    curve = backtest(universe.panel, universe.index.iloc[:-5], metrics="euclidean").equity["index"]
    assert (curve.iloc[-5:] == curve.iloc[-6]).all()


@pytest.mark.parametrize("n_rows", [20, 70, 200])
def test_too_few_days_are_refused_in_one_line(universe, n_rows):
    nav = universe.panel.nav.iloc[:n_rows]
    with pytest.raises(DataError, match=f"the table ends on {nav.index[-1].date()}") as error:
        backtest(Panel(nav), metrics="euclidean")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("frequency", ["monthly", "quarterly", "yearly"])
@pytest.mark.parametrize("n_rows", [80, 130, 140])
def test_a_short_table_says_how_much_more_it_needs(universe, n_rows, frequency):
    """With data to the day that the message names, there is a decision; one calendar interval less, none."""
    nav = universe.panel.nav
    with pytest.raises(DataError, match="give data to about") as error:
        backtest(Panel(nav.iloc[:n_rows]), metrics="euclidean", frequency=frequency)
    day, more = re.search(r"to about (\S+), (\d+) more trading days", str(error.value)).groups()
    assert int(more) == np.busday_count(nav.index[n_rows - 1].date(), day)
    enough = nav.loc[: pd.Timestamp(day) + pd.Timedelta(days=5)]  # holidays are not in the estimate
    assert len(backtest(Panel(enough), metrics="euclidean", frequency=frequency).ic)
    months = {"monthly": 1, "quarterly": 3, "yearly": 12}[frequency]
    short = nav.loc[: pd.Timestamp(day) - pd.DateOffset(months=months)]
    with pytest.raises(DataError, match="too early"):
        backtest(Panel(short), metrics="euclidean", frequency=frequency)


@pytest.mark.parametrize(("n_funds", "k", "enough"), [(10, 9, 10), (9, 3, 10), (11, 10, 11), (10, 10, 11)])
def test_it_takes_ten_funds_and_more_than_there_are_neighbors(universe, n_funds, k, enough):
    nav = universe.panel.nav.dropna(axis=1).iloc[:, :n_funds]
    if n_funds >= enough:
        assert len(backtest(Panel(nav), metrics="euclidean", k=k).ic) == 8
    else:
        told = f"at most {n_funds} funds have 120 values on a rebalance day, and a study needs {enough}"
        with pytest.raises(DataError, match=told):
            backtest(Panel(nav), metrics="euclidean", k=k)


def test_too_many_neighbors_are_told_by_name_with_the_largest_number_that_works(universe):
    nav = universe.panel.nav.dropna(axis=1)
    n = nav.shape[1]
    told = f"`k` = 70 neighbors need 71. Lower `k` to {n - 1} or give more funds"
    with pytest.raises(DataError, match=f"at most {n} funds have 120 values on a rebalance day, and {told}"):
        backtest(Panel(nav), metrics="euclidean", k=70)
    assert len(backtest(Panel(nav), metrics="euclidean", k=n - 1).ic)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_a_number_of_processes_that_is_none_is_refused(universe, n_jobs):
    with pytest.raises(
        DataError, match=r"`n_jobs` must be a whole number other than 0, got .*; use 1 for one process"
    ):
        backtest(universe.panel, metrics="euclidean", n_jobs=n_jobs)


@pytest.mark.parametrize("metrics", [5, 0.5])
def test_metrics_that_are_no_names_are_refused(universe, metrics):
    with pytest.raises(DataError, match="`metrics` must be names or a mapping to transformers, got"):
        backtest(universe.panel, metrics=metrics)


def test_the_signature_tells_the_settings_and_the_defaults_of_the_configuration():
    parameters = inspect.signature(full_backtest).parameters
    for name in ("k", "top", "label", "test_start", "cost", "execution_lag"):
        assert parameters[name].default == getattr(StudyConfig(), name)


def test_parallel_runs_give_the_same_bits(universe, study):
    settings = {"top": 5, "test_start": "2014-01-01"}
    again = backtest(universe.panel, universe.index, ("euclidean", "gmml", "rpdml"), n_jobs=2, **settings)
    for table in TABLES:
        pd.testing.assert_frame_equal(getattr(study, table), getattr(again, table), check_exact=True)


def test_permuted_funds_give_the_permuted_answer(universe):
    order = np.random.default_rng(0).permutation(50)
    metrics = ("euclidean", "mahalanobis", "gmml", "rpdml")
    one = backtest(universe.panel, metrics=metrics)
    other = backtest(Panel(universe.panel.nav.iloc[:, order]), metrics=metrics)
    for table in ("predictions", "holdings"):
        key = ["date", "forecaster", "fund"]
        both = [getattr(s, table).sort_values(key, ignore_index=True) for s in (one, other)]
        pd.testing.assert_frame_equal(*both, rtol=1e-9, atol=1e-12)
    assert np.allclose(one.equity, other.equity, rtol=1e-10)


@pytest.mark.parametrize(
    "metric",
    [
        StandardScaler(),
        PCA(5),
        make_pipeline(StandardScaler(), PCA(3)),
        NeighborhoodComponentsAnalysis(2, max_iter=5, random_state=0),
    ],
    ids=lambda metric: type(metric).__name__,
)
def test_any_transformer_is_a_metric(rough_panel, slow_data, metric):
    study = backtest(rough_panel, metrics={"mine": metric}, label="median")
    expected = slow_predictions(slow_data("Q"), metric, 10, "median", "train", 1)
    assert np.allclose(study.predictions["forecast"], expected["forecast"], rtol=1e-6)
    assert not hasattr(metric, "n_features_in_"), "the caller's transformer was fitted"


class Counting(TransformerMixin, BaseEstimator):
    """Euclidean distances; counts its fits."""

    fits = 0

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        type(self).fits += 1
        return self

    def transform(self, X):
        return self.scale * X


class InterruptedRunError(Exception):
    pass


@pytest.mark.parametrize("stop", [1, 11])
def test_an_interrupted_run_goes_on_where_it_stopped(universe, tmp_path, stop):
    def interrupt(done, total, last):
        if done == stop:
            raise InterruptedRunError

    metrics = {"a/b": Counting(), "two": Counting(2.0)}
    Counting.fits = 0
    arguments = {"metrics": metrics, "execution_lag": 1}
    whole = backtest(universe.panel, **arguments)
    total = Counting.fits
    assert total == 2 * len(whole.ic)
    Counting.fits = 0
    arguments["checkpoint_folder"] = tmp_path / "kept"
    with pytest.raises(InterruptedRunError):
        backtest(universe.panel, **arguments, progress=interrupt)
    assert Counting.fits <= stop + 1
    Counting.fits, told = 0, []
    resumed = backtest(universe.panel, **arguments, progress=lambda *news: told.append(news))
    assert Counting.fits == total - stop
    assert [news[:2] for news in told] == [(done, total) for done in range(stop + 1, total + 1)]
    for table in TABLES:
        assert getattr(whole, table).to_csv() == getattr(resumed, table).to_csv()


def test_progress_tells_of_every_decision(universe):
    told = []
    study = backtest(universe.panel, metrics=("euclidean", "gmml"), progress=lambda *news: told.append(news))
    expected = [f"{day.date()} {name}" for day in study.ic.index for name in ("euclidean", "gmml")]
    assert told == [(i + 1, len(expected), last) for i, last in enumerate(expected)]
