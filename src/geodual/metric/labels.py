"""Class labels of samples: as numbers, and which of them mean that the class is unknown."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np

from geodual.arrays import Indices

UNKNOWN = -1  # the class of a sample without label, as in scikit-learn's semi-supervised learners


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
