"""What is known at each rebalance day: returns of periods that are over, and classes to learn from."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Panel, backtest
from geodual.funds.calendar import rebalance_days
from geodual.funds.decisions.observations import Observations
from geodual.funds.factors.factor import choose_factors
from geodual.funds.forecasters.learning import make_classes


def make_nav(growth, n_funds=20, start="2019-01-01", seed=0):
    """NAVs that grow by growth[quarter][fund] in each quarter, with noise that ends at zero."""
    days = pd.bdate_range(start, periods=len(growth) * 66, name="date")
    days = days[days.to_period("Q") < days.to_period("Q")[0] + len(growth)]
    log, level = pd.DataFrame(index=days, columns=range(n_funds), dtype=float), np.zeros(n_funds)
    rng = np.random.default_rng(seed)
    for rise, (_, rows) in zip(growth, log.groupby(days.to_period("Q")), strict=True):
        path = np.linspace(0.0, 1.0, len(rows) + 1)[1:, None]
        bridge = path * (1.0 - path) * rng.standard_normal((len(rows), n_funds)) * 0.05
        log.loc[rows.index] = level + path * np.log1p(rise) + bridge
        level = level + np.log1p(rise) * np.ones(n_funds)
    log.columns = pd.Index([f"F{j:02d}" for j in range(n_funds)], name="fund")
    return np.exp(log)


def observe(nav):
    return Observations(Panel(nav), rebalance_days(pd.DatetimeIndex(nav.index)), choose_factors())


@pytest.fixture
def nav():
    """Six quarters; the funds of a quarter earn −9 %, −8 %, … 10 %."""
    return make_nav([np.linspace(-0.09, 0.1, 20) + 0.001 * q for q in range(6)])


def test_returns_are_those_of_the_period_that_ends(nav):
    observations = observe(nav)
    assert np.allclose(observations.returns(3), np.linspace(-0.09, 0.1, 20) + 0.003, atol=1e-12)
    assert observations.returns(3).index.tolist() == nav.columns.tolist()


def test_a_fund_that_closes_within_a_quarter_earned_what_its_last_value_says(nav):
    ends = rebalance_days(nav.index)
    last = nav.index[nav.index.get_loc(ends[3]) + 20]
    nav.loc[nav.index > last, "F05"] = np.nan
    observations = observe(nav)
    expected = nav.at[last, "F05"] / nav.at[ends[3], "F05"] - 1.0
    assert observations.returns(4)["F05"] == expected
    training = observations.training(4)
    assert training.returns[training.funds == "F05"] == expected
    assert "F05" not in observations.sections[4].funds
    assert "F05" not in observations.returns(5).index
    study = backtest(Panel(nav), metrics="euclidean", k=3, top=3)
    rows = study.predictions[study.predictions["fund"] == "F05"].set_index("date")["realized"]
    assert rows.index[-1] == ends[3]
    assert rows.iloc[-1] == expected


def test_a_fund_that_closes_on_a_quarter_end_teaches_nothing_of_the_next(nav):
    ends = rebalance_days(nav.index)
    nav.loc[nav.index > ends[3], "F05"] = np.nan
    observations = observe(nav)
    assert "F05" in observations.sections[3].funds
    assert observations.returns(4)["F05"] == 0.0, "whoever held it got its last value"
    assert not observations.seen(4)["F05"]
    assert "F05" not in observations.training(4).funds
    assert "F05" in observations.training(3).funds


def test_a_hole_on_a_quarter_end(nav):
    ends = rebalance_days(nav.index)
    row = nav.index.get_loc(ends[3])
    nav.iloc[row - 1 : row + 3, 5] = np.nan
    observations = observe(nav)
    assert observations.returns(3)["F05"] == nav.iat[row - 2, 5] / nav.at[ends[2], "F05"] - 1.0
    assert "F05" not in observations.sections[3].funds, "it cannot be bought on that day"
    assert "F05" not in observations.returns(4).index
    assert "F05" in observations.sections[4].funds


def test_a_late_fund_teaches_from_the_first_quarter_that_it_can_be_bought_in(nav):
    ends = rebalance_days(nav.index)
    born = nav.index.get_loc(ends[3]) - 118
    nav.iloc[:born, 7] = np.nan
    assert "F07" not in observe(nav).sections[3].funds
    nav.iloc[born - 1, 7] = 1.0
    observations = observe(nav)
    assert "F07" in observations.sections[3].funds
    assert "F07" not in observations.training(3).funds
    assert "F07" in observations.training(4).funds


def test_training_sets_of_several_quarters_stand_one_below_the_other(nav):
    observations = observe(nav)
    three = observations.training(5, 3)
    singles = [observations.training(t) for t in (3, 4, 5)]
    assert np.array_equal(three.features, np.vstack([single.features for single in singles]))
    assert np.array_equal(three.returns, np.concatenate([single.returns for single in singles]))
    assert three.funds.tolist() == [fund for single in singles for fund in single.funds]
    for t, single in zip((3, 4, 5), singles, strict=True):
        assert np.array_equal(single.features, observations.sections[t - 1].features)
    everything = observations.training(5, 100)
    assert len(everything.returns) == 20 * 4, "the first quarter end has no fund with 120 values"


def test_classes_are_signs_or_sides_of_the_median(nav):
    observations = observe(nav)
    training = observations.training(4)
    (used, by_sign), (also, by_median) = (
        make_classes(training, training.returns, label) for label in ("sign", "median")
    )
    assert (used, also) == ("sign", "median")
    assert by_sign.tolist() == [0] * 9 + [1] * 11
    assert by_median.tolist() == [0] * 10 + [1] * 10


def test_the_median_is_that_of_each_quarter():
    nav = make_nav([np.linspace(-0.09, 0.1, 20) + 0.5 * (q % 2) for q in range(6)])
    training = observe(nav).training(5, 2)
    assert make_classes(training, training.returns, "median")[1].tolist() == ([0] * 10 + [1] * 10) * 2


@pytest.mark.parametrize(("n_losers", "label"), [(0, "median"), (1, "sign"), (19, "sign"), (20, "median")])
def test_a_class_of_less_than_five_per_cent_is_too_small(n_losers, label):
    rise = np.where(np.arange(20) < n_losers, -0.05, 0.05) + 0.001 * np.arange(20)
    training = observe(make_nav([rise] * 5)).training(4)
    used, classes = make_classes(training, training.returns, "sign")
    assert used == label
    assert 0 < classes.sum() < 20


def test_the_study_says_when_the_median_was_used():
    mixed = np.linspace(-0.05, 0.06, 20)
    nav = make_nav([mixed, mixed, mixed, mixed + 0.2, mixed, mixed])
    study = backtest(Panel(nav), metrics=("euclidean", "gmml"), k=3)
    risen = rebalance_days(nav.index)[3]
    assert study.universe.set_index("date")["label"].to_dict() == {
        day: "median" if day == risen else "sign" for day in study.ic.index
    }
    (remark,) = [note for note in study.notes if "median" in note]
    assert str(risen.date()) in remark
    assert "median" in remark
    asked = backtest(Panel(nav), metrics="euclidean", k=3, label="median")
    assert not any("median" in note for note in asked.notes)


def test_returns_that_are_all_equal_have_no_classes():
    nav = make_nav([np.zeros(20)] * 5)
    nav.loc[rebalance_days(nav.index)] = 1.0
    study = backtest(Panel(nav), metrics="euclidean", k=3, top=2)
    assert study.ic.isna().all(axis=None), "a constant has no rank correlation"
    assert study.holdings["fund"].unique().tolist() == ["F00", "F01"]
    for metric in ("gmml", "rpdml", "itml", "lmnn"):
        with pytest.raises(DataError, match=f"'{metric}' could not be fitted on 20.*two classes"):
            backtest(Panel(nav), metrics=metric, k=3)


def test_excess_over_the_own_type_or_over_the_other_funds_if_it_is_rare_or_unknown(nav):
    types = dict(zip(nav.columns, ["bond"] * 10 + ["rare"] * 4, strict=False))
    days, factors = rebalance_days(pd.DatetimeIndex(nav.index)), choose_factors()
    plain = Observations(Panel(nav), days, factors).training(3).returns
    training = Observations(Panel(nav), days, factors, types=types).training(3)
    means = np.where(np.arange(20) < 10, plain[:10].mean(), plain[10:].mean())
    np.testing.assert_allclose(training.returns, plain - means, atol=1e-15)
    assert training.groups.tolist() == ["bond"] * 10 + ["other"] * 10


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf])
def test_values_that_are_no_prices_are_refused(value):
    nav = pd.DataFrame({"A": [1.0, value], "B": [1.0, 1.1]}, index=pd.bdate_range("2020-01-01", periods=2))
    with pytest.raises(DataError, match="NAVs must be positive and finite"):
        backtest(Panel(nav), metrics="euclidean")
