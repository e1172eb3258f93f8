"""The shared base of all metric learners: a linear map to a space where the learnt distance is Euclidean."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array, Indices
from geodual.cluster import check_dask_array, is_dask, map_rows

from .importance import feature_shares
from .labels import UNKNOWN, encoded_labels, warn_of_unknown
from .looks import LooksMixin
from .low_rank import LARGEST, LowRankPlusDiagonal, check_map, feature_blocks, mapped
from .pair_array import pair_differences


class MahalanobisMixin(LooksMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transform samples and measure distances with a learnt metric d²(x, x′) = (x − x′)ᵀ W (x − x′).

    W = LᵀL. Learners call `_set_metric` at the end of `fit`. The method names are those of metric-learn.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the variance of the transformed training data. The shares sum to one.
    """

    components_: Array | LowRankPlusDiagonal
    feature_importances_: Array
    _takes_sparse = False  # whether `fit` takes sparse samples; if so, `transform` does too

    def _set_metric(
        self, components: Array | LowRankPlusDiagonal, X: Any, weight: Array | None = None
    ) -> None:
        """Keep L and the feature importances on the training data X, which may be weighted."""
        if not isinstance(components, LowRankPlusDiagonal):
            components = np.asarray(components, dtype=float)
        check_map(X, components)
        self.components_ = components
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
        X : array or dask array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples, n_components)
            X Lᵀ. For a dask array it is a dask array too, which is computed when it is needed.
        """
        check_is_fitted(self)
        if is_dask(X):
            check_dask_array(X)
            X = validate_data(self, X, reset=False, skip_check_array=True)
            return map_rows(mapped, X, self.components_)  # type: ignore[no-any-return]
        X = validate_data(self, X, reset=False, dtype=float, accept_sparse=self._sparse_format)
        return mapped(X, self.components_)

    @property
    def _sparse_format(self) -> str | bool:
        """What `validate_data` should turn sparse samples into; False if they are refused."""
        return "csr" if self._takes_sparse else False

    def get_mahalanobis_matrix(self) -> Array | LowRankPlusDiagonal:
        """Return the matrix W = LᵀL of the metric.

        Returns
        -------
        array of shape (n_features, n_features)
            W. Its rank is at most `n_components`, if that is given. If `components_` is not an array, W is
            a `LowRankPlusDiagonal` too.
        """
        check_is_fitted(self)
        if isinstance(self.components_, LowRankPlusDiagonal):
            return self.components_.gram()
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
        components = copy(self.components_)
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
        pairs : array of shape (n_pairs, 2, n_features), or tuple of two sparse arrays
            Pairs of samples. Sparse samples are given as two sparse arrays of shape (n_pairs, n_features),
            the first samples of all pairs and the second ones.

        Returns
        -------
        array of shape (n_pairs,)
            Distances (not squared).
        """
        check_is_fitted(self)
        difference = pair_differences(pairs, self.components_.shape[1])
        n_pairs, n_features = difference.shape
        # In parts, because the mapped differences may have very many features.
        parts = [mapped(difference[part], self.components_) for part in feature_blocks(n_features, n_pairs)]
        return np.concatenate([np.sqrt(np.einsum("ij,ij->i", part, part)) for part in parts])

    def pair_score(self, pairs: Any) -> Array:
        """Return minus the learnt distance of each pair, so that larger means more similar.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or tuple of two sparse arrays
            Pairs of samples, as for `pair_distance`.

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
        tags.input_tags.sparse = self._takes_sparse
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
        options = {"dtype": float, "order": "C", "accept_sparse": self._sparse_format}
        X, y = validate_data(self, X, y, ensure_min_samples=2, **options)
        check_size(X)
        try:
            check_classification_targets(y)
        except TypeError:
            raise ValueError("`y` must hold labels of one type, such as all texts; convert them.") from None
        return X, encoded_labels(y, type(self).__name__)


def check_size(X: Any) -> None:
    """Raise if samples are so large that squared distances would overflow."""
    values = X.data if issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))  # without a copy
    if largest > LARGEST:
        raise ValueError(f"`X` has values up to {largest:.3g}, whose squares overflow; scale the features.")


def n_axes(X: Any) -> int:
    """Return the number of axes of an array, a table, or what can become an array."""
    try:
        return int(X.ndim) if hasattr(X, "ndim") else np.asarray(X).ndim
    except ValueError:
        return 0  # rows of different lengths; the checks that follow say so


def fitted_attributes(learner: Any) -> dict[str, Any]:
    """Return what a learner has learnt: its attributes whose names end with an underscore."""
    return {name: value for name, value in vars(learner).items() if name.endswith("_")}


def _vector(name: str, values: Any, n_features: int) -> Array:
    """Return a sample given as an array of shape (n_features,) or (1, n_features)."""
    array = np.asarray(values, dtype=float)
    if array.shape not in ((n_features,), (1, n_features)):
        raise ValueError(f"`{name}` must be one sample of {n_features} features, got shape {array.shape}.")
    return array.reshape(n_features)
