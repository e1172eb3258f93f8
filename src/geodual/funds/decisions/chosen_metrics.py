"""The metrics that a study compares: registered names, places, or the user's own transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklearn.base import clone

from geodual.errors import DataError
from geodual.metric.registry import find_metric


def chosen_names(metrics: Any) -> tuple[str, ...]:
    """Return the names of the metrics that a user gave: one name, several names, or a mapping from names."""
    if isinstance(metrics, str):
        return (metrics,)
    if not isinstance(metrics, Iterable):
        raise DataError(
            f"`metrics` must be names or a mapping to transformers, got {metrics!r}; write a list of names "
            'or a mapping such as {"mine": MyMetric()}.'
        )
    return tuple(metrics)


def resolve_metrics(metrics: str | Sequence[str] | Mapping[str, Any], random_state: int) -> dict[str, Any]:
    """Return transformers by name, from names or from a mapping to scikit-learn transformers."""
    if isinstance(metrics, Mapping):
        return {name: _checked(name, estimator, random_state) for name, estimator in metrics.items()}
    return {name: find_metric(name).make(random_state) for name in chosen_names(metrics)}


def _checked(name: str, estimator: Any, random_state: int) -> Any:
    if isinstance(estimator, str):
        return find_metric(estimator).make(random_state)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "transform")):
        raise DataError(
            f"`metrics`: {name!r} must be a scikit-learn transformer or the name of one, got {estimator!r}; "
            "give an object with the methods `fit` and `transform`."
        )
    return clone(estimator)  # the study never changes the user's object
