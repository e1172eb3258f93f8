"""GMML for similar and dissimilar pairs instead of labeled samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from ..base.pair_classifier import PairClassifier
from ..geometric_mean import GeometricMean


class PairGMML(PairClassifier):
    r"""`GMML` for given pairs: a metric in closed form, and a classifier of pairs as similar or dissimilar.

    Choose it for a fast first result from pairs: it does not iterate, and has hardly anything to tune.
    `PairRPDML` and `PairITML` bound each distance and prove optimality. Let S and D be the sums of v vᵀ over
    the differences v of the similar and of the dissimilar pairs. The metric is a geometric mean of both,

    .. math:: A = S^{-1} \,\#_t\, D = S^{-1/2} (S^{1/2} D S^{1/2})^t S^{-1/2}.

    It predicts a pair as similar if its distance is at most a threshold. A (nearly) singular S or D is
    regularized as in `GMML`.

    Parameters
    ----------
    t : float
        Position on the geodesic from S⁻¹ (t = 0, similar pairs only) to D (t = 1, dissimilar pairs only);
        0.5 is the geometric mean.
    reg : float
        λ ≥ 0 of the regularized sums S + λ A₀⁻¹ and D + λ A₀. The sums grow with the number of pairs, so λ
        must grow with it to have the same effect. Positive values help if there are few pairs.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        A₀: the identity, the inverse covariance of the samples in the pairs, or a given positive definite
        matrix. It has an effect only if `reg` is positive.
    n_components : int, optional
        Number of leading eigenvectors of A to keep; all by default.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up pairs given as indices: rows of an array, or a function from an array of indices to an
        array of samples. By default, pairs must be samples.

    Attributes
    ----------
    threshold_ : float
        Pairs with at most this distance are predicted as similar. `fit` maximizes the accuracy on its pairs.
    classes_ : array
        −1 and +1, for dissimilar and similar pairs.
    W_ : array of shape (n_features, n_features)
        The learned matrix A. For more than 5,000 features and fewer samples, a `LowRankPlusDiagonal`, which
        is not formed in memory.
    components_ : array of shape (n_components, n_features)
        The map L with LᵀL = A, or its best approximation of rank `n_components`; of the same kind as `W_`.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed samples. The shares sum to one.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    PairRPDML : Bounds the distance of each pair, with a certificate.
    PairITML : The same with another loss.
    GMML : Learns from class labels.

    References
    ----------
    P. H. Zadeh, R. Hosseini, S. Sra, "Geometric mean metric learning", International Conference on Machine
    Learning, 2016.

    Examples
    --------
    Learn from 300 pairs of wines, and predict 200 others:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from geodual.metric import PairGMML
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> pairs = np.random.default_rng(0).permutation(np.column_stack(np.triu_indices(len(X), 1)))[:500]
    >>> similar = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> learner = PairGMML(preprocessor=X).fit(pairs[:300], similar[:300])
    >>> learner.predict(pairs[300:305]).tolist()
    [-1, -1, 1, -1, -1]
    >>> round(learner.score(pairs[300:], similar[300:]), 2)  # area under the ROC curve
    0.93
    """

    def __init__(
        self,
        t: float = 0.5,
        reg: float = 0.0,
        prior: Any = "identity",
        n_components: int | None = None,
        preprocessor: Any = None,
    ) -> None:
        self.t = t
        self.reg = reg
        self.prior = prior
        self.n_components = n_components
        self.preprocessor = preprocessor

    @property
    def _mean(self) -> GeometricMean:
        return GeometricMean(self.t, self.reg, self.prior, self.n_components)

    def _check_parameters(self) -> None:
        self._mean.check()

    def _learn(self, X: Array, similar: NDArray[np.bool_], weight: Array) -> None:
        if self.reg == 0.0:
            _check_kinds(X, similar)
        copies = np.repeat(weight, 2)
        with blas_threads_for(product_operations(min(X.shape), *X.shape)):
            self.W_, L = self._mean.solve(X, lambda Z: _scatters(Z, similar, weight), copies)
            self._set_metric(L, X, copies)


def _check_kinds(X: Array, similar: NDArray[np.bool_]) -> None:
    """Raise an error unless there are pairs of both kinds with different samples, as the mean requires."""
    differ = (X[::2] != X[1::2]).any(axis=1)
    for kind, name, sign in ((similar, "similar", "+1"), (~similar, "dissimilar", "−1")):
        if not (kind & differ).any():
            raise ValueError(
                f"`y` must be {sign} for some pair of different samples, but there is no such {name} pair; "
                "give pairs of both kinds, or a positive `reg`."
            )


def _scatters(Z: Array, similar: NDArray[np.bool_], weight: Array) -> tuple[Array, Array]:
    """Return the sums of w v vᵀ over similar and dissimilar pairs; pair k is rows 2k and 2k + 1 of Z."""
    V = (Z[::2] - Z[1::2]) * np.sqrt(weight)[:, None]
    return V[similar].T @ V[similar], V[~similar].T @ V[~similar]
