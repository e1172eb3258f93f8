"""Samples for timing metric learners: standardized classes, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler


def synthetic_set() -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return two classes of 697 × 70 numbers, for comparisons with peers."""
    X, y = make_classification(697, 70, n_informative=15, n_redundant=20, class_sep=0.7, random_state=0)
    return StandardScaler().fit_transform(X), y


def classes(n_samples: int, n_features: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return two classes from ``make_classification``, with half of the features informative, and labels."""
    X, y = make_classification(
        n_samples,
        n_features,
        n_informative=max(n_features // 4, 2),
        n_redundant=n_features // 4,
        random_state=0,
    )
    return StandardScaler().fit_transform(X), y


def four_classes(n_samples: int, n_features: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return four normal classes that differ in five features, and labels: quick to draw."""
    y = np.arange(n_samples) % 4
    X = np.random.default_rng(0).standard_normal((n_samples, n_features))
    X[:, :5] += y[:, None]
    return X, y
