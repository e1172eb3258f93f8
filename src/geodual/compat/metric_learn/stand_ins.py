"""metric-learn's ITML, LMNN, NCA and Covariance, backed by learners of geodual and scikit-learn."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.utils.validation import validate_data

from geodual import metric
from geodual.metric.base.pair_classifier import PairClassifier
from geodual.metric.base.scatter import centered

from .preprocessed import PreprocessedLearner, n_per_kind, random_or_given, take_over

_NCA_TOL = 1e-5  # scikit-learn's default


class ITML(PairClassifier):
    """Information-theoretic metric learning from pairs, backed by `geodual.metric.PairITML`.

    It solves the same program as metric-learn, to a certified optimum. By default the bounds are percentiles
    of squared distances; metric-learn compares squared distances with percentiles of plain distances.

    Parameters
    ----------
    gamma : float
        Weight of the violations of each pair.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Relative duality gap at which the fit stops.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The prior; the learned metric stays close to it.
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

    def fit(self, pairs: Any, y: Any, bounds: Any = None, calibration_params: Any = None) -> ITML:  # type: ignore[override]
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
        _print_iterations(self)
        return self


class ITML_Supervised(PreprocessedLearner):  # noqa: N801 - metric-learn's name
    """Information-theoretic metric learning from class labels, backed by `geodual.metric.ITML`.

    It learns from random pairs, drawn without repetition. If there are too few pairs of one kind, similar or
    dissimilar, more of the other kind are drawn. The default bounds differ from metric-learn's as in `ITML`.

    Parameters
    ----------
    gamma : float
        Weight of the violations of each pair.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Relative duality gap at which the fit stops.
    n_constraints : int, optional
        Number of similar and of dissimilar pairs; by default 20 times the squared number of classes.
    prior : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The prior; the learned metric stays close to it.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of the pairs and of a random prior.

    See Also
    --------
    geodual.metric.ITML : The learner behind it; ``pairs="local"`` is often better for nearest neighbors.

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
        """Learn a metric from labeled samples.

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
        _print_iterations(self)
        return self


class LMNN(PreprocessedLearner):
    """Large margin nearest neighbors, backed by `geodual.metric.LMNN`.

    It minimizes the same objective as metric-learn, with all impostors, and reaches a smaller value. Equal
    samples of a class count as one target and one impostor.

    Parameters
    ----------
    init : optional
        Has no effect: at full rank the program is convex; otherwise the fit starts from principal components.
    n_neighbors : int
        Number of target neighbors per sample.
    min_iter, learn_rate, random_state : optional
        Have no effect: steps are chosen by a line search, and nothing is random.
    max_iter : int
        Maximum number of iterations.
    regularization : float
        Weight of the pull of target neighbors, between 0 and 1.
    convergence_tol : float
        Tolerance of the objective.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    n_components : int, optional
        Number of rows of `components_`; the number of features by default.

    See Also
    --------
    geodual.metric.LMNN : The learner behind it, with all its fitted attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import LMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> LMNN(n_neighbors=5, learn_rate=1e-6).fit(X, y).transform(X).shape
    (150, 4)
    """

    def __init__(
        self,
        init: Any = "auto",
        n_neighbors: int = 3,
        min_iter: int = 50,
        max_iter: int = 1000,
        learn_rate: float = 1e-7,
        regularization: float = 0.5,
        convergence_tol: float = 1e-3,
        verbose: bool = False,
        preprocessor: Any = None,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.init = init
        self.n_neighbors = n_neighbors
        self.min_iter = min_iter
        self.max_iter = max_iter
        self.learn_rate = learn_rate
        self.regularization = regularization
        self.convergence_tol = convergence_tol
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LMNN:
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
        learner = metric.LMNN(
            self.n_neighbors,
            self.regularization,
            self.max_iter,
            self.convergence_tol,
            self.n_components,
            int(self.verbose),
        )
        take_over(self, learner.fit(X, labels))
        return self


class NCA(PreprocessedLearner):
    """Neighborhood components analysis, backed by scikit-learn's `NeighborhoodComponentsAnalysis`.

    Parameters
    ----------
    init : "auto", "pca", "lda", "identity", "random" or array of shape (n_components, n_features)
        Where to start.
    n_components : int, optional
        Number of rows of `components_`; the number of features by default.
    max_iter : int
        Maximum number of iterations.
    tol : float, optional
        Tolerance of the optimizer; 1e-5 by default.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of a random start.

    See Also
    --------
    geodual.metric.NeighborRPDML : Learns a metric for nearest neighbors, with a certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import NCA
    >>> X, y = load_iris(return_X_y=True)
    >>> NCA(n_components=2, max_iter=20).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NCA:
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
        centered(X)  # raises an error if samples are equal or extreme, where scikit-learn would crash
        tol = _NCA_TOL if self.tol is None else self.tol
        learner = NeighborhoodComponentsAnalysis(
            self.n_components,
            init=self.init,
            max_iter=self.max_iter,
            tol=min(tol, 1.0) if isinstance(tol, Real) else tol,  # larger values only overflow
            verbose=int(self.verbose),
            random_state=self.random_state,
        )
        try:
            with np.errstate(all="ignore"):  # trial steps may overflow; the resulting metric is checked below
                learner.fit(X, labels)
        except IndexError:  # scikit-learn's discriminant analysis fails if classes have no variance within
            raise ValueError(
                "NCA cannot start from a discriminant analysis, because the samples of each class are equal; "
                'give `init="identity"`.'
            ) from None
        self.n_iter_ = int(learner.n_iter_)
        self._set_metric(np.asarray(learner.components_), X)
        return self


class Covariance(PreprocessedLearner):
    """The Mahalanobis metric of the inverse covariance, backed by `geodual.metric.MahalanobisMetric`.

    A singular covariance is regularized, so that directions in which the samples do not vary get a large
    weight. metric-learn uses the pseudo-inverse, which gives them no weight.

    Parameters
    ----------
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.

    See Also
    --------
    geodual.metric.MahalanobisMetric : The metric behind it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import Covariance
    >>> X, _ = load_iris(return_X_y=True)
    >>> Covariance().fit(X).transform(X).shape
    (150, 4)
    """

    def __init__(self, preprocessor: Any = None) -> None:
        self.preprocessor = preprocessor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def fit(self, X: Any, y: Any = None) -> Covariance:
        """Compute the inverse covariance of the samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.
        y : optional
            Not used.

        Returns
        -------
        self
        """
        X = validate_data(self, self._looked_up(X), dtype=float, ensure_min_samples=2)
        take_over(self, metric.MahalanobisMetric().fit(X))
        return self


def _as_pair(bounds: Any) -> Any:
    """Return bounds without the second axis that metric-learn allows, as in [[u, l]]."""
    return None if bounds is None else np.ravel(bounds)


def _print_iterations(learner: ITML | ITML_Supervised) -> None:
    if learner.verbose:
        for row in learner.history_:
            print(  # noqa: T201 - what `verbose` asks for
                f"{type(learner).__name__}: primal {row.primal:.8e}, dual {row.dual:.8e}, gap {row.gap:.1e}, "
                f"{row.passes} passes"
            )
