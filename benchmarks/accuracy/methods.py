"""The methods of the accuracy study: metric learners at their defaults, and two other classifiers."""

from __future__ import annotations

from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.svm import SVC

from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    EuclideanMetric,
    MahalanobisMetric,
    NeighborRPDML,
)

N_NEIGHBORS = 5  # of the classifier that every metric serves

OURS, RIVAL = "NeighborRPDML", "NCA"

# Ranked against each other. All learners are at their defaults, except where the name says which pairs.
METRICS: dict[str, Any] = {
    "Euclidean": EuclideanMetric(),
    "Mahalanobis": MahalanobisMetric(),
    "LDA": LinearDiscriminantAnalysis(),
    "GMML": GMML(),
    "ITML, all pairs": ITML(pairs="all"),
    "ITML, local": ITML(pairs="local"),
    "LMNN": LMNN(),
    RIVAL: NeighborhoodComponentsAnalysis(random_state=0),
    "RPDML, all pairs": RPDML(pairs="all"),
    "RPDML, local": RPDML(pairs="local"),
    OURS: NeighborRPDML(),
}

# For orientation only.
CLASSIFIERS: dict[str, Any] = {
    "SVC, tuned": GridSearchCV(
        SVC(), {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}, cv=3, error_score="raise"
    ),
    "random forest": RandomForestClassifier(random_state=0),
}
