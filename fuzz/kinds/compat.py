"""The learners under the names of metric-learn: fit and use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from geodual.compat import metric_learn

from ..case import Case, Rng, has_nan, pick
from ..hostile import labels, mostly, number, samples

_PAIRS, _CHUNKS = ("ITML", "SDML"), ("RCA",)


def draw(rng: Rng) -> Case:
    """Return a fit of one of metric-learn's names."""
    name = pick(rng, *metric_learn.__all__)
    what, X = samples(rng)
    kind, given = _second(rng, name, X)
    parameters = _parameters(rng, name)
    if name in _PAIRS and isinstance(X, np.ndarray) and len(X):
        X = X[rng.integers(len(X), size=(10, 2))]
    shown = {key: value for key, value in parameters.items() if np.ndim(value) < 2}
    return Case(
        f"compat {name}({shown}) on {what}, second argument: {kind}",
        lambda: getattr(metric_learn, name)(**parameters).fit(X, *given),
        (X, *given),
        lambda learner: _check(learner, X),
    )


def _parameters(rng: Rng, name: str) -> dict[str, Any]:
    """Return some parameters of the learner, mostly valid ones."""
    drawn: dict[str, Callable[[], Any]] = {
        "gamma": lambda: number(rng, 1.0, 0.1),
        "tol": lambda: number(rng, 1e-3, 1e-6),
        "max_iter": lambda: number(rng, 100, 10, 1),
        "prior": lambda: mostly(rng, ("identity", "covariance"), ("random", None, 3, np.eye(2))),
        "init": lambda: mostly(rng, ("auto", "identity"), ("random", None, 3, np.eye(2))),
        "n_components": lambda: number(rng, None, 1),
        "n_neighbors": lambda: number(rng, 1, 3),
        "n_constraints": lambda: number(rng, None, 5),
        "n_chunks": lambda: number(rng, 2, 100),
        "chunk_size": lambda: number(rng, 2, 3),
        "balance_param": lambda: number(rng, 1e-3, 0.1, 0.0),
        "sparsity_param": lambda: number(rng, 0.01, 1.0, 0.0),
        "k": lambda: number(rng, None, 2),
        "embedding_type": lambda: mostly(rng, ("weighted", "orthonormalized", "plain"), ("none", None)),
        "regularization": lambda: number(rng, 0.5, 0.1),
        "random_state": lambda: mostly(rng, (0,), ("a",)),
    }
    known = getattr(metric_learn, name)().get_params()
    return {key: make() for key, make in drawn.items() if key in known and rng.random() < 0.3}


def _second(rng: Rng, name: str, X: Any) -> tuple[str, tuple[Any, ...]]:
    """Return a name and the second argument of `fit`."""
    if name in _PAIRS:
        signs = rng.choice([-1, 1], 10)
        return "signs", (mostly(rng, (signs,), (np.ones(10), -np.ones(10), signs[:3], None, "a"), 0.1),)
    if name in _CHUNKS:
        chunks = rng.integers(-1, 3, size=np.shape(X)[0])
        return "chunks", (mostly(rng, (chunks,), (np.full(3, -1), chunks + 0.5, None, "a"), 0.1),)
    kind, y = labels(rng, np.shape(X)[0])
    return kind, (y,)


def _check(learner: Any, X: Any) -> Iterator[str]:
    if has_nan(np.asarray(learner.components_)):
        yield "components_ holds NaN or infinity"
    if np.ndim(X) == 2 and has_nan(learner.transform(X)):
        yield "transform returns NaN"
    if np.ndim(X) == 3 and has_nan(learner.decision_function(X)):
        yield "decision_function returns NaN"
