"""Kernel ridge regression, with bandwidth and ridge chosen by exact leave-one-out.

Samples can be weighted. With the kernel K, weights w and targets Y minus their means, the machine minimizes Σ
w (Y − f)² + r ‖f‖² over functions of the kernel. Its coefficients α solve (K + r diag(1/w)) α = Y, so the
residual of a sample is r α/w. If the share s of a sample is left out, its residual is divided by 1 − s H,
where H is the derivative of the fit with respect to the target there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from geodual.arrays import Array

from .geometry import Geometry, MappedSamples
from .targets import Targets, squared_error

# Functions of distances divided by the bandwidth, which are overwritten.
KERNELS: dict[str, Callable[[Array], Array]] = {
    "laplace": lambda scaled: np.exp(np.negative(scaled, out=scaled), out=scaled),
    "gauss": lambda scaled: np.exp(np.negative(np.square(scaled, out=scaled), out=scaled), out=scaled),
}
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the Laplace kernel, relative to the median distance
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # relative to a hundredth of the total weight
_MIDDLE = 2  # position in both where the search begins
_ENOUGH = 500  # largest number of samples for choosing bandwidth and ridge; more are subsampled


class Ridge(NamedTuple):
    """A kernel machine.

    Attributes
    ----------
    kernel : "laplace" or "gauss"
        exp(−d/h) or exp(−d²/h²) for distances d.
    bandwidth, ridge : float
        h and r.
    coefficients : array of shape (n_samples, n_columns)
        α.
    scores : array of shape (n_samples, n_columns)
        Leave-one-out predictions.
    means : array of shape (n_columns,)
        Means of the targets of all samples of the fit: the prediction far from them.
    """

    kernel: str
    bandwidth: float
    ridge: float
    coefficients: Array
    scores: Array
    means: Array

    def of(self, D: Array) -> Array:
        """Return the kernel of distances."""
        return KERNELS[self.kernel](D / self.bandwidth)

    def predict(self, A: Array, among: MappedSamples, targets: Targets) -> Array:
        """Predict the targets of new samples, which are already mapped."""
        parts = [self.of(D) @ self.coefficients for D in among.distance_blocks(A)]
        return np.asarray(np.vstack(parts) + self.means)

    def residual(self, D: Array, targets: Targets) -> float:
        """Return ‖(K + r diag(1/w)) α − Y‖/‖Y‖: the relative residual of the machine's system."""
        wanted = targets.values - targets.means
        error = self.of(D) @ self.coefficients - wanted
        error += (self.ridge / targets.weight)[:, None] * self.coefficients
        return float(np.linalg.norm(error)) / (float(np.linalg.norm(wanted)) or 1.0)

    @property
    def settings(self) -> dict[str, float | str]:
        """The chosen settings."""
        return {"kernel": self.kernel, "bandwidth": self.bandwidth, "ridge": self.ridge}


def kernel_of(geometry: Geometry) -> str:
    """Return the kernel for a geometry: Gaussian for the Euclidean distance with equal weights, else Laplace.

    A mixture of both combines rough functions of few features with smooth ones of all.
    """
    return "gauss" if geometry.metric == "equal" and geometry.kind == "l2" else "laplace"


def median_distance(D: Array) -> float:
    """Return the median distance between distinct samples; if it is 0, the largest, or 1 if all are 0."""
    distances = D[np.triu_indices(len(D), 1)]
    return float(np.median(distances)) or float(distances.max(initial=0.0)) or 1.0


def bandwidths(unit: float, kernel: str) -> list[float]:
    """Return the bandwidths to try, relative to the median of d for exp(−d/h) and of d² for exp(−d²/h²)."""
    return [unit * (factor if kernel == "laplace" else factor**0.5) for factor in BANDWIDTHS]


def ridges(targets: Targets) -> list[float]:
    """Return the ridges to try."""
    return [factor * float(targets.weight.sum()) / 100.0 for factor in RIDGES]


def best_ridge(D: Array, kernel: str, targets: Targets) -> Ridge:
    """Return the machine for distances D of all samples, with bandwidth and ridge chosen by leave-one-out.

    The bandwidth is chosen first, for the middle ridge, then the ridge: each search moves away from the
    middle as long as the squared error decreases.
    """
    unit = median_distance(D)
    few, part = D, targets
    if len(D) > _ENOUGH:
        drawn = np.sort(np.random.default_rng(0).permutation(len(D))[:_ENOUGH])
        few, part = D[np.ix_(drawn, drawn)], targets.part(drawn)

    def error(h: float, r: float) -> float:
        return squared_error(solve(KERNELS[kernel](few / h), r, part)[1], part)

    levels, widths = ridges(part), bandwidths(unit, kernel)
    h = widths[_descend(lambda place: error(widths[place], levels[_MIDDLE]), len(widths))]
    r = ridges(targets)[_descend(lambda place: error(h, levels[place]), len(levels))]
    return Ridge(kernel, h, r, *solve(KERNELS[kernel](D / h), r, targets), targets.means)


def _descend(error: Callable[[int], float], n_places: int) -> int:
    """Return the position of a local minimum of an error, searched from the middle."""
    found = functools.cache(error)
    at = _MIDDLE
    for step in (-1, 1):
        while 0 <= at + step < n_places and found(at + step) < found(at):
            at += step
        if at != _MIDDLE:
            break
    return at


def solve(K: Array, r: float, targets: Targets) -> tuple[Array, Array]:
    """Return the coefficients for a kernel matrix and a ridge, and the leave-one-out predictions."""
    root, wanted = np.sqrt(targets.weight), targets.values - targets.means
    system = np.asfortranarray(K * root[:, None] * root)
    system.flat[:: len(K) + 1] += r
    factor, _ = dpotrf(system, lower=1, overwrite_a=1)
    turned, _ = dpotrs(factor, root[:, None] * wanted, lower=1)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    coefficients = root[:, None] * turned
    return coefficients, left_out_scores(coefficients, np.diagonal(inverse), r, targets)


def left_out_scores(coefficients: Array, diagonal: Array, r: float, targets: Targets) -> Array:
    """Return the predictions for each sample with it, or one of its copies, left out.

    Parameters
    ----------
    coefficients : array of shape (n_samples, n_columns)
        α.
    diagonal : array of shape (n_samples,)
        Diagonal of the inverse of √w K √w + r I.
    r : float
        The ridge.
    targets : Targets
        The targets and weights of the fit.
    """
    kept = 1.0 - targets.left_out * (1.0 - r * diagonal)
    return np.asarray(targets.values - (r / targets.weight / kept)[:, None] * coefficients)
