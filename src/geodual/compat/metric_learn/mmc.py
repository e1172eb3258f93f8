"""metric-learn's MMC and MMC_Supervised, which stand for `PairRPDML` and `RPDML`."""

from __future__ import annotations

from typing import Any

from geodual import metric
from geodual.arrays import Array, Indices
from geodual.metric.pairs.pair_classifier import PairClassifier

from .constraints import n_per_kind
from .old_names import OldNamesMixin
from .preprocessed import LabelledLearner, check_unsupported, random_or_given, take_over

_INSTEAD = "scale the features instead, or learn a full matrix"


class MMC(OldNamesMixin, PairClassifier):
    """Metric learning from similar and dissimilar pairs; stands for `geodual.metric.PairRPDML`.

    metric-learn's MMC maximises the sum of the distances of dissimilar pairs while the squared distances of
    similar pairs sum to at most one. Ours bounds the distances of both kinds of pairs and stays near a prior,
    and its optimum is certified.

    Parameters
    ----------
    max_iter : int
        Maximal number of iterations.
    max_proj : int
        Number of projections per iteration; has no effect.
    tol : float
        Relative duality gap at which the fit stops.
    init : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric to start from and to stay near.
    diagonal : bool
        Whether to learn a diagonal matrix; not supported.
    diagonal_c : float
        Weight for diagonal matrices; not supported.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up pairs given as indices.
    random_state : int or RandomState, optional
        Seed of a random start.

    See Also
    --------
    geodual.metric.PairRPDML : The learner behind it; its `C` sets the weight of the violations.

    Examples
    --------
    >>> from geodual.compat.metric_learn import MMC
    >>> pairs = [[[0.0, 1.0], [0.1, 8.0]], [[4.0, 2.0], [4.2, 9.0]], [[0.0, 3.0], [2.0, 3.1]]]
    >>> MMC().fit(pairs, [1, 1, -1]).predict(pairs).tolist()
    [1, 1, -1]
    """

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10_000,
        tol: float = 1e-3,
        init: Any = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_iter = max_iter
        self.max_proj = max_proj
        self.tol = tol
        self.init = init
        self.diagonal = diagonal
        self.diagonal_c = diagonal_c
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, pairs: Any, y: Any, calibration_params: Any = None) -> MMC:
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
        check_unsupported(self, "diagonal", "diagonal_c", instead=_INSTEAD)
        samples = self._samples(pairs)
        prior = random_or_given(self.init, samples.shape[2], self.random_state)
        learner = metric.PairRPDML(prior=prior, tol=self.tol, max_iter=self.max_iter)
        take_over(self, learner.fit(samples, y, calibration_params=calibration_params))
        return self


class MMC_Supervised(LabelledLearner):  # noqa: N801 - metric-learn's name
    """Metric learning from class labels; stands for `geodual.metric.RPDML`.

    Parameters
    ----------
    max_iter : int
        Maximal number of iterations.
    max_proj : int
        Number of projections per iteration; has no effect.
    tol : float
        Relative duality gap at which the fit stops.
    n_constraints : int, optional
        Number of random similar and of random dissimilar pairs; by default all pairs count.
    init : "identity", "covariance", "random" or array of shape (n_features, n_features)
        The metric to start from and to stay near.
    diagonal : bool
        Whether to learn a diagonal matrix; not supported.
    diagonal_c : float
        Weight for diagonal matrices; not supported.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of the pairs and of a random start.

    See Also
    --------
    geodual.metric.RPDML : The learner behind it; ``pairs="local"`` is often better for nearest neighbours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import MMC_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> MMC_Supervised().fit(X, y).transform(X).shape
    (150, 4)
    """

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10_000,
        tol: float = 1e-6,
        n_constraints: int | None = None,
        init: Any = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_iter = max_iter
        self.max_proj = max_proj
        self.tol = tol
        self.n_constraints = n_constraints
        self.init = init
        self.diagonal = diagonal
        self.diagonal_c = diagonal_c
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def _learn(self, X: Array, labels: Indices) -> None:
        check_unsupported(self, "diagonal", "diagonal_c", instead=_INSTEAD)
        learner = metric.RPDML(
            prior=random_or_given(self.init, X.shape[1], self.random_state),
            pairs="all" if self.n_constraints is None else 2 * n_per_kind(self.n_constraints, labels),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        take_over(self, learner.fit(X, labels))
