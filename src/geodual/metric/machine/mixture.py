"""Mix predictors: convex weights that minimize the squared leave-one-out error, with a duality gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from geodual.arrays import Array

from .targets import Targets


class Mixture(NamedTuple):
    """Shares of predictors.

    Attributes
    ----------
    shares : array of shape (n_predictors,)
        Nonnegative weights that sum to one.
    gap : float
        The most by which other shares could lower the squared error, relative to it.
    """

    shares: Array
    gap: float


def best_mixture(scores: Sequence[Array], targets: Targets) -> Mixture:
    """Return the shares that minimize the squared error of leave-one-out predictions.

    With the residuals E, one column per predictor, it minimizes ‖E s‖² over s ≥ 0 with Σ s = 1. The solution
    of min ‖E v‖² + (Σ v − 1)² over v ≥ 0 is a multiple of s, because ‖E v‖² is homogeneous. So nonnegative
    least squares gives s, without a penalty to choose.
    """
    root = np.sqrt(targets.weight / targets.weight.sum())[:, None]
    residuals = [(root * (score - targets.values)).ravel() for score in scores]
    G = np.array([[a @ b for b in residuals] for a in residuals])
    if not np.diagonal(G).min() > 0.0:  # a predictor without error
        shares = np.eye(len(G))[int(np.diagonal(G).argmin())]
        return Mixture(shares, 0.0)
    unit = float(np.diagonal(G).min())
    spectrum, U = np.linalg.eigh(G / unit)
    root_of_G = np.sqrt(np.maximum(spectrum, 0.0))[:, None] * U.T
    ones = np.ones((1, len(G)))
    v, _ = nnls(np.vstack([root_of_G, ones]), np.append(np.zeros(len(G)), 1.0))
    shares = v / v.sum()
    return Mixture(shares, _gap(shares, G))


def _gap(shares: Array, G: Array) -> float:
    """Return the relative duality gap, from f(s) ≥ f + ∇f·(s − shares) for convex f."""
    value, slopes = float(shares @ G @ shares), 2.0 * G @ shares
    return max(float(slopes @ shares - slopes.min()), 0.0) / value if value > 0.0 else 0.0
