"""Checks of a saved metric: the required attributes of each learner, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from geodual.arrays import Array

from .base.maps import LARGEST, LowRankPlusDiagonal, mapped
from .base.metric_learner import MetricLearner
from .base.pair_classifier import PairClassifier
from .estimators.feature_weights import FeatureWeights
from .estimators.rpdml_classifier import RPDMLClassifier
from .estimators.rpdml_regressor import RPDMLRegressor
from .machine.geometry import Geometry
from .machine.kernel_ridge import KERNELS, Ridge
from .machine.local_fits import LocalFit
from .machine.machine import Machine, Part
from .machine.neighbor_means import WEIGHTS, NeighborMean
from .machine.targets import ClassTargets, NumberTargets
from .machine.views import RankGauss, Standardized
from .program.certificate import Convergence
from .program.incremental import StepCertificate
from .selection.local_pairs import LocalPairs

_ROUNDING = 1e-7  # of an eigenvalue below zero, relative to the largest

_AGREEMENT = 1e-9  # relative to the largest; products over 5,000 features are rounded by 1e-12
_PROBES = 8  # vectors for comparing two matrices, with fewer operations than for LᵀL

_LARGEST = 1e154  # entries of a map whose squares do not overflow, divided by the root of their number

_SHARES = 1e-9  # rounding error of the sum of the shares of a mixture

# Attributes that the methods of a class need.
_NEEDED: dict[type, set[str]] = {
    MetricLearner: {"components_", "feature_importances_"},
    PairClassifier: {"threshold_", "classes_"},
    FeatureWeights: {"weights_", "feature_importances_"},
    RPDMLClassifier: {
        "classes_",
        "landmarks_",
        "loo_score_",
        "_class_lists",
        "_marks_labels",
        "_rows_",
        "_sharpness_",
    },
    RPDMLRegressor: {"W_", "history_", "medians_", "_is_flat"},
}
_OF_MACHINE = {"_machine_", "medians_", "_is_flat"}
_OF_SEARCH = {"_search_", "_targets_", "_counts_"}
_CERTIFIED = {"W_", "history_", "objective_", "dual_objective_", "duality_gap_", "n_iter_", "n_pairs_"}


def check_learner(learner: Any, fitted: Mapping[str, Any]) -> None:
    """Raise an error unless fitted attributes make a working learner.

    Parameters
    ----------
    learner : estimator
        The learner, with its parameters.
    fitted : mapping
        The fitted attributes by name.

    Raises
    ------
    ValueError, KeyError
        If an attribute is missing, unknown or not valid.
    """
    missing, unknown = _needed_by(learner) - set(fitted), set(fitted) - set(_CHECKS)
    if missing or unknown:
        raise ValueError(f"`{min(missing or unknown)}` is {'missing' if missing else 'unknown'}")
    n_features = fitted["n_features_in_"]
    for name, value in fitted.items():
        if not _CHECKS[name](value, n_features):
            raise ValueError(f"`{name}` is not valid")
    for name, value in learner.get_params(deep=False).items():
        if not _PARAMETERS[name](value):
            raise ValueError(f"the parameter `{name}` is of the wrong type: {type(value).__name__}")
    if isinstance(learner, PairClassifier) and fitted["classes_"].tolist() != [-1, 1]:
        raise ValueError("`classes_` must be -1 and 1")
    _check_solution(fitted)
    if isinstance(learner, RPDMLClassifier | RPDMLRegressor):
        learner._check_parameters()  # `predict` uses them
        if "_machine_" in fitted:
            _check_machine(learner, fitted)
        else:
            _check_search(fitted)


def _check_solution(fitted: Mapping[str, Any]) -> None:
    if "W_" in fitted and not _is_gram(fitted["W_"], fitted["components_"]):
        raise ValueError("`W_` is not the matrix LᵀL of the map L in `components_`")
    if fitted.get("dual_objective_", 0.0) > fitted.get("objective_", np.inf):
        raise ValueError("`dual_objective_` is above `objective_`, so the gap would be negative")


def _needed_by(learner: Any) -> set[str]:
    """Return the names of the attributes that a learner needs."""
    needed = {"n_features_in_"}.union(
        *(names for kind, names in _NEEDED.items() if isinstance(learner, kind))
    )
    if hasattr(learner, "partial_fit"):
        needed |= _CERTIFIED
    if isinstance(learner, RPDMLRegressor) and learner.predictor == "neighbors":
        return needed | _OF_SEARCH
    return needed | (_OF_MACHINE if isinstance(learner, RPDMLClassifier | RPDMLRegressor) else set())


def check_step(step: StepCertificate) -> None:
    """Raise an error unless the certificate of an earlier step is valid.

    Parameters
    ----------
    step : StepCertificate
        The certificate.
    """
    numbers = all(map(_is_number, (step.objective, step.dual_objective)))
    if not (numbers and _is_gap(step.duality_gap) and _is_count(step.n_iter) and _is_count(step.n_pairs)):
        raise ValueError("the certificate of an earlier step is not valid")


def _check_search(fitted: Mapping[str, Any]) -> None:
    samples = fitted["_search_"]
    if samples.shape != (len(fitted["_targets_"]), len(fitted["components_"])) or len(samples) < 1:
        raise ValueError("`_search_` does not fit `_targets_`")
    if fitted["_counts_"].shape != samples.shape[:1] or (fitted["_counts_"] <= 0.0).any():
        raise ValueError("`_counts_` does not fit `_targets_`")
    if fitted["_targets_"].shape[1] < 1 or (fitted["_is_flat"] and fitted["_targets_"].shape[1] > 1):
        raise ValueError("`_targets_` has the wrong number of columns")
    for name in ("_search_", "_targets_", "_counts_"):
        if not np.abs(fitted[name]).max() < _LARGEST:
            raise ValueError(f"`{name}` has values too large to compute with")


def _check_machine(learner: Any, fitted: Mapping[str, Any]) -> None:
    """Raise an error unless a machine works and is of the learner's kind."""
    machine = fitted["_machine_"]
    if isinstance(learner, RPDMLClassifier):
        targets, lists = machine.targets, fitted["_class_lists"]
        fits = isinstance(targets, ClassTargets) and targets.n_classes == tuple(map(len, lists))
        fits = fits and len(fitted["_rows_"]) == len(machine.X) and len(fitted["_sharpness_"]) == len(lists)
        at = fitted["_rows_"] if machine.places is None else fitted["_rows_"][machine.places]
        fits = fits and np.array_equal(fitted["landmarks_"], at)
        fits = fits and _are_classes_of(fitted, lists)
    else:
        fits = isinstance(machine.targets, NumberTargets)
    if not fits or (fitted["_is_flat"] and machine.targets.means.shape != (_n_first(machine.targets),)):
        raise ValueError("`_machine_` does not fit the targets of the learner")
    if {type(part.predictor) for part in machine.parts} != {_PREDICTORS[learner.predictor]}:
        raise ValueError(f"`_machine_` does not predict by {learner.predictor!r}")


