"""metric-learn's LSML and LSML_Supervised, which stand for `QuadrupletRPDML`."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array, Indices
from geodual.metric import QuadrupletRPDML
from geodual.metric.pairs.comparison_classifier import ComparisonClassifier
from geodual.metric.pairs.weights import check_pair_weight

from .constraints import drawn_pairs
from .old_names import OldNamesMixin
from .preprocessed import LabelledLearner, random_or_given, take_over


class LSML(OldNamesMixin, ComparisonClassifier):
    """Metric learning from quadruplets; stands for `geodual.metric.QuadrupletRPDML`.

    Both stay near a prior in the LogDet divergence, and penalise squared violations of comparisons. Ours
    compares squared distances with a margin, so that the program is convex and its optimum certified.
    metric-learn's compares distances without a margin.

    Parameters
    ----------
    tol : float
        Relative duality gap at which the fit stops.
    max_iter : int
        Maximal number of iterations.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric to stay near.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up quadruplets given as indices.
    random_state : int or RandomState, optional
        Seed of a random prior.

    See Also
    --------
    geodual.metric.QuadrupletRPDML : The learner behind it; its `C` sets the weight of the violations.

    Examples
    --------
    >>> from geodual.compat.metric_learn import LSML
    >>> quadruplets = [[[0.0, 1.0], [0.1, 8.0], [0.0, 3.0], [2.0, 3.1]]]
    >>> LSML().fit(quadruplets).predict(quadruplets).tolist()
    [1]
    """

    _places = (0, 1, 2, 3)
    _what = "quadruplets"

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.prior = prior
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, quadruplets: Any, weights: Any = None) -> LSML:
        """Learn a metric from quadruplets (a, b, c, d) in which a is nearer to b than c is to d.

        Parameters
        ----------
        quadruplets : array of shape (n_quadruplets, 4, n_features), or (n_quadruplets, 4) with a preprocessor
            Quadruplets of samples or of indices.
        weights : array of shape (n_quadruplets,), optional
            How often each counts; once by default.

        Returns
        -------
        self
        """
        samples = self._samples(quadruplets)
        weights = check_pair_weight(weights, len(samples), "weights")
        prior = random_or_given(self.prior, samples.shape[2], self.random_state)
        learner = QuadrupletRPDML(prior=prior, tol=self.tol, max_iter=self.max_iter)
        take_over(self, learner.fit(samples, sample_weight=weights))
        return self


class LSML_Supervised(LabelledLearner):  # noqa: N801 - metric-learn's name
    """Metric learning from quadruplets drawn from class labels; stands for `geodual.metric.QuadrupletRPDML`.

    Each quadruplet is a random pair of samples of one class, and a random pair of two classes.

    Parameters
    ----------
    tol : float
        Relative duality gap at which the fit stops.
    max_iter : int
        Maximal number of iterations.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric to stay near.
    n_constraints : int, optional
        Number of quadruplets; by default 20 times the squared number of classes.
    weights : array of shape (n_constraints,), optional
        How often each quadruplet counts; once by default.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of the quadruplets and of a random prior.

    See Also
    --------
    geodual.metric.QuadrupletRPDML : The learner behind it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import LSML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> LSML_Supervised(n_constraints=50, random_state=0).fit(X, y).transform(X).shape
    (150, 4)
    """

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: Any = "identity",
        n_constraints: int | None = None,
        weights: Any = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.prior = prior
        self.n_constraints = n_constraints
        self.weights = weights
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def _learn(self, X: Array, labels: Indices) -> None:
        quadruplets = np.hstack(drawn_pairs(labels, self.n_constraints, self.random_state))
        weights = check_pair_weight(self.weights, len(quadruplets), "weights")
        prior = random_or_given(self.prior, X.shape[1], self.random_state)
        learner = QuadrupletRPDML(prior=prior, tol=self.tol, max_iter=self.max_iter, preprocessor=X)
        take_over(self, learner.fit(quadruplets, sample_weight=weights))
