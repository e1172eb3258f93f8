"""Kernel ridge regression on landmarks (Nyström), for too many samples for a full kernel matrix.

The normal equations of all samples are sums over blocks. They are formed from the kernel itself, so that a
sample costs one row of the kernel and one update of KᵀK; after that, matrices have the size of the landmarks.
The ridge and leave-one-out predictions are from random samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg.blas import dsyrk

from geodual.arrays import Array, Indices
from geodual.threads import in_threads, one_thread

from .geometry import Geometry, MappedSamples
from .kernel_ridge import Ridge, ridges
from .targets import Targets, squared_error

_ENTRIES = 1_000_000  # of a block of the kernel matrix: 8 MB
# Eigenvalue of the kernel of the landmarks, relative to the largest, below which a direction is dropped. In
# the normal equations of n samples, it corresponds to about n · 1e-9; the smallest ridge is n · 1e-6.
_LEAST_EIGENVALUE = 1e-9

Equations = tuple[Array, Array]  # the upper triangle of KᵀwK, and Kᵀw(Y − means)


class KernelFeatures(NamedTuple):
    """The kernel between samples and landmarks.

    Attributes
    ----------
    geometry : Geometry
        The view and the metric.
    landmarks : MappedSamples
        The landmarks in this geometry.
    chosen : Ridge
        The machine on the landmarks alone; its kernel and bandwidth are used.
    """

    geometry: Geometry
    landmarks: MappedSamples
    chosen: Ridge

    def __call__(self, X: Array) -> Array:
        """Return the kernel between samples and landmarks, of shape (n_samples, n_landmarks)."""
        return self.chosen.of(self.landmarks.distances(self.geometry.apply(X).A))

    def blocks(self, n: int) -> list[slice]:
        """Return the rows of the blocks of n samples."""
        step = max(_ENTRIES // len(self.landmarks.A), 1)
        return [slice(start, start + step) for start in range(0, n, step)]

    def equations(self, X: Array, targets: Targets, means: Array) -> Equations:
        """Return the normal equations of samples, block by block; means are those of all targets."""
        m = len(self.landmarks.A)
        G, b = np.zeros((m, m), order="F"), np.zeros((m, len(means)))
        for rows in self.blocks(len(X)):
            part = targets.part(rows)
            root = np.sqrt(part.weight)[:, None]
            K = root * self(X[rows])
            G = dsyrk(1.0, K.T, beta=1.0, c=G, overwrite_c=1)
            b += K.T @ (root * (part.values - means))
        return G, b

    def turned(self, X: Array, rotation: Array) -> Array:
        """Return the kernel of samples times a matrix."""
        found = np.empty((len(X), rotation.shape[1]))

        def fill(rows: slice) -> None:
            np.matmul(self(X[rows]), rotation, out=found[rows])

        in_threads(fill, self.blocks(len(X)))
        return found


class ManySamples(Protocol):
    """Samples that are read in blocks.

    Attributes
    ----------
    drawn : array of int
        Numbers of the samples for choosing views, ridge and probabilities, …
    kept : array of int
        … of the samples that a machine keeps, at least the drawn ones and the landmarks, …
    X : array of shape (n_kept, n_features)
        … and the latter samples, without missing values.
    """

    drawn: Indices
    kept: Indices
    X: Array

    def at(self, places: Indices) -> Indices:
        """Return the positions of samples among the kept ones."""

    def equations(self, features: KernelFeatures, targets: Any) -> Equations:
        """Return the normal equations of all samples."""


class LandmarkRidge(NamedTuple):
    """A kernel machine on landmarks.

    Attributes
    ----------
    machine : Ridge
        Bandwidth, ridge, coefficients of the landmarks, and leave-one-out predictions of some samples.
    residual : float
        Relative residual of the normal equations of the machine.
    """

    machine: Ridge
    residual: float


def fit_on_landmarks(features: KernelFeatures, samples: ManySamples, targets: Any) -> LandmarkRidge:
    """Fit coefficients of landmarks to all samples, with the ridge chosen by leave-one-out on some of them.

    Landmarks and bandwidth do not change when a sample is left out.

    Parameters
    ----------
    features : KernelFeatures
        The kernel between samples and landmarks.
    samples : ManySamples
        All samples.
    targets : Targets
        The targets and weights of all samples.
    """
    basis = _whitening(features.chosen.of(features.landmarks.distances()))
    upper, raw = samples.equations(features, targets)
    G = basis.T @ (np.triu(upper) + np.triu(upper, 1).T) @ basis
    with one_thread():
        spectrum, Q = np.linalg.eigh(G)
    spectrum, b = np.maximum(spectrum, 0.0), basis.T @ raw
    X, part = samples.X[samples.at(samples.drawn)], targets.part(samples.drawn)
    F, turned = features.turned(X, basis @ Q), Q.T @ b
    levels, means = np.array(ridges(targets)), targets.means
    inverses = 1.0 / (spectrum[:, None] + levels)
    squares = [(F[rows] ** 2) @ inverses for rows in features.blocks(len(F))]
    diagonals = np.vstack(squares).T  # of Fᵀ(G + r)⁻¹F, for each ridge

    def scores(k: int) -> Array:
        fit = F @ (inverses[:, [k]] * turned) + means
        kept = 1.0 - part.left_out * part.weight * diagonals[k]
        return np.asarray(part.values - (part.values - fit) / kept[:, None])

    k = min(range(len(levels)), key=lambda k: squared_error(scores(k), part))
    r, solution = float(levels[k]), Q @ (inverses[:, [k]] * turned)
    residual = np.linalg.norm(G @ solution + r * solution - b) / (np.linalg.norm(b) or 1.0)
    machine = features.chosen._replace(ridge=r, coefficients=basis @ solution, scores=scores(k), means=means)
    return LandmarkRidge(machine, float(residual))


def _whitening(K: Array) -> Array:
    """Return B with B Bᵀ the (regularized) inverse of the kernel of the landmarks."""
    with one_thread():
        spectrum, U = np.linalg.eigh(K)
    kept = spectrum > _LEAST_EIGENVALUE * spectrum[-1]
    return np.asarray(U[:, kept] / np.sqrt(spectrum[kept]))
