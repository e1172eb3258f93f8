"""metric-learn's SDML and SDML_Supervised: sparse metrics, with a certificate."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from geodual.arrays import Array, Indices
from geodual.metric.logdet.components import leading_components
from geodual.metric.logdet.prior import prior_matrices
from geodual.metric.pairs.pair_classifier import PairClassifier, check_calibration_params
from geodual.metric.parameter_checks import check_not_negative
from geodual.metric.scatter import distinct_rows

from .constraints import drawn_pairs
from .old_names import OldNamesMixin
from .preprocessed import LabelledLearner, random_or_given
from .sparse_program import SparseMetric, sparse_metric

_TOL = 1e-6  # duality gap per feature
_MAX_ITER = 5000


class SDML(OldNamesMixin, PairClassifier):
    r"""Sparse metric learning from pairs; solves the same program as metric-learn's, with a certificate.

    .. math:: \min_W\; \mathrm{tr}(W W_0^{-1}) - \log\det W + \eta \sum_k y_k\, d_W^2(x_k, x_k')
              + \lambda \sum_{i \ne j} |W_{ij}|

    Parameters
    ----------
    balance_param : float
        Weight η of the pairs.
    sparsity_param : float
        Weight λ of the entries off the diagonal.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric W₀ to stay near.
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

    def fit(self, pairs: Any, y: Any, calibration_params: Any = None) -> SDML:
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


class SDML_Supervised(LabelledLearner):  # noqa: N801 - metric-learn's name
    """Sparse metric learning from class labels; stands for `SDML` of random pairs.

    Parameters
    ----------
    balance_param : float
        Weight of the pairs.
    sparsity_param : float
        Weight of the entries off the diagonal.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric to stay near.
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

    def _learn(self, X: Array, labels: Indices) -> None:
        near, far = drawn_pairs(labels, self.n_constraints, self.random_state)
        similar = np.repeat([True, False], [len(near), len(far)])
        _learn(self, X[np.vstack([near, far])], similar)


def _learn(learner: SDML | SDML_Supervised, pairs: Array, similar: NDArray[np.bool_]) -> None:
    """Solve the program for pairs, and keep the metric with its certificate."""
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
            "iterations; standardise the features, or lower `balance_param`.",
            ConvergenceWarning,
            stacklevel=4,
        )
