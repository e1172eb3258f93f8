"""Peers with a Laplace kernel: a support vector machine with L1 distances, and recursive feature machines.

The recursive feature machine is kernel ridge regression in a metric learned from itself: the mean squared
gradients of its function are the weights of the features in the next round (A. Radhakrishnan et al., arXiv
2212.13881; with a diagonal metric and also L1 distances, as in xRFM, arXiv 2508.10053).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

Array = NDArray[np.float64]

BANDWIDTHS = (0.5, 1.0, 2.0, 4.0)  # in units of the median distance
RIDGES = (1e-4, 1e-2, 1.0)  # in units of a hundredth of the number of samples
DISTANCES = ("cityblock", "euclidean")
HOLDOUT = 5  # a fifth of the training samples is used for choices


def median_distance(D: Array) -> float:
    """Return the median of the distances between different samples, or 1 if it is zero."""
    median = float(np.median(D[np.triu_indices(len(D), 1)]))
    return median if median > 0.0 else 1.0


class LaplaceSVC(ClassifierMixin, BaseEstimator):
    """A support vector machine with the kernel exp(-‖x - z‖₁ / h).

    Parameters
    ----------
    C : float
        Weight of the losses.
    bandwidth : float
        h in units of the median distance of the training samples.
    """

    def __init__(self, C: float = 1.0, bandwidth: float = 1.0) -> None:
        self.C = C
        self.bandwidth = bandwidth

    def fit(self, X: Array, y: Any) -> LaplaceSVC:
        """Fit the machine to samples and classes."""
        D = cdist(X, X, "cityblock")
        self.h_ = self.bandwidth * median_distance(D)
        self.machine_ = SVC(C=self.C, kernel="precomputed").fit(np.exp(-D / self.h_), y)
        self.classes_ = self.machine_.classes_
        self.samples_ = X
        return self

    def predict(self, X: Array) -> Any:
        """Return the classes of samples."""
        return self.machine_.predict(np.exp(-cdist(X, self.samples_, "cityblock") / self.h_))


class Machine(NamedTuple):
    """Kernel ridge regression in a diagonal metric: x ↦ offset + Σⱼ exp(-d(x, xⱼ)/h) coefⱼ.

    Attributes
    ----------
    distance : "cityblock" or "euclidean"
        d(x, z) = Σ √m |x - z| or √(Σ m (x - z)²) over the features.
    m : array of shape (n_features,)
        Weights of the features.
    samples : array of shape (n_samples, n_features)
        The training samples.
    h : float
        Bandwidth.
    coef : array of shape (n_samples, n_outputs)
        Weights of the training samples.
    offset : array of shape (n_outputs,)
        Mean of the targets.
    """

    distance: str
    m: Array
    samples: Array
    h: float
    coef: Array
    offset: Array

    def distances(self, X: Array) -> Array:
        """Return the distances of X from the training samples."""
        scale = np.sqrt(self.m)
        return np.asarray(cdist(X * scale, self.samples * scale, self.distance))

    def __call__(self, X: Array) -> Array:
        """Return the outputs at X."""
        return np.exp(-self.distances(X) / self.h) @ self.coef + self.offset

    def squared_gradients(self, X: Array) -> Array:
        """Return the squared derivative by each feature, summed over outputs and averaged over the rows of X.

        The kernel has a kink where the distance, or with "cityblock" one difference, is zero; its derivative
        counts as zero there.
        """
        D = self.distances(X)
        K = np.exp(-D / self.h)
        if self.distance == "cityblock":
            squares = [
                ((K * np.sign(X[:, f, None] - self.samples[:, f])) @ self.coef).ravel()
                for f in range(X.shape[1])
            ]
            return self.m * np.array([square @ square for square in squares]) / (self.h**2 * len(X))
        A = np.divide(K, D, out=np.zeros_like(K), where=D > 0.0)
        total = np.zeros(X.shape[1])
        for coef in self.coef.T:
            slopes = X * (A @ coef)[:, None] - A @ (coef[:, None] * self.samples)
            total += (slopes**2).sum(axis=0)
        return self.m**2 * total / (self.h**2 * len(X))


def rounds(X: Array, Y: Array, distance: str, bandwidth: float, ridge: float) -> Iterator[Machine]:
    """Yield machines endlessly, each in the metric implied by the previous one; the first is plain."""
    m = np.ones(X.shape[1])
    offset = Y.mean(axis=0)
    while True:
        D = cdist(X * np.sqrt(m), X * np.sqrt(m), distance)
        h = bandwidth * median_distance(D)
        K = np.exp(-D / h)
        K.flat[:: len(X) + 1] += ridge * len(X) / 100
        machine = Machine(distance, m, X, h, solve(K, Y - offset, assume_a="pos"), offset)
        yield machine
        steepness = machine.squared_gradients(X)
        if steepness.max() > 0.0:
            m = steepness / steepness.max()


class _RecursiveFeatureMachine(BaseEstimator):
    """Base class; distance, bandwidth, ridge and number of rounds are chosen on a fifth of the samples.

    Parameters
    ----------
    max_rounds : int
        Maximum number of consecutive machines.
    """

    def __init__(self, max_rounds: int = 4) -> None:
        self.max_rounds = max_rounds

    def _fit(self, X: Array, Y: Array, train: Any, held_out: Any) -> None:
        best: tuple[Any, ...] = ((np.inf, np.inf),)
        for setting in product(DISTANCES, BANDWIDTHS, RIDGES):
            machines = islice(rounds(X[train], Y[train], *setting), self.max_rounds)
            for count, machine in enumerate(machines):
                loss = self._loss(machine(X[held_out]), Y[held_out])
                if loss < best[0]:
                    best = loss, setting, count
        _, self.setting_, count = best
        self.n_rounds_ = count + 1
        self.machine_ = next(islice(rounds(X, Y, *self.setting_), count, None))

    def _loss(self, outputs: Array, Y: Array) -> tuple[float, ...]:
        raise NotImplementedError


class RFMClassifier(ClassifierMixin, _RecursiveFeatureMachine):
    """A recursive feature machine on indicators of the classes."""

    def fit(self, X: Array, y: Any) -> RFMClassifier:
        """Fit the machine to samples and classes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        parts = StratifiedKFold(HOLDOUT, shuffle=True, random_state=0).split(X, codes)
        self._fit(X, np.eye(len(self.classes_))[codes], *next(parts))
        return self

    def predict(self, X: Array) -> Any:
        """Return the classes of samples."""
        return self.classes_[self.machine_(X).argmax(axis=1)]

    def _loss(self, outputs: Array, Y: Array) -> tuple[float, ...]:
        wrong = outputs.argmax(axis=1) != Y.argmax(axis=1)
        return float(wrong.mean()), float(((outputs - Y) ** 2).mean())  # the second breaks ties


class RFMRegressor(RegressorMixin, _RecursiveFeatureMachine):
    """A recursive feature machine on a number."""

    def fit(self, X: Array, y: Array) -> RFMRegressor:
        """Fit the machine to samples and targets."""
        parts = KFold(HOLDOUT, shuffle=True, random_state=0).split(X)
        self._fit(X, y[:, None], *next(parts))
        return self

    def predict(self, X: Array) -> Array:
        """Return the predicted targets of samples."""
        return self.machine_(X)[:, 0]

    def _loss(self, outputs: Array, Y: Array) -> tuple[float, ...]:
        return (float(((outputs - Y) ** 2).mean()),)
