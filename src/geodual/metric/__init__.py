"""Metric learning as scikit-learn estimators: RPDML with a certificate, and its rivals."""

from .fixed import EuclideanMetric, MahalanobisMetric
from .gmml import GMML
from .itml import ITML
from .lmnn import LMNN
from .pair_rpdml import PairRPDML
from .rpdml import RPDML
from .rpdml_cv import RPDMLCV

__all__ = [
    "GMML",
    "ITML",
    "LMNN",
    "RPDML",
    "RPDMLCV",
    "EuclideanMetric",
    "MahalanobisMetric",
    "PairRPDML",
]
