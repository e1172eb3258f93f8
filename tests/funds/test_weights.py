"""Portfolio weights: by hand, against cvxpy, and within their limits."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import LedoitWolf

from geodual.funds.evaluation.weights import (
    Caps,
    nearest_weights,
    portfolio_weights,
    proportions,
    shrunk_covariance,
)

FUNDS = pd.Index(["A", "B", "C", "D"])


def series(values):
    return pd.Series(values, index=FUNDS[: len(values)], dtype=float)


def prices(seed=0, n_funds=4, n_rows=300, scale=(0.005, 0.01, 0.02, 0.04)):
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal((n_rows, n_funds)) * np.resize(scale, n_funds) + 0.004 * rng.standard_normal(
        (n_rows, 1)
    )
    days = pd.bdate_range("2015-01-01", periods=n_rows)
    return pd.DataFrame(np.exp(steps.cumsum(axis=0)), days, [f"F{j:02d}" for j in range(n_funds)])


def oracle(Q, c, A, b, total):
    w = cp.Variable(len(Q))
    goal = 0.5 * cp.quad_form(w, cp.psd_wrap(Q)) - c @ w
    problem = cp.Problem(cp.Minimize(goal), [w >= 0, A @ w <= b, cp.sum(w) == total])
    fine = {f"tol_{name}": 1e-13 for name in ("gap_abs", "gap_rel", "feas")}
    problem.solve(solver="CLARABEL", **fine)
    return w.value


@pytest.mark.parametrize("seed", range(12))
def test_the_nearest_weights_are_those_of_cvxpy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    X = rng.standard_normal((60, n)) + rng.standard_normal((60, 1))
    Q, c = X.T @ X / 60 + 1e-3 * np.eye(n), 0.3 * rng.standard_normal(n)
    kind = rng.integers(0, 3, n)
    A = np.vstack([np.eye(n), *((kind == k)[None] * 1.0 for k in range(3))])
    b = np.append(np.full(n, max(0.3, 1.5 / n)), np.full(3, 0.6))
    total = 0.9 * min(1.0, sum(min(0.6, b[0] * (kind == k).sum()) for k in range(3)))
    found = nearest_weights(Q, c, A, b, total)
    assert found == pytest.approx(oracle(Q, c, A, b, total), abs=1e-8)
    assert found.sum() == pytest.approx(total, abs=1e-14)
    assert (A @ found <= b + 1e-9).all()
    assert (found >= 0.0).all()


def test_equal_and_forecast_weights_by_hand():
    forecast = series([0.3, 0.1, -0.2])
    assert (
        portfolio_weights("equal", forecast, pd.DataFrame(columns=FUNDS[:3]), Caps()).tolist() == [1 / 3] * 3
    )
    found = portfolio_weights("forecast", forecast, pd.DataFrame(columns=FUNDS[:3]), Caps())
    assert found == pytest.approx([0.75, 0.25, 0.0])
    losses = portfolio_weights("forecast", -forecast.abs(), pd.DataFrame(columns=FUNDS[:3]), Caps())
    assert losses == pytest.approx([1 / 3] * 3), "without a positive forecast all weigh the same"


def test_inverse_volatility_weights_are_those_of_the_last_250_returns():
    nav = prices()
    found = portfolio_weights("inverse-volatility", pd.Series(0.0, nav.columns), nav, Caps())
    spread = (nav.iloc[-250:].to_numpy() / nav.iloc[-251:-1].to_numpy() - 1.0).std(axis=0, ddof=1)
    assert found == pytest.approx((1.0 / spread) / (1.0 / spread).sum(), rel=1e-12)


def test_a_fund_without_known_risk_gets_no_more_than_the_riskiest():
    nav = prices()
    nav["F00"] = 1.0
    found = portfolio_weights("inverse-volatility", pd.Series(0.0, nav.columns), nav, Caps())
    assert found[0] == found[3] == found.min()


def test_minimum_variance_has_the_smallest_variance():
    nav = prices(1)
    found = portfolio_weights("minimum-variance", pd.Series(0.0, nav.columns), nav, Caps())
    returns = (nav / nav.shift(1) - 1.0).iloc[-250:].to_numpy()
    covariance = LedoitWolf().fit(returns).covariance_
    own = oracle(covariance * 1e4, np.zeros(4), np.zeros((1, 4)), np.ones(1), 1.0)
    assert found == pytest.approx(own, abs=1e-6)
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.ones(4), 500)
    assert found @ covariance @ found <= np.einsum("ni,ij,nj->n", others, covariance, others).min()


def test_limits_by_fund_type_and_company_hold_for_every_rule():
    nav = prices(2, n_funds=6)
    forecast = pd.Series([0.5, 0.1, 0.1, 0.05, 0.05, 0.01], nav.columns)
    types = dict(zip(nav.columns, "XXXYYZ", strict=True))
    companies = dict(zip(nav.columns, "PPQQRR", strict=True))
    caps = Caps(0.35, ((types, 0.5), (companies, 0.4)))
    for rule in ("equal", "forecast", "inverse-volatility", "minimum-variance"):
        found = pd.Series(portfolio_weights(rule, forecast, nav, caps), nav.columns)
        assert found.sum() == pytest.approx(1.0, abs=1e-9), rule
        assert found.max() <= 0.35 + 1e-9
        assert found.groupby(types).sum().max() <= 0.5 + 1e-9
        assert found.groupby(companies).sum().max() <= 0.4 + 1e-9


def test_what_the_limits_do_not_let_in_stays_in_cash():
    nav = prices(3, n_funds=3)
    types = {"F00": "X", "F01": "X"}
    found = portfolio_weights("equal", pd.Series(0.1, nav.columns), nav, Caps(0.3, ((types, 0.4),)))
    assert found.sum() == pytest.approx(0.7), "0.4 in the type X, 0.3 in the fund of unknown type"


def test_weights_within_the_limits_are_left_as_they_are():
    forecast = series([0.2, 0.1, 0.1])
    nav = pd.DataFrame(columns=FUNDS[:3])
    assert portfolio_weights("forecast", forecast, nav, Caps(0.5)).tolist() == [0.5, 0.25, 0.25]


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), missing=st.floats(0.0, 0.9))
def test_weights_are_shares_whatever_the_values(seed, n, missing):
    rng = np.random.default_rng(seed)
    nav = prices(seed, n, n_rows=40)
    nav = nav.mask(rng.random(nav.shape) < missing)
    for rule in ("inverse-volatility", "minimum-variance"):
        found = portfolio_weights(rule, pd.Series(rng.standard_normal(n), nav.columns), nav, Caps())
        assert found.shape == (n,)
        assert (found >= 0.0).all()
        assert found.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [3, 7, 10, 30])
def test_equal_weights_are_exact(n):
    funds = [f"F{j:02d}" for j in range(n)]
    found = portfolio_weights("equal", pd.Series(0.1, funds), pd.DataFrame(columns=funds), Caps())
    assert found.tolist() == [1.0 / n] * n


def test_limits_hold_where_they_leave_one_choice():
    """Twelve picks of at most 1/15 each: rounding once made the limits contradict each other."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        n = int(rng.integers(2, 13))
        cap = 1.0 / (n + int(rng.integers(0, 4)))
        funds = [f"F{j:02d}" for j in range(n)]
        forecast = pd.Series(rng.normal(0.02, 0.1, n), funds)
        found = portfolio_weights("forecast", forecast, pd.DataFrame(columns=funds), Caps(cap))
        assert found == pytest.approx(np.full(n, cap), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_weights_of_least_variance_are_those_of_the_closed_form(n: int) -> None:
    """Without limits that matter, w = Q⁻¹1/(1ᵀQ⁻¹1)."""
    Q = np.diag([1.0, 2.0, 4.0])[:n, :n] + 0.1
    inverse = np.linalg.solve(Q, np.ones(n))
    found = nearest_weights(Q, np.zeros(n), np.eye(n), np.ones(n), 0.9)
    np.testing.assert_allclose(found, 0.9 * inverse / inverse.sum())


def test_a_fund_that_stands_still_has_an_invertible_covariance() -> None:
    days = pd.bdate_range("2020-01-01", periods=300)
    moving = np.exp(0.01 * np.random.default_rng(0).standard_normal(300).cumsum())
    covariance = shrunk_covariance(pd.DataFrame({"A": moving, "B": 1.0}, index=days))
    assert np.linalg.eigvalsh(covariance).min() > 0.0
    weights = nearest_weights(covariance, np.zeros(2), np.eye(2), np.ones(2), 1.0)
    assert weights.sum() == pytest.approx(1.0)


def test_funds_of_unknown_risk_share_equally() -> None:
    still = pd.DataFrame(1.0, index=pd.bdate_range("2020-01-01", periods=30), columns=["A", "B"])
    np.testing.assert_allclose(proportions("inverse-volatility", np.zeros(2), still), 0.5)
