"""The risk-free rate: read, turned into returns, and used in every ratio that it belongs to."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, StudyConfig, backtest, read_study
from geodual.funds.evaluation import performance
from geodual.funds.evaluation.overfitting import deflate_sharpe
from geodual.funds.evaluation.risk_free import rate_of_table, rate_table, row_rates, take_risk_free

DAYS = pd.bdate_range("2015-01-01", "2016-12-30", name="date")


@pytest.fixture
def curve():
    rng = np.random.default_rng(0)
    return pd.Series((1.0 + 0.0005 + 0.01 * rng.standard_normal(len(DAYS))).cumprod(), DAYS)


def test_a_rate_earns_itself_in_a_year():
    assert np.prod(1.0 + row_rates(DAYS, 0.06)) == pytest.approx(1.06 ** ((DAYS[-1] - DAYS[0]).days / 365.25))
    np.testing.assert_array_equal(row_rates(DAYS, 0.0), 0.0)


def test_rates_by_day_hold_until_the_next():
    rates = pd.Series([0.02, 0.05], pd.to_datetime(["2014-01-01", "2016-01-01"]))
    found = row_rates(DAYS, rates)
    change = DAYS.searchsorted(pd.Timestamp("2016-01-01"))
    np.testing.assert_allclose(found[:change], row_rates(DAYS, 0.02)[:change])
    np.testing.assert_allclose(found[change:], row_rates(DAYS, 0.05)[change:])
    with pytest.raises(DataError, match="the first rate is of 2016-01-01, after 2015-01-01"):
        row_rates(DAYS, rates.iloc[1:])


def test_ratios_are_measured_beyond_it(curve):
    excess = performance.row_returns(curve) - row_rates(DAYS, 0.03)
    root = np.sqrt(performance.rows_per_year(DAYS))
    assert performance.sharpe(curve, 0.03) == pytest.approx(excess.mean() / excess.std(ddof=1) * root)
    loss = np.sqrt(np.mean(np.minimum(excess, 0.0) ** 2))
    assert performance.sortino(curve, 0.03) == pytest.approx(excess.mean() / loss * root)
    rolled = performance.roll_sharpe(curve.to_frame("A"), 0.03)["A"]
    window = curve.loc[curve.index <= DAYS[-1]].iloc[
        curve.index.searchsorted(DAYS[-1] - performance.WINDOW, "right") - 1 :
    ]
    assert rolled.iloc[-1] == pytest.approx(performance.sharpe(window, 0.03))
    assert deflate_sharpe(curve.to_frame("A"), 1, 0.03).at["A", "sharpe"] == pytest.approx(
        performance.sharpe(curve, 0.03)
    )


def test_alpha_of_a_mix_with_cash_is_zero(curve):
    """Half index, half cash at the risk-free rate: beta ½ and no alpha; without the rate there seems one."""
    cash = row_rates(DAYS, 0.04)
    mixed = 0.5 * performance.row_returns(curve) + 0.5 * cash
    own = pd.Series(np.append(1.0, (1.0 + mixed).cumprod()), DAYS)
    assert performance.alpha_beta(own, curve, 0.04) == pytest.approx((0.0, 0.5), abs=1e-12)
    assert performance.alpha_beta(own, curve)[0] == pytest.approx(0.02, abs=1e-3)
    assert performance.compare(own, curve, 0.04)["information_ratio"] == performance.information_ratio(
        own, curve
    )


def test_curves_that_do_not_move_have_no_ratio():
    flat = pd.Series(1.0, DAYS)
    assert np.isnan(performance.sharpe(flat, 0.03))
    assert np.isnan(performance.roll_sharpe(flat.to_frame("A"), 0.03)).all(axis=None)
    assert np.isnan(performance.alpha_beta(flat, flat, 0.03)).all()


@pytest.mark.parametrize(
    ("given", "kept"), [(0.06, 0.06), ("0.06", 0.06), (0, 0.0), ("rates.csv", "rates.csv")]
)
def test_the_setting_is_a_number_or_a_path(given, kept):
    assert StudyConfig(risk_free=given).risk_free == kept


@pytest.mark.parametrize("given", [6, "6", True, None, float("nan"), "", [0.06], -0.5])
def test_a_bad_rate_is_named(given):
    with pytest.raises(DataError, match=r"^`risk_free` must be .*got .*; write 6 % as 0\.06\.$"):
        StudyConfig(risk_free=given)


def test_rates_are_read_from_tables(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("date;rate\n2015-02-01;-0,001\n2014-02-01;0,02\n2015-03-01;\n", "utf-8")
    assert take_risk_free(path).to_dict() == {
        pd.Timestamp("2014-02-01"): 0.02,
        pd.Timestamp("2015-02-01"): -0.001,
    }
    for text, told in (
        ("date,a,b\n2015-01-01,0.01,0.02\n", "there are 2 columns"),
        ("date,a\n2015-01-01,2.5\n", "write 6 % as 0.06"),
        ("date,a\n2015-01-01,high\n", "not a number"),
        ("date,a\n2015-01-01,\n", "no number at all"),
        ("date,a,a\n2015-01-01,0.1,0.1\n", "two columns are named 'a'"),
        ("date,a\n2015-01-01,0.1\n2015-01-01,0.2\n", "the day 2015-01-01 is also in"),
    ):
        path.write_text(text, "utf-8")
        with pytest.raises(DataError, match=told):
            take_risk_free(path)
    with pytest.raises(DataError, match="no such file"):
        take_risk_free(tmp_path / "none.csv")


def test_a_rate_survives_as_a_table():
    rates = pd.Series([0.02], pd.to_datetime(["2014-01-01"]))
    assert rate_of_table(rate_table(0.0, DAYS[0])) == 0.0
    for given in (0.03, rates):
        back = rate_of_table(rate_table(given, DAYS[0]))
        np.testing.assert_array_equal(row_rates(DAYS, back), row_rates(DAYS, given))


@pytest.mark.usefixtures("blank_figures")
def test_all_ratios_of_a_study_use_it_and_the_run_folder_keeps_it(universe, plain_study, tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("date,rate\n2011-01-01,0.05\n", "utf-8")
    by_file = backtest(universe.panel, metrics="euclidean", risk_free=str(path))
    by_number = backtest(universe.panel, metrics="euclidean", risk_free=0.05)
    both = pd.IndexSlice["both", :]
    curve = plain_study.equity["euclidean"]
    expected = performance.sharpe(curve, 0.05)
    for study in (by_file, by_number):
        pd.testing.assert_frame_equal(study.equity, plain_study.equity)
        assert study.table().at[("both", "euclidean"), "sharpe"] == pytest.approx(expected)
        assert study.overfitting.at["euclidean", "sharpe"] == pytest.approx(expected)
        assert study.against_index.at[("both", "euclidean"), "sortino"] == pytest.approx(
            performance.sortino(curve, 0.05)
        )
        assert (study.random_portfolios["sharpe"] < plain_study.random_portfolios["sharpe"]).all()
    columns = ["annual_return", "volatility", "max_drawdown"]
    pd.testing.assert_frame_equal(by_file.table().loc[both, columns], plain_study.table().loc[both, columns])
    folder = by_file.save(tmp_path / "run")
    path.unlink()  # the folder needs it no longer
    pd.testing.assert_frame_equal(read_study(folder).table(), by_file.table())
