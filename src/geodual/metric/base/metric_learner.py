"""Base of all metric learners: a linear map to a space where the learned distance is Euclidean."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_consistent_length, check_scalar, column_or_1d, estimator_html_repr
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array, Indices
from geodual.cluster import check_dask_array, is_dask, map_rows
from geodual.old_names import OldName

from .checks import UNKNOWN, encoded_labels, warn_of_unknown
from .maps import LARGEST, LowRankPlusDiagonal, check_map, feature_blocks, mapped, precision_of
from .plots import draw_importances, draw_neighbors
from .tuples import pair_differences

# What notebooks show about a certified fit.
_FACTS = {
    "duality_gap_": ("relative duality gap", "{:.1e}"),
    "objective_": ("objective", "{:.6g}"),
    "n_iter_": ("iterations", "{:,}"),
    "n_pairs_": ("pairs", "{:,}"),
    "bounds_": ("bounds u, l", "{:.4g}"),
    "margin_": ("margin", "{:.4g}"),
}

_PRECISIONS = (np.float64, np.float32)  # of samples that `transform` preserves; others become the first


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all learners of a metric d²(x, x′) = (x − x′)ᵀ W (x − x′): transforms, distances and plots.

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
    _takes_sparse = False  # whether `fit` and `transform` accept sparse samples
    _needs_target = True  # whether `fit` needs labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.required or self._needs_target
        tags.input_tags.sparse = self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate(self, X: Any, y: Any) -> tuple[Array, Indices]:
        """Return the labeled samples as floats, and their classes, of any type, as 0, 1, …."""
        X, labels = self._validate_all(X, y)
        warn_of_unknown(labels, stacklevel=4)
        return X[labels != UNKNOWN], labels[labels != UNKNOWN]

    def _validate_all(self, X: Any, y: Any) -> tuple[Array, Indices]:
        """Return all samples as floats, and their classes as 0, 1, …, or −1 for unlabeled samples."""
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

    def _set_metric(
        self, components: Array | LowRankPlusDiagonal, X: Any, weight: Array | None = None
    ) -> None:
        """Set L, and the feature importances on the training data X, which may be weighted."""
        if not isinstance(components, LowRankPlusDiagonal):
            components = np.asarray(components, dtype=float)
        check_map(X, components)
        self.components_ = components
        self.feature_importances_ = feature_shares(self.components_, X, weight)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Array:
        """Map samples to the space in which the learned metric is the Euclidean distance.

        Searching Euclidean nearest neighbors in the result is far faster than with the function of
        `get_metric`.

        Parameters
        ----------
        X : array or dask array of shape (n_samples, n_features)
            Samples, with the features of `fit`.

        Returns
        -------
        array of shape (n_samples, n_components)
            X Lᵀ; for a dask array, a lazy dask array. The precision is double, or single if that of X is.
        """
        check_is_fitted(self)
        if is_dask(X):
            check_dask_array(X)
            X = validate_data(self, X, reset=False, skip_check_array=True)
            return map_rows(mapped, X, self.components_).astype(precision_of(X))  # type: ignore[no-any-return]
        X = validate_data(self, X, reset=False, dtype=_PRECISIONS, accept_sparse=self._sparse_format)
        return mapped(X, self.components_).astype(X.dtype, copy=False)

    @property
    def _sparse_format(self) -> str | bool:
        """The format into which `validate_data` converts sparse samples; False to reject them."""
        return "csr" if self._takes_sparse else False

    def get_mahalanobis_matrix(self) -> Array | LowRankPlusDiagonal:
        """Return the matrix W = LᵀL of the metric.

        Returns
        -------
        array of shape (n_features, n_features)
            W. Its rank is at most `n_components`, if given. If `components_` is not an array, W is a
            `LowRankPlusDiagonal` too.
        """
        check_is_fitted(self)
        if isinstance(self.components_, LowRankPlusDiagonal):
            return self.components_.gram()
        return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function of two samples.

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
        """Return the learned distance of each pair.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or tuple of two sparse arrays
            Pairs of samples. Pass sparse samples as two sparse arrays of shape (n_pairs, n_features): the
            first samples of all pairs, and the second ones.

        Returns
        -------
        array of shape (n_pairs,)
            Distances (not squared).
        """
        check_is_fitted(self)
        difference = pair_differences(pairs, self.components_.shape[1])
        n_pairs, n_features = difference.shape
        # In parts, because mapped differences may have very many features.
        parts = [mapped(difference[part], self.components_) for part in feature_blocks(n_features, n_pairs)]
        return np.concatenate([np.sqrt(np.einsum("ij,ij->i", part, part)) for part in parts])

    def pair_score(self, pairs: Any) -> Array:
        """Return minus the learned distance of each pair, so that larger means more similar.

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

    plot_neighbours = OldName("plot_neighbors")

    def plot_neighbors(self, X: Any, y: Any, n_neighbors: int = 1, axes: Any = None) -> Any:
        """Plot samples before and after the transformation, with lines to their nearest neighbors.

        Each panel shows two principal axes; neighbors are those in all dimensions. Lines between different
        classes are thick and dashed. The training samples flatter the metric, so pass other samples to judge
        it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.
        y : array of shape (n_samples,)
            Their classes.
        n_neighbors : int
            Number of neighbors to connect to each sample.
        axes : sequence of two matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        array of two matplotlib Axes
            The panels.
        """
        check_is_fitted(self)
        after = np.asarray(self.transform(X))
        before = validate_data(self, X, reset=False, dtype=float, accept_sparse=True, ensure_min_samples=2)
        before, y = before.toarray() if issparse(before) else before, column_or_1d(y)
        check_consistent_length(before, y)
        check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1, max_val=len(before) - 1)
        return draw_neighbors(axes, (before, after), y, n_neighbors)

    def plot_importances(self, n_features: int = 20, ax: Any = None) -> Any:
        """Plot `feature_importances_` as bars, the largest first.

        Parameters
        ----------
        n_features : int
            Maximum number of bars.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The axes of the plot. A dashed line marks the share of equally important features.
        """
        check_is_fitted(self)
        check_scalar(n_features, "n_features", Integral, min_val=1)
        importances = self.feature_importances_
        names = getattr(self, "feature_names_in_", [f"feature {k}" for k in range(len(importances))])
        return draw_importances(ax, importances, [str(name) for name in names], n_features)

    def _html_repr(self) -> str:
        """Return HTML for notebooks: scikit-learn's diagram and, after a certified fit, the certificate."""
        diagram: str = estimator_html_repr(self)
        if not hasattr(self, "duality_gap_"):
            return diagram
        rows = []
        for attribute, (name, form) in _FACTS.items():
            if hasattr(self, attribute):
                value = getattr(self, attribute)
                values = value if isinstance(value, tuple) else (value,)
                fact = ", ".join(form.format(one) for one in values)
                rows.append(f"<tr><th>{name}</th><td>{fact}</td></tr>")
        table = f"<table><caption>Certificate</caption><tbody>{''.join(rows)}</tbody></table>"
        start, end, rest = diagram.rpartition("</body>")
        return start + table + end + rest

    # scikit-learn ≥ 1.7 calls `_html_repr` itself; 1.6 needs the two methods below.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return bundle | ({"text/html": self._html_repr()} if "text/html" in bundle else {})


