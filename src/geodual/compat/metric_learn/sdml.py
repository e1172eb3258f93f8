"""metric-learn's SDML and SDML_Supervised: sparse metrics, with a certificate."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from geodual.arrays import Array, Indices
from geodual.metric.base.checks import check_not_negative
from geodual.metric.base.maps import leading_components
from geodual.metric.base.pair_classifier import PairClassifier, check_calibration_params
from geodual.metric.base.scatter import distinct_rows
from geodual.metric.program.space import prior_matrices
from geodual.metric.selection.chosen_pairs import sampled_pairs

from .preprocessed import PreprocessedLearner, n_per_kind, random_or_given

_TOL = 1e-6  # duality gap per feature
_MAX_ITER = 5000
_RELAXATION = 1.6  # of the steps; values from 1.5 to 1.8 are usual
_BALANCE = 10.0  # largest ratio of the residuals before the step size changes
_EVERY = 10  # iterations between two such changes


class SDML(PairClassifier):
    r"""Sparse metric learning from pairs; solves the same program as metric-learn, with a certificate.

    .. math:: \min_W\; \mathrm{tr}(W W_0^{-1}) - \log\det W + \eta \sum_k y_k\, d_W^2(x_k, x_k')
              + \lambda \sum_{i \ne j} |W_{ij}|

    Parameters
    ----------
    balance_param : float
        Weight η of the pairs.
    sparsity_param : float
        Weight λ of the entries off the diagonal.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The prior W₀; the learned metric stays close to it.
    verbose : bool
        Whether to print the certificate.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up pairs given as indices.
    random_state : int or RandomState, optional
        Seed of a random prior.

    Attributes
    ----------
    objective_, dual_objective_ : float
        The objective, and a lower bound on it.
    duality_gap_ : float
        Their difference per feature.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    geodual.metric.PairITML : Bounds the distance of each pair; its matrix is not sparse.

    References
    ----------
    G.-J. Qi et al., "An efficient sparse metric learning in high-dimensional space via L1-penalized
    log-determinant regularization", International Conference on Machine Learning, 2009.

    Examples
    --------
    >>> from geodual.compat.metric_learn import SDML
    >>> pairs = [[[0.0, 1.0], [0.1, 8.0]], [[4.0, 2.0], [4.2, 9.0]], [[0.0, 3.0], [2.0, 3.1]]]
    >>> SDML(balance_param=0.1).fit(pairs, [1, 1, -1]).predict(pairs).tolist()
    [1, 1, -1]
    """

    def __init__(
        self,
        balance_param: float = 0.5,
        sparsity_param: float = 0.01,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.balance_param = balance_param
        self.sparsity_param = sparsity_param
        self.prior = prior
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, pairs: Any, y: Any, calibration_params: Any = None) -> SDML:  # type: ignore[override]
        """Learn a metric and a threshold from pairs.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        calibration_params : dict, optional
            The arguments `strategy`, `min_rate` and `beta` of `calibrate_threshold`.

        Returns
        -------
        self
        """
        samples, similar = self._check_pairs(pairs, y)
        calibration = check_calibration_params(calibration_params)
        self.n_features_in_ = samples.shape[2]
        _learn(self, samples, similar)
        self._set_threshold(samples, similar, np.ones(len(samples)), calibration)
        return self


class SDML_Supervised(PreprocessedLearner):  # noqa: N801 - metric-learn's name
    """Sparse metric learning from class labels, backed by `SDML` on random pairs.

    Parameters
    ----------
    balance_param : float
        Weight of the pairs.
    sparsity_param : float
        Weight of the entries off the diagonal.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The prior; the learned metric stays close to it.
    n_constraints : int, optional
        Number of random similar and of random dissimilar pairs; by default 20 times the squared number of
        classes.
    verbose : bool
        Whether to print the certificate.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of the pairs and of a random prior.

    Attributes
    ----------
    objective_, dual_objective_, duality_gap_, n_iter_ : float or int
        As for `SDML`.

    See Also
    --------
    geodual.metric.ITML : Bounds the distance of each pair; its matrix is not sparse.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import SDML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = SDML_Supervised(balance_param=1e-4, random_state=0).fit(X, y)
    >>> learner.duality_gap_ <= 1e-6
    True
    """

    def __init__(
        self,
        balance_param: float = 0.5,
        sparsity_param: float = 0.01,
        prior: Any = "identity",
        n_constraints: int | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.balance_param = balance_param
        self.sparsity_param = sparsity_param
        self.prior = prior
        self.n_constraints = n_constraints
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SDML_Supervised:
        """Learn a metric from labeled samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.
        y : array of shape (n_samples,)
            Class labels; −1 means unknown.

        Returns
        -------
        self
        """
        X, labels = self._validate(X, y)
        near, far = drawn_pairs(labels, self.n_constraints, self.random_state)
        similar = np.repeat([True, False], [len(near), len(far)])
        _learn(self, X[np.vstack([near, far])], similar)
        return self


def _learn(learner: SDML | SDML_Supervised, pairs: Array, similar: NDArray[np.bool_]) -> None:
    """Solve the program for pairs, and store the metric with its certificate."""
    check_not_negative("balance_param", learner.balance_param)
    check_not_negative("sparsity_param", learner.sparsity_param)
    X = pairs.reshape(-1, pairs.shape[2])
    prior = random_or_given(learner.prior, X.shape[1], learner.random_state)
    inverse = prior_matrices(prior, X[distinct_rows(X)[0]])[1]
    V = pairs[:, 0] - pairs[:, 1]
    S = inverse + learner.balance_param * ((V.T * np.where(similar, 1.0, -1.0)) @ V)
    if not np.isfinite(S).all():
        raise ValueError("The distances of the pairs overflow; scale the features or lower `balance_param`.")
    found = sparse_metric(S, learner.sparsity_param, _TOL, _MAX_ITER)
    learner.objective_, learner.dual_objective_ = found.primal, found.dual
    learner.duality_gap_, learner.n_iter_ = found.gap, found.n_iter
    learner._set_metric(leading_components(found.W, None), X)
    _report(learner, found)


def _report(learner: SDML | SDML_Supervised, found: SparseMetric) -> None:
    name = type(learner).__name__
    if learner.verbose:
        print(f"{name}: objective {found.primal:.9g}, gap {found.gap:.1e}, {found.n_iter} iterations")  # noqa: T201
    if found.gap > _TOL:
        warnings.warn(
            f"{name} stopped at a duality gap of {found.gap:.2g} per feature after {found.n_iter} "
            "iterations; standardize the features, or lower `balance_param`.",
            ConvergenceWarning,
            stacklevel=4,
        )


def drawn_pairs(labels: Indices, n_constraints: Any, random_state: Any) -> tuple[Indices, Indices]:
    """Return random pairs, half of them similar; fewer of a kind if there are too few."""
    wanted = n_per_kind(n_constraints, labels)
    rng = check_random_state(random_state)
    pairs = rng.permutation(sampled_pairs(labels, 2 * wanted, rng))
    similar = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    if similar.all() or not similar.any():
        raise ValueError("The labels make only one kind of pairs, similar or dissimilar; check `y`.")
    # If one kind had too few pairs, more of the other kind were drawn.
    n = min(int(similar.sum()), int((~similar).sum()), wanted)
    return pairs[similar][:n], pairs[~similar][:n]


@dataclass(frozen=True)
class SparseMetric:
    """A sparse metric with its certificate.

    Attributes
    ----------
    W : array of shape (n, n)
        The matrix of the metric.
    primal, dual : float
        The objective at W, and a lower bound on the objective of every matrix.
    n_iter : int
        Number of iterations.
    """

    W: Array
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """The duality gap per feature, which does not depend on units."""
        return (self.primal - self.dual) / len(self.W)


def sparse_metric(S: Array, penalty: float, tol: float, max_iter: int) -> SparseMetric:
    r"""Minimize tr(SW) − log det W + λ Σ |Wᵢⱼ| over positive definite W; the sum is over i ≠ j.

    The alternating direction method of multipliers splits W from a sparse copy Z. Its multipliers U have
    |Uᵢⱼ| ≤ λ and Uᵢᵢ = 0, so that n + log det(S + U) is a lower bound on the optimum. S may be indefinite.
    Features are rescaled to units in which the diagonal of S is one.

    Parameters
    ----------
    S : array of shape (n, n)
        A symmetric matrix.
    penalty : float
        λ.
    tol : float
        Duality gap per feature to reach.
    max_iter : int
        Maximum number of iterations.

    References
    ----------
    S. Boyd et al., "Distributed optimization and statistical learning via the alternating direction method of
    multipliers", Foundations and Trends in Machine Learning 3(1), 2011, Section 6.5.
    """
    scales = np.sqrt(np.maximum(np.diag(S), 0.0))
    if not scales.min() > 0.0:
        raise _unbounded()
    units = np.outer(scales, scales)
    S, limits = S / units, penalty / units
    np.fill_diagonal(limits, 0.0)
    offset, n = 2.0 * float(np.log(scales).sum()), len(S)
    W, primal, dual = np.eye(n), np.inf, -np.inf
    Z, U, step = np.eye(n), np.zeros((n, n)), 1.0
    for n_iter in range(1, max_iter + 1):
        X = _log_det_step(S + U - step * Z, step)
        before, mixed = Z, _RELAXATION * X + (1.0 - _RELAXATION) * Z + U / step
        Z = np.sign(mixed) * np.maximum(np.abs(mixed) - limits / step, 0.0)
        U = step * (mixed - Z)
        value = float(np.sum(S * Z) + np.sum(limits * np.abs(Z))) - _log_det(Z)
        if value < primal:
            W, primal = Z, value
        dual = max(dual, n + _log_det(S + U))
        if primal - dual <= tol * n:
            break
        if n_iter % _EVERY == 0:
            apart, moved = np.linalg.norm(X - Z), step * np.linalg.norm(Z - before)
            step *= 2.0 if apart > _BALANCE * moved else 0.5 if moved > _BALANCE * apart else 1.0
    if not np.isfinite(primal - dual):
        raise _unbounded()
    return SparseMetric(W / units, primal + offset, dual + offset, n_iter)


def _log_det_step(Q: Array, step: float) -> Array:
    """Return the minimizer X of ⟨Q, X⟩ − log det X + step/2 ‖X‖²."""
    q, basis = np.linalg.eigh(Q)
    root = np.sqrt(q**2 + 4.0 * step)
    # Two forms of the same root, to avoid cancellation.
    x = np.where(q > 0.0, 2.0 / (np.abs(q) + root), (np.abs(q) + root) / (2.0 * step))
    return np.asarray((basis * x) @ basis.T)


def _log_det(A: Array) -> float:
    """Return log det A, or −∞ unless A is positive definite."""
    try:
        return 2.0 * float(np.log(np.diag(np.linalg.cholesky(A))).sum())
    except np.linalg.LinAlgError:
        return -np.inf


def _unbounded() -> ValueError:
    return ValueError(
        "SDML has no optimum for these pairs: the dissimilar ones weigh too much; lower `balance_param`, "
        "or raise `sparsity_param`."
    )
