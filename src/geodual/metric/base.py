"""The shared base of all metric learners: a linear map to a space where the learnt distance is Euclidean."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array, Indices

UNKNOWN = -1  # the class of a sample without label, as in scikit-learn's semi-supervised learners


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

    def _set_metric(self, components: Array, X: Array, weight: Array | None = None) -> None:
        """Keep L and the feature importances on the training data X, which may be weighted."""
        self.components_ = np.asarray(components, dtype=float)
        self.feature_importances_ = feature_shares(self.components_, X, weight)

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
            (n_features,) or (1, n_features), or the squared distance with ``squared=True``.
        """
        check_is_fitted(self)
        components = self.components_.copy()
        n_features = components.shape[1]

        def metric(u: Any, v: Any, squared: bool = False) -> float:
            difference = components @ (_vector("u", u, n_features) - _vector("v", v, n_features))
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

    def _validate(self, X: Any, y: Any) -> tuple[Array, Indices]:
        """Return the labelled samples as floats and their classes as 0, 1, …; labels may be of any type."""
        X, labels = self._validate_all(X, y)
        warn_of_unknown(labels, stacklevel=4)
        return X[labels != UNKNOWN], labels[labels != UNKNOWN]

    def _validate_all(self, X: Any, y: Any) -> tuple[Array, Indices]:
        """Return all samples as floats and their classes as 0, 1, …, or −1 for samples without label."""
        if n_axes(X) == 3:
            raise ValueError(
                f"`X` must have shape (n_samples, n_features), but it has three axes. {type(self).__name__} "
                "needs samples and their classes; use PairRPDML to learn from pairs."
            )
        X, y = validate_data(self, X, y, dtype=float, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        return X, encoded_labels(y, type(self).__name__)


def n_axes(X: Any) -> int:
    """Return the number of axes of an array, a table, or what can become an array."""
    return int(X.ndim) if hasattr(X, "ndim") else np.asarray(X).ndim


def encoded_labels(y: Any, learner: str) -> Indices:
    """Return the classes as 0, 1, …, and −1 for samples whose label is −1, which means unknown.

    −1 is a class like others if there is only one other label, as in −1 and +1.
    """
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{learner} needs samples of at least two classes, got 1 class: {classes[0]!r}; check `y`."
        )
    labels = np.asarray(labels.ravel(), dtype=np.intp)
    is_unknown = np.array([isinstance(label, numbers.Real) and label == UNKNOWN for label in classes])
    if len(classes) == 2 or not is_unknown.any():
        return labels
    place = int(np.flatnonzero(is_unknown)[0])
    return np.where(labels == place, UNKNOWN, labels - (labels > place))


def warn_of_unknown(labels: Indices, stacklevel: int = 3) -> None:
    """Warn if samples have no label; by default in the name of the caller of the function that calls this."""
    n_unknown = int((labels == UNKNOWN).sum())
    if n_unknown:
        warnings.warn(
            f"{n_unknown} of {len(labels)} samples have the label −1, which means unknown, so they make no "
            "pairs. If −1 is a class, give it another label.",
            UserWarning,
            stacklevel=stacklevel,
        )


def feature_shares(components: Array, X: Array, weight: Array | None = None) -> Array:
    """Return the share of each feature in the total variance of X Lᵀ; equal shares if the variance is zero.

    The total variance tr(L Cov(X) Lᵀ) is the sum over features j of (W Cov(X))_jj. A term is negative if
    other features cancel the effect of feature j; it then counts as zero. Samples may be weighted.
    """
    centred = X - np.average(X, axis=0, weights=weight)
    # The diagonal of W XᵀX, without forming XᵀX. With few samples W is not formed either.
    few = 2 * len(X) < X.shape[1]
    product = centred @ components.T @ components if few else centred @ (components.T @ components)
    weighted = centred if weight is None else centred * weight[:, None]
    diagonal = np.einsum("ij,ij->j", product, weighted)  # the factor 1/n cancels in the shares
    positive = np.maximum(diagonal, 0.0)
    total = positive.sum()
    n_features = X.shape[1]
    return positive / total if total > 0.0 else np.full(n_features, 1.0 / n_features)


def check_n_components(n_components: Any, n_features: int) -> None:
    """Raise unless `n_components` is None or a valid number of components."""
    if n_components is None:
        return
    check_whole("n_components", n_components)
    if not 1 <= n_components <= n_features:
        raise ValueError(f"`n_components` must be between 1 and {n_features}, got {n_components}.")


def check_number(name: str, value: Any) -> None:
    """Raise unless a parameter is a number."""
    if not isinstance(value, numbers.Real):
        raise ValueError(f"`{name}` must be a number, got {value!r}.")


def check_positive(name: str, value: Any) -> None:
    """Raise unless a parameter is positive and finite."""
    check_number(name, value)
    if not 0.0 < value < np.inf:
        raise ValueError(f"`{name}` must be positive, got {value}.")


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless a parameter is finite and at least 0."""
    check_number(name, value)
    if not 0.0 <= value < np.inf:
        raise ValueError(f"`{name}` must not be negative or infinite, got {value}.")


def check_share(name: str, value: Any) -> None:
    """Raise unless a parameter lies between 0 and 1."""
    check_number(name, value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"`{name}` must lie in [0, 1], got {value}.")


def check_whole(name: str, value: Any, least: int | None = None) -> None:
    """Raise unless a parameter is a whole number, and not below the least that is allowed."""
    if not isinstance(value, numbers.Integral):
        raise ValueError(f"`{name}` must be a whole number, got {value!r}.")
    if least is not None and value < least:
        raise ValueError(f"`{name}` must be at least {least}, got {value}.")


def check_iteration(tol: Any, max_iter: Any) -> None:
    """Raise unless the tolerance is positive and the iteration budget a positive whole number."""
    check_number("tol", tol)
    if not tol > 0.0:
        raise ValueError(f"`tol` must be positive, got {tol}; leave it out for the default.")
    check_whole("max_iter", max_iter, 1)


def _vector(name: str, values: Any, n_features: int) -> Array:
    """Return a sample given as an array of shape (n_features,) or (1, n_features)."""
    array = np.asarray(values, dtype=float)
    if array.shape not in ((n_features,), (1, n_features)):
        raise ValueError(f"`{name}` must be one sample of {n_features} features, got shape {array.shape}.")
    return array.reshape(n_features)


def check_pair_array(pairs: Any, n_features: int | None = None) -> Array:
    """Return pairs of samples as an array of shape (n_pairs, 2, n_features); raise if they are invalid."""
    try:
        array = np.asarray(pairs, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`pairs` must be an array of numbers: {error}.") from None
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
