"""Checks of parameters, labels and weights; errors say what is wrong and what is allowed."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from geodual.arrays import Array, Indices

UNKNOWN = -1  # the class of unlabeled samples, as in scikit-learn's semi-supervised learners
_SMALLEST, _LARGEST = 1e-120, 1e120  # of weights, so that their products, summed over all pairs, are finite
_MAX_ITER = 500  # default number of iterations of the LogDet program


def check_n_components(n_components: Any, n_features: int) -> None:
    """Raise an error unless `n_components` is None or a valid number of components."""
    if n_components is not None:
        check_whole("n_components", n_components)
        if not 1 <= n_components <= n_features:
            raise ValueError(f"`n_components` must be between 1 and {n_features}, got {n_components}.")


def check_number(name: str, value: Any) -> None:
    """Raise an error unless a parameter is a number."""
    if not isinstance(value, numbers.Real):
        raise ValueError(f"`{name}` must be a number, got {value!r}.")


def check_positive(name: str, value: Any) -> None:
    """Raise an error unless a parameter is positive and finite."""
    check_number(name, value)
    if not 0.0 < value < np.inf:
        raise ValueError(f"`{name}` must be positive, got {value}.")


def check_not_negative(name: str, value: Any) -> None:
    """Raise an error unless a parameter is finite and at least 0."""
    check_number(name, value)
    if not 0.0 <= value < np.inf:
        raise ValueError(f"`{name}` must not be negative or infinite, got {value}.")


def check_share(name: str, value: Any) -> None:
    """Raise an error unless a parameter is between 0 and 1."""
    check_number(name, value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"`{name}` must lie in [0, 1], got {value}.")


def check_whole(name: str, value: Any, least: int | None = None) -> None:
    """Raise an error unless a parameter is a whole number of at least `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ValueError(f"`{name}` must be a whole number, got {value!r}.")
    if least is not None and value < least:
        raise ValueError(f"`{name}` must be at least {least}, got {value}.")


def check_iteration(tol: Any, max_iter: Any) -> None:
    """Raise an error unless the tolerance is positive and `max_iter` a positive whole number."""
    check_number("tol", tol)
    if not tol > 0.0:
        raise ValueError(f"`tol` must be positive, got {tol}; leave it out for the default.")
    check_whole("max_iter", max_iter, 1)


def encoded_labels(y: Any, learner: str) -> Indices:
    """Encode the classes as 0, 1, …, and −1 for samples with the label −1, which means unknown.

    If there is only one other label, as in −1 and +1, −1 is an ordinary class.
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
    """Warn if samples have no label; by default, the warning points to the caller's caller."""
    n_unknown = int((labels == UNKNOWN).sum())
    if n_unknown:
        warnings.warn(
            f"{n_unknown} of {len(labels)} samples have the label −1, which means unknown, so they make no "
            "pairs. If −1 is a class, give it another label.",
            UserWarning,
            stacklevel=stacklevel,
        )


def copy_weight(weight: Array) -> float:
    """Return the weight of one copy: 1, or Σw²/Σw if the weights are too small to be counts.

    So whole numbers count copies, only the ratios of small weights matter, and there is no jump in between.
    """
    largest = float(weight.max())
    shares = weight / largest  # the squares of tiny weights would underflow
    return min(1.0, largest * float(shares @ shares) / float(shares.sum()))


def check_sample_weight(sample_weight: Any, X: Any) -> Array:
    """Return the weights of samples; raise an error if they are invalid, or their products overflow."""
    weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
    largest = float(weight.max(initial=0.0))
    if largest and not _SMALLEST < largest < _LARGEST:
        raise ValueError(
            f"`sample_weight` has values up to {largest:.3g}, too small or too large to compute with; divide "
            "all weights by their mean."
        )
    return np.asarray(weight)


def check_pair_weight(weight: Any, n_pairs: int, name: str) -> Array:
    """Return the weights of pairs, all 1 by default; raise an error if they are invalid."""
    if weight is None:
        return np.ones(n_pairs)
    array = real_array(weight, name)
    if array.shape != (n_pairs,) or not (np.isfinite(array) & (array >= 0.0)).all() or not array.any():
        raise ValueError(
            f"`{name}` must hold a weight ≥ 0 for each of the {n_pairs} pairs, and a positive one for some."
        )
    return array


def check_row_numbers(what: str, numbers: Any, n_samples: int) -> Indices:
    """Return row numbers as an array; raise an error if they are not whole or out of range."""
    array = np.asarray(numbers)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{what} must be whole numbers, got dtype {array.dtype}.")
    if array.size and (array.min() < 0 or array.max() >= n_samples):
        raise ValueError(
            f"{what} must hold row numbers from 0 to {n_samples - 1}, got {array.min()} to {array.max()}."
        )
    return array.astype(np.intp)


def real_array(values: Any, name: str) -> Array:
    """Return an array of floats; raise an error for texts, complex numbers or rows of unequal length."""
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array):
            raise TypeError("its entries are complex")  # conversion would drop the imaginary parts
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        problem = str(error).rstrip(".")
        raise ValueError(f"`{name}` must be an array of numbers: {problem}; check its entries.") from None


def iteration_budget(max_iter: int | None) -> int:
    """Return the maximum number of iterations of a learner with this parameter."""
    return _MAX_ITER if max_iter is None else max_iter
