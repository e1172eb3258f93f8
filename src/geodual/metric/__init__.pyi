from .fixed import EuclideanMetric as EuclideanMetric
from .fixed import MahalanobisMetric as MahalanobisMetric
from .gmml import GMML as GMML
from .itml import ITML as ITML
from .lmnn import LMNN as LMNN
from .neighbor_rpdml import NeighborRPDML as NeighborRPDML
from .pair_gmml import PairGMML as PairGMML
from .pair_itml import PairITML as PairITML
from .pair_rpdml import PairRPDML as PairRPDML
from .pairs.local_pairs import LocalPairs as LocalPairs
from .quadruplet_rpdml import QuadrupletRPDML as QuadrupletRPDML
from .registry import make_metric as make_metric
from .registry import metric_names as metric_names
from .registry import register_metric as register_metric
from .rpdml import RPDML as RPDML
from .rpdml_regressor import RPDMLRegressor as RPDMLRegressor
from .saving import load_metric as load_metric
from .saving import save_metric as save_metric
from .triplet_rpdml import TripletRPDML as TripletRPDML

__all__ = [
    "GMML",
    "ITML",
    "LMNN",
    "RPDML",
    "EuclideanMetric",
    "LocalPairs",
    "MahalanobisMetric",
    "NeighborRPDML",
    "PairGMML",
    "PairITML",
    "PairRPDML",
    "QuadrupletRPDML",
    "RPDMLRegressor",
    "TripletRPDML",
    "load_metric",
    "make_metric",
    "metric_names",
    "register_metric",
    "save_metric",
]
