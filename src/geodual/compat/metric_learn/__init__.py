"""metric-learn's names for our learners: change the import, and the program runs.

A name is here only if it solves the program that it names. Each docstring says which learner it stands for,
and where a result can differ from metric-learn's. Parameters that steer metric-learn's algorithms (starts,
step sizes) have no effect. There is no MMC, LSML or SCML: from the same pairs, quadruplets and triplets,
`geodual.metric` has `PairRPDML`, `QuadrupletRPDML` and `TripletRPDML`, which are other programs.
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
