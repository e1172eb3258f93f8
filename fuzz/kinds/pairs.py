"""Learners from pairs, triplets and quadruplets: fit, partial fit, threshold, and a check of certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from geodual.metric import PairGMML, PairITML, PairRPDML, QuadrupletRPDML, TripletRPDML

from ..case import Case, Rng, UserError, has_nan, pick
from ..hostile import FORMS, ILLNESSES, mostly, number, weights
from ..metric_program import comparison_hinges, pair_burgs, pair_hinges, wrong_with_certificate
from .metrics import bounds, claim, common, percentiles, prior, wrong_with_metric

_SIZES = {PairRPDML: 2, PairITML: 2, PairGMML: 2, TripletRPDML: 3, QuadrupletRPDML: 4}


def draw(rng: Rng) -> Case:
    """Return a fit of a random learner from tuples, with or without a preprocessor."""
    n, f = int(rng.integers(1, 20)), int(rng.integers(1, 5))
    learner = _LEARNERS[pick(rng, *_LEARNERS)](rng, f)
    size = _SIZES[type(learner)]
    illness = "healthy" if rng.random() < 0.5 else pick(rng, *ILLNESSES)
    rows = ILLNESSES[illness](rng, rng.standard_normal((12, f)))
    what, tuples = _tuples(rng, rows, n, size)
    if what == "indices":
        learner.set_params(preprocessor=mostly(rng, (rows, rows.tolist(), _Looked(rows)), (None, "a", 3)))
    kind, y = _signs(rng, n)
    more = {"sample_weight": weights(rng, n)} if rng.random() < 0.3 else {}
    if size == 2 and rng.random() < 0.2:
        more["calibration_params"] = _calibration(rng)
    twice = hasattr(learner, "partial_fit") and rng.random() < 0.3
    return Case(
        f"{type(learner).__name__} on {n} tuples, {illness} {what}, y: {kind}, {sorted(more)}"
        f"{', and partial_fit' if twice else ''}",
        lambda: _used(learner, tuples, y, more, twice),
        (tuples, y, rows, *more.values()),
        lambda answer: _check(answer, tuples, y, not more and not twice),
        claim,
    )


class _Looked:
    """A preprocessor as a user may write it: a function that fails for indices that do not exist."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __call__(self, at: Any) -> Any:
        """Return the samples with these indices."""
        try:
            return self.rows[at]
        except (IndexError, TypeError, ValueError) as error:
            raise UserError from error


def _tuples(rng: Rng, rows: Any, n: int, size: int) -> tuple[str, Any]:
    """Return a name and tuples of samples or of row numbers, in an unusual form now and then."""
    at = rng.integers(max(len(rows), 1), size=(n, size))
    if rng.random() < 0.2:
        wrong = (at + 1000, -at - 1, at.astype(float), at.astype(str), at.astype(np.uint8), at.tolist())
        return "indices", pick(rng, *[at] * 8, *wrong)
    if not len(rows):
        return "empty", np.zeros((0, size, 2))
    form = (
        "array" if rng.random() < 0.6 else pick(rng, *[f for f in FORMS if f not in ("sparse", "DataFrame")])
    )
    with np.errstate(all="ignore"):
        tuples = FORMS[form](rows[at])
    strange = (
        rows,
        np.zeros((n, size + 1, 2)),
        np.zeros((n, 0, 2)),
        [],
        None,
        3,
        "ab",
        [[[1.0], [1.0, 2.0]]],
    )
    return form, mostly(rng, (tuples,), strange, 0.05)


def _signs(rng: Rng, n: int) -> tuple[str, Any]:
    signs = rng.choice([-1, 1], n)
    strange = {
        "all similar": np.ones(n),
        "all dissimilar": -np.ones(n),
        "bools": signs > 0,
        "0 and 1": (signs > 0).astype(int),
        "NaN": np.full(n, np.nan),
        "texts": np.full(n, "a"),
        "too many": np.ones(n + 1),
        "a column": signs[:, None],
        "none": None,
        "a list": signs.tolist(),
    }
    kind = pick(rng, *strange) if rng.random() < 0.2 else "signs"
    return kind, strange.get(kind, signs)


