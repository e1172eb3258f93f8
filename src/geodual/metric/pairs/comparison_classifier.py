"""The shared base of learners that are fitted to comparisons: they predict which of two pairs is nearer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from geodual.arrays import Array

from ..base import MahalanobisMixin, n_axes
from ..pair_array import check_reach, real_array
from .preprocessor import look_up
from .weights import check_pair_weight


class ComparisonClassifier(MahalanobisMixin, BaseEstimator):
    """Predict by a learnt metric whether the near pair of a comparison is the nearer one.

    A comparison is a tuple of samples: a triplet (a, p, n) says that a is nearer to p than to n, a quadruplet
    (a, b, c, d) that a is nearer to b than c to d. The names are those of metric-learn. A subclass has the
    attributes below and a parameter `preprocessor`. Its `fit` calls `_check_tuples` and `_set_metric`.

    Attributes
    ----------
    _places : tuple of int
        The positions in a tuple of the two samples of the near pair, and of the two of the far pair.
    _what : str
        What error messages call the tuples.
    """

    preprocessor: Any
    _places: ClassVar[tuple[int, int, int, int]]
    _what: ClassVar[str]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.preprocessor is not None
        tags.input_tags.three_d_array = True
        return tags

    def _samples(self, tuples: Any) -> Array:
        """Return tuples of samples as an array; look them up if indices are given."""
        if n_axes(tuples) == 2:
            tuples = look_up(self.preprocessor, tuples)
        array = real_array(tuples, self._what)
        size = max(self._places) + 1
        if array.ndim != 3 or array.shape[1] != size or not array.size:
            raise ValueError(
                f"`{self._what}` must have shape (n_{self._what}, {size}, n_features), got {array.shape}."
            )
        if not np.isfinite(array).all():
            raise ValueError(f"`{self._what}` must be finite, got NaN or infinite entries; drop these.")
        check_reach(array, self._what)
        return array

    def _signs(self, y: Any, n_tuples: int) -> Array:
        """Return +1 for comparisons that hold and −1 for those that hold the other way round."""
        if y is None:
            return np.ones(n_tuples)
        y = np.asarray(y)
        if y.shape != (n_tuples,) or not np.isin(y, (-1, 1)).all():
            raise ValueError(
                f"`y` must hold +1 or −1 for each of the {n_tuples} {self._what}; leave it out if all hold."
            )
        return np.asarray(y, dtype=float)

    def transform(self, X: Any) -> Array:
        """Map samples or tuples of samples to the space in which the learnt metric is the Euclidean distance.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), (n_tuples, n, n_features), or (n_samples,)
            Samples, tuples of samples, or indices of samples for the preprocessor.

        Returns
        -------
        array of shape (n_samples, n_components) or (n_tuples, n, n_components)
            X Lᵀ.
        """
        check_is_fitted(self)
        if n_axes(X) == 3:
            X = np.asarray(X, dtype=float)
            return np.asarray(super().transform(X.reshape(-1, X.shape[2])).reshape(*X.shape[:2], -1))
        if n_axes(X) == 1 and self.preprocessor is not None:
            X = look_up(self.preprocessor, X)
        return super().transform(X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Learn a metric from comparisons, and return them in the space in which it is Euclidean.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        y : array of shape (n_tuples,), optional
            +1 for comparisons that hold, −1 for those that hold the other way round. All hold by default.
        **fit_params
            Further arguments of `fit`.

        Returns
        -------
        array of shape (n_tuples, n, n_components)
            The tuples, transformed.
        """
        if y is not None:
            fit_params["y"] = y
        return self.fit(X, **fit_params).transform(self._samples(X))  # type: ignore[no-any-return]

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learnt distance of each pair (not squared).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        check_is_fitted(self)
        return super().pair_distance(look_up(self.preprocessor, pairs) if n_axes(pairs) == 2 else pairs)

    def decision_function(self, X: Any) -> Array:
        """Return how much larger the distance of the far pair is than that of the near pair.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        """
        check_is_fitted(self)
        ends = self._samples(X)[:, self._places]
        return self.pair_distance(ends[:, 2:]) - self.pair_distance(ends[:, :2])

    def predict(self, X: Any) -> Array:
        """Return +1 if the near pair is nearer than the far pair, and −1 otherwise.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        """
        return np.where(self.decision_function(X) > 0.0, 1, -1)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of the comparisons that are predicted correctly.

        Parameters
        ----------
        X : array of shape (n_tuples, n, n_features), or (n_tuples, n) with a preprocessor
            Tuples of samples or of indices.
        y : array of shape (n_tuples,), optional
            +1 for comparisons that hold, −1 for those that hold the other way round. All hold by default.
        sample_weight : array of shape (n_tuples,), optional
            How often each comparison counts; once by default.
        """
        predicted = self.predict(X)
        weight = check_pair_weight(sample_weight, len(predicted), "sample_weight")
        return float(np.average(predicted == self._signs(y, len(predicted)), weights=weight))
