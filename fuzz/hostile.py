"""Strange input: samples, labels and numbers that a user may have by mistake, and unusual forms of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from .case import Rng, pick

MOST_SAMPLES, MOST_FEATURES = 24, 6


def samples(rng: Rng) -> tuple[str, Any]:
    """Return a name and samples, one per row, with one illness and in one form."""
    n, f = int(rng.integers(2, MOST_SAMPLES)), int(rng.integers(1, MOST_FEATURES))
    # Half of the samples are healthy, so that deeper code is reached as well.
    illness = "healthy" if rng.random() < 0.5 else pick(rng, *ILLNESSES)
    form = "array" if rng.random() < 0.4 else pick(rng, *FORMS)
    ill = ILLNESSES[illness](rng, rng.standard_normal((n, f)))
    with np.errstate(all="ignore"):
        return f"{illness} {form} {ill.shape}", FORMS[form](ill)


def _with_entry(value: float) -> Callable[[Rng, Any], Any]:
    def change(rng: Rng, X: Any) -> Any:
        X = X.copy()
        X[rng.integers(len(X)), rng.integers(X.shape[1])] = value
        return X

    return change


def _scaled_features(rng: Rng, X: Any) -> Any:
    return X * 10.0 ** rng.uniform(-150.0, 150.0, X.shape[1])


def _constant_feature(rng: Rng, X: Any) -> Any:
    X = X.copy()
    X[:, rng.integers(X.shape[1])] = pick(rng, 0.0, 1.0, 1e150)
    return X


ILLNESSES: dict[str, Callable[[Rng, Any], Any]] = {
    "healthy": lambda rng, X: X,
    "NaN": _with_entry(np.nan),
    "infinite": _with_entry(np.inf),
    "one outlier": _with_entry(1e150),
    "one far sample": lambda rng, X: np.vstack([X, np.full((1, X.shape[1]), 1e8)]),
    "huge": lambda rng, X: X * 1e150,
    "tiny": lambda rng, X: X * 1e-150,
    "denormal": lambda rng, X: X * 1e-310,
    "overflowing": lambda rng, X: X * 1e300,
    "scaled features": _scaled_features,
    "far from 0": lambda rng, X: X + pick(rng, 1e8, 1e15, -1e150),
    "duplicates": lambda rng, X: X[rng.integers(len(X), size=len(X))],
    "all equal": lambda rng, X: np.repeat(X[:1], len(X), axis=0),
    "zero": lambda rng, X: 0.0 * X,
    "constant feature": _constant_feature,
    "collinear": lambda rng, X: np.hstack([X, X[:, :1], X.sum(axis=1, keepdims=True)]),
    "wide": lambda rng, X: rng.standard_normal((len(X), 3 * len(X))),
    "one sample": lambda rng, X: X[:1],
    "two samples": lambda rng, X: X[:2],
    "no sample": lambda rng, X: X[:0],
    "no feature": lambda rng, X: X[:, :0],
    "one dimension": lambda rng, X: X[:, 0],
    "three dimensions": lambda rng, X: X[:, :, None],
    "few values": lambda rng, X: np.round(X),
}


def read_only(X: Any) -> Any:
    """Return an array that nobody may write to."""
    X = np.array(X)
    X.flags.writeable = False
    return X


FORMS: dict[str, Callable[[Any], Any]] = {
    "array": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "integer": lambda X: np.nan_to_num(100.0 * X, posinf=0.0, neginf=0.0).astype(np.int64),
    "small integer": lambda X: np.nan_to_num(10.0 * X, posinf=0.0, neginf=0.0).astype(np.int8),
    "bool": lambda X: X > 0.0,
    "object": lambda X: X.astype(object),
    "text": lambda X: X.astype(str),
    "complex": lambda X: X.astype(complex),
    "big-endian": lambda X: X.astype(">f8"),
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "read-only": read_only,
    "list": lambda X: X.tolist(),
    "DataFrame": lambda X: (
        pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])]) if X.ndim == 2 else X
    ),
    "masked": lambda X: np.ma.masked_array(X, mask=False),
    "sparse": lambda X: csr_array(X) if X.ndim == 2 else X,
}


def labels(rng: Rng, n: int) -> tuple[str, Any]:
    """Return a name and one class per sample, half of the time of an unusual kind."""
    kind = "classes" if rng.random() < 0.6 else pick(rng, *LABELS)
    return kind, LABELS[kind](rng, n)


LABELS: dict[str, Callable[[Rng, int], Any]] = {
    "classes": lambda rng, n: rng.integers(2 + int(rng.integers(3)), size=n),
    "one class": lambda rng, n: np.zeros(n, dtype=int),
    "a class each": lambda rng, n: np.arange(n),
    "one odd one out": lambda rng, n: (np.arange(n) == 0).astype(int),
    "texts": lambda rng, n: rng.choice(["ham", "spam"], n),
    "objects": lambda rng, n: rng.choice(["ham", "spam"], n).astype(object),
    "None inside": lambda rng, n: np.array([None, *["a", "b"] * n][:n], dtype=object),
    "bools": lambda rng, n: rng.random(n) < 0.5,
    "whole floats": lambda rng, n: rng.integers(3, size=n).astype(float),
    "fractions": lambda rng, n: rng.standard_normal(n),
    "NaN": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, 1.0),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.3, np.inf, 1.0),
    "unknown ones": lambda rng, n: rng.integers(-1, 2, size=n),
    "all unknown": lambda rng, n: np.full(n, -1),
    "too few": lambda rng, n: rng.integers(2, size=max(n - 1, 0)),
    "a column": lambda rng, n: rng.integers(2, size=(n, 1)),
    "two columns": lambda rng, n: rng.integers(2, size=(n, 2)),
    "none": lambda rng, n: None,
    "a list": lambda rng, n: rng.integers(2, size=n).tolist(),
    "a Series": lambda rng, n: pd.Series(rng.integers(2, size=n), index=np.arange(n)[::-1]),
}


def weights(rng: Rng, n: int) -> Any:
    """Return weights of samples or pairs, mostly none at all."""
    return pick(
        rng,
        *[None] * 8,
        np.ones(n),
        rng.random(n),
        rng.integers(0, 2, n),
        np.zeros(n),
        1e150 * rng.random(n),
        1e-150 * rng.random(n),
        np.full(n, np.nan),
        np.full(n, np.inf),
        -np.ones(n),
        np.ones(n + 1),
        np.ones((n, 2)),
        [1] * n,
    )


STRANGE_NUMBERS = (
    0,
    -1,
    1,
    0.5,
    1e-300,
    1e300,
    np.nan,
    np.inf,
    -np.inf,
    None,
    "a",
    True,
    10**30,
    [1.0],
    1 + 2j,
)
"""What a user may give for a number, by mistake."""


def mostly(rng: Rng, usual: tuple[Any, ...], strange: tuple[Any, ...], rate: float = 0.02) -> Any:
    """Return one of the usual values, or now and then a strange one: a case with many of them ends early."""
    return pick(rng, *(strange if rng.random() < rate else usual))


def number(rng: Rng, *usual: Any, rate: float = 0.02) -> Any:
    """Return one of the usual values, or now and then a strange number."""
    return mostly(rng, usual, STRANGE_NUMBERS, rate)
