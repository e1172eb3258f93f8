"""Learners fitted to dask arrays: in any chunks they must equal the fit to an array, or refuse as it does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import dask
import dask.array as da
import numpy as np
from sklearn.base import clone

from geodual.metric import GMML, ITML, RPDML
from geodual.metric.geometry import sample_blocks

from ..case import Case, Rng, pick
from ..hostile import ILLNESSES, labels, number, weights
from .metrics import bounds, claim, percentiles, prior, wrong_with_metric

_TOL = 1e-6  # relative duality gap of the fits
_AGREE = 3e-6  # relative error that is left to both gaps, and to rounding
_SMALL, _LARGE, _RELATIVE = 1e-70, 1e70, 1e-13  # samples beyond these limits are extreme
_OWN = "X.compute()"  # what a refusal names as remedy if only dask arrays are refused
_ROUNDED = {"bounds_": 0.0, "objective_": 1e-8, "n_pairs_": 0.0}  # ½ D and the losses may cancel or be 0
_FORMS = (np.float64, np.float64, np.float64, np.float32, np.int64)


def draw(rng: Rng) -> Case:
    """Return a fit to a dask array with random chunks, some of which may be empty."""
    illness = "healthy" if rng.random() < 0.5 else pick(rng, *ILLNESSES)
    n, f = int(rng.integers(2, 32)), int(rng.integers(1, 5))
    X = ILLNESSES[illness](rng, rng.standard_normal((n, f)))
    if illness not in ("NaN", "infinite", "overflowing", "huge", "one outlier", "far from 0"):
        with np.errstate(all="ignore"):
            X = X.astype(pick(rng, *_FORMS))
    kind, y = labels(rng, len(X))
    weight = weights(rng, len(X)) if rng.random() < 0.5 else None
    learner = _LEARNERS[pick(rng, *_LEARNERS)](rng, X.shape[-1])
    chunks = tuple(_chunks(rng, size) for size in X.shape)
    lazy = tuple(rng.random() < 0.3 and np.ndim(given) == 1 for given in (y, weight))
    return Case(
        f"{learner} on {illness} {X.dtype} in chunks {chunks}, y: {kind}, weight: {np.shape(weight)}",
        lambda: _fitted(learner, X, y, weight, chunks, lazy),
        (X, y, weight),
        lambda found: [found] if isinstance(found, str) else _check(found, learner, X, y, weight),
        claim,
    )


def _chunks(rng: Rng, size: int) -> tuple[int, ...]:
    """Return the sizes of chunks; some may be 0."""
    cuts = np.sort(rng.integers(0, size + 1, int(rng.integers(0, 4))))
    return tuple(np.diff([0, *cuts, size]).tolist())


_LEARNERS: dict[str, Callable[[Rng, int], Any]] = {
    "RPDML": lambda rng, f: RPDML(
        number(rng, 1.0, 100.0), prior=prior(rng, f), pairs="all", **_bounded(rng), tol=_TOL
    ),
    "ITML": lambda rng, f: ITML(
        number(rng, 0.1, 1.0), prior=prior(rng, f), pairs="all", **_bounded(rng), tol=_TOL
    ),
    "GMML": lambda rng, f: GMML(number(rng, 0.5, 0.3), number(rng, 0.0, 0.1, 10.0), prior(rng, f)),
}


def _bounded(rng: Rng) -> dict[str, Any]:
    return {"percentiles": percentiles(rng), "bounds": bounds(rng)}


def _fitted(learner: Any, X: Any, y: Any, weight: Any, chunks: Any, lazy: tuple[bool, bool]) -> Any:
    """Fit a learner to a dask array; return what is wrong with a refusal that the array does not meet."""
    given = [
        da.from_array(np.asarray(v), chunks=7) if late else v
        for v, late in zip((y, weight), lazy, strict=True)
    ]
    small = {"_LEAST_ROWS": 12, "_ROWS": 0.0}  # so that few samples make several blocks
    with mock.patch.multiple(sample_blocks, **small), dask.config.set(scheduler="synchronous"):
        try:
            return clone(learner).fit(da.from_array(X, chunks=chunks), *given)
        except ValueError as error:
            if _OWN in str(error) or not _is_ordinary(X):
                raise
            if isinstance(_local(learner, X, y, weight), ValueError):
                raise
            return f"a dask array is refused, but an array is not: {error}"


def _is_ordinary(X: Any) -> bool:
    """Return whether samples differ by more than rounding errors, and neither too little nor too much.

    For others the two fits may differ. An array of equal samples has the prior as its metric if bounds are
    given, but a dask array has no covariance; squares of its extreme entries overflow in other places.
    """
    size, spread = np.abs(X).max(axis=0, initial=0.0), np.ptp(X, axis=0) if len(X) else np.zeros(1)
    varies = spread > _RELATIVE * size
    return bool(varies.any() and (spread[varies] > _SMALL).all() and (size < _LARGE).all())


def _local(learner: Any, X: Any, y: Any, weight: Any) -> Any:
    """Return the learner fitted to the array, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return clone(learner).fit(X, y, weight)
        except ValueError as error:
            return error


def _check(found: Any, learner: Any, X: Any, y: Any, weight: Any) -> Iterator[str]:
    yield from wrong_with_metric(found)
    if not _is_ordinary(X):
        return
    expected = _local(learner, X, y, weight)
    if isinstance(expected, ValueError):
        yield f"an array is refused, but a dask array is not: {expected}"
        return
    if isinstance(learner, GMML):
        W, V = expected.get_mahalanobis_matrix(), found.get_mahalanobis_matrix()
        roots = np.sqrt(np.diagonal(W))
        if not (np.abs(V - W) <= _AGREE * np.outer(roots, roots)).all():
            yield f"the metric is {V.tolist()}, but {W.tolist()} from an array"
    elif max(found.duality_gap_, expected.duality_gap_) <= _TOL:
        for name in _ROUNDED:
            one, other = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
            if not np.allclose(one, other, rtol=_AGREE, atol=_ROUNDED[name]):
                yield f"{name} is {one}, but {other} from an array"