def _are_classes_of(fitted: Mapping[str, Any], lists: list[Any]) -> bool:
    """Return whether `classes_` are those of the outputs, or the numbers of 0-1 columns."""
    classes = fitted["classes_"]
    if fitted["_marks_labels"]:
        are_pairs = not fitted["_is_flat"] and {len(one) for one in lists} == {2}
        return are_pairs and np.array_equal(classes, np.arange(len(lists)))
    own = [classes] if fitted["_is_flat"] else classes
    return len(own) == len(lists) and all(map(np.array_equal, own, lists))


def _n_first(targets: Any) -> int:
    """Return the number of columns of the first output."""
    return targets.n_classes[0] if isinstance(targets, ClassTargets) else 1


def _is_machine(value: Any, n_features: int) -> bool:
    """Return whether a machine is complete and consistent, and computes without overflow."""
    if not isinstance(value, Machine) or not _is_bounded(value.X, LARGEST, (None, n_features)):
        return False
    n = len(value.X)
    if not n or not _are_targets(value.targets, n):
        return False
    if not all(rows is None or _are_places(rows, n) for rows in (value.places, value.scored)):
        return False
    n_scored = n if value.scored is None else len(value.scored)
    n_bases = n if value.places is None else len(value.places)
    columns = len(value.targets.means)
    return (
        _is_bounded(value.scores, _LARGEST, (n_scored, columns))
        and isinstance(value.parts, tuple)
        and len(value.parts) > 0
        and all(_is_part(part, n_features, (n_bases, columns)) for part in value.parts)
        and all(part.predictor.scores.shape == value.scores.shape for part in value.parts)
        and abs(sum(part.share for part in value.parts) - 1.0) < _SHARES
        and _is_gap(value.certificates.mixture_gap)
        and all(one is None or _is_gap(one) for one in value.certificates)
        and all(np.abs(among.A).max(initial=0.0) < _LARGEST for _, among in value.compared)
    )


