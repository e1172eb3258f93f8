"""Kernel ridge on landmarks (Nyström), for samples too many for a kernel matrix; all passes are by blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array, Indices

from .kernel_ridge import Ridge, ridges
from .scoring import Targets

_ENTRIES = 4_000_000  # of a block of the kernel matrix: 32 MB
_SCORED = 20_000  # samples whose scores by leave-one-out are kept, to choose probabilities
_LEAST_EIGENVALUE = 1e-12  # of the kernel of the landmarks, relative to the largest


class LandmarkRidge(NamedTuple):
    """A kernel machine on landmarks.

    Attributes
    ----------
    machine : Ridge
        Bandwidth, ridge, coefficients of the landmarks, and scores of some samples by leave-one-out.
    accuracy : float
        By leave-one-out, of all samples.
    scored : array of int
        Which samples have scores.
    residual : float
        Relative residual of the normal equations of the machine.
    """

    machine: Ridge
    accuracy: float
    scored: Indices
    residual: float


def fit_on_landmarks(
    distances: Callable[[slice], Array], among: Array, h: float, targets: Targets
) -> LandmarkRidge:
    """Fit coefficients of landmarks to all samples; the ridge is chosen by leave-one-out.

    Landmarks and bandwidth stay when a sample is left out.

    Parameters
    ----------
    distances : callable
        Returns the distances of some samples to the landmarks.
    among : array of shape (n_landmarks, n_landmarks)
        Distances of the landmarks.
    h : float
        Bandwidth.
    targets : Targets
        Classes and weights of all samples.
    """
    basis, n = _whitening(np.exp(-among / h)), len(targets.labels)
    blocks = [slice(start, start + _step(among)) for start in range(0, n, _step(among))]

    def features() -> Iterator[tuple[Targets, Array]]:
        for rows in blocks:
            part = targets._replace(labels=targets.labels[rows], weight=targets.weight[rows])
            yield part, np.exp(distances(rows) * (-1.0 / h)) @ basis

    G, b = _normal_equations(features(), basis.shape[1], targets)
    spectrum, Q = np.linalg.eigh(G)
    levels, turned = ridges(targets), Q.T @ b
    inverses = [1.0 / (np.maximum(spectrum, 0.0) + r) for r in levels]
    solutions = [inverse[:, None] * turned for inverse in inverses]
    stride = -(-n // _SCORED)
    criteria, right, scored = np.zeros(len(levels)), np.zeros(len(levels)), [[] for _ in levels]  # type: ignore[var-annotated]
    for rows, (part, features_) in zip(blocks, features(), strict=True):
        turned_features, share = features_ @ Q, part.weight.sum() / targets.weight.sum()
        squares, first = turned_features**2, -rows.start % stride
        for k, (inverse, solution) in enumerate(zip(inverses, solutions, strict=True)):
            scores = _left_out(turned_features @ solution + targets.means, squares @ inverse, part)
            criteria[k] += share * part.criterion(scores)
            right[k] += share * part.accuracy(scores)
            scored[k].append(scores[first::stride])
    k = int(criteria.argmax())
    error = np.linalg.norm(G @ (Q @ solutions[k]) + levels[k] * (Q @ solutions[k]) - b) / np.linalg.norm(b)
    coefficients = basis @ (Q @ solutions[k])
    machine = Ridge(float(criteria[k]), h, levels[k], coefficients, np.vstack(scored[k]))
    return LandmarkRidge(machine, float(right[k]), np.arange(0, n, stride), float(error))


def _step(among: Array) -> int:
    return max(_ENTRIES // len(among), 1)


def _whitening(K: Array) -> Array:
    """Return B with B Bᵀ the (regularised) inverse of the kernel of the landmarks."""
    spectrum, U = np.linalg.eigh(K)
    kept = spectrum > _LEAST_EIGENVALUE * spectrum[-1]
    return np.asarray(U[:, kept] / np.sqrt(spectrum[kept]))


def _normal_equations(
    features: Iterator[tuple[Targets, Array]], size: int, targets: Targets
) -> tuple[Array, Array]:
    G, b = np.zeros((size, size)), np.zeros((size, targets.n_classes))
    for part, F in features:
        weighted = F * part.weight[:, None]
        G += F.T @ weighted
        b += weighted.T @ (part.values - targets.means)
    return G, b


def _left_out(fit: Array, diagonal: Array, part: Targets) -> Array:
    """Return scores by leave-one-out from the fit and Fᵀ(G + r)⁻¹F of each sample, by the hat matrix."""
    kept = 1.0 - part.left_out * part.weight * diagonal
    return np.asarray(part.values - (part.values - fit) / kept[:, None])
