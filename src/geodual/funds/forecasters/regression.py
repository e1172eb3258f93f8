"""Forecast by a regression on the factors: any regressor of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodual.errors import DataError

from .forecast import Forecast, Today, Training
from .learning import (
    age_weights,
    check_lesson,
    fit_estimator,
    linear_weights,
    make_target,
    safe_target,
    set_parameters,
)


@dataclass(frozen=True, eq=False)
class RegressorForecaster:
    """Learn a target from the factors with a scikit-learn regressor, and predict it for today's funds.

    Parameters
    ----------
    estimator : regressor
        Any scikit-learn regressor; a copy is fitted per decision. If its `fit` has a parameter
        `sample_weight`, it gets the weights by age; a parameter `groups` or `periods` gets the number of the
        interval of each row.
    target : str
        What to learn: "rank" within the interval, "excess" over its mean, or "return" (the same as "excess"
        if there is more than one interval).
    window : int or "all"
        Number of past intervals to learn from.
    half_life : float, optional
        Age, in intervals, at which a row counts half; by default all count the same.

    See Also
    --------
    NeighbourForecaster : Forecast by nearest neighbours in a learnt metric.
    register_forecaster : Give a forecaster a name.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from geodual.funds import RegressorForecaster, backtest, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> mine = RegressorForecaster(Ridge(100.0), target="rank", window="all", half_life=8)
    >>> backtest(panel, forecasters={"mine": mine}).ic.shape
    (2, 1)
    """

    estimator: Any
    target: str = "rank"
    window: int | str = "all"
    half_life: float | None = None

    def __post_init__(self) -> None:
        check_lesson(self.target, self.window, self.half_life)
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
            raise DataError(
                f"`estimator` must be a scikit-learn regressor, got {self.estimator!r}; it needs the methods "
                "`fit` and `predict`."
            )

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Fit the regressor to the last intervals, and predict the target of today's funds."""
        rows = training.last(self.window)
        weights = age_weights(rows, self.half_life)
        target = safe_target(self.target, self.window)
        fitted = fit_estimator(self.estimator, rows, make_target(rows, target), weights)
        values = np.ravel(np.asarray(fitted.predict(today.features), dtype=float))
        w = linear_weights(fitted, today.features)
        parts = today.features * w if w.size else np.empty((0, 0))
        return Forecast(values, target, parts=parts, part_names=today.columns if w.size else ())

    def with_settings(self, **changes: Any) -> RegressorForecaster:
        """Return a copy with other settings; `parameters` are those of the estimator."""
        parameters = changes.pop("parameters", {})
        return replace(self, estimator=set_parameters("the estimator", self.estimator, parameters), **changes)
