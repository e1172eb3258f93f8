"""Kernel ridge on landmarks (Nyström), for samples too many for a kernel matrix; all passes are by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from geodual.arrays import Array, Indices

from .geometry import Geometry
from .kernel_ridge import Ridge, ridges
from .targets import Targets, squared_error

_ENTRIES = 4_000_000  # of a block of the kernel matrix: 32 MB
_SCORED = 20_000  # samples whose predictions by leave-one-out are kept, to calibrate probabilities
_LEAST_EIGENVALUE = 1e-12  # of the kernel of the landmarks, relative to the largest


class LandmarkRidge(NamedTuple):
    """A kernel machine on landmarks.

    Attributes
    ----------
    machine : Ridge
        Bandwidth, ridge, coefficients of the landmarks, and predictions of some samples by leave-one-out.
    scored : array of int
        Which samples have predictions.
    residual : float
        Relative residual of the normal equations of the machine.
    """

    machine: Ridge
    scored: Indices
    residual: float


def fit_on_landmarks(
    geometry: Geometry, X: Array, places: Indices, chosen: Ridge, targets: Any
) -> LandmarkRidge:
    """Fit coefficients of landmarks to all samples; the ridge is chosen by leave-one-out.

    Landmarks and bandwidth stay when a sample is left out.

    Parameters
    ----------
    geometry : Geometry
        The view and the metric.
    X : array of shape (n_samples, n_features)
        All samples.
    places : array of int
        Which of them are landmarks.
    chosen : Ridge
        The machine on the landmarks alone, of which kernel and bandwidth are taken.
    targets : Targets
        Targets and weights of all samples.
    """
    bases, n = geometry.apply(X[places]), len(X)
    basis = _whitening(chosen.of(bases.distances()))
    step = max(_ENTRIES // len(places), 1)
    blocks = [slice(start, start + step) for start in range(0, n, step)]

    def features() -> Iterator[tuple[Targets, Array]]:
        for rows in blocks:
            yield targets.part(rows), chosen.of(bases.distances(geometry.apply(X[rows]).A)) @ basis

    G, b = _normal_equations(features(), basis.shape[1], targets.means)
    spectrum, Q = np.linalg.eigh(G)
    levels, turned = ridges(targets), Q.T @ b
    inverses = [1.0 / (np.maximum(spectrum, 0.0) + r) for r in levels]
    solutions = [inverse[:, None] * turned for inverse in inverses]
    stride = -(-n // _SCORED)
    errors: Array = np.zeros(len(levels))
    scored: list[list[Array]] = [[] for _ in levels]
    for rows, (part, block) in zip(blocks, features(), strict=True):
        rotated, share = block @ Q, part.weight.sum()
        squares, first = rotated**2, -rows.start % stride
        for k, (inverse, solution) in enumerate(zip(inverses, solutions, strict=True)):
            scores = _left_out(rotated @ solution + targets.means, squares @ inverse, part)
            errors[k] += share * squared_error(scores, part)
            scored[k].append(scores[first::stride])
    k = int(errors.argmin())
    solution = Q @ solutions[k]
    residual = np.linalg.norm(G @ solution + levels[k] * solution - b) / (np.linalg.norm(b) or 1.0)
    machine = chosen._replace(ridge=levels[k], coefficients=basis @ solution, scores=np.vstack(scored[k]))
    return LandmarkRidge(machine, np.arange(0, n, stride), float(residual))


def _whitening(K: Array) -> Array:
    """Return B with B Bᵀ the (regularised) inverse of the kernel of the landmarks."""
    spectrum, U = np.linalg.eigh(K)
    kept = spectrum > _LEAST_EIGENVALUE * spectrum[-1]
    return np.asarray(U[:, kept] / np.sqrt(spectrum[kept]))


def _normal_equations(
    features: Iterator[tuple[Targets, Array]], size: int, means: Array
) -> tuple[Array, Array]:
    G, b = np.zeros((size, size)), np.zeros((size, len(means)))
    for part, F in features:
        weighted = F * part.weight[:, None]
        G += F.T @ weighted
        b += weighted.T @ (part.values - means)
    return G, b


def _left_out(fit: Array, diagonal: Array, part: Targets) -> Array:
    """Return predictions by leave-one-out from the fit and Fᵀ(G + r)⁻¹F of each sample, by the hat matrix."""
    kept = 1.0 - part.left_out * part.weight * diagonal
    return np.asarray(part.values - (part.values - fit) / kept[:, None])