def _are_targets(targets: Any, n: int) -> bool:
    """Return whether targets of n samples are complete."""
    if isinstance(targets, NumberTargets):
        shape = (n, len(targets.unit))
        known = _is_bounded(targets.y, _LARGEST, shape) and _is_positive(targets.unit, shape[1])
        known = known and bool(np.abs(targets.values).max() < _LARGEST)
    else:
        sizes = np.array(targets.n_classes)
        known = (
            isinstance(targets, ClassTargets) and sizes.ndim == 1 and all(map(_is_count, targets.n_classes))
        )
        known = (
            known and isinstance(targets.n_classes, tuple) and _is_gap(targets.copy) and targets.copy > 0.0
        )
        known = known and _is_whole(targets.labels, 2) and targets.labels.shape == (n, len(sizes))
        known = known and bool(((targets.labels >= 0) & (targets.labels < sizes)).all())
    return known and _is_positive(targets.weight, n)


def _is_part(part: Any, n_features: int, shape: tuple[int, int]) -> bool:
    """Return whether a part of a mixture is complete, with a predictor of the right shape."""
    return (
        isinstance(part, Part)
        and _is_number(part.share)
        and 0.0 < part.share <= 1.0 + _SHARES
        and _is_geometry(part.geometry, n_features)
        and _is_predictor(part.predictor, shape)
    )


def _is_geometry(value: Any, n_features: int) -> bool:
    if not isinstance(value, Geometry) or not _is_view(value.view, n_features):
        return False
    shape = (None, n_features) if value.metric == "full" else (n_features,)
    return (
        _is_bounded(value.map, _LARGEST, shape)
        and len(value.map) > 0
        and value.kind in ("l1", "l2")
        and type(value.metric) is str
        and _is_bounded(value.weights, _LARGEST, (n_features,))
        and (value.gap is None or _is_gap(value.gap))
    )


def _is_view(view: Any, n_features: int) -> bool:
    if isinstance(view, RankGauss):
        return (
            len(view._knots) == n_features
            and all(_are_knots(*knots) for knots in view._knots)
            and isinstance(view._units, Standardized)
            and _is_view(view._units, n_features)
        )
    sizes = (n_features,)
    return (
        isinstance(view, Standardized)
        and _is_bounded(view._mean, _LARGEST, sizes)
        and _is_bounded(view._factor, _LARGEST, sizes)
    )


def _are_knots(values: Any, ranks: Any) -> bool:
    """Return whether values increase, together with their ranks from 0 to 1."""
    both = _is_finite_array(values, 1) and _is_finite_array(ranks, 1) and len(values) == len(ranks) > 0
    inside = both and bool(((ranks >= 0.0) & (ranks <= 1.0)).all())
    return inside and bool((np.diff(values) > 0.0).all() and (np.diff(ranks) >= 0.0).all())


