"""The metrics that studies know by name, and what `tune` may choose for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sklearn.base import clone

from geodual.errors import DataError
from geodual.metric import GMML, ITML, LMNN, RPDML, EuclideanMetric, MahalanobisMetric

_METRICS: dict[str, Callable[[int], Any]] = {
    "euclidean": lambda seed: EuclideanMetric(),
    "mahalanobis": lambda seed: MahalanobisMetric(),
    "lmnn": lambda seed: LMNN(),
    "itml": lambda seed: ITML(gamma=1e-3, random_state=seed),
    "gmml": lambda seed: GMML(reg=0.1),
    "rpdml": lambda seed: RPDML(random_state=seed),
}
NAMES = tuple(_METRICS)

GRIDS: dict[str, tuple[dict[str, Any], ...]] = {
    "lmnn": tuple({"regularization": value} for value in (0.5, 0.1, 0.9)),
    "itml": tuple({"gamma": value} for value in (1e-3, 1e-4, 1e-2)),
    "gmml": tuple({"t": value} for value in (0.5, 0.25, 0.75)),
    "rpdml": (
        *({"C": value, "pairs": "all"} for value in (100.0, 1.0, 1000.0)),
        *({"C": value, "pairs": "local"} for value in (100.0, 1000.0)),
    ),
}
"""Candidates by metric; the first is the default, which wins ties."""


def named_metric(name: str, random_state: int = 0) -> Any:
    """Return the transformer that goes by a name.

    Parameters
    ----------
    name : str
        One of euclidean, mahalanobis, lmnn, itml, gmml, rpdml.
    random_state : int
        Seed of what it draws.

    Returns
    -------
    transformer
        A scikit-learn transformer, not fitted.
    """
    if name not in _METRICS:
        raise DataError(f"`metrics`: unknown metric {name!r}; known are {', '.join(NAMES)}.")
    return _METRICS[name](random_state)


def is_default(name: str, estimator: Any) -> bool:
    """Tell whether an estimator is of the kind that goes by its name, so that `GRIDS` is about it."""
    return name in GRIDS and type(estimator) is type(named_metric(name))


def metric_names(metrics: Any) -> tuple[str, ...]:
    """Return the names in what a user gave as metrics: a name, names, or a mapping from names."""
    if isinstance(metrics, str):
        return (metrics,)
    if not isinstance(metrics, Iterable):
        raise DataError(f"`metrics` must be names or a mapping to transformers, got {metrics!r}.")
    return tuple(metrics)


def resolve_metrics(metrics: str | Sequence[str] | Mapping[str, Any], random_state: int) -> dict[str, Any]:
    """Return transformers by name, from names or from a mapping to any scikit-learn transformers."""
    if isinstance(metrics, str):
        metrics = [metrics]
    if isinstance(metrics, Mapping):
        return {name: _checked(name, estimator, random_state) for name, estimator in metrics.items()}
    return {name: named_metric(name, random_state) for name in metrics}


def _checked(name: str, estimator: Any, random_state: int) -> Any:
    if isinstance(estimator, str):
        return named_metric(estimator, random_state)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "transform")):
        raise DataError(
            f"`metrics`: {name!r} must be a scikit-learn transformer or the name of one, got {estimator!r}."
        )
    return clone(estimator)
