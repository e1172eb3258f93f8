"""Saved metrics: files with damaged bytes, headers of the wrong kind and arrays of the wrong shape."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    FeatureWeights,
    MahalanobisMetric,
    PairRPDML,
    RPDMLClassifier,
    RPDMLRegressor,
    TripletRPDML,
    load_metric,
    save_metric,
)

from ..case import Case, Rng, has_nan, pick
from ..hostile import STRANGE_NUMBERS
from ..nav_tables import HARMS

_X = np.random.default_rng(0).standard_normal((16, 3))
_Y = np.arange(16) % 2
_PAIRS = np.stack([_X[::2], _X[1::2]], axis=1)
_TRIPLETS = np.stack([_X[:14], _X[1:15], _X[2:]], axis=1)

_LEARNERS: dict[str, Callable[[], Any]] = {
    "GMML": lambda: GMML().fit(_X, _Y),
    "ITML": lambda: ITML(tol=1e-3).fit(_X, _Y),
    "LMNN": lambda: LMNN(1).fit(_X, _Y),
    "RPDML": lambda: RPDML(C=1.0, n_components=2).fit(_X, _Y),
    "RPDMLRegressor": lambda: RPDMLRegressor(2).fit(_X, _X[:, 0]),
    "RPDMLClassifier": lambda: RPDMLClassifier().fit(_X, _Y),
    "FeatureWeights": lambda: FeatureWeights().fit(_X, _Y),
    "MahalanobisMetric": lambda: MahalanobisMetric().fit(_X),
    "PairRPDML": lambda: PairRPDML(C=1.0).fit(_PAIRS, np.where(np.arange(8) % 2, 1, -1)),
    "TripletRPDML": lambda: TripletRPDML(C=1.0).fit(_TRIPLETS).partial_fit(_TRIPLETS),
}


def draw(rng: Rng) -> Case:
    """Return the loading of a file that is damaged, or a call with arguments of the wrong type."""
    if rng.random() < 0.1:
        return _wrong_call(rng)
    name = pick(rng, *_LEARNERS)
    damage = pick(rng, *_DAMAGES)
    content = _DAMAGES[damage](rng, _saved(name))
    return Case(
        f"load_metric of a {name}, damage: {damage}",
        lambda: _loaded(content),
        check=lambda answer: _check(answer, name, damage),
    )


def _wrong_call(rng: Rng) -> Case:
    value = pick(rng, *STRANGE_NUMBERS, GMML(), _X, {}, ".", "none.npz", b"a", "\0.npz", Path("a.csv"))
    call = pick(rng, "save what", "save where", "load")
    calls = {
        "save what": lambda: save_metric(value, Path("never.npz")),
        "save where": lambda: save_metric(GMML(), value),
        "load": lambda: load_metric(value),
    }
    return Case(f"{call}: {value!r}", calls[call], errors=(OSError,))


@cache
def _fitted(name: str) -> Any:
    return _LEARNERS[name]()


@cache
def _saved(name: str) -> bytes:
    with TemporaryDirectory() as folder:
        return save_metric(_fitted(name), Path(folder) / "metric.npz").read_bytes()


def _loaded(content: bytes) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "metric.npz"
        path.write_bytes(content)
        return load_metric(path)


def _opened(content: bytes) -> tuple[Any, dict[str, Any]]:
    with np.load(io.BytesIO(content)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def _closed(tree: Any, arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    header = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)
    np.savez(file, header=header, **arrays)
    return file.getvalue()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all containers of a tree with the keys of their entries."""
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from _places(tree[key])


_WRONG = (None, 0, -1, 1.5, 10**30, "a", "", [], {}, [1], {"a": 1}, True, float("nan"), float("inf"), [[]])


def _other_value(rng: Rng, content: bytes) -> bytes:
    tree, arrays = _opened(content)
    container, key = pick(rng, *_places(tree))
    container[key] = pick(rng, *_WRONG)
    return _closed(tree, arrays)


def _lost_value(rng: Rng, content: bytes) -> bytes:
    tree, arrays = _opened(content)
    container, key = pick(rng, *_places(tree))
    del container[key]
    return _closed(tree, arrays)


def _other_array(rng: Rng, content: bytes) -> bytes:
    tree, arrays = _opened(content)
    name = pick(rng, *arrays)
    good = arrays[name]
    wrong = (good[:0], good[None], -good, 1e300 * good, np.nan * good, good.astype(str), good.astype(complex))
    arrays[name] = pick(
        rng, *wrong, good.astype(np.float32), good.astype(int), np.zeros(()), np.zeros((0, 3))
    )
    return _closed(tree, arrays)


_DAMAGES: dict[str, Callable[[Rng, bytes], bytes]] = {
    "none": lambda rng, content: content,
    "another value": _other_value,
    "another value twice": lambda rng, content: _other_value(rng, _other_value(rng, content)),
    "a lost value": _lost_value,
    "another array": _other_array,
    **HARMS,
}


def _check(learner: Any, name: str, damage: str) -> Iterator[str]:
    """Yield what is wrong with a loaded learner: it must work, whatever was changed in its file."""
    before = _fitted(name)
    if damage == "none" and not np.array_equal(_first_answer(learner), _first_answer(before)):
        yield "another metric was loaded"
    if not repr(learner).startswith(name):
        yield f"{learner!r} was loaded"
    answers = [_first_answer(learner)]
    if hasattr(learner, "pair_distance"):
        answers += [learner.pair_distance(_PAIRS), learner.get_mahalanobis_matrix()]
    if hasattr(learner, "predict"):
        answers.append(learner.predict({"PairRPDML": _PAIRS, "TripletRPDML": _TRIPLETS}.get(name, _X)))
    if any(map(has_nan, answers)):
        yield "an answer holds NaN"


def _first_answer(learner: Any) -> Any:
    """Return what a learner makes of samples."""
    return (learner.transform if hasattr(learner, "transform") else learner.predict_proba)(_X)
