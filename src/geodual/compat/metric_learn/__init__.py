"""metric-learn's names for our learners: change the import, and the program runs.

Each docstring says which learner a name stands for. Parameters that steer metric-learn's algorithms (starts,
step sizes) have no effect; parameters that change what is learnt in a way that ours cannot raise an error.
SDML, LFDA and MLKR are not offered. To import one raises an error that says why.
"""

from typing import Never

from .itml import ITML, ITML_Supervised
from .labelled import LMNN, NCA, Covariance
from .lsml import LSML, LSML_Supervised
from .mmc import MMC, MMC_Supervised
from .rca import RCA, RCA_Supervised
from .scml import SCML, SCML_Supervised

__all__ = [
    "ITML",
    "LMNN",
    "LSML",
    "MMC",
    "NCA",
    "RCA",
    "SCML",
    "Covariance",
    "ITML_Supervised",
    "LSML_Supervised",
    "MMC_Supervised",
    "RCA_Supervised",
    "SCML_Supervised",
]

_NOT_OFFERED = {
    "SDML": "its sparse metric has no counterpart here; use ITML, which learns from the same pairs",
    "SDML_Supervised": "its sparse metric has no counterpart here; use ITML_Supervised",
    "LFDA": "it reduces the dimension by a discriminant analysis; use LMNN or RCA with `n_components`",
    "MLKR": "it learns from numbers instead of classes; use geodual.metric.RPDMLRegressor",
}


def __getattr__(name: str) -> Never:
    if name in _NOT_OFFERED:
        raise ImportError(f"{name} of metric-learn is not offered: {_NOT_OFFERED[name]}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
