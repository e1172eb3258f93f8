"""metric-learn's RCA and RCA_Supervised: relevant component analysis, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from geodual.arrays import Array, Indices
from geodual.metric.base.checks import check_n_components, check_whole
from geodual.metric.base.metric_learner import check_size
from geodual.metric.base.scatter import feature_scales, raised_spectrum, without_rounding

from .preprocessed import PreprocessedLearner

_SMALLEST = 1e-150  # smaller numbers vanish when they are squared


class RCA(PreprocessedLearner):
    """Relevant component analysis: the inverse covariance of samples about the means of their chunks.

    The same closed form as metric-learn's. A (nearly) singular covariance is regularized: in units in which
    all features vary equally, its eigenvalues are raised to at least 1e-8 of the largest.

    Parameters
    ----------
    n_components : int, optional
        Number of rows of `components_`. Kept are the directions in which chunks vary least compared with all
        samples; by default all.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.

    See Also
    --------
    geodual.metric.GMML : Uses dissimilar pairs too.

    Examples
    --------
    >>> from geodual.compat.metric_learn import RCA
    >>> X = [[0.0, 1.0], [0.2, 5.0], [3.0, 2.0], [3.1, 7.0], [6.0, 4.0], [5.9, 0.0]]
    >>> learner = RCA().fit(X, [0, 0, 1, 1, -1, -1])
    >>> near, far = learner.pair_distance([[X[0], X[1]], [X[0], X[2]]]).tolist()
    >>> near < far
    True
    """

    def __init__(self, n_components: int | None = None, preprocessor: Any = None) -> None:
        self.n_components = n_components
        self.preprocessor = preprocessor

    def fit(self, X: Any, chunks: Any) -> RCA:
        """Learn a metric from chunks of samples that belong together.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.
        chunks : array of shape (n_samples,)
            Chunk number of each sample; negative for samples in no chunk.

        Returns
        -------
        self
        """
        X = validate_data(self, self._looked_up(X), dtype=float, ensure_min_samples=2)
        check_size(X)
        chunks = np.asarray(chunks)
        if chunks.shape != (len(X),) or not np.issubdtype(chunks.dtype, np.integer):
            raise ValueError(
                f"`chunks` must hold a whole number for each of the {len(X)} samples, got shape "
                f"{chunks.shape} and dtype {chunks.dtype}."
            )
        check_n_components(self.n_components, X.shape[1])
        self._set_metric(_relevant_components(X[chunks >= 0], chunks[chunks >= 0], self.n_components), X)
        return self


class RCA_Supervised(PreprocessedLearner):  # noqa: N801 - metric-learn's name
    """Relevant component analysis of random chunks, each from samples of one class; same as metric-learn's.

    Parameters
    ----------
    n_components : int, optional
        Number of rows of `components_`; all are kept by default.
    n_chunks : int
        Number of chunks.
    chunk_size : int
        Number of samples per chunk.
    preprocessor : array of shape (n_samples, n_features) or callable, optional
        How to look up samples given as indices.
    random_state : int or RandomState, optional
        Seed of the chunks.

    See Also
    --------
    geodual.metric.GMML : Uses all pairs, and dissimilar ones too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from geodual.compat.metric_learn import RCA_Supervised
    >>> X, y = load_iris(return_X_y=True)
    >>> RCA_Supervised(n_chunks=20, random_state=0).fit(X, y).transform(X).shape
    (150, 4)
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_chunks: int = 100,
        chunk_size: int = 2,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_chunks = n_chunks
        self.chunk_size = chunk_size
        self.preprocessor = preprocessor
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RCA_Supervised:
        """Learn a metric from labeled samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples,) with a preprocessor
            Samples or indices of samples.
        y : array of shape (n_samples,)
            Class labels; −1 means unknown.

        Returns
        -------
        self
        """
        X, labels = self._validate(X, y)
        check_n_components(self.n_components, X.shape[1])
        chunks = drawn_chunks(labels, self.n_chunks, self.chunk_size, self.random_state)
        used = chunks >= 0
        self._set_metric(_relevant_components(X[used], chunks[used], self.n_components), X)
        return self


def drawn_chunks(labels: Indices, n_chunks: int, chunk_size: int, random_state: Any) -> Indices:
    """Return the chunk number of each sample, or −1; a chunk consists of a few random samples of a class."""
    check_whole("n_chunks", n_chunks, 1)
    check_whole("chunk_size", chunk_size, 2)
    rng = check_random_state(random_state)
    groups: list[Indices] = []
    for label in np.unique(labels[labels >= 0]):
        members = rng.permutation(np.flatnonzero(labels == label))
        groups += [members[k : k + chunk_size] for k in range(0, len(members) - chunk_size + 1, chunk_size)]
    if len(groups) < n_chunks:
        raise ValueError(
            f"`n_chunks` must be at most {len(groups)} for chunks of {chunk_size} samples of a class, got "
            f"{n_chunks}."
        )
    chunks = np.full(len(labels), -1)
    for number, place in enumerate(rng.permutation(len(groups))[:n_chunks]):
        chunks[groups[place]] = number
    return chunks


def _relevant_components(X: Array, chunks: Indices, n_components: int | None) -> Array:
    """Return L with L S Lᵀ = I, where S is the covariance of samples about the means of their chunks."""
    _, number = np.unique(chunks, return_inverse=True)
    sizes = np.bincount(number)
    means = np.zeros((len(sizes), X.shape[1]))
    np.add.at(means, number, X)  # there may be too many chunks for a loop
    deviation = without_rounding(X - (means / sizes[:, None])[number], X)
    if not deviation.any():
        raise ValueError("`chunks` must have a chunk of at least two different samples; check the chunks.")
    if np.abs(deviation).max() < _SMALLEST:
        raise ValueError("The samples of chunks are too close to square their distances; scale the features.")
    inner = deviation.T @ deviation / len(X)
    scales = feature_scales(inner)
    units = np.outer(scales, scales)
    spectrum, basis = raised_spectrum(inner / units)
    inner = (basis * spectrum) @ basis.T * units
    if n_components is None or n_components == X.shape[1]:
        spectrum, basis = np.linalg.eigh(inner)
        if not spectrum[0] > 0.0:
            raise ValueError("The features differ too much in size to invert their covariance; scale them.")
        return np.asarray((basis / np.sqrt(spectrum)) @ basis.T)
    total = np.cov(X.T)
    # Largest total variance per variance in chunks first; vectors a with aᵀ S a = 1.
    directions = eigh(total, inner)[1][:, ::-1]
    return np.asarray(directions[:, :n_components].T)
