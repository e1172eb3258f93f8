"""metric-learn's ITML and ITML_Supervised, which stand for `PairITML` and `ITML`."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual import metric
from geodual.metric.pairs.pair_classifier import PairClassifier

from .constraints import n_per_kind
from .old_names import OldNamesMixin
from .preprocessed import PreprocessedLearner, random_or_given, take_over


class ITML(OldNamesMixin, PairClassifier):
    """Information-theoretic metric learning from pairs; stands for `geodual.metric.PairITML`.

    It solves the same program as metric-learn's, to a certified optimum. By default the bounds are
    percentiles of squared distances; metric-learn takes percentiles of distances that are not squared, and
    compares squared distances with them.

    Parameters
    ----------
    gamma : float
        Weight of the violations of each pair.
    max_iter : int
        Maximal number of iterations.
    tol : float
        Relative duality gap at which the fit stops.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric to stay near.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up pairs given as indices.
    random_state : int or RandomState, optional
        Seed of a random prior.

    See Also
    --------
    geodual.metric.PairITML : The learner behind it, with all its fitted attributes.

    Examples
    --------
    >>> from geodual.compat.metric_learn import ITML
    >>> pairs = [[[0.0, 1.0], [0.1, 8.0]], [[4.0, 2.0], [4.2, 9.0]], [[0.0, 3.0], [2.0, 3.1]]]
    >>> ITML(gamma=10.0).fit(pairs, [1, 1, -1]).predict(pairs).tolist()
    [1, 1, -1]
    """

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.prior = prior
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, pairs: Any, y: Any, bounds: Any = None, calibration_params: Any = None) -> ITML:
        """Learn a metric and a threshold from pairs.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        y : array of shape (n_pairs,)
            +1 for similar pairs, −1 for dissimilar ones.
        bounds : (float, float), optional
            Bounds on the squared distances of similar and of dissimilar pairs.
        calibration_params : dict, optional
            The arguments `strategy`, `min_rate` and `beta` of `calibrate_threshold`.

        Returns
        -------
        self
        """
        samples = self._samples(pairs)
        prior = random_or_given(self.prior, samples.shape[2], self.random_state)
        pair = _as_pair(bounds)
        learner = metric.PairITML(self.gamma, prior, bounds=pair, tol=self.tol, max_iter=self.max_iter)
        take_over(self, learner.fit(samples, y, calibration_params=calibration_params))
        return self


class ITML_Supervised(PreprocessedLearner):  # noqa: N801 - metric-learn's name
    """Information-theoretic metric learning from class labels; stands for `geodual.metric.ITML`.

    It learns from random pairs, which are drawn without repetition. If there are too few similar or too few
    dissimilar ones, more of the other kind are drawn.

    Parameters
    ----------
    gamma : float
        Weight of the violations of each pair.
    max_iter : int
        Maximal number of iterations.
    tol : float
        Relative duality gap at which the fit stops.
    n_constraints : int, optional
        Number of similar and of dissimilar pairs; by default 20 times the squared number of classes.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric to stay near.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of the pairs and of a random prior.

    See Also
    --------
    geodual.metric.ITML : The learner behind it; ``pairs="local"`` is often better for nearest neighbours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import ITML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> ITML_Supervised(n_constraints=50, random_state=0).fit(X, y).transform(X).shape
    (150, 4)
    """

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_constraints: int | None = None,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.n_constraints = n_constraints
        self.prior = prior
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, bounds: Any = None) -> ITML_Supervised:
        """Learn a metric from labelled samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.
        y : array of shape (n_samples,)
            Class labels; −1 means unknown.
        bounds : (float, float), optional
            Bounds on the squared distances of similar and of dissimilar pairs.

        Returns
        -------
        self
        """
        X, labels = self._validate(X, y)
        learner = metric.ITML(
            self.gamma,
            random_or_given(self.prior, X.shape[1], self.random_state),
            pairs=2 * n_per_kind(self.n_constraints, labels),
            bounds=_as_pair(bounds),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        take_over(self, learner.fit(X, labels))
        return self


def _as_pair(bounds: Any) -> Any:
    """Return bounds without the second axis that metric-learn allows, as in [[u, l]]."""
    return None if bounds is None else np.ravel(bounds)
