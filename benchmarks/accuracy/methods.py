"""The methods of each study: metric learners with their defaults, classifiers and regressors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    EuclideanMetric,
    MahalanobisMetric,
    NeighborRPDML,
    RPDMLClassifier,
    RPDMLRegressor,
)

from .data_sets import Reader, machine_sets, metric_sets
from .kernel_peers import LaplaceSVC, RFMClassifier, RFMRegressor
from .mlkr import MLKRRegressor
from .regression_sets import regression_sets

N_NEIGHBORS = 5  # of the classifier used with every metric
TREES = 300
OURS = "RPDML"  # part of the names of our own methods, but not of baselines and published metrics


def _scaled(*steps: Any) -> Any:
    return make_pipeline(StandardScaler(), *steps)


def _with_neighbors(metric: Any) -> Any:
    return _scaled(metric, KNeighborsClassifier(N_NEIGHBORS))


# All learners have their defaults, except for pairs given in the name.
METRICS: dict[str, Any] = {
    "Euclidean": _with_neighbors(EuclideanMetric()),
    "Mahalanobis": _with_neighbors(MahalanobisMetric()),
    "LDA": _with_neighbors(LinearDiscriminantAnalysis()),
    "GMML": _with_neighbors(GMML()),
    "ITML, all pairs": _with_neighbors(ITML(pairs="all")),
    "ITML, local": _with_neighbors(ITML(pairs="local")),
    "LMNN": _with_neighbors(LMNN()),
    "NCA": _with_neighbors(NeighborhoodComponentsAnalysis(random_state=0)),
    "RPDML, all pairs": _with_neighbors(RPDML(pairs="all")),
    "RPDML, local": _with_neighbors(RPDML(pairs="local")),
    "NeighborRPDML": _with_neighbors(NeighborRPDML()),
}

MACHINES: dict[str, Any] = {
    "RPDMLClassifier": RPDMLClassifier(),
    "RPDMLClassifier, no metric": RPDMLClassifier(metric=None),
    "RPDMLClassifier, neighbors": RPDMLClassifier("neighbors"),
    "tuned SVC": _scaled(GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}, cv=3)),
    "L1-Laplace SVC": _scaled(
        GridSearchCV(LaplaceSVC(), {"C": [1.0, 10.0, 100.0], "bandwidth": [0.25, 1.0, 4.0]}, cv=3)
    ),
    "random forest": RandomForestClassifier(TREES, random_state=0),
    "hist boosting": HistGradientBoostingClassifier(random_state=0),
    "recursive feature machine": _scaled(RFMClassifier()),
    "k-NN + NCA": METRICS["NCA"],
}

REGRESSORS: dict[str, Any] = {
    "Euclidean 10-NN": _scaled(KNeighborsRegressor(10, weights="distance")),
    "RPDMLRegressor, kernel": _scaled(RPDMLRegressor(predictor="kernel")),
    "RPDMLRegressor, neighbors": _scaled(RPDMLRegressor(predictor="neighbors")),
    "MLKR + 10-NN": _scaled(MLKRRegressor(10)),
    "random forest": RandomForestRegressor(TREES, random_state=0),
    "hist boosting": HistGradientBoostingRegressor(random_state=0),
    "recursive feature machine": _scaled(RFMRegressor()),
}


@dataclass(frozen=True)
class Study:
    """Methods compared on the same folds of the same sets.

    Attributes
    ----------
    title : str
        Title of the comparison.
    sets : callable
        Takes "development" or "held-out", and returns the readers of the sets, by name.
    methods : dict
        Estimators by name.
    ours : str
        The method to test against the rivals.
    rivals : tuple of str
        The other methods of the tests.
    reference : str
        A plain method; the tables count the sets on which other methods are better.
    clock : str
        The method whose time is the unit.
    unranked : tuple of str
        Methods included only for orientation.
    regression : bool
        Whether numbers are predicted; then errors are divided by those of `reference`.
    """

    title: str
    sets: Callable[[str], Mapping[str, Reader]]
    methods: Mapping[str, Any]
    ours: str
    rivals: tuple[str, ...]
    reference: str
    clock: str
    unranked: tuple[str, ...] = ()
    regression: bool = False

    @property
    def ranked(self) -> list[str]:
        """Names of the ranked methods."""
        return [name for name in self.methods if name not in self.unranked]

    def without_ours(self) -> Study:
        """Return the study without our own methods."""
        others = {name: method for name, method in self.methods.items() if OURS not in name}
        return replace(self, methods=others)


def _all_but(name: str, methods: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(other for other in methods if other != name)


_ORIENTATION = ("tuned SVC", "random forest")

STUDIES = {
    "metrics": Study(
        f"{N_NEIGHBORS}-NN under metrics",
        metric_sets,
        METRICS | {name: MACHINES[name] for name in _ORIENTATION},
        ours="NeighborRPDML",
        rivals=("NCA", "ITML, all pairs", "ITML, local", "LMNN", *_ORIENTATION),
        reference="Euclidean",
        clock="tuned SVC",
        unranked=_ORIENTATION,
    ),
    "machines": Study(
        "Classifiers",
        machine_sets,
        MACHINES,
        ours="RPDMLClassifier",
        rivals=_all_but("RPDMLClassifier", MACHINES),
        reference="tuned SVC",
        clock="tuned SVC",
    ),
    "regression": Study(
        "Regressors",
        regression_sets,
        REGRESSORS,
        ours="RPDMLRegressor, kernel",
        rivals=_all_but("RPDMLRegressor, kernel", REGRESSORS),
        reference="Euclidean 10-NN",
        clock="random forest",
        regression=True,
    ),
}