def check_size(X: Any) -> None:
    """Raise an error if samples are so large that squared distances would overflow."""
    values = X.data if issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))  # without a copy
    if largest > LARGEST:
        raise ValueError(f"`X` has values up to {largest:.3g}, whose squares overflow; scale the features.")


def n_axes(X: Any) -> int:
    """Return the number of axes of an array, a table, or an object that converts to an array."""
    try:
        return int(X.ndim) if hasattr(X, "ndim") else np.asarray(X).ndim
    except ValueError:
        return 0  # rows of different lengths, reported by later checks


def fitted_attributes(learner: Any) -> dict[str, Any]:
    """Return the fitted attributes of a learner: those whose names end with an underscore."""
    return {name: value for name, value in vars(learner).items() if name.endswith("_")}


def _vector(name: str, values: Any, n_features: int) -> Array:
    """Return a sample given as an array of shape (n_features,) or (1, n_features)."""
    array = np.asarray(values, dtype=float)
    if array.shape not in ((n_features,), (1, n_features)):
        raise ValueError(f"`{name}` must be one sample of {n_features} features, got shape {array.shape}.")
    return array.reshape(n_features)


def feature_shares(components: Array | LowRankPlusDiagonal, X: Any, weight: Array | None = None) -> Array:
    """Return the share of each feature in the total variance of X Lᵀ; equal shares if the variance is zero.

    The total variance tr(L Cov(X) Lᵀ) is the sum over features j of (W Cov(X))_jj. A term is negative if
    other features cancel the effect of feature j; it then counts as zero. Samples can be weighted.
    """
    n_samples, n_features = X.shape
    weight = np.ones(n_samples) if weight is None else weight
    # The diagonal of W XᵀX, without forming XᵀX. The factor 1/n cancels in the shares.
    if isinstance(components, LowRankPlusDiagonal):
        diagonal = components.gram().scatter_diagonal(X, weight)
    elif issparse(X):
        L, zeros, one = components, np.zeros(n_features), np.eye(len(components))
        diagonal = LowRankPlusDiagonal(zeros, L.T, one, L.T).scatter_diagonal(X, weight)
    else:
        # Choose units in which no product overflows; the shares do not depend on them.
        X, components = of_unit_size(X), of_unit_size(components)
        centered = X - np.average(X, axis=0, weights=weight)
        # With few samples, W is not formed either.
        few = 2 * n_samples < n_features
        product = centered @ components.T @ components if few else centered @ (components.T @ components)
        diagonal = np.einsum("ij,ij->j", product, centered * weight[:, None])
    positive = np.maximum(diagonal, 0.0)
    total = positive.sum()
    return positive / total if total > 0.0 else np.full(n_features, 1.0 / n_features)


def of_unit_size(X: Array) -> Array:
    """Return X divided by its largest absolute entry, so that squares neither underflow nor overflow."""
    largest = np.abs(X).max()
    return X / largest if largest > 0.0 else X
