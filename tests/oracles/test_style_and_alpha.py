"""Style weights against scipy's SLSQP and the conditions of optimality; alphas against statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize

from geodual.funds import measure_alphas
from geodual.funds.evaluation.style import simplex_weights


def draw(seed, n=48, k=5, common=1.0):
    rng = np.random.default_rng(seed)
    x = 0.04 * (common * rng.standard_normal((n, 1)) + rng.standard_normal((n, k)))
    y = x @ rng.dirichlet(np.full(k, 0.4)) + 0.01 * rng.standard_normal(n) + 0.002
    return x, y


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_style_weights_are_those_of_slsqp(seed, scale):
    x, y = draw(seed)
    solved = minimize(
        lambda w: 1e4 * np.var(y - x @ w),
        np.full(5, 0.2),
        bounds=[(0.0, 1.0)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    found = simplex_weights(scale * x, scale * y)
    np.testing.assert_allclose(found, solved.x, atol=2e-5)
    assert np.var(y - x @ found) <= np.var(y - x @ solved.x) * (1.0 + 1e-12)


@pytest.mark.parametrize(("n", "k", "common"), [(24, 12, 0.0), (36, 4, 10.0), (60, 8, 1.0), (6, 10, 1.0)])
def test_style_weights_are_optimal(n, k, common):
    """On the support the gradient has one value, elsewhere a larger one: Karush, Kuhn and Tucker."""
    x, y = draw(n + k, n, k, common)
    w = simplex_weights(x, y)
    assert w.min() >= 0.0
    assert w.sum() == pytest.approx(1.0, abs=1e-14)
    centered, rest = x - x.mean(axis=0), (y - x @ w) - (y - x @ w).mean()
    gradient = -2.0 * centered.T @ rest
    size = 2.0 * np.linalg.norm(centered) * np.linalg.norm(centered.sum(axis=1) + y - y.mean())
    multiplier = gradient[w > 0.0].mean()
    assert np.abs(gradient[w > 0.0] - multiplier).max() <= 1e-12 * size
    assert (gradient - multiplier).min() >= -1e-12 * size


@pytest.mark.parametrize("lags", [None, 0, 7])
def test_alphas_and_their_errors_are_those_of_statsmodels(lags):
    rng, days = np.random.default_rng(1), pd.bdate_range("2015-01-01", periods=300)
    factors = pd.DataFrame(0.01 * rng.standard_normal((300, 3)), days, ["market", "size", "value"])
    noise = np.convolve(0.004 * rng.standard_normal(301), [1.0, 0.5], mode="valid")  # autocorrelated
    returns = 0.0004 + factors.to_numpy() @ [0.9, 0.2, -0.1] + noise
    late = np.where(np.arange(300) < 100, np.nan, returns)
    growth = pd.DataFrame({"A": returns, "B": late}, days)
    nav = (1.0 + growth).cumprod()
    nav.loc[days[99], "B"] = 1.0
    found = measure_alphas(nav, factors, lags=lags).table
    per_year = 299 / ((days[-1] - days[0]).days / 365.25)
    for fund, first in (("A", 1), ("B", 100)):
        y, x = growth[fund].to_numpy()[first:], factors.to_numpy()[first:]
        n = len(y)
        used = int(4.0 * (n / 100.0) ** (2.0 / 9.0)) if lags is None else lags
        model = sm.OLS(y, sm.add_constant(x)).fit(
            cov_type="HAC", cov_kwds={"maxlags": used, "use_correction": True}, use_t=True
        )
        row = found.loc[fund]
        assert row["n"] == n
        assert row["alpha"] == pytest.approx(per_year * model.params[0], rel=1e-9)
        assert row["error"] == pytest.approx(per_year * model.bse[0], rel=1e-9)
        assert row["t"] == pytest.approx(model.tvalues[0], rel=1e-9)
        assert row["p"] == pytest.approx(model.pvalues[0], rel=1e-7)
        assert row["r2"] == pytest.approx(model.rsquared, rel=1e-9)
        betas = row[["beta_market", "beta_size", "beta_value"]].to_numpy(float)
        np.testing.assert_allclose(betas, model.params[1:], rtol=1e-9)
