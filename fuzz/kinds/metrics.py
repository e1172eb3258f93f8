"""Learners from labeled samples: fit, transform, distances, and an independent check of certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import issparse

from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    EuclideanMetric,
    LocalPairs,
    MahalanobisMetric,
    NeighborRPDML,
    RPDMLRegressor,
    make_metric,
    metric_names,
)

from ..case import Case, Rng, has_nan, pick
from ..hostile import labels, mostly, number, samples, weights
from ..metric_program import pair_burgs, pair_hinges, wrong_with_certificate


def draw(rng: Rng) -> Case:
    """Return a fit of a random learner, followed by everything that one does with a fitted learner."""
    if rng.random() < 0.03:
        return _made(rng)
    what, X = samples(rng)
    n, f = np.shape(X)[0], np.shape(X)[1] if np.ndim(X) > 1 else 1
    kind, y = labels(rng, n)
    learner = _LEARNERS[pick(rng, *_LEARNERS)](rng, n, f)
    more = _fit_arguments(rng, learner, n)
    steps = pick(rng, "use", "use", "fit twice", "partial", "set_output")
    shown = {name: value for name, value in learner.get_params().items() if np.ndim(value) < 2}
    return Case(
        f"{type(learner).__name__}({shown}) on {what}, y: {kind}, {sorted(more)}, {steps}",
        lambda: _used(learner, X, y, more, steps),
        (X, y, *more.values()),
        lambda answer: _check(answer, X, y, more, steps),
        claim,
    )


def _made(rng: Rng) -> Case:
    """Return a call that makes an object, with arguments that may be wrong."""
    name, value = (
        pick(rng, *metric_names(), "none", 3, "numpy:none", "no.module:Class", ""),
        number(rng, 0, 7),
    )
    if rng.random() < 0.5:
        return Case(f"make_metric({name!r}, {value!r})", lambda: make_metric(name, value))
    return Case(f"LocalPairs(3, {value!r})", lambda: LocalPairs(3, value))


def claim(learner: Any) -> str:
    """Return what a fitted learner claims."""
    if not hasattr(learner, "duality_gap_"):
        return "answer"
    return "certificate" if learner.duality_gap_ <= learner.tol else "status"


def _fit_arguments(rng: Rng, learner: Any, n: int) -> dict[str, Any]:
    """Return further arguments of `fit` that the learner has, mostly none."""
    drawn: dict[str, Callable[[], Any]] = {
        "sample_weight": lambda: weights(rng, n),
        "pair_weight": lambda: pick(rng, lambda i, j: np.ones(len(i)), np.ones(3), "a", np.full(n, np.nan)),
        "must_link": lambda: links(rng, n),
        "cannot_link": lambda: links(rng, n),
        "groups": lambda: rng.integers(3, size=n),
    }
    known = type(learner).fit.__code__.co_varnames
    return {name: make() for name, make in drawn.items() if name in known and rng.random() < 0.15}


def links(rng: Rng, n: int) -> Any:
    """Return pairs of row numbers, some of them impossible."""
    good = np.sort(rng.choice(max(n, 2), size=2, replace=False))[None]
    strange = ([], [[0, 0]], [[0, 10**6]], [[-1, 0]], [[0.5, 1]], [[np.nan, 1]], [0, 1], "ab", [["a", "b"]])
    return pick(rng, good, good, good, *strange)


def prior(rng: Rng, f: int) -> Any:
    """Return the prior of a metric of f features."""
    scales = 10.0 ** rng.uniform(-3.0, 3.0, f)
    strange = (
        "random",
        None,
        3,
        np.zeros((f, f)),
        -np.eye(f),
        np.full((f, f), np.nan),
        1e-300 * np.eye(f),
        np.eye(7),
    )
    return mostly(rng, ("identity", "identity", "covariance", np.diag(scales)), strange, 0.05)


def _pairs(rng: Rng, n: int) -> Any:
    given = rng.choice(n, size=(6, 2)) if n > 1 else np.zeros((0, 2), dtype=int)
    given = given[given[:, 0] != given[:, 1]]
    strange = ("none", None, 0, -1, [], [[0, 0]], [[0, 10**6]], [[np.nan, 1.0]], np.zeros((2, 3)), 1.5)
    return mostly(rng, ("local", "all", LocalPairs(2, 3), int(rng.integers(1, 40)), given), strange)


def bounds(rng: Rng) -> Any:
    """Return the bounds u and l on squared distances, mostly none."""
    strange = (
        (2.0, 1.0),
        (0.0, 1.0),
        (-1.0, 1.0),
        (1.0, 1.0),
        (np.nan, 1.0),
        (1e-200, 1e200),
        "ab",
        (1.0,),
        3,
    )
    return mostly(rng, (*[None] * 6, (0.5, 2.0), (1e-3, 1e3), (1e-90, 2e-90)), strange)


def percentiles(rng: Rng) -> Any:
    """Return the percentiles that the bounds are derived from."""
    strange = ((95, 5), (-1, 200), (5, 5), (np.nan, 95), "ab", None, (5,))
    return mostly(rng, (*[(5, 95)] * 8, (0, 100), (40, 60)), strange)


def common(rng: Rng) -> dict[str, Any]:
    """Return the parameters that all iterative learners have."""
    return {
        "tol": number(rng, 1e-6, 1e-6, 1e-3, 1e-9),
        "max_iter": number(rng, None, None, 50, 1),
        "n_components": number(rng, None, None, None, 1),
    }


def _rpdml(rng: Rng, n: int, f: int) -> Any:
    paper = rng.random() < 0.1
    return RPDML(
        C=number(rng, 1.0, 100.0, 1e4),
        alpha=number(rng, 0.0, 0.0, 0.0, 0.1),
        prior=prior(rng, f),
        pairs=_pairs(rng, n),
        percentiles=percentiles(rng),
        bounds=bounds(rng),
        solver="paper" if paper else mostly(rng, ("certified",), ("fast", None)),
        step=number(rng, "sqrt", 0.1),
        errata=mostly(rng, ("corrected", "corrected", "printed"), ("none",)),
        random_state=mostly(rng, (0, None), ("a", 0.5)),
        **common(rng) | ({"max_iter": 30} if paper else {}),
    )


def _itml(rng: Rng, n: int, f: int) -> Any:
    gamma = number(rng, 0.1, 1.0, 10.0)
    more = {"prior": prior(rng, f), "pairs": _pairs(rng, n), "percentiles": percentiles(rng)}
    return ITML(gamma, bounds=bounds(rng), random_state=0, **more, **common(rng))


def _neighbor(rng: Rng, n: int, f: int) -> Any:
    start = pick(rng, "within", "within", prior(rng, f))
    pairs = mostly(rng, ("local", LocalPairs(2, 3)), ("all", None, 3))
    return NeighborRPDML(number(rng, 1.0, 3000.0), start, number(rng, 0.5, 0.2, 1.0), pairs, **common(rng))


def _regressor(rng: Rng, n: int, f: int) -> Any:
    return RPDMLRegressor(
        n_neighbors=number(rng, 1, 3, 10, 100),
        weights=mostly(rng, ("distance", "uniform"), ("none", None)),
        C=number(rng, 1.0, 100.0),
        prior=prior(rng, f),
        pairs=mostly(rng, ("local", int(rng.integers(1, 40))), ("all", 0, None, [])),
        random_state=0,
        **common(rng) | {"max_iter": number(rng, 500, 50)},
    )


def _lmnn(rng: Rng, n: int, f: int) -> Any:
    regularization = number(rng, 0.5, 0.1)
    more = {"max_iter": 300, "tol": number(rng, 1e-3, 1e-2)}
    return LMNN(number(rng, 1, 3, 30), regularization, n_components=number(rng, None, 1), **more)


def _gmml(rng: Rng, n: int, f: int) -> Any:
    return GMML(number(rng, 0.5, 0.0, 1.0, 0.3), number(rng, 0.0, 0.1, 10.0), prior(rng, f))


_LEARNERS: dict[str, Callable[[Rng, int, int], Any]] = {
    "RPDML": _rpdml,
    "ITML": _itml,
    "NeighborRPDML": _neighbor,
    "RPDMLRegressor": _regressor,
    "LMNN": _lmnn,
    "GMML": _gmml,
    "EuclideanMetric": lambda rng, n, f: EuclideanMetric(number(rng, None, 1, rate=0.1)),
    "MahalanobisMetric": lambda rng, n, f: MahalanobisMetric(number(rng, None, 1, rate=0.1)),
    "by name": lambda rng, n, f: make_metric(pick(rng, *metric_names())),
}


def _used(learner: Any, X: Any, y: Any, more: dict[str, Any], steps: str) -> Any:
    """Fit a learner and use it."""
    if steps == "set_output":
        learner.set_output(transform="pandas")
    learner.fit(X, y, **more)
    if steps == "fit twice":
        learner.fit(X, y, **more)
    if steps == "partial" and hasattr(learner, "partial_fit"):
        learner.partial_fit(X, y)
    return learner


def _check(learner: Any, X: Any, y: Any, more: dict[str, Any], steps: str) -> Iterator[str]:
    """Yield what is wrong with a fitted learner."""
    yield from wrong_with_metric(learner)
    Z = learner.transform(X)
    dense = np.asarray(X.toarray() if issparse(X) else X, dtype=float)
    if has_nan(np.asarray(Z)):
        yield "transform returns NaN"
    if not issparse(X):
        pairs = np.stack([dense[:1], dense[-1:]], axis=1)
        distance, L = learner.pair_distance(pairs), np.asarray(learner.components_)
        expected = np.linalg.norm(L @ (dense[0] - dense[-1]))
        if not np.allclose(distance, expected, rtol=1e-6, atol=1e-300):
            yield f"pair_distance is {distance}, but ‖L(x − x′)‖ is {expected}"
    if hasattr(learner, "predict") and has_nan(learner.predict(X)):
        yield "predict returns NaN"
    if _is_plain(learner, y, more, steps):
        yield from _refuted(learner, dense, np.asarray(y))


def wrong_with_metric(learner: Any) -> Iterator[str]:
    """Yield what is wrong with the numbers of a fitted learner."""
    L = np.asarray(learner.components_)
    if has_nan(L):
        yield "components_ holds NaN or infinity"
    if not L.size:
        yield f"components_ is empty: {L.shape}"
    shares = learner.feature_importances_
    if has_nan(shares) or not np.isclose(np.sum(shares), 1.0):
        yield f"feature_importances_ are {shares}, which do not sum to 1"
    for name in ("objective_", "dual_objective_", "duality_gap_"):
        if hasattr(learner, name) and has_nan(getattr(learner, name)):
            yield f"{name} is {getattr(learner, name)}"


def _is_plain(learner: Any, y: Any, more: dict[str, Any], steps: str) -> bool:
    """Return whether the program is one that `_refuted` can write down."""
    if type(learner) not in (RPDML, ITML) or more or steps == "partial" or np.ndim(y) != 1:
        return False
    if isinstance(learner, RPDML) and learner.alpha:
        return False
    return learner.pairs == "all" if isinstance(learner.pairs, str) else np.ndim(learner.pairs) == 2


def _refuted(learner: Any, X: Any, y: Any) -> Iterator[str]:
    """Check the certificate of RPDML or ITML with all pairs or with given ones."""
    if y.dtype.kind not in "iuU" or (y.dtype.kind == "i" and (y < 0).any()):
        return  # classes may be unknown
    pairs = list(combinations(range(len(X)), 2)) if isinstance(learner.pairs, str) else learner.pairs
    prior = learner.prior
    W0 = np.eye(X.shape[1]) if isinstance(prior, str) and prior == "identity" else prior
    if isinstance(W0, str):
        return
    similar = [y[i] == y[j] for i, j in pairs]
    if isinstance(learner, ITML):
        terms = pair_burgs(X, pairs, similar, *learner.bounds_, learner.gamma)
    else:
        terms = pair_hinges(X, pairs, similar, *learner.bounds_, learner.C)
    yield from wrong_with_certificate(learner, learner.W_, W0, terms)
