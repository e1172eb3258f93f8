"""metric-learn's SCML and SCML_Supervised, which stand for `TripletRPDML`."""

from __future__ import annotations

from typing import Any

from geodual.arrays import Array, Indices
from geodual.metric import TripletRPDML
from geodual.metric.pairs.comparison_classifier import ComparisonClassifier
from geodual.metric.parameter_checks import check_whole

from .constraints import neighbour_triplets
from .old_names import OldNamesMixin
from .preprocessed import LabelledLearner, check_unsupported, take_over

_INSTEAD = "use `C` of geodual.metric.TripletRPDML to set the strength of the triplets"


class SCML(OldNamesMixin, ComparisonClassifier):
    """Metric learning from triplets; stands for `geodual.metric.TripletRPDML`.

    metric-learn's SCML weighs rank-one metrics of a basis by stochastic descent on a hinge loss. Ours needs
    no basis: it learns a whole matrix from the same triplets, and its optimum is certified.

    Parameters
    ----------
    beta : float
        Sparsity of the weights of the basis; not supported.
    basis : "triplet_diffs" or "lda"
        The basis; has no effect. An array is not supported.
    n_basis : int, optional
        Size of the basis; has no effect.
    gamma, output_iter, batch_size : optional
        Step size, interval of checks and batch size of stochastic descent; have no effect.
    max_iter : int
        Maximal number of iterations.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up triplets given as indices.
    random_state : int or RandomState, optional
        Has no effect: nothing is random.

    See Also
    --------
    geodual.metric.TripletRPDML : The learner behind it; its `C` sets the weight of the violations.

    Examples
    --------
    >>> from geodual.compat.metric_learn import SCML
    >>> triplets = [[[0.0, 1.0], [0.1, 8.0], [2.0, 1.1]]]
    >>> SCML().fit(triplets).predict(triplets).tolist()
    [1]
    """

    _places = (0, 1, 0, 2)
    _what = "triplets"

    def __init__(
        self,
        beta: float = 1e-5,
        basis: Any = "triplet_diffs",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10_000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.beta = beta
        self.basis = basis
        self.n_basis = n_basis
        self.gamma = gamma
        self.max_iter = max_iter
        self.output_iter = output_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, triplets: Any) -> SCML:
        """Learn a metric from triplets (a, p, n) in which a is nearer to p than to n.

        Parameters
        ----------
        triplets : array of shape (n_triplets, 3, n_features), or (n_triplets, 3) with a preprocessor
            Triplets of samples or of indices.

        Returns
        -------
        self
        """
        _check_parameters(self)
        take_over(self, TripletRPDML(max_iter=self.max_iter).fit(self._samples(triplets)))
        return self


class SCML_Supervised(LabelledLearner):  # noqa: N801 - metric-learn's name
    """Metric learning from triplets of neighbours; stands for `geodual.metric.TripletRPDML`.

    Each sample makes a triplet with each of its nearest neighbours in its class and each of those in other
    classes.

    Parameters
    ----------
    k_genuine : int
        Number of neighbours in the same class; fewer in classes that have too few samples.
    k_impostor : int
        Number of neighbours in other classes.
    beta : float
        Sparsity of the weights of the basis; not supported.
    basis : "lda" or "triplet_diffs"
        The basis; has no effect. An array is not supported.
    n_basis : int, optional
        Size of the basis; has no effect.
    gamma, output_iter, batch_size : optional
        Step size, interval of checks and batch size of stochastic descent; have no effect.
    max_iter : int
        Maximal number of iterations.
    verbose : bool
        Whether to print the iterations.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Has no effect: nothing is random.

    See Also
    --------
    geodual.metric.TripletRPDML : The learner behind it.
    geodual.metric.LMNN : Finds its impostors again as the metric changes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import SCML_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> SCML_Supervised().fit(X, y).transform(X).shape
    (150, 4)
    """

    def __init__(
        self,
        k_genuine: int = 3,
        k_impostor: int = 10,
        beta: float = 1e-5,
        basis: Any = "lda",
        n_basis: int | None = None,
        gamma: float = 5e-3,
        max_iter: int = 10_000,
        output_iter: int = 500,
        batch_size: int = 10,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.k_genuine = k_genuine
        self.k_impostor = k_impostor
        self.beta = beta
        self.basis = basis
        self.n_basis = n_basis
        self.gamma = gamma
        self.max_iter = max_iter
        self.output_iter = output_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.preprocessor = preprocessor
        self.random_state = random_state

    def _learn(self, X: Array, labels: Indices) -> None:
        _check_parameters(self)
        triplets = neighbour_triplets(X, labels, self.k_genuine, self.k_impostor)
        take_over(self, TripletRPDML(max_iter=self.max_iter, preprocessor=X).fit(triplets))


def _check_parameters(learner: SCML | SCML_Supervised) -> None:
    """Raise if a parameter is wrong or would change what is learnt; names and sizes of bases do not."""
    check_unsupported(learner, "beta", instead=_INSTEAD)
    if learner.n_basis is not None:
        check_whole("n_basis", learner.n_basis, 1)
    if not isinstance(learner.basis, str) or learner.basis not in ("triplet_diffs", "lda"):
        check_unsupported(learner, "basis", instead=_INSTEAD)
