from .estimators.comparisons import QuadrupletRPDML as QuadrupletRPDML
from .estimators.comparisons import TripletRPDML as TripletRPDML
from .estimators.feature_weights import FeatureWeights as FeatureWeights
from .estimators.fixed import EuclideanMetric as EuclideanMetric
from .estimators.fixed import MahalanobisMetric as MahalanobisMetric
from .estimators.gmml import GMML as GMML
from .estimators.itml import ITML as ITML
from .estimators.lmnn import LMNN as LMNN
from .estimators.neighbor_rpdml import NeighborRPDML as NeighborRPDML
from .estimators.pair_gmml import PairGMML as PairGMML
from .estimators.pair_itml import PairITML as PairITML
from .estimators.pair_rpdml import PairRPDML as PairRPDML
from .estimators.rpdml import RPDML as RPDML
from .estimators.rpdml_classifier import RPDMLClassifier as RPDMLClassifier
from .estimators.rpdml_regressor import RPDMLRegressor as RPDMLRegressor
from .registry import make_metric as make_metric
from .registry import metric_names as metric_names
from .registry import register_metric as register_metric
from .saving import load_metric as load_metric
from .saving import save_metric as save_metric
from .selection.local_pairs import LocalPairs as LocalPairs

__all__ = [
    "GMML",
    "ITML",
    "LMNN",
    "RPDML",
    "EuclideanMetric",
    "FeatureWeights",
    "LocalPairs",
    "MahalanobisMetric",
    "NeighborRPDML",
    "PairGMML",
    "PairITML",
    "PairRPDML",
    "QuadrupletRPDML",
    "RPDMLClassifier",
    "RPDMLRegressor",
    "TripletRPDML",
    "load_metric",
    "make_metric",
    "metric_names",
    "register_metric",
    "save_metric",
]