def _is_predictor(value: Any, shape: tuple[int, int]) -> bool:
    """Return whether a predictor is complete, for these numbers of samples and columns."""
    if isinstance(value, Ridge):
        sizes = (value.bandwidth, value.ridge)
        known = value.kernel in KERNELS and all(_is_number(size) and size > 0.0 for size in sizes)
        known = known and _is_bounded(value.coefficients, _LARGEST, shape)
        known = known and _is_bounded(value.means, _LARGEST, shape[1:])
    elif isinstance(value, NeighborMean | LocalFit):
        known = _is_count(value.n_neighbors) and value.n_neighbors <= shape[0]
        if isinstance(value, LocalFit):
            known = known and _is_number(value.ridge) and value.ridge > 0.0
        else:
            known = known and value.weights in WEIGHTS
    else:
        return False
    return known and _is_bounded(value.scores, _LARGEST, (None, shape[1]))


def _is_bounded(value: Any, limit: float, shape: tuple[int | None, ...]) -> bool:
    """Return whether a value is an array of finite numbers of this shape, with sizes below a limit."""
    if not _is_finite_array(value, len(shape)):
        return False
    sizes = all(one in (None, other) for one, other in zip(shape, value.shape, strict=True))
    return sizes and bool(np.abs(value).max(initial=0.0) <= limit)


def _is_positive(value: Any, size: int) -> bool:
    return _is_bounded(value, _LARGEST, (size,)) and bool((value > 0.0).all())


def _is_whole(value: Any, n_axes: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.ndim == n_axes


def _are_places(value: Any, n: int) -> bool:
    """Return whether a value holds at least one position of n samples, distinct and in order."""
    return (
        _is_whole(value, 1)
        and len(value) > 0
        and bool(value[0] >= 0 and value[-1] < n and (np.diff(value) > 0).all())
    )


def _are_rows(value: Any, _: int) -> bool:
    return _is_whole(value, 1) and bool((value >= 0).all())


def _are_class_lists(value: Any, _: int) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_are_classes, value))


