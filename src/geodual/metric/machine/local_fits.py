"""Local linear fits: ridge regression on the neighbors of each sample, chosen by leave-one-out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geodual.arrays import Array

from .geometry import MappedSamples
from .neighbor_means import blocks, left_out_neighbors, values_at
from .targets import Targets, squared_error

NUMBERS = (20, 40, 80)  # of neighbors to try
RIDGES = (0.01, 0.1, 1.0)  # relative to the mean variance of a direction among the neighbors


class LocalFit(NamedTuple):
    """A linear function of the mapped features for each sample, fitted to its neighbors.

    Attributes
    ----------
    n_neighbors : int
        Number of neighbors.
    ridge : float
        Ridge, relative to the mean variance of a direction among them.
    scores : array of shape (n_samples, n_columns)
        Leave-one-out predictions.
    """

    n_neighbors: int
    ridge: float
    scores: Array

    def predict(self, A: Array, among: MappedSamples, targets: Targets) -> Array:
        """Predict the targets of new samples, which are already mapped."""
        parts = []
        for rows in _blocks(A, self.n_neighbors, targets):
            near = among.index.kneighbors(A[rows], self.n_neighbors, return_distance=False)
            values, counts = values_at(near, targets), targets.weight[near]
            parts.append(_fits(A[rows], among.A[near], values, counts, (self.ridge,))[0])
        return np.vstack(parts)

    @property
    def settings(self) -> dict[str, float | str]:
        """The chosen settings."""
        return {"n_neighbors": self.n_neighbors, "ridge": self.ridge}


def best_local_fit(samples: MappedSamples, D: Array, targets: Targets) -> LocalFit:
    """Return the best local fit for samples and their distances."""
    A = samples.A
    near, _, counts = left_out_neighbors(D, targets, max(NUMBERS))
    tried = []
    for k in sorted({min(number, near.shape[1]) for number in NUMBERS}):
        parts = []
        for rows in _blocks(A, k, targets):
            close = near[rows, :k]
            parts.append(_fits(A[rows], A[close], values_at(close, targets), counts[rows, :k], RIDGES))
        for ridge, scores in zip(RIDGES, np.concatenate(parts, axis=1), strict=True):
            tried.append((squared_error(scores, targets), LocalFit(k, ridge, scores)))
    return min(tried, key=lambda pair: pair[0])[1]


def _blocks(A: Array, n_neighbors: int, targets: Targets) -> list[slice]:
    return blocks(len(A), n_neighbors * max(n_neighbors, A.shape[1], len(targets.means)))


def _fits(at: Array, near: Array, values: Array, counts: Array, ridges: tuple[float, ...]) -> Array:
    """For each ridge, return the values at samples of linear functions fitted to their neighbors.

    Parameters
    ----------
    at : array of shape (n_samples, n_components)
        The samples at which to evaluate.
    near : array of shape (n_samples, n_neighbors, n_components)
        The neighbors.
    values : array of shape (n_samples, n_neighbors, n_columns)
        The targets of the neighbors.
    counts : array of shape (n_samples, n_neighbors)
        Weight of each neighbor.
    ridges : tuple of float
        Ridges, relative to the mean variance of a direction.
    """
    share = counts / counts.sum(axis=1, keepdims=True)
    center = np.einsum("ij,ijp->ip", share, near)
    mean = np.einsum("ij,ijc->ic", share, values)
    root = np.sqrt(share)[:, :, None]
    Z, Y = root * (near - center[:, None]), root * (values - mean[:, None])
    # Solve the dual, because there may be more components than neighbors.
    spectrum, U = np.linalg.eigh(Z @ Z.swapaxes(1, 2))
    unit = np.maximum(spectrum.sum(axis=1), 0.0) / min(near.shape[1:])
    unit = np.where(unit > 0.0, unit, 1.0)[:, None]
    turned = U.swapaxes(1, 2) @ Y
    ahead = np.einsum("ijp,ip->ij", Z, at - center)
    ahead = np.einsum("ijk,ij->ik", U, ahead)
    inverse = [1.0 / (np.maximum(spectrum, 0.0) + ridge * unit) for ridge in ridges]
    return np.stack([mean + np.einsum("ik,ikc->ic", ahead * i, turned) for i in inverse])
