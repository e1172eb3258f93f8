"""Our learners under metric-learn's names: change the import, and your program runs.

A name is provided only if the learner solves the same program. Each docstring names the learner behind it,
and says where results can differ from metric-learn's. Parameters that steer metric-learn's algorithms
(starts, step sizes) have no effect. There is no MMC, LSML or SCML: from the same pairs, quadruplets and
triplets, `geodual.metric` has `PairRPDML`, `QuadrupletRPDML` and `TripletRPDML`, which solve other programs.
"""

from .lfda import LFDA
from .mlkr import MLKR
from .rca import RCA, RCA_Supervised
from .sdml import SDML, SDML_Supervised
from .stand_ins import ITML, LMNN, NCA, Covariance, ITML_Supervised

__all__ = [
    "ITML",
    "LFDA",
    "LMNN",
    "MLKR",
    "NCA",
    "RCA",
    "SDML",
    "Covariance",
    "ITML_Supervised",
    "RCA_Supervised",
    "SDML_Supervised",
]
