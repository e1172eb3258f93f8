"""The shared base of all metric learners: a linear map to a space where the learnt distance is Euclidean."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array


class MahalanobisMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transform samples and measure distances with a learnt metric d²(x, x′) = (x − x′)ᵀ W (x − x′).

    W = LᵀL. Learners call `_set_metric` at the end of `fit`. The method names are those of metric-learn.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed training data. The shares sum to one.
    """

    components_: Array
    feature_importances_: Array

    def _set_metric(self, components: Array, X: Array) -> None:
        """Keep L and the feature importances on the training data X."""
        self.components_ = np.asarray(components, dtype=float)
        self.feature_importances_ = feature_shares(self.components_, X)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Array:
        """Map samples to the space in which the learnt metric is the Euclidean distance.

        Euclidean nearest neighbours of the result are far faster than nearest neighbours with the function
        of `get_metric`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples, n_components)
            X Lᵀ.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float)
        return np.asarray(X @ self.components_.T)

    def get_mahalanobis_matrix(self) -> Array:
        """Return the matrix W = LᵀL of the metric.

        Returns
        -------
        array of shape (n_features, n_features)
            W. Its rank is at most `n_components`, if that is given.
        """
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Callable[..., float]:
        """Return the learnt distance as a function of two samples.

        The function keeps its own copy of the metric, so later fits do not change it.

        Returns
        -------
        callable
            ``metric(u, v, squared=False)`` returns the distance of the arrays u and v of shape
            (n_features,), or the squared distance with ``squared=True``.
        """
        check_is_fitted(self)
        components = self.components_.copy()

        def metric(u: Any, v: Any, squared: bool = False) -> float:
            difference = components @ (np.asarray(u, dtype=float) - np.asarray(v, dtype=float))
            length = float(difference @ difference)
            return length if squared else float(np.sqrt(length))

        return metric

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learnt distance of each pair.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features)
            Pairs of samples.

        Returns
        -------
        array of shape (n_pairs,)
            Distances (not squared).
        """
        check_is_fitted(self)
        pairs = check_pair_array(pairs, self.components_.shape[1])
        difference = (pairs[:, 0] - pairs[:, 1]) @ self.components_.T
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", difference, difference)))

    def pair_score(self, pairs: Any) -> Array:
        """Return minus the learnt distance of each pair, so that larger means more similar.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features)
            Pairs of samples.

        Returns
        -------
        array of shape (n_pairs,)
            Scores, at most zero.
        """
        return -self.pair_distance(pairs)


class MetricLearner(MahalanobisMixin, BaseEstimator):
    """Base of the learners that are fitted to samples X and class labels y."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _validate(self, X: Any, y: Any) -> tuple[Array, NDArray[np.intp]]:
        """Return the samples as floats and the classes as 0, 1, …; labels may be of any type."""
        X, y = validate_data(self, X, y, dtype=float, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        classes, encoded = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, got 1 class: {classes[0]!r}; "
                "check `y`."
            )
        return X, encoded.ravel()


def feature_shares(components: Array, X: Array) -> Array:
    """Return the share of each feature in the total variance of X Lᵀ; equal shares if the variance is zero.

    The total variance tr(L Cov(X) Lᵀ) is the sum over features j of (W Cov(X))_jj. A term is negative if
    other features cancel the effect of feature j; it then counts as zero.
    """
    centred = X - X.mean(axis=0)
    # The diagonal of W XᵀX, without forming XᵀX. The factor 1/n cancels in the shares.
    diagonal = np.einsum("ij,ij->j", centred @ (components.T @ components), centred)
    positive = np.maximum(diagonal, 0.0)
    total = positive.sum()
    n_features = X.shape[1]
    return positive / total if total > 0.0 else np.full(n_features, 1.0 / n_features)


def leading_components(W: Array, n_components: int | None) -> Array:
    """Return L with LᵀL = W: a Cholesky factor or, for a lower rank, the leading scaled eigenvectors.

    At full rank the Cholesky factor is preferred because it is unique; eigenvectors of equal eigenvalues are
    not.
    """
    check_n_components(n_components, len(W))
    if n_components is None:
        return np.asarray(np.linalg.cholesky(W).T)
    spectrum, basis = np.linalg.eigh(W)
    order = np.argsort(spectrum)[::-1][:n_components]
    directions = basis[:, order]
    # A fixed sign makes the result the same on every machine.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(len(order))])
    return np.asarray((directions * signs * np.sqrt(np.maximum(spectrum[order], 0.0))).T)


def check_n_components(n_components: Any, n_features: int) -> None:
    """Raise unless `n_components` is None or a valid number of components."""
    if n_components is None:
        return
    _check_whole("n_components", n_components)
    if not 1 <= n_components <= n_features:
        raise ValueError(f"`n_components` must be between 1 and {n_features}, got {n_components}.")


def check_positive(name: str, value: Any) -> None:
    """Raise unless a parameter is positive and finite."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"`{name}` must be positive, got {value}.")


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless a parameter is finite and at least 0."""
    if not 0.0 <= value < np.inf:
        raise ValueError(f"`{name}` must not be negative, got {value}.")


def check_iteration(tol: Any, max_iter: Any) -> None:
    """Raise unless the tolerance is positive and the iteration budget a positive whole number."""
    if not tol > 0.0:
        raise ValueError(f"`tol` must be positive, got {tol}; leave it out for the default.")
    _check_whole("max_iter", max_iter)
    if not max_iter >= 1:
        raise ValueError(f"`max_iter` must be at least 1, got {max_iter}.")


def _check_whole(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Integral):
        raise ValueError(f"`{name}` must be a whole number, got {value!r}.")


def check_pair_array(pairs: Any, n_features: int | None = None) -> Array:
    """Return pairs of samples as an array of shape (n_pairs, 2, n_features); raise if they are invalid."""
    array = np.asarray(pairs, dtype=float)
    if array.ndim != 3 or array.shape[1] != 2 or not len(array):
        raise ValueError(f"`pairs` must have shape (n_pairs, 2, n_features), got {array.shape}.")
    if n_features is not None and array.shape[2] != n_features:
        raise ValueError(
            f"`pairs` has {array.shape[2]} features, but the metric was learnt on {n_features}; give the "
            "features of `fit`."
        )
    if not np.isfinite(array).all():
        raise ValueError("`pairs` must be finite, got NaN or infinite entries; drop these pairs.")
    return array
