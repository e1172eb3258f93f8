"""How many passes over the pairs a fit takes must not grow unnoticed.

The numbers do not depend on rounding errors for these samples. If a fit has good reasons to take more, or
takes less now, write the record anew: ``python -m tests.metric.test_work``.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.preprocessing import scale

from geodual.metric import (
    ITML,
    LMNN,
    RPDML,
    LocalPairs,
    NeighborRPDML,
    PairITML,
    PairRPDML,
    QuadrupletRPDML,
    RPDMLRegressor,
    TripletRPDML,
)
from geodual.metric.margin.large_margin import LargeMargin
from geodual.metric.program.logdet_program import LocalProgram


def labeled(load: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    # The noise keeps equal rows and equal distances apart.
    return scale(X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)), y


def drawn(n: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, n_features)) * np.geomspace(1.0, 10.0, n_features), np.arange(n) % 3


def tuples(size: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = labeled(load_iris)
    indices = np.random.default_rng(size).integers(len(X), size=(120, size))
    if size == 2:
        return X[indices], np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)
    first, second = X[indices[:, 0]] - X[indices[:, 1]], X[indices[:, -2]] - X[indices[:, -1]]
    return X[indices], np.where((first[:, 0] ** 2 < second[:, 0] ** 2), 1, -1)


IRIS, WINE, WIDE = labeled(load_iris), labeled(load_wine), drawn(40, 60)
DIABETES = tuple(part[:120] for part in labeled(load_diabetes))
FITS = {
    "RPDML, iris": (RPDML(), IRIS),
    "RPDML, wine": (RPDML(), WINE),
    "RPDML, wide": (RPDML(), WIDE),
    "RPDML, all pairs": (RPDML(pairs="all"), WINE),
    "RPDML, strong": (RPDML(C=1e4, pairs="all", tol=1e-9), IRIS),
    "RPDML, alpha": (RPDML(C=100.0, alpha=0.5, pairs="all"), IRIS),
    "RPDML, covariance": (RPDML(prior="covariance"), WINE),
    "RPDML, drawn pairs": (RPDML(pairs=500, random_state=0), WINE),
    "RPDML, more neighbors": (RPDML(pairs=LocalPairs(2, 8)), WINE),
    "ITML, iris": (ITML(), IRIS),
    "ITML, strong": (ITML(gamma=1e2), WINE),
    "NeighborRPDML, iris": (NeighborRPDML(), IRIS),
    "NeighborRPDML, wine": (NeighborRPDML(C=100.0), WINE),
    "NeighborRPDML, identity": (NeighborRPDML(prior="identity"), WINE),
    "RPDMLRegressor": (RPDMLRegressor(predictor="neighbors"), DIABETES),
    "PairRPDML": (PairRPDML(), tuples(2)),
    "PairITML": (PairITML(), tuples(2)),
    "TripletRPDML": (TripletRPDML(), tuples(3)),
    "QuadrupletRPDML": (QuadrupletRPDML(C=100.0), tuples(4)),
    "LMNN": (LMNN(), IRIS),
    "LMNN, components": (LMNN(n_components=2, regularization=0.3), WINE),
}


RECORD = Path(__file__).with_name("recorded_work.txt")
PLACES = (
    (LocalProgram, "__init__", "evaluations"),
    (LargeMargin, "value_and_gradient", "evaluations"),
    (LargeMargin, "certify", "evaluations"),
    (LocalProgram, "hessian_product", "others"),
)


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Count evaluations of the objective, and Hessian products."""
    counts, before = Counter[str](), [vars(owner)[name] for owner, name, _ in PLACES]

    def counted(function: Any, kind: str) -> Any:
        def call(*arguments: Any) -> Any:
            counts[kind] += 1
            return function(*arguments)

        return call

    for (owner, name, kind), function in zip(PLACES, before, strict=True):
        setattr(owner, name, counted(function, kind))
    try:
        yield counts
    finally:
        for (owner, name, _), function in zip(PLACES, before, strict=True):
            setattr(owner, name, function)


def work_of(name: str) -> tuple[int, int]:
    learner, (X, y) = FITS[name]
    with counted_calls() as counts:
        clone(learner).fit(X, y)
    return counts["evaluations"], counts["others"]


def recorded() -> dict[str, tuple[int, int]]:
    lines = (line.split(" | ") for line in RECORD.read_text("utf-8").splitlines())
    return {name: tuple(map(int, numbers.split())) for name, numbers in lines}


def test_all_fits_are_recorded() -> None:
    assert list(recorded()) == list(FITS)


@pytest.mark.parametrize("name", list(FITS))
def test_a_fit_takes_no_more_passes_than_recorded(name: str) -> None:
    slack = 0.2 if name.startswith("LMNN") else 0.05  # for LMNN versions of SciPy may differ
    for number, record in zip(work_of(name), recorded()[name], strict=True):
        assert number <= int((1.0 + slack) * record)


if __name__ == "__main__":
    RECORD.write_text("".join("{} | {} {}\n".format(name, *work_of(name)) for name in FITS), "utf-8")
