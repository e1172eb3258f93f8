"""Studies of funds: `backtest`, `select` and `check_leakage` on damaged panels with random settings."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from geodual import funds

from ..case import Case, Rng, UserError, pick
from ..hostile import mostly
from ..nav_tables import index_levels, nav_table
from .tables import STRANGE_VALUES

_METRICS = ("euclidean", "gmml", "mahalanobis", "rpdml", "itml")
_WRONG = (("a:b",), ("QDII:2",), ("QDII",), ("nobody",), ("*",), 400, 1000, "1999-01-01", "2030-01-01")
_FORECASTERS = ("momentum", "ridge", "factor:stddev_90", "universe", "none", 3, "", ("momentum", "ridge"))


def draw(rng: Rng) -> Case:
    """Return a study, a selection or a check for leakage."""
    what, nav = nav_table(rng, healthy=0.7)
    call = pick(rng, "backtest", "backtest", "select", "check_leakage")
    settings = _settings(rng) | {"metrics": (pick(rng, *_METRICS),)}
    if rng.random() < 0.2:
        settings |= {"forecasters": _forecasters(rng)}
    index = index_levels(rng) if rng.random() < 0.4 else None
    shown = {name: value for name, value in settings.items() if name != "index"}
    return Case(
        f"{call} on {what} {nav.shape}, {shown!r:.400}, {'with' if index is not None else 'no'} index",
        lambda: _CALLS[call](nav, index, settings),
        (nav, index),
        _CHECKS[call],
    )


def _settings(rng: Rng) -> dict[str, Any]:
    """Return some settings of a study, mostly valid ones."""
    drawn: dict[str, tuple[Any, ...]] = {
        "factors": (("sharpe",), ("stddev", "roc"), ("paper",)),
        "k": (1, 3, 10),
        "top": (1, 3, 1000),
        "label": ("sign", "median"),
        "neighbors": ("train", "current"),
        "train_quarters": (1, 2),
        "weights": ("equal", "forecast", "inverse-volatility", "minimum-variance"),
        "max_weight": (1.0, 0.5),
        "keep_rank": (0, 5),
        "min_holding": (0, 100),
        "frequency": ("monthly", "quarterly", "yearly"),
        "start": ("", "2015-01-01"),
        "end": ("", "2015-12-31"),
        "test_start": ("2016-01-01", "2015-06-30", "2030-01-01"),
        "cost": (0.0, 0.0015),
        "redemption_fees": ((), ("7:0.015", "365:0.005")),
        "settlement_lag": ((),),
        "execution_lag": (0, 1, 5),
        "include": ((), ("*",)),
        "exclude": ((), ("M*",)),
        "baselines": ((), ("momentum", "universe")),
        "tune": (False, False, True),
        "random_state": (0, 7),
    }
    return {
        name: mostly(rng, usual, (*STRANGE_VALUES, *_WRONG), 0.04)
        for name, usual in drawn.items()
        if rng.random() < 0.2
    }


class _Failing:
    """A forecaster of a user, which fails, or forecasts too little, NaN or infinity."""

    def __init__(self, how: str) -> None:
        self.how = how

    def forecast(self, training: Any, today: Any) -> Any:
        """Return a forecast that no study should take without a word."""
        n = len(today.funds)
        if self.how == "fails":
            raise UserError("the user's forecaster failed")
        values = {"NaN": np.full(n, np.nan), "infinite": np.full(n, np.inf), "short": np.zeros(max(n - 1, 0))}
        return funds.Forecast(values.get(self.how, np.zeros(n)))


def _forecasters(rng: Rng) -> Any:
    how = pick(rng, "fails", "NaN", "infinite", "short", "equal")
    return pick(
        rng, *_FORECASTERS, {"mine": _Failing(how)}, {"a": {"metric": "gmml", "k": pick(rng, 3, "a")}}
    )


def _backtest(nav: Any, index: Any, settings: dict[str, Any]) -> Any:
    return funds.backtest(nav, index, n_jobs=1, **settings)


def _select(nav: Any, index: Any, settings: dict[str, Any]) -> Any:
    given = {name: value for name, value in settings.items() if name not in ("baselines", "metrics")}
    if "forecasters" not in given:
        given["metric"] = settings["metrics"][0]
    return funds.select(nav, index=index, n_jobs=1, **given)


def _check_leakage(nav: Any, index: Any, settings: dict[str, Any]) -> Any:
    given = {"index": None if index is None else funds.read_index(index)}
    return funds.check_leakage(funds.read_nav(nav), n_days=1, **given, **settings)


_CALLS: dict[str, Callable[[Any, Any, dict[str, Any]], Any]] = {
    "backtest": _backtest,
    "select": _select,
    "check_leakage": _check_leakage,
}


def _wrong_with_study(study: Any) -> Iterator[str]:
    """Yield what is wrong with the tables of a study; then write it, and read it again."""
    equity = study.equity.to_numpy(float)
    if np.isinf(equity).any() or (equity <= 0.0).any():
        yield "an equity curve is not positive and finite"
    ic = study.ic.to_numpy(float)
    if (np.abs(ic[np.isfinite(ic)]) > 1.0 + 1e-12).any() or np.isinf(ic).any():
        yield "an IC is outside of [−1, 1]"
    weights = study.holdings
    if "weight" in weights and not weights["weight"].between(-1e-12, 1.0 + 1e-9).all():
        yield "a weight is outside of [0, 1]"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        study.save(folder)
        again = funds.read_study(folder)
    pd.testing.assert_frame_equal(
        again.ic, study.ic, check_freq=False, check_exact=False, check_index_type=False
    )


def _wrong_with_selection(selection: Any) -> Iterator[str]:
    forecasts = selection.picks["forecast"].to_numpy(float)
    if not np.isfinite(forecasts).all():
        yield "a forecast of a pick is not finite"
    if "weight" in selection.picks and not np.isclose(selection.picks["weight"].sum(), 1.0):
        yield f"the weights sum to {selection.picks['weight'].sum()}"


def _wrong_with_leakage(checks: Any) -> Iterator[str]:
    yield from (f"a decision looks ahead: {check}" for check in checks if not check.passed)


_CHECKS: dict[str, Callable[[Any], Iterator[str]]] = {
    "backtest": _wrong_with_study,
    "select": _wrong_with_selection,
    "check_leakage": _wrong_with_leakage,
}
