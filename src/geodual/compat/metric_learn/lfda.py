"""metric-learn's LFDA: local Fisher discriminant analysis, in closed form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.metrics import pairwise_distances

from geodual.arrays import Array, Indices
from geodual.metric.base.checks import check_n_components, check_whole
from geodual.metric.base.scatter import centered, feature_scales, oriented, raised_spectrum

from .preprocessed import PreprocessedLearner

_MOST_NEIGHBORS = 7  # by default, as in the article
_EMBEDDINGS = ("weighted", "orthonormalized", "plain")


class LFDA(PreprocessedLearner):
    """Local Fisher discriminant analysis, in the closed form of the article.

    Finds directions in which samples of different classes are far apart, and *nearby* samples of the same
    class close together, so that a class may have several clusters. metric-learn 0.7.0 departs from the
    article: it replaces the distance of each sample to its k-th neighbor by distances to one sample, and the
    ratio λ of the scatters by λ + 2.

    A (nearly) singular scatter within classes is regularized: in units in which all features vary equally,
    its eigenvalues are raised to at least 1e-8 of the largest.

    Parameters
    ----------
    n_components : int, optional
        Number of rows of `components_`; the number of features by default.
    k : int, optional
        Samples are near each other on the scale of their distance to the k-th neighbor in the class. By
        default 7, but at most the number of features minus one, as in metric-learn.
    embedding_type : "weighted", "orthonormalized" or "plain"
        Directions of length √λ, where λ is the local ratio of the scatters; an orthonormal basis of them; or
        directions along which the local scatter within classes is one.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.

    See Also
    --------
    geodual.metric.LMNN : Keeps neighbors of other classes at a distance.

    References
    ----------
    M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis",
    Journal of Machine Learning Research 8, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import LFDA
    >>> X, y = load_iris(return_X_y=True)
    >>> LFDA(n_components=2, k=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        k: int | None = None,
        embedding_type: str = "weighted",
        preprocessor: Any = None,
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.embedding_type = embedding_type
        self.preprocessor = preprocessor

    def fit(self, X: Any, y: Any = None) -> LFDA:
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
        if self.embedding_type not in _EMBEDDINGS:
            raise ValueError(f"`embedding_type` must be one of {_EMBEDDINGS}, got {self.embedding_type!r}.")
        n_features = X.shape[1]
        check_n_components(self.n_components, n_features)
        within, between = _local_scatters(centered(X), labels, self._n_neighbors(n_features))
        scales = feature_scales(within + between)
        units = np.outer(scales, scales)
        spectrum, basis = raised_spectrum(within / units, largest=1.0)
        ratios, directions = eigh(between / units, (basis * spectrum) @ basis.T)
        kept = slice(None, -1 - (self.n_components or n_features), -1)  # the largest first
        rows = oriented((directions / scales[:, None])[:, kept].T)
        if self.embedding_type == "weighted":
            rows = rows * np.sqrt(np.maximum(ratios[kept], 0.0))[:, None]
        elif self.embedding_type == "orthonormalized":
            rows = np.linalg.qr(rows.T)[0].T
        self._set_metric(rows, X)
        return self

    def _n_neighbors(self, n_features: int) -> int:
        most = max(n_features - 1, 1)
        if self.k is None:
            return min(_MOST_NEIGHBORS, most)
        check_whole("k", self.k, 1)
        if self.k > most:
            warnings.warn(
                f"`k` is {self.k}, but at most the number of features minus one, {most}, is used.",
                UserWarning,
                stacklevel=3,
            )
        return min(int(self.k), most)


def _local_scatters(Z: Array, labels: Indices, k: int) -> tuple[Array, Array]:
    """Return the local scatter matrices within and between classes of centered samples.

    With the affinity a of two samples of a class of size m, pairs of a class have the weight a/m within, and
    a (1/n − 1/m) between; pairs of two classes have the weight 1/n between.
    """
    n = len(Z)
    within, between = np.zeros((2, Z.shape[1], Z.shape[1]))
    between += Z.T @ Z
    for label in np.unique(labels):
        Y = Z[labels == label]
        Y = Y - Y.mean(axis=0)
        local = _laplacian_form(Y, _affinities(Y, k))
        within += local / len(Y)
        between += local / n - (len(Y) / n) * (Y.T @ Y)
    return within, between - within


def _affinities(Y: Array, k: int) -> Array:
    """Return exp(−d²/(σσ′)) of all samples of a class; σ is the distance to the k-th neighbor."""
    squared = pairwise_distances(Y, metric="sqeuclidean")
    k = min(k, len(Y) - 1)
    radius = np.sqrt(np.partition(squared, k, axis=0)[k])
    scale = np.outer(radius, radius)
    # Duplicates have scale 0; they get no weight, as in metric-learn.
    return np.where(scale > 0.0, np.exp(-squared / np.where(scale > 0.0, scale, 1.0)), 0.0)


def _laplacian_form(Y: Array, weight: Array) -> Array:
    """Return the sum of w (y − y′)(y − y′)ᵀ over all pairs."""
    return np.asarray((Y.T * weight.sum(axis=0)) @ Y - Y.T @ weight @ Y)