def _are_classes(value: Any) -> bool:
    """Return whether a value holds distinct classes in order, all numbers or all texts."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or not len(value):
        return False
    if value.dtype == object and not all(isinstance(name, str) for name in value):
        return False
    return bool((value[:-1] < value[1:]).all())


def _is_class_attribute(value: Any, n_features: int) -> bool:
    """Return whether a value holds the classes of one output, or of several."""
    return _are_classes(value) or _are_class_lists(value, n_features)


def _are_factors(value: Any, _: int) -> bool:
    return isinstance(value, list) and all(_is_number(factor) and factor > 0.0 for factor in value)


def _is_error(value: Any, _: int) -> bool:
    return _is_gap(value) or (_is_finite_array(value, 1) and bool((value >= 0.0).all()))


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
    """Return whether W is a symmetric matrix without negative eigenvalues, up to rounding."""
    if isinstance(value, LowRankPlusDiagonal):
        return _is_map(value, n_features) and _is_low_rank_semidefinite(*value.parts())
    if not (_is_finite_array(value, 2) and value.shape == (n_features, n_features)):
        return False
    size = float(np.abs(value).max())
    if np.abs(value - value.T).max() > _ROUNDING * size:
        return False
    return _has_root(value / size if size else value)


def _is_gram(W: Any, L: Any) -> bool:
    """Return whether W = LᵀL or, if L has fewer rows, these are the leading scaled eigenvectors of W."""
    rows = np.random.default_rng(0).standard_normal((_PROBES, L.shape[1])) if len(L) == L.shape[1] else L
    images = mapped(rows, W)
    size = np.abs(rows).max() * np.abs(W.diagonal()).max() * np.sqrt(L.shape[1])
    # x LᵀL for each row x; W and LᵀL agree on eigenvectors of both.
    if not np.abs(images - mapped(mapped(rows, L), L.T)).max() <= _AGREEMENT * size:
        return False
    if len(L) == L.shape[1] or isinstance(W, LowRankPlusDiagonal):
        return True
    # The remainder of W has no eigenvalue above the smallest one in L.
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
    """Return whether W, of size 1, is positive semidefinite; Cholesky is much faster than eigenvalues."""
    try:
        np.linalg.cholesky(W + _ROUNDING * np.eye(len(W)))
    except np.linalg.LinAlgError:
        return False
    return True


def _is_threshold(value: Any, _: int) -> bool:
    return type(value) is float and bool(np.isfinite(value))


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
    "classes_": _is_class_attribute,
    "bounds_": _is_tuple_of(_is_number),
    "bounds_are_exact_": lambda value, _: type(value) is bool,
    "neighbors_are_exact_": lambda value, _: type(value) is bool,
    "n_anchors_": lambda value, n_features: value is None or _is_count(value, n_features),
    "margin_": _is_number,
    "objective_": _is_number,
    "dual_objective_": _is_number,
    "duality_gap_": _is_gap,
    "n_iter_": _is_count,
    "n_pairs_": _is_count,
    "history_": _is_history,
    "prior_": _is_semidefinite,
    "neighbors_": _are_index_pairs,
    "targets_": _is_array(1),
    "widths_": _is_array(1),
    "counts_": _is_array(1),
    "weights_": lambda value, n_features: _is_per_feature(value, n_features) and bool((value >= 0.0).all()),
    "penalty_": _is_gap,
    "loo_score_": lambda value, _: _is_number(value) and 0.0 <= value <= 1.0,
    "loo_error_": _is_error,
    "landmarks_": _are_rows,
    "medians_": lambda value, n_features: _is_bounded(value, LARGEST, (n_features,)),
    "_is_flat": lambda value, _: type(value) is bool,
    "_marks_labels": lambda value, _: type(value) is bool,
    "_class_lists": _are_class_lists,
    "_rows_": _are_rows,
    "_sharpness_": _are_factors,
    "_machine_": _is_machine,
    "_search_": _is_array(2),
    "_targets_": _is_array(2),
    "_counts_": _is_array(1),
}


def _is_one_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in kinds


def _are_numbers(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return True  # arrays hold only numbers
    return isinstance(value, tuple | list) and all(type(part) in (int, float) for part in value)


def _are_pairs(value: Any) -> bool:
    return type(value) in (str, int, LocalPairs) or _are_numbers(value)


_PREDICTORS = {"kernel": Ridge, "neighbors": NeighborMean, "local": LocalFit}

# Valid types of parameters of all learners; a name means the same everywhere.
_PARAMETERS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("C", "alpha", "gamma", "reg", "regularization", "shrinkage", "sparsity", "t", "tol"),
        _is_one_of(int, float),
    ),
    **dict.fromkeys(("max_iter", "n_components", "n_jobs", "random_state"), _is_one_of(int, type(None))),
    **dict.fromkeys(("distance", "errata", "solver", "target", "weights"), _is_one_of(str)),
    **dict.fromkeys(("max_exact", "n_landmarks"), _is_one_of(int)),
    "metric": _is_one_of(str, type(None)),
    "views": lambda value: isinstance(value, tuple | list) and all(isinstance(name, str) for name in value),
    "percentiles": _are_numbers,
    "bounds": lambda value: value is None or _are_numbers(value),
    "margin": _is_one_of(int, float, type(None)),
    "n_neighbors": _is_one_of(int),
    "predictor": lambda value: isinstance(value, str) and value in _PREDICTORS,
    "pairs": _are_pairs,
    "preprocessor": lambda value: value is None or isinstance(value, np.ndarray | list) or issparse(value),
    "prior": lambda value: (
        isinstance(value, str | None | np.ndarray | LowRankPlusDiagonal | list) or issparse(value)
    ),
    "step": _is_one_of(str, int, float),
    "verbose": _is_one_of(int, bool),
}
