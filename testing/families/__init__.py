"""Problem families of three papers at their published sizes, one file per paper.

Each builder returns a `PublishedProblem` with exact first and second derivatives and the published starts.
The data are random, drawn as in the published code but with our own seeds. Real data, and the published
instance of system identification, are read from folders named by environment variables; without these, they
are skipped.
"""

from .case import PublishedProblem
from .identification import published_identification, stable_identification
from .lai_yoshise import nonnegative_low_rank, oblique_projection, stiefel_projection
from .liu_boumal import balanced_cut, k_means, nonnegative_pca
from .obara import interior_pca, rosenbrock

__all__ = [
    "PublishedProblem",
    "balanced_cut",
    "interior_pca",
    "k_means",
    "nonnegative_low_rank",
    "nonnegative_pca",
    "oblique_projection",
    "published_identification",
    "rosenbrock",
    "stable_identification",
    "stiefel_projection",
]