def _calibration(rng: Rng) -> Any:
    strategy = pick(rng, "accuracy", "f_beta", "max_tpr", "max_tnr", "none", 3)
    rates = {"min_rate": number(rng, 0.5, 0.0, 1.0, rate=0.2)} if rng.random() < 0.5 else {}
    return mostly(rng, ({"strategy": strategy, **rates},), ("accuracy", {"none": 1}, 3), 0.1)


def _pair_rpdml(rng: Rng, f: int) -> Any:
    weight, alpha = number(rng, 1.0, 100.0, 1e4), number(rng, 0.0, 0.0, 0.1)
    return PairRPDML(weight, alpha, prior(rng, f), percentiles(rng), bounds(rng), **common(rng))


def _pair_itml(rng: Rng, f: int) -> Any:
    return PairITML(number(rng, 0.1, 1.0, 10.0), prior(rng, f), percentiles(rng), bounds(rng), **common(rng))


def _pair_gmml(rng: Rng, f: int) -> Any:
    return PairGMML(number(rng, 0.5, 0.0, 1.0), number(rng, 0.0, 0.1), prior(rng, f), number(rng, None, 1))


def _comparing(kind: Any) -> Callable[[Rng, int], Any]:
    def make(rng: Rng, f: int) -> Any:
        margin = number(rng, None, None, 1.0, 1e-3)
        weight, alpha = number(rng, 1.0, 100.0, 1e4), number(rng, 0.0, 0.0, 0.1)
        return kind(weight, alpha, prior(rng, f), margin, **common(rng))

    return make


_LEARNERS: dict[str, Callable[[Rng, int], Any]] = {
    "PairRPDML": _pair_rpdml,
    "PairITML": _pair_itml,
    "PairGMML": _pair_gmml,
    "TripletRPDML": _comparing(TripletRPDML),
    "QuadrupletRPDML": _comparing(QuadrupletRPDML),
}


def _used(learner: Any, tuples: Any, y: Any, more: dict[str, Any], twice: bool) -> Any:
    learner.fit(tuples, y, **more)
    if twice:
        learner.partial_fit(tuples, y)
    return learner


def _check(learner: Any, tuples: Any, y: Any, plain: bool) -> Iterator[str]:
    yield from wrong_with_metric(learner)
    predicted = learner.predict(tuples)
    if not np.isin(predicted, (-1, 1)).all():
        yield f"predict returns {predicted}"
    if has_nan(learner.decision_function(tuples)):
        yield "decision_function returns NaN"
    if y is not None and len(np.unique(y)) == 2 and not 0.0 <= learner.score(tuples, y) <= 1.0:
        yield "score is not between 0 and 1"
    if plain and isinstance(tuples, np.ndarray) and tuples.ndim == 3 and isinstance(y, np.ndarray):
        yield from _refuted(learner, np.asarray(tuples, dtype=float), y)


def _refuted(learner: Any, tuples: Any, y: Any) -> Iterator[str]:
    """Check the certificate of the squared hinge, or of the loss of ITML."""
    W0 = np.eye(tuples.shape[2]) if str(learner.prior) == "identity" else learner.prior
    if isinstance(W0, str) or isinstance(learner, PairGMML) or getattr(learner, "alpha", 0.0):
        return
    X, pairs = tuples.reshape(-1, tuples.shape[2]), np.arange(2 * len(tuples)).reshape(-1, 2)
    if isinstance(learner, PairRPDML):
        terms = pair_hinges(X, pairs, y > 0, *learner.bounds_, learner.C)
    elif isinstance(learner, PairITML):
        terms = pair_burgs(X, pairs, y > 0, *learner.bounds_, learner.gamma)
    else:
        terms = comparison_hinges(_in_order(tuples, y), learner.margin_, learner.C)
    yield from wrong_with_certificate(learner, learner.W_, W0, terms)


def _in_order(tuples: Any, y: Any) -> Any:
    """Return comparisons that hold: those with y < 0 the other way round."""
    turned = tuples[:, [0, 2, 1] if tuples.shape[1] == 3 else [2, 3, 0, 1]]
    return np.where(y[:, None, None] > 0, tuples, turned)
