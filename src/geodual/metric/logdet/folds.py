"""The folds of a cross-validation of a metric: which samples are fitted, which are tested, and how."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from geodual.arrays import Array, Indices
from geodual.threads import one_thread

from ..labels import UNKNOWN
from ..pairs.selection import check_row_numbers
from .bounds import sample_bounds
from .learner import LogDetLearner
from .scores import MetricNeighbors, check_scoring, pair_auc
from .space import choose_space


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """All samples of a cross-validation.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        The samples.
    labels : array of shape (n_samples,)
        Classes 0, 1, …, and −1 for samples without label.
    names : array of shape (n_samples,)
        The labels that the user gave, for scorers.
    weight : array of shape (n_samples,), or None
        How often each sample counts; None means once.
    """

    X: Array
    labels: Indices
    names: NDArray[Any]
    weight: Array | None

    def weight_of(self, rows: Indices) -> Array | None:
        """Return the weights of some samples."""
        return None if self.weight is None else self.weight[rows]


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold: samples to fit a metric to, and samples to test it on.

    Attributes
    ----------
    samples : LabelledSamples
        All samples.
    train, test : array
        Row numbers of the samples to fit and to test.
    bounds : (float, float), optional
        The bounds (u, l) of learners from pairs, if they are known before the fits.
    """

    samples: LabelledSamples
    train: Indices
    test: Indices
    bounds: tuple[float, float] | None = None

    def find_bounds(self, learner: LogDetLearner) -> tuple[float, float]:
        """Return the bounds that a learner would derive from the training samples."""
        samples, rows = self.samples, self.train
        weight, rng = samples.weight_of(rows), check_random_state(learner.random_state)
        with one_thread():
            Z = choose_space(learner.prior, samples.X[rows], weight).Z
            return sample_bounds(Z, weight, learner.percentiles, rng)[0]

    def fit(self, learner: LogDetLearner, start: Array | None) -> LogDetLearner:
        """Fit a learner to the training samples, from the metric `start` if it is given.

        The learner gets the bounds of the fold, if it takes any.
        """
        samples, rows = self.samples, self.train
        if self.bounds is not None and "bounds" in learner.get_params(deep=False):
            learner.set_params(bounds=self.bounds)
        return learner.fit_from(start, samples.X[rows], samples.labels[rows], samples.weight_of(rows))

    def score(self, learner: LogDetLearner, scoring: Any, n_neighbors: int) -> float:
        """Return the score of a fitted learner on the test samples."""
        samples, test, scorer = self.samples, self.test, check_scoring(scoring)
        weight = samples.weight_of(test)
        if scorer is None:
            return pair_auc(learner.transform(samples.X[test]), samples.labels[test], weight)
        known = self.train[samples.labels[self.train] != UNKNOWN]
        neighbours = MetricNeighbors(learner, n_neighbors)
        neighbours.fit(samples.X[known], samples.names[known], samples.weight_of(known))
        options = {} if weight is None else {"sample_weight": weight}
        return float(scorer(neighbours, samples.X[test], samples.names[test], **options))


def with_bounds(folds: list[Fold], learner: LogDetLearner, n_jobs: int | None) -> list[Fold]:
    """Return the folds with the bounds of a learner from pairs, so that they are found once per fold.

    Parameters
    ----------
    folds : list of Fold
        The folds.
    learner : LogDetLearner
        A learner with the prior, the percentiles and the random state of all learners to be fitted.
    n_jobs : int, optional
        Number of processes over folds, as in joblib; one by default.
    """
    found = Parallel(n_jobs=n_jobs)(delayed(fold.find_bounds)(learner) for fold in folds)
    return [replace(fold, bounds=bounds) for fold, bounds in zip(folds, found, strict=True)]


def choose_folds(cv: Any, samples: LabelledSamples, groups: Any = None) -> list[Fold]:
    """Return the folds.

    A sample without label, or alone in its class, is never tested. It takes part in every training. Samples
    of weight zero take no part.

    Parameters
    ----------
    cv : int, splitter or iterable
        Number of stratified folds of shuffled samples, a scikit-learn splitter, or pairs of training and test
        rows.
    samples : LabelledSamples
        The samples.
    groups : array of shape (n_samples,), optional
        What the splitter keeps together.
    """
    labels = samples.labels
    counts = np.ones(len(labels), dtype=bool) if samples.weight is None else samples.weight > 0.0
    sizes = np.bincount(labels[(labels != UNKNOWN) & counts], minlength=int(labels.max()) + 1)
    testable = (labels != UNKNOWN) & (sizes[labels] >= 2) & counts
    if not testable.any():
        raise ValueError(
            "Cross-validation needs a class of at least two samples, but there is none; check `y`."
        )
    always = np.flatnonzero(~testable & counts)
    folds = []
    for number, (train, test) in enumerate(_splits(cv, samples, groups, np.flatnonzero(testable))):
        fold = Fold(samples, np.union1d(train[testable[train]], always), test[testable[test]])
        if len(np.setdiff1d(labels[fold.train], [UNKNOWN])) < 2:
            raise ValueError(f"Fold {number} of `cv` trains on one class only; give other folds or groups.")
        if not fold.test.size:
            raise ValueError(f"Fold {number} of `cv` has no sample to test; give other folds or groups.")
        folds.append(fold)
    return folds


def _splits(
    cv: Any, samples: LabelledSamples, groups: Any, rows: Indices
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the splits of the given rows by a splitter, or the splits that the user gave."""
    if not (cv is None or isinstance(cv, numbers.Integral) or hasattr(cv, "split")):
        yield from _given_splits(cv, len(samples.X))
        return
    X, labels = samples.X[rows], samples.labels[rows]
    if groups is not None and np.shape(groups) != (len(samples.X),):
        raise ValueError(f"`groups` must hold one group for each of the {len(samples.X)} samples.")
    if isinstance(cv, numbers.Integral) and int(cv) > 1:
        # Files are often sorted, and then neighbouring samples are more alike than new ones will be.
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=0)
    try:
        splits = list(
            check_cv(cv, labels, classifier=True).split(
                X, labels, None if groups is None else np.asarray(groups)[rows]
            )
        )
    except ValueError as error:
        raise ValueError(f"`cv` does not suit these samples: {error}") from None
    yield from ((rows[train], rows[test]) for train, test in splits)


def _given_splits(cv: Any, n_samples: int) -> Iterator[tuple[Indices, Indices]]:
    try:
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    except (TypeError, ValueError):
        raise ValueError(
            f"`cv` must be a number of folds, a splitter, or pairs of training and test rows, got {cv!r}."
        ) from None
    for pair in pairs:
        # An empty list has no dtype of its own.
        train, test = (rows if rows.size else rows.astype(np.intp) for rows in pair)
        yield (
            check_row_numbers("The rows of `cv`", train, n_samples),
            check_row_numbers("The rows of `cv`", test, n_samples),
        )
