"""The instances of the families that are run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .case import PublishedProblem
from .identification import published_identification, stable_identification
from .lai_yoshise import HEIGHTS, NOISES, ROWS, nonnegative_low_rank, oblique_projection, stiefel_projection
from .liu_boumal import (
    CLUSTERS,
    DENSITIES,
    DIMENSIONS,
    NODES,
    SIGNALS,
    SPARSITIES,
    balanced_cut,
    k_means,
    nonnegative_pca,
)
from .obara import interior_pca, rosenbrock

Builder = Callable[[], PublishedProblem]


def family_instances() -> dict[str, list[Builder]]:
    """Return the builders of all instances by the short names of their families, small instances first.

    Non-negative PCA has every pair of signal and sparsity once, each dimension four times, and each dimension
    with every sparsity. The other families are run as published, with one to three repetitions instead of 4
    or 20. Three of the low-rank matrices are completions, and one Rosenbrock function is on Stiefel; these
    are not in the papers' tables.
    """
    pca: list[Builder] = [
        partial(nonnegative_pca, d, SIGNALS[(i - j) % len(SIGNALS)], sparsity)
        for i, d in enumerate(DIMENSIONS)
        for j, sparsity in enumerate(SPARSITIES)
    ]
    cuts = [(n, density) for n in NODES for density in DENSITIES]
    return {
        "pca": pca,
        "k-means": [partial(k_means, name, 2 if name == "ecoli" else 3) for name in CLUSTERS],
        "cut": [partial(balanced_cut, n, density) for n, density in cuts],
        "cut-squared": [partial(balanced_cut, n, density, squared=True) for n, density in cuts],
        "low-rank": [
            *(partial(nonnegative_low_rank, m, sd, 1.0, i) for m in HEIGHTS for sd in NOISES for i in (0, 1)),
            *(partial(nonnegative_low_rank, m, 0.01, 0.5) for m in HEIGHTS),
        ],
        "stiefel": [partial(stiefel_projection, n, seed) for n in ROWS for seed in (0, 1, 2)],
        "oblique": [partial(oblique_projection, n, seed) for n in ROWS for seed in (0, 1)],
        "interior-pca": [partial(interior_pca, seed=seed) for seed in range(10)],
        "identification": [stable_identification, published_identification],
        "rosenbrock": [rosenbrock, partial(rosenbrock, subspaces=False)],
    }
