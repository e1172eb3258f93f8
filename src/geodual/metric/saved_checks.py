"""Checks of a saved metric: which attributes a learner must have, and what they must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from geodual.arrays import Array

from .base.maps import LowRankPlusDiagonal, mapped
from .base.pair_classifier import PairClassifier
from .estimators.rpdml_regressor import RPDMLRegressor
from .program.certificate import Convergence
from .program.incremental import StepCertificate
from .selection.local_pairs import LocalPairs

_ROUNDING = 1e-7  # how far below zero an eigenvalue may be, relative to the largest

_AGREEMENT = 1e-9  # products over 5,000 features are rounded by 1e-12, relative to the largest
_PROBES = 8  # vectors on which two matrices are compared: fewer operations than for LᵀL

_LARGEST = 1e154  # entries of a map whose squares do not overflow, divided by the root of their number

_ALWAYS = {"components_", "feature_importances_", "n_features_in_"}
# What is needed besides by the methods of a class.
_NEEDED: dict[type, set[str]] = {
    PairClassifier: {"threshold_", "classes_"},
    RPDMLRegressor: {"_search_", "_targets_", "_counts_", "W_", "history_"},
}


_CERTIFIED = {"W_", "history_", "objective_", "dual_objective_", "duality_gap_", "n_iter_", "n_pairs_"}


def check_learner(learner: Any, fitted: Mapping[str, Any]) -> None:
    """Raise unless fitted attributes make a learner that works.

    Parameters
    ----------
    learner : estimator
        The learner, with its parameters.
    fitted : mapping
        Its fitted attributes by name.

    Raises
    ------
    ValueError, KeyError
        If an attribute is missing, unknown, or not what it must be.
    """
    needed = _ALWAYS.union(*(names for kind, names in _NEEDED.items() if isinstance(learner, kind)))
    if hasattr(learner, "partial_fit"):
        needed |= _CERTIFIED
    missing, unknown = needed - set(fitted), set(fitted) - set(_CHECKS)
    if missing or unknown:
        raise ValueError(f"`{min(missing or unknown)}` is {'missing' if missing else 'unknown'}")
    n_features = fitted["n_features_in_"]
    for name, value in fitted.items():
        if not _CHECKS[name](value, n_features):
            raise ValueError(f"`{name}` is not what it must be")
    for name, value in learner.get_params(deep=False).items():
        if not _PARAMETERS[name](value):
            raise ValueError(f"the parameter `{name}` is of the wrong type: {type(value).__name__}")
    if "W_" in fitted and not _is_gram(fitted["W_"], fitted["components_"]):
        raise ValueError("`W_` is not the matrix LᵀL of the map L in `components_`")
    if fitted.get("dual_objective_", 0.0) > fitted.get("objective_", np.inf):
        raise ValueError("`dual_objective_` is above `objective_`, so the gap would be negative")
    if isinstance(learner, RPDMLRegressor):
        learner._check_parameters()  # `predict` uses them
        _check_search(fitted)


def check_step(step: StepCertificate) -> None:
    """Raise unless the certificate of an earlier step is one.

    Parameters
    ----------
    step : StepCertificate
        The certificate.
    """
    numbers = all(map(_is_number, (step.objective, step.dual_objective)))
    if not (numbers and _is_gap(step.duality_gap) and _is_count(step.n_iter) and _is_count(step.n_pairs)):
        raise ValueError("the certificate of an earlier step is not what it must be")


def _check_search(fitted: Mapping[str, Any]) -> None:
    samples = fitted["_search_"]
    if samples.shape != (len(fitted["_targets_"]), len(fitted["components_"])) or len(samples) < 1:
        raise ValueError("`_search_` does not fit `_targets_`")
    if fitted["_counts_"].shape != fitted["_targets_"].shape or (fitted["_counts_"] <= 0.0).any():
        raise ValueError("`_counts_` does not fit `_targets_`")
    for name in ("_search_", "_targets_", "_counts_"):
        if not np.abs(fitted[name]).max() < _LARGEST:
            raise ValueError(f"`{name}` has values too large to compute with")


def _is_number(value: Any, _: int = 0) -> bool:
    return type(value) in (int, float) and bool(np.isfinite(value))


def _is_gap(value: Any, _: int = 0) -> bool:
    return _is_number(value) and value >= 0.0


def _is_count(value: Any, _: int = 0) -> bool:
    return type(value) is int and value >= 1


def _is_finite_array(value: Any, n_axes: int) -> bool:
    is_array = isinstance(value, np.ndarray) and value.dtype == float and value.ndim == n_axes
    return is_array and bool(np.isfinite(value).all())


def _is_array(n_axes: int) -> Callable[[Any, int], bool]:
    return lambda value, _: _is_finite_array(value, n_axes)


def _are_index_pairs(value: Any, _: int) -> bool:
    is_table = isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.ndim == 2
    return is_table and value.shape[1] == 2 and bool((value >= 0).all())


def _is_per_feature(value: Any, n_features: int) -> bool:
    return _is_finite_array(value, 1) and len(value) == n_features


def _are_names(value: Any, n_features: int) -> bool:
    is_text = isinstance(value, np.ndarray) and value.dtype == object
    return is_text and value.shape == (n_features,) and all(isinstance(name, str) for name in value)


def _is_map(value: Any, n_features: int) -> bool:
    if isinstance(value, LowRankPlusDiagonal):
        return len(value) == n_features and _is_finite(value)
    return (
        _is_finite_array(value, 2)
        and value.shape[1] == n_features
        and len(value) > 0
        and bool(np.abs(value).max() < _LARGEST / np.sqrt(len(value)))
    )


def _is_finite(matrix: LowRankPlusDiagonal) -> bool:
    parts = (part.data if issparse(part) else part for part in matrix.parts())
    return all(bool(np.isfinite(part).all()) for part in parts)


def _is_semidefinite(value: Any, n_features: int) -> bool:
    """Tell whether W is a symmetric matrix without negative eigenvalues, up to rounding."""
    if isinstance(value, LowRankPlusDiagonal):
        return _is_map(value, n_features) and _is_low_rank_semidefinite(*value.parts())
    if not (_is_finite_array(value, 2) and value.shape == (n_features, n_features)):
        return False
    size = float(np.abs(value).max())
    if np.abs(value - value.T).max() > _ROUNDING * size:
        return False
    return _has_root(value / size if size else value)


def _is_gram(W: Any, L: Any) -> bool:
    """Return whether W = LᵀL; if L has fewer rows, whether they are the leading scaled eigenvectors of W."""
    rows = np.random.default_rng(0).standard_normal((_PROBES, L.shape[1])) if len(L) == L.shape[1] else L
    images = mapped(rows, W)
    size = np.abs(rows).max() * np.abs(W.diagonal()).max() * np.sqrt(L.shape[1])
    # x LᵀL for each row x; W and LᵀL agree on eigenvectors of both.
    if not np.abs(images - mapped(mapped(rows, L), L.T)).max() <= _AGREEMENT * size:
        return False
    if len(L) == L.shape[1] or isinstance(W, LowRankPlusDiagonal):
        return True
    # What is left of W has no eigenvalue above the smallest of those in L.
    rest = np.einsum("ij,ij->i", L, L).min() * np.eye(len(W)) - W + L.T @ L
    return _has_root(rest / np.abs(W).max())


def _is_low_rank_semidefinite(d: Array, U: Any, C: Array, V: Any) -> bool:
    if (d <= 0.0).any() or abs(U - V).max() or np.abs(C - C.T).max() > _ROUNDING * np.abs(C).max():
        return False
    # D + U C Uᵀ ≥ 0 if and only if I + R C Rᵀ ≥ 0 for any R with RᵀR = Uᵀ D⁻¹ U.
    scaled = U.multiply(1.0 / np.sqrt(d)[:, None]) if issparse(U) else U / np.sqrt(d)[:, None]
    gram = scaled.T @ scaled
    values, vectors = np.linalg.eigh(gram.toarray() if issparse(gram) else gram)
    R = np.sqrt(values.clip(0.0))[:, None] * vectors.T
    inner = np.eye(len(C)) + R @ C @ R.T
    return _has_root(inner / np.abs(inner).max())


def _has_root(W: Array) -> bool:
    """Tell whether W of size 1 is positive semidefinite; Cholesky is much faster than eigenvalues."""
    try:
        np.linalg.cholesky(W + _ROUNDING * np.eye(len(W)))
    except np.linalg.LinAlgError:
        return False
    return True


def _is_threshold(value: Any, _: int) -> bool:
    return type(value) is float and bool(np.isfinite(value))


def _are_signs(value: Any, _: int) -> bool:
    return isinstance(value, np.ndarray) and value.tolist() == [-1, 1]


def _is_history(value: Any, _: int) -> bool:
    if isinstance(value, Convergence):
        return all(row.gap >= 0.0 for row in value)
    return _is_finite_array(value, 1)


def _is_tuple_of(check: Callable[[Any], bool]) -> Callable[[Any, int], bool]:
    return lambda value, _: isinstance(value, tuple) and all(map(check, value))


_CHECKS: dict[str, Callable[[Any, int], bool]] = {
    "n_features_in_": _is_count,
    "feature_names_in_": _are_names,
    "components_": _is_map,
    "W_": _is_semidefinite,
    "feature_importances_": _is_per_feature,
    "threshold_": _is_threshold,
    "classes_": _are_signs,
    "bounds_": _is_tuple_of(_is_number),
    "bounds_are_exact_": lambda value, _: type(value) is bool,
    "neighbours_are_exact_": lambda value, _: type(value) is bool,
    "n_anchors_": lambda value, n_features: value is None or _is_count(value, n_features),
    "margin_": _is_number,
    "objective_": _is_number,
    "dual_objective_": _is_number,
    "duality_gap_": _is_gap,
    "n_iter_": _is_count,
    "n_pairs_": _is_count,
    "history_": _is_history,
    "prior_": _is_semidefinite,
    "neighbours_": _are_index_pairs,
    "targets_": _is_array(1),
    "widths_": _is_array(1),
    "counts_": _is_array(1),
    "_search_": _is_array(2),
    "_targets_": _is_array(1),
    "_counts_": _is_array(1),
}


def _is_one_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


def _are_numbers(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return True  # arrays hold numbers only
    return isinstance(value, tuple | list) and all(type(part) in (int, float) for part in value)


def _are_pairs(value: Any) -> bool:
    return type(value) in (str, int, LocalPairs) or _are_numbers(value)


# What the parameters of all learners may be: their names mean the same everywhere.
_PARAMETERS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("C", "alpha", "gamma", "reg", "regularization", "shrinkage", "t", "tol"), _is_one_of(int, float)
    ),
    **dict.fromkeys(("max_iter", "n_components", "n_jobs", "random_state"), _is_one_of(int, type(None))),
    **dict.fromkeys(("errata", "solver", "weights"), _is_one_of(str)),
    "percentiles": _are_numbers,
    "bounds": lambda value: value is None or _are_numbers(value),
    "margin": _is_one_of(int, float, type(None)),
    "n_neighbors": _is_one_of(int),
    "predictor": lambda value: value == "neighbors",  # what a kernel machine has learnt is not in the format
    "pairs": _are_pairs,
    "preprocessor": lambda value: value is None or isinstance(value, np.ndarray | list) or issparse(value),
    "prior": lambda value: (
        isinstance(value, str | None | np.ndarray | LowRankPlusDiagonal | list) or issparse(value)
    ),
    "step": _is_one_of(str, int, float),
    "verbose": _is_one_of(int, bool),
}
