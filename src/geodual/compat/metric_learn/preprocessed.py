"""What metric-learn's learners have in common and ours do not: a preprocessor for samples, other defaults."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.datasets import make_spd_matrix

from geodual.arrays import Array, Indices
from geodual.metric.base import MetricLearner, fitted_attributes, n_axes
from geodual.metric.logdet.certificate import Convergence
from geodual.metric.logdet.solution import iteration_printer
from geodual.metric.pair_array import check_pair_array
from geodual.metric.pairs.preprocessor import look_up

from .old_names import OldNamesMixin


class PreprocessedLearner(OldNamesMixin, MetricLearner):
    """Base of the learners that take samples, or indices of samples if there is a preprocessor."""

    preprocessor: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = self.preprocessor is not None
        return tags

    def _looked_up(self, X: Any) -> Any:
        return look_up(self.preprocessor, X) if self.preprocessor is not None and n_axes(X) == 1 else X

    def _validate_all(self, X: Any, y: Any) -> tuple[Array, Indices]:
        return super()._validate_all(self._looked_up(X), y)

    def transform(self, X: Any) -> Array:
        """Map samples to the space in which the learnt metric is the Euclidean distance.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.

        Returns
        -------
        array of shape (n_samples, n_components)
            X Lᵀ.
        """
        return super().transform(self._looked_up(X))

    def pair_distance(self, pairs: Any) -> Array:
        """Return the learnt distance of each pair (not squared).

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
            Pairs of samples or of indices.
        """
        if self.preprocessor is not None and n_axes(pairs) == 2:
            pairs = check_pair_array(look_up(self.preprocessor, pairs))
        return super().pair_distance(pairs)


class LabelledLearner(PreprocessedLearner):
    """Base of the learners that learn from class labels."""

    @abstractmethod
    def _learn(self, X: Array, labels: Indices) -> None:
        """Learn from samples that have been looked up and checked."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn a metric from labelled samples.

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
        self._learn(*self._validate(X, y))
        return self


def take_over(learner: Any, fitted: BaseEstimator) -> None:
    """Copy the fitted attributes of the learner that did the work, and print its iterations if wanted."""
    vars(learner).update(fitted_attributes(fitted))
    history = getattr(fitted, "history_", None)
    if isinstance(history, Convergence):
        for row in history:
            iteration_printer(learner, learner.verbose)(row)


def check_unsupported(learner: BaseEstimator, *names: str, instead: str) -> None:
    """Raise if a parameter that has no counterpart here is not at its default.

    Parameters
    ----------
    learner : estimator
        The learner.
    *names : str
        The parameters.
    instead : str
        What the user can do.
    """
    defaults = inspect.signature(type(learner)).parameters
    for name in names:
        value, default = getattr(learner, name), defaults[name].default
        if not (value is default or (isinstance(value, type(default)) and value == default)):
            raise ValueError(
                f"`{name}` has no counterpart in geodual's {type(learner).__name__}, so it must stay "
                f"{default!r}, got {value!r}; {instead}."
            )


def random_or_given(prior: Any, n_features: int, random_state: Any) -> Any:
    """Return a prior that our learners know: "random" becomes a random positive definite matrix."""
    if isinstance(prior, str) and prior == "random":
        return make_spd_matrix(n_features, random_state=random_state)
    return prior
