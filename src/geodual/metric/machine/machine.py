"""A machine that predicts: a mixture of the best predictors of a kind in several geometries.

Metrics are learned in each view of the features; each defines a geometry. In each geometry, the settings of
the predictor are chosen by leave-one-out in closed form. The convex weights of the mixture minimize the
squared leave-one-out error. Metrics and views are not learned again for each left-out sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from geodual.arrays import Array, Indices
from geodual.threads import one_thread

from ..base.checks import check_whole
from .geometry import Geometry, MappedSamples
from .kernel_ridge import Ridge, best_ridge, kernel_of
from .landmarks import KernelFeatures, ManySamples, fit_on_landmarks
from .local_fits import LocalFit, best_local_fit
from .many_samples import SamplesHere
from .mixture import best_mixture
from .neighbor_means import NeighborMean, best_neighbors
from .targets import Targets, squared_error
from .views import VIEWS, View

PREDICTORS = ("kernel", "neighbors", "local")
_ENTRIES = 1_000_000  # of new samples predicted at once: 8 MB
_LEAST_SHARE = 1e-6  # of a predictor in the mixture; predictors with less are dropped

Predictor = Ridge | NeighborMean | LocalFit
# From a view, samples in it and their targets to geometries; empty if there is nothing to learn.
Learner = Callable[[View, Array, Any], Sequence[Geometry]]


class MachineCertificates(NamedTuple):
    """The certificates of a machine.

    Attributes
    ----------
    metric_gap : float or None
        Largest relative duality gap of the metrics in the mixture; None if none was learned.
    mixture_gap : float
        The most by which other shares could lower the squared leave-one-out error, relative to it.
    ridge_residual : float or None
        Largest relative residual of the linear systems of the kernel machines, which are solved exactly up to
        rounding. None for other predictors, which have no system for all samples.
    """

    metric_gap: float | None
    mixture_gap: float
    ridge_residual: float | None


@dataclass(frozen=True)
class Part:
    """A predictor in a geometry, and its share of the mixture.

    Attributes
    ----------
    share : float
        The share, between 0 and 1.
    geometry : Geometry
        The view and the metric.
    predictor : Ridge, NeighborMean or LocalFit
        The predictor in this geometry.
    """

    share: float
    geometry: Geometry
    predictor: Predictor

    def __str__(self) -> str:
        settings = ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.predictor.settings.items()
        )
        metric = "equal weights" if self.geometry.metric == "equal" else f"metric {self.geometry.metric}"
        return f"{self.share:.2f} in view {self.geometry.view.name!r}, {metric}: {settings}"


@dataclass(frozen=True, eq=False)
class Machine:
    """A fitted machine.

    Attributes
    ----------
    parts : tuple of Part
        The mixture, sorted by decreasing share.
    X : array of shape (n_samples, n_features)
        Distinct samples, without missing values: all, or the gathered samples of a dask array.
    targets : Targets
        Their targets.
    places : array of int, or None
        Samples at which the kernel is evaluated; None means all.
    scores : array of shape (n_scored, n_columns)
        Leave-one-out predictions, …
    scored : array of int, or None
        … and the samples that they are for; None means all.
    certificates : MachineCertificates
        The certificates.
    """

    parts: tuple[Part, ...]
    X: Array
    targets: Any
    places: Indices | None
    scores: Array
    scored: Indices | None
    certificates: MachineCertificates

    @cached_property
    def _samples(self) -> tuple[MappedSamples, ...]:
        asks_all = self.places is None or not isinstance(self.parts[0].predictor, Ridge)
        X = self.X if asks_all else self.X[self.places]
        return tuple(part.geometry.apply(X) for part in self.parts)

    @property
    def compared(self) -> list[tuple[Part, MappedSamples]]:
        """Each part with the samples to which it compares new ones."""
        return list(zip(self.parts, self._samples, strict=True))

    @property
    def chosen_on(self) -> tuple[Array, Any]:
        """The samples used for all choices, and their targets."""
        if self.places is None:
            return self.X, self.targets
        return self.X[self.places], self.targets.part(self.places)

    @property
    def scored_targets(self) -> Any:
        """The targets of the samples with leave-one-out predictions."""
        return self.targets if self.scored is None else self.targets.part(self.scored)

    @property
    def learned(self) -> Geometry:
        """The geometry with the largest share among the learned ones; if there are none, among all."""
        geometries = [part.geometry for part in self.parts]
        return next((geometry for geometry in geometries if geometry.gap is not None), geometries[0])

    def predict(self, X: Array) -> Array:
        """Predict the values of samples without missing values, block by block."""
        step = max(_ENTRIES // X.shape[1], 1)
        starts = range(0, max(len(X), 1), step)
        return np.vstack([self._predict_block(X[start : start + step]) for start in starts])

    def _predict_block(self, X: Array) -> Array:
        return np.asarray(
            sum(
                part.share * part.predictor.predict(part.geometry.apply(X).A, among, self.targets)
                for part, among in self.compared
            )
        )

    def nearest(self, X: Array, k: int) -> tuple[Array, Indices]:
        """Return the distances and positions of the nearest samples in the geometry `learned`."""
        A, among = self.learned.apply(X).A, self.learned.apply(self.X)
        distances, places = among.index.kneighbors(A, min(k, len(self.X)))
        return distances, places


def fit_machine(
    X: Array | ManySamples,
    targets: Any,
    *,
    predictor: str,
    views: Iterable[str],
    learners: Sequence[Learner],
    places: Indices | None = None,
) -> Machine:
    """Fit a machine to distinct samples without missing values.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or ManySamples
        Samples; with landmarks, and only for "kernel", they may be elsewhere.
    targets : Targets
        Their targets.
    predictor : "kernel", "neighbors" or "local"
        The predictor in each geometry.
    views : iterable of str
        Names of views.
    learners : sequence of callable
        Functions that learn the metrics in each view.
    places : array of int, optional
        Landmarks: the samples used for all choices, at which the kernel is evaluated. By default, all
        samples.
    """
    if places is None:
        X = X if isinstance(X, np.ndarray) else X.X
        geometries = _geometries(views, learners, X, targets, X, targets)
        fitted = [_fit_predictor(geometry, predictor, X, targets) for geometry in geometries]
        return _mixture(geometries, fitted, X, targets, None)
    samples = SamplesHere(X) if isinstance(X, np.ndarray) else X
    near, few = samples.X[samples.at(places)], targets.part(places)
    seen, part = samples.X[samples.at(samples.drawn)], targets.part(samples.drawn)
    with one_thread():
        geometries = _geometries(views, learners, seen, part, near, few)
        fitted = [_fit_predictor(geometry, predictor, near, few) for geometry in geometries]
    if predictor != "kernel":
        assert isinstance(X, np.ndarray)
        return _mixture(geometries, fitted, X, targets, places)
    return _machine_on_landmarks(geometries, fitted, samples, targets, near, places)


def _mixture(
    geometries: list[Geometry],
    fitted: list[tuple[Predictor, float | None]],
    X: Array,
    targets: Any,
    places: Indices | None,
) -> Machine:
    """Return the best mixture of predictors, fitted to all samples or to landmarks."""
    few = targets if places is None else targets.part(places)
    shares, gap = best_mixture([found.scores for found, _ in fitted], few)
    scores = sum(share * found.scores for share, (found, _) in zip(shares, fitted, strict=True))
    kept = [k for k in np.argsort(-shares, kind="stable") if shares[k] > _LEAST_SHARE]
    total = float(shares[kept].sum())
    parts = tuple(Part(float(shares[k]) / total, geometries[k], fitted[k][0]) for k in kept)
    residuals = [residual for k in kept if (residual := fitted[k][1]) is not None]
    certificates = MachineCertificates(_worst_gap(parts), gap, max(residuals) if residuals else None)
    return Machine(parts, X, targets, places, np.asarray(scores), places, certificates)


def _geometries(
    views: Iterable[str], learners: Sequence[Learner], seen: Array, part: Targets, near: Array, few: Targets
) -> list[Geometry]:
    """Return the geometries learned from samples `near` in the views of samples `seen`."""
    found: list[Geometry] = []
    for name in views:
        view = VIEWS[name]().fit(seen, part.weight)
        A = view.transform(near)
        found += [geometry for learn in learners for geometry in learn(view, A, few)]
    return found


def _fit_predictor(
    geometry: Geometry, predictor: str, X: Array, targets: Targets
) -> tuple[Predictor, float | None]:
    """Return the best predictor in a geometry, and the residual of its linear system, if any."""
    samples = geometry.apply(X)
    D = samples.distances()
    if predictor == "neighbors":
        return best_neighbors(D, targets), None
    if predictor == "local":
        return best_local_fit(samples, D, targets), None
    found = best_ridge(D, kernel_of(geometry), targets)
    return found, found.residual(D, targets)


def _machine_on_landmarks(
    geometries: list[Geometry],
    fitted: list[tuple[Predictor, float | None]],
    samples: ManySamples,
    targets: Any,
    near: Array,
    places: Indices,
) -> Machine:
    """Fit to all samples the machine in the geometry that predicts best on the landmarks."""
    few = targets.part(places)
    best = int(np.argmin([squared_error(found.scores, few) for found, _ in fitted]))
    geometry, chosen = geometries[best], fitted[best][0]
    assert isinstance(chosen, Ridge)
    features = KernelFeatures(geometry, geometry.apply(near), chosen)
    machine, residual = fit_on_landmarks(features, samples, targets)
    certificates = MachineCertificates(geometry.gap, 0.0, residual)
    at, scored = samples.at(places), samples.at(samples.drawn)
    parts, kept = (Part(1.0, geometry, machine),), targets.part(samples.kept)
    return Machine(parts, samples.X, kept, at, machine.scores, scored, certificates)


def _worst_gap(parts: tuple[Part, ...]) -> float | None:
    gaps = [part.geometry.gap for part in parts if part.geometry.gap is not None]
    return max(gaps) if gaps else None


def check_machine(estimator: Any) -> None:
    """Raise an error unless an estimator has a known predictor and valid numbers of samples."""
    if estimator.predictor not in PREDICTORS:
        names = ", ".join(f'"{name}"' for name in PREDICTORS)
        raise ValueError(f"`predictor` must be one of {names}, got {estimator.predictor!r}.")
    check_whole("max_exact", estimator.max_exact, 2)
    check_whole("n_landmarks", estimator.n_landmarks, 2)


def landmark_places(n_samples: int, max_exact: int, n_landmarks: int, rng: Any) -> Indices | None:
    """Return the positions of the landmarks, in increasing order; None if they are all samples."""
    if n_samples <= max_exact or n_samples <= n_landmarks:
        return None
    return np.sort(rng.permutation(n_samples)[:n_landmarks])
