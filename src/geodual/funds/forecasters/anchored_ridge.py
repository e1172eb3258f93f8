"""Ridge regression that starts from signals known to be good, and leaves them only for evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from .period_moments import PeriodMoments
from .period_regressor import PeriodRegressor

_ANCHOR_IC = 0.1  # IC that the anchor is expected to have, before anything is known
_FIRST = 2  # periods to learn from before the first forecast of the record
_FEWEST = 4  # forecasts of the record before it counts


class AnchoredRidge(PeriodRegressor):
    """Combine factors by ridge regression, shrunk towards some factors instead of towards zero.

    With few periods and much noise, a good factor alone beats most regressions. So this one starts from such
    factors, the anchor, and from all factors that go together with them: the average over many related
    measurements has less noise than each. Let e be the sum of the anchor's factors and Γ the mean
    correlations among all factors within past periods. The prior is

        b₀ = 0.1 · ½ (e/√(eᵀΓe) + s/√(sᵀΓs)),   s = Γe,

    and with m_p the correlations with the target in period p, the standardised slopes are

        b = b₀ + (Σ Γ_p + λI)⁻¹ Σ (m_p − Γ_p b₀).

    The penalty λ is chosen by a record without hindsight: for each past period, the slopes of each λ are
    learnt from the periods before it, and their information coefficient is compared with that of b₀. A λ is
    used only if the mean difference exceeds `evidence` standard errors. Otherwise b = b₀.

    Parameters
    ----------
    anchor : sequence of int, optional
        Columns that are known to be good when high. By default the anchor is learnt: all factors, weighted
        by their mean correlations with the target, s = e = Σ m_p.
    penalties : sequence of float
        Values of λ to choose from. Each is a number of periods: so many that show the prior only.
    evidence : float
        Standard errors by which the record of a penalty must be above that of the anchor.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the factors, in units of the target per unit of the factor.
    intercept_ : float
        Forecast for factors that are all 0.
    penalty_ : float
        The penalty chosen; infinite if the anchor alone is used.
    record_ : array of shape (n_forecasts, 1 + n_penalties)
        Information coefficients of the anchor and of each penalty in past periods, without hindsight.
    n_features_in_ : int
        Number of factors.
    feature_names_in_ : array of shape (n_features,)
        Names of the factors, if X is a table with column names.

    See Also
    --------
    FactorICRegressor : The sum of the factors, weighted by their information coefficients.
    sklearn.linear_model.Ridge : Shrinks towards zero.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.funds.forecasters.anchored_ridge import AnchoredRidge
    >>> rng = np.random.default_rng(0)
    >>> X, periods = rng.standard_normal((600, 3)), np.repeat(np.arange(12), 50)
    >>> y = X[:, 1] - X[:, 2] + rng.standard_normal(600)
    >>> model = AnchoredRidge(anchor=[0]).fit(X, y, periods=periods)
    >>> model.penalty_, model.coef_.round(1) + 0.0
    (1.0, array([ 0. ,  0.9, -0.9]))
    """

    penalty_: float
    record_: Array

    def __init__(
        self,
        anchor: Sequence[int] | None = None,
        penalties: Sequence[float] = (1.0, 10.0, 100.0, 1000.0),
        evidence: float = 2.0,
    ) -> None:
        self.anchor = anchor
        self.penalties = penalties
        self.evidence = evidence

    def fit(self, X: Any, y: Any, sample_weight: Any = None, periods: Any = None) -> AnchoredRidge:
        """Learn the weights from periods that are over.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Factors, one row per period and fund.
        y : array of shape (n_samples,)
            Target, usually the rank of the return within its period.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows; all 1 by default.
        periods : array of shape (n_samples,), optional
            Period of each row, in order of time. By default all rows are of one period: then there is no
            record, and the anchor alone is used.

        Returns
        -------
        self
        """
        penalties = self._checked_penalties()
        moments = self._measure(X, y, sample_weight, periods)
        e = self._anchor(moments.among.shape[1])
        n = len(moments.weights)
        rows = [_forecast_ics(moments, at, e, penalties) for at in range(_FIRST, n)]
        self.record_ = np.array(rows).reshape(len(rows), 1 + len(penalties))
        best = _best_of(self.record_, self.evidence)
        self.penalty_ = float(np.append(np.inf, penalties)[best])
        self.coef_, self.intercept_ = moments.linear_rule(_slopes(moments, n, e, penalties)[best])
        return self

    def _checked_penalties(self) -> Array:
        penalties = np.atleast_1d(np.asarray(self.penalties, dtype=float))
        if penalties.ndim != 1 or not (np.isfinite(penalties) & (penalties > 0.0)).all():
            raise ValueError(f"`penalties` must be positive numbers such as 10, got {self.penalties!r}.")
        if not self.evidence >= 0.0:
            raise ValueError(f"`evidence` must not be negative, got {self.evidence!r}. Use 2.")
        return penalties

    def _anchor(self, n_features: int) -> Array | None:
        """Return e, 1 for the columns of the anchor; None if the anchor is to be learnt."""
        if self.anchor is None:
            return None
        columns = np.atleast_1d(np.asarray(self.anchor))
        if (
            columns.size == 0
            or columns.dtype.kind not in "iu"
            or not np.isin(columns, range(n_features)).all()
        ):
            raise ValueError(
                f"`anchor` must be columns of `X`, from 0 to {n_features - 1}, got {self.anchor!r}."
            )
        e = np.zeros(n_features)
        e[columns] = 1.0
        return e


def _slopes(moments: PeriodMoments, n: int, e: Array | None, penalties: Array) -> Array:
    """Return the standardised slopes learnt from the first n periods: of the anchor, then per penalty."""
    weights = moments.weights[:n] / moments.weights[:n].max()
    among = np.tensordot(weights, moments.among[:n], axes=1)
    with_target = weights @ moments.with_target[:n]
    prior = _prior(among / weights.sum(), with_target if e is None else e, smooth=e is not None)
    systems = among + penalties[:, None, None] * np.eye(len(prior))
    gap = np.broadcast_to((with_target - among @ prior)[:, None], (len(penalties), len(prior), 1))
    return np.vstack([prior, prior + np.linalg.solve(systems, gap)[:, :, 0]])


def _prior(among: Array, e: Array, smooth: bool) -> Array:
    """Return b₀: the direction e, averaged with all that goes together with it if `smooth`."""
    e = _unit(e, among)
    return _ANCHOR_IC * (0.5 * (e + _unit(among @ e, among)) if smooth else e)


def _unit(b: Array, among: Array) -> Array:
    """Return slopes whose forecasts have variance 1; zeros if the forecasts do not vary."""
    variance = float(b @ among @ b)
    return b / np.sqrt(variance) if variance > 0.0 else np.zeros_like(b)


def _forecast_ics(moments: PeriodMoments, at: int, e: Array | None, penalties: Array) -> Array:
    """Return the information coefficients in one period of what the periods before it teach."""
    b = _slopes(moments, at, e, penalties)
    variance = np.einsum("ij,jk,ik->i", b, moments.among[at], b)
    covariance = b @ moments.with_target[at]
    return np.where(variance > 0.0, covariance / np.sqrt(np.where(variance > 0.0, variance, 1.0)), 0.0)


def _best_of(record: Array, evidence: float) -> int:
    """Return the column of a record to use: 0, the anchor, unless another is better beyond doubt."""
    if len(record) < _FEWEST or record.shape[1] < 2:
        return 0
    gain = record[:, 1:] - record[:, :1]
    sure = gain.mean(axis=0) - evidence * gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
    return int(np.argmax(sure)) + 1 if sure.max() > 0.0 else 0
