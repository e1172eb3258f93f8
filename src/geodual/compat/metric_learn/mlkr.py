"""metric-learn's MLKR: a metric for kernel regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from geodual.arrays import Array
from geodual.metric.base.checks import check_n_components, check_positive, check_whole, real_array
from geodual.metric.base.metric_learner import check_size
from geodual.metric.base.scatter import centered

from .preprocessed import PreprocessedLearner

_ENTRIES = 2**21  # distances at a time
_STARTS = ("auto", "pca", "identity", "random")


class MLKR(PreprocessedLearner):
    r"""Metric learning for kernel regression; minimizes the same objective as metric-learn.

    .. math:: \min_L\; \sum_i \left( y_i - \frac{\sum_{j \ne i} y_j e^{-d_{ij}^2}}
              {\sum_{j \ne i} e^{-d_{ij}^2}} \right)^2, \qquad d_{ij} = \|L (x_i - x_j)\|.

    The objective is not convex, so the result depends on the start. Distances are computed in blocks, so that
    memory grows with the number of samples, not with its square.

    Parameters
    ----------
    n_components : int, optional
        Number of rows of `components_`; the number of features by default.
    init : "auto", "pca", "identity", "random" or array of shape (n_components, n_features)
        Where to start. "auto" is "pca" for fewer components than features and samples, otherwise "identity".
    tol : float, optional
        Tolerance of the optimizer; by default that of SciPy.
    max_iter : int
        Maximum number of iterations.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of a random start.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    geodual.metric.RPDMLRegressor : A convex program with a certificate, and a regressor; for many samples.

    References
    ----------
    K. Q. Weinberger, G. Tesauro, "Metric learning for kernel regression", International Conference on
    Artificial Intelligence and Statistics, 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from geodual.compat.metric_learn import MLKR
    >>> X, y = make_friedman1(100, random_state=0)
    >>> MLKR(n_components=2).fit(X, y).transform(X).shape
    (100, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        init: Any = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> MLKR:
        """Learn a metric from samples and their targets.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.
        y : array of shape (n_samples,)
            Target values.

        Returns
        -------
        self
        """
        X, y = validate_data(self, self._looked_up(X), y, dtype=float, y_numeric=True, ensure_min_samples=2)
        check_size(X)
        y = _standardized(real_array(y, "y"))
        check_n_components(self.n_components, X.shape[1])
        check_whole("max_iter", self.max_iter, 1)
        if self.tol is not None:
            check_positive("tol", self.tol)
        Z = centered(X)
        found = self._minimized(Z, y, self._start(Z))
        self.n_iter_ = int(found.nit)
        if found.nit >= self.max_iter:
            warnings.warn(
                f"MLKR stopped after {found.nit} iterations; raise `max_iter` or `tol`.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._set_metric(found.x.reshape(-1, X.shape[1]), X)
        return self

    def _minimized(self, Z: Array, y: Array, start: Array) -> OptimizeResult:
        def report(intermediate_result: OptimizeResult) -> None:
            if self.verbose:
                print(f"MLKR: objective {intermediate_result.fun:.9g} of {len(y)} samples")  # noqa: T201

        return minimize(
            lambda flat: regression_errors(flat.reshape(start.shape), Z, y),
            start.ravel(),
            method="L-BFGS-B",
            jac=True,
            tol=None if self.tol is None else min(self.tol, 1.0),  # larger values only overflow
            callback=report,
            options={"maxiter": int(self.max_iter)},
        )

    def _start(self, Z: Array) -> Array:
        n_features = Z.shape[1]
        m = n_features if self.n_components is None else int(self.n_components)
        if not isinstance(self.init, str):
            start = real_array(self.init, "init")
            if start.shape != (m, n_features) or not np.isfinite(start).all():
                raise ValueError(
                    f"`init` must be a finite array of shape {m, n_features}, got {start.shape}."
                )
            return start
        if self.init not in _STARTS:
            raise ValueError(f"`init` must be one of {_STARTS} or an array, got {self.init!r}.")
        if self.init == "random":
            return np.asarray(check_random_state(self.random_state).standard_normal((m, n_features)))
        if self.init == "identity" or (self.init == "auto" and m >= min(Z.shape)):
            return np.eye(m, n_features)
        if m > len(Z):
            raise ValueError(f'`init="pca"` needs at least {m} samples for {m} components, got {len(Z)}.')
        return np.asarray(PCA(m, svd_solver="full").fit(Z).components_)


def _standardized(y: Array) -> Array:
    """Center targets and scale the largest absolute value to 1, which does not change the best metric."""
    if not np.isfinite(y).all() or y.min() == y.max():
        raise ValueError("`y` must hold at least two different numbers; check `y`.")
    half = 0.5 * y - 0.5 * y.mean()  # halves, so that the difference of huge numbers does not overflow
    return np.asarray(half / np.abs(half).max())


def regression_errors(L: Array, Z: Array, y: Array, entries: int = _ENTRIES) -> tuple[float, Array]:
    """Return the squared leave-one-out errors of kernel regression, and their gradient in L.

    Distances are computed in blocks of rows with about `entries` entries.
    """
    E = Z @ L.T
    squares, n = np.einsum("ij,ij->i", E, E), len(E)
    value, mass, product = 0.0, np.zeros(n), np.zeros_like(L)
    step = max(entries // n, 1)
    for first in range(0, n, step):
        rows = np.arange(first, min(first + step, n))
        distance = np.maximum(squares[rows, None] + squares - 2.0 * E[rows] @ E.T, 0.0)
        distance[np.arange(len(rows)), rows] = np.inf
        weight = np.exp(distance.min(axis=1, keepdims=True) - distance)
        weight /= weight.sum(axis=1, keepdims=True)
        guess = weight @ y
        error = guess - y[rows]
        value += float(error @ error)
        # Derivatives of the errors with respect to the squared distances.
        weight *= 2.0 * error[:, None] * (guess[:, None] - y)
        mass += weight.sum(axis=0)
        mass[rows] += weight.sum(axis=1)
        product += E[rows].T @ (weight @ Z) + (weight @ E).T @ Z[rows]
    return value, (2.0 * ((E.T * mass) @ Z - product)).ravel()
