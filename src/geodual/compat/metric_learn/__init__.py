"""metric-learn's names for our learners: change the import, and the program runs.

Each docstring says which learner a name stands for. Parameters that steer metric-learn's algorithms (starts,
step sizes) have no effect; parameters that change what is learnt in a way that ours cannot raise an error.
"""

from .itml import ITML, ITML_Supervised
from .labelled import LMNN, NCA, Covariance
from .lfda import LFDA
from .lsml import LSML, LSML_Supervised
from .mlkr import MLKR
from .mmc import MMC, MMC_Supervised
from .rca import RCA, RCA_Supervised
from .scml import SCML, SCML_Supervised
from .sdml import SDML, SDML_Supervised

__all__ = [
    "ITML",
    "LFDA",
    "LMNN",
    "LSML",
    "MLKR",
    "MMC",
    "NCA",
    "RCA",
    "SCML",
    "SDML",
    "Covariance",
    "ITML_Supervised",
    "LSML_Supervised",
    "MMC_Supervised",
    "RCA_Supervised",
    "SCML_Supervised",
    "SDML_Supervised",
]
