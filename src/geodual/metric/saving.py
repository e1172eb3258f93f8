"""Save a fitted metric to a file, and load it without executing any content of the file."""

from __future__ import annotations

import json
import tokenize
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from geodual.atomic_file import write_atomically
from geodual.bounded_reading import parse_nested, read_arrays
from geodual.errors import DataError

from .base.maps import LowRankPlusDiagonal
from .estimators.comparisons import QuadrupletRPDML, TripletRPDML
from .estimators.feature_weights import FeatureWeights
from .estimators.fixed import EuclideanMetric, MahalanobisMetric
from .estimators.gmml import GMML
from .estimators.itml import ITML
from .estimators.lmnn import LMNN
from .estimators.neighbor_rpdml import NeighborRPDML
from .estimators.pair_gmml import PairGMML
from .estimators.pair_itml import PairITML
from .estimators.pair_rpdml import PairRPDML
from .estimators.rpdml import RPDML
from .estimators.rpdml_classifier import RPDMLClassifier
from .estimators.rpdml_regressor import RPDMLRegressor
from .machine.geometry import Geometry
from .machine.kernel_ridge import Ridge
from .machine.local_fits import LocalFit
from .machine.machine import Machine, MachineCertificates, Part
from .machine.neighbor_means import NeighborMean
from .machine.targets import ClassTargets, NumberTargets
from .machine.views import RankGauss, Standardized
from .program.certificate import CertifiedIteration, Convergence
from .program.incremental import StepCertificate
from .saved_checks import check_learner, check_step
from .selection.local_pairs import LocalPairs

_SCHEMA = 1  # increase it when older versions can no longer read the files
_HEADER = "header"
_LEARNERS: dict[str, Any] = {
    learner.__name__: learner
    for learner in (
        *(EuclideanMetric, MahalanobisMetric, GMML, ITML, LMNN, NeighborRPDML, RPDML, FeatureWeights),
        *(RPDMLClassifier, RPDMLRegressor, PairGMML, PairITML, PairRPDML, QuadrupletRPDML, TripletRPDML),
    )
}
# Attributes of scikit-learn, set by `set_output` and methods such as `set_fit_request`.
_OUTPUT, _REQUESTS = "_sklearn_output_config", "_metadata_request"
_OUTPUTS = ("default", "pandas", "polars")
# Exceptions raised while reading a damaged file, or one that is not a saved metric.
_BROKEN = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, OSError, EOFError, SyntaxError),
    *(RuntimeError, MemoryError, zipfile.BadZipFile, tokenize.TokenError),
)

# Attributes that are parts of a machine, to be saved only once.
_OF_MACHINE: dict[str, Callable[[Machine], Any]] = {
    "mixture_": lambda machine: machine.parts,
    "certificates_": lambda machine: machine.certificates,
    "feature_weights_": lambda machine: machine.learned.weights,
}

_PLAIN = (bool, int, float, str, type(None))
_NUMBERS = "biuf"  # kinds of arrays: booleans, integers and floats


def save_metric(learner: Any, path: str | Path) -> Path:
    """Save a fitted metric to a file, for use in another program or at another time.

    Choose it instead of pickle for files that others will open: loading such a file does not execute any of
    its content. The file is a NumPy ``.npz`` with the parameters, all fitted attributes and the version of
    the format. It is written completely or not at all.

    A saved `RPDMLClassifier` or `RPDMLRegressor` contains its training samples, because it predicts from
    them, and its leave-one-out predictions, because intervals are based on them. The choice of `set_output`
    is saved too, but not those of `set_fit_request` and similar methods, which only affect later fits.

    Parameters
    ----------
    learner : estimator
        A fitted learner of `geodual.metric`. Its parameters must be plain values: texts, numbers, arrays,
        pairs.
    path : path
        File to create or replace, with a name that ends in .npz.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    DataError
        If the learner could not be loaded again; then nothing is written. It is a `ValueError`.

    See Also
    --------
    load_metric : Loads the metric.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from geodual.metric import RPDML, load_metric, save_metric
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = RPDML().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_metric(save_metric(learner, Path(folder) / "iris.npz"))
    >>> bool((again.transform(X) == learner.transform(X)).all())
    True
    """
    return save_with(learner, path, None)


def save_with(learner: Any, path: str | Path, notes: Any) -> Path:
    """Save a fitted metric like `save_metric`, together with a tree of plain values for `load_with`."""
    path = _checked(path)
    if path.suffix != ".npz":
        raise DataError(f"{path}: a metric is saved as .npz. Choose a file name that ends in .npz.")
    if type(learner) not in _LEARNERS.values():
        raise DataError(
            f"`learner`: {type(learner).__name__} cannot be saved; give a fitted learner of geodual.metric: "
            f"{', '.join(_LEARNERS)}."
        )
    arrays: dict[str, Any] = {}
    tree = {"schema": _SCHEMA, **_learner_to_plain(learner, arrays)}
    if notes is not None:
        tree["notes"] = notes
    text = json.dumps(tree)
    _check_loads(learner, json.loads(text), arrays)
    members = {_HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    # `to_plain` passes only numbers and texts, so nothing is pickled. NumPy 2.0 would treat `allow_pickle` as
    # the name of an array.
    write_atomically(path, lambda place: np.savez(place, **members))
    return path


def load_metric(path: str | Path) -> Any:
    """Load a metric saved by `save_metric`.

    The file is checked: its format, the class of the learner, the types of its parameters, and its numbers. W
    must be positive semidefinite and equal LᵀL, and no gap may be negative. Whether the objective, its bound
    and the importances belong to this metric is not checked, because this would need the training samples.
    Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        A fitted learner of the saved class. It transforms, measures and predicts as before.

    Raises
    ------
    DataError
        If the file is damaged, from a newer version, or not a saved metric. It is a `ValueError`.

    See Also
    --------
    save_metric : Saves a metric.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from geodual.metric import GMML, load_metric, save_metric
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_metric(GMML().fit(X, y), Path(folder) / "iris.npz")
    ...     load_metric(path)
    GMML()
    """
    return load_with(path)[0]


def load_with(path: str | Path) -> tuple[Any, Any]:
    """Load a metric like `load_metric`, and the tree saved with it; None if there is none.

    The tree may contain anything; the caller must check it.
    """
    content = _checked(path).read_bytes()
    try:
        tree, arrays = _read_members(content)
        newest = tree["schema"]
        if newest == _SCHEMA:
            return _learner_from_plain(tree, arrays), tree.get("notes")
    except _BROKEN as error:
        raise DataError(
            f"{path}: this is not a metric saved by `save_metric`, or the file is damaged ({error}). Save "
            "the metric again."
        ) from None
    raise DataError(
        f"{path}: the metric was saved in format {newest!r}, and this version of geodual knows formats up to "
        f"{_SCHEMA}. Install a newer geodual, or save the metric again."
    )


def _check_loads(learner: Any, tree: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Raise an error unless the learner can be loaded again."""
    try:
        _learner_from_plain(tree, arrays)
    except _BROKEN as error:
        raise DataError(
            f"`learner`: this {type(learner).__name__} cannot be saved, because it could not be loaded again "
            f"({error}). Fit it again, and leave its attributes as `fit` made them."
        ) from None


def _checked(path: Any) -> Path:
    """Return a path; raise an error if it is not valid."""
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise DataError(f"`path` must be the name of a file, got {path!r}.")
    return Path(path)


def _read_members(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tree and the arrays of a file."""
    arrays = read_arrays(content)
    tree = parse_nested(json.loads, arrays.pop(_HEADER).tobytes().decode())
    if not isinstance(tree, dict):
        raise ValueError("it has no header")
    return tree, arrays


def _learner_to_plain(learner: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Convert a learner to a tree of plain values, and add its arrays to `arrays`."""
    check_is_fitted(learner)
    parameters = learner.get_params(deep=False)
    fitted = {name: value for name, value in vars(learner).items() if name not in parameters}
    tree: dict[str, Any] = {"class": type(learner).__name__}
    for name in ("_earlier", _REQUESTS, *(_OF_MACHINE if "_machine_" in fitted else ())):
        fitted.pop(name, None)
    if _OUTPUT in fitted:
        tree["output"] = fitted.pop(_OUTPUT).get("transform", "default")
    if hasattr(learner, "partial_fit"):
        tree["earlier"] = [list(step) for step in learner.certificates_[:-1]]
    if "_search_" in fitted:
        fitted["_search_"] = np.asarray(fitted["_search_"]._fit_X)
    for group, values in (("parameters", parameters), ("attributes", fitted)):
        tree[group] = {}
        for name, value in values.items():
            try:
                tree[group][name] = to_plain(value, arrays, name)
            except TypeError as error:
                raise DataError(
                    f"`{name}` of {type(learner).__name__} cannot be saved, because it is {error}. Replace "
                    f"it with a plain value with set_params({name}=…), which leaves the fitted metric alone."
                ) from None
    return tree


def _learner_from_plain(tree: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """Make the learner that a tree describes; raise an error if it would not work."""
    kind, given = _LEARNERS[tree["class"]], tree["parameters"]
    learner = kind(**{name: from_plain(value, arrays) for name, value in given.items()})
    fitted = {name: from_plain(value, arrays) for name, value in tree["attributes"].items()}
    check_learner(learner, fitted)
    if "_search_" in fitted:
        fitted["_search_"] = NearestNeighbors().fit(fitted["_search_"])
    if "_machine_" in fitted:
        fitted |= {name: part(fitted["_machine_"]) for name, part in _OF_MACHINE.items()}
    vars(learner).update(fitted)
    if "output" in tree:
        if tree["output"] not in _OUTPUTS:
            raise ValueError(f"the output {tree['output']!r} is unknown")
        learner.set_output(transform=tree["output"])
    if hasattr(learner, "partial_fit") and tree["earlier"]:
        steps = tuple(StepCertificate(*step) for step in tree["earlier"])
        for step in steps:
            check_step(step)
        learner._earlier = (learner.history_, steps)
    return learner


def to_plain(value: Any, arrays: dict[str, Any], place: str) -> Any:
    """Convert a value to a tree, and add its arrays to `arrays`.

    Parameters
    ----------
    value : object
        A plain value, an array, a sparse array or a type used in learners, or lists, tuples and dictionaries
        of these.
    arrays : dict
        Receives the arrays by name.
    place : str
        Name of the first array; the positions of a value's parts are appended.

    Returns
    -------
    object
        The tree.

    Raises
    ------
    TypeError
        If the value is of another type, such as a function.
    """
    if isinstance(value, np.bool_ | np.number):
        value = value.item()
    if type(value) in _PLAIN:
        return value
    kind, content = _describe(value)
    if kind in ("array", "names", "texts"):
        arrays[place] = content
        return {kind: place}
    if isinstance(content, dict):
        return {kind: {name: to_plain(part, arrays, f"{place}.{name}") for name, part in content.items()}}
    return {kind: [to_plain(part, arrays, f"{place}.{at}") for at, part in enumerate(content)]}


def _describe(value: Any) -> tuple[str, Any]:
    """Return the kind of a value in a tree, and its parts."""
    if issparse(value):
        rows = value.tocsr()
        return "sparse", [rows.data, rows.indices, rows.indptr, list(rows.shape)]
    if isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS:
        return "array", value
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return "texts", value
    if isinstance(value, np.ndarray) and all(isinstance(text, str) for text in value.flat):
        return "names", value.astype(str)
    if type(value) is dict and all(isinstance(name, str) for name in value):
        return "dict", value
    for kind, (known, take_apart) in _PARTS.items():
        if type(value) is known:
            return kind, take_apart(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _names_of(kind: type) -> list[str]:
    """Return the names of the fields of a NamedTuple or dataclass."""
    return list(getattr(kind, "_fields", ())) or [field.name for field in fields(kind)]


def _fields_of(record: Any) -> list[Any]:
    return [getattr(record, name) for name in _names_of(type(record))]


def _knots(view: RankGauss) -> list[Any]:
    """Return the concatenated knots of all features, their numbers, and the units."""
    values, ranks = (np.concatenate(parts) for parts in zip(*view._knots, strict=True))
    return [np.array([len(knots) for knots, _ in view._knots]), values, ranks, view._units]


# Plain records: the parts of a machine.
_RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(Machine, MachineCertificates, Part, Geometry),
        *(ClassTargets, NumberTargets, Ridge, NeighborMean, LocalFit),
    )
}
_PARTS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "tuple": (tuple, tuple),
    "list": (list, list),
    "low_rank": (LowRankPlusDiagonal, LowRankPlusDiagonal.parts),
    "local_pairs": (LocalPairs, astuple),
    "history": (Convergence, lambda rows: [np.array([astuple(row) for row in rows], dtype=float)]),
    "standard": (Standardized, lambda view: [view._mean, view._factor]),
    "rank": (RankGauss, _knots),
    **{name: (kind, _fields_of) for name, kind in _RECORDS.items()},
}


def from_plain(tree: Any, arrays: Mapping[str, Any]) -> Any:
    """Convert a tree of `to_plain` back to the value.

    Parameters
    ----------
    tree : object
        The tree.
    arrays : mapping
        The arrays by name.

    Raises
    ------
    ValueError, TypeError, KeyError
        If `to_plain` does not make such trees.
    """
    if type(tree) in _PLAIN:
        return tree
    if not isinstance(tree, dict) or len(tree) != 1:
        raise ValueError("a value has an unknown form")
    ((kind, content),) = tree.items()
    if kind == "array":
        return _numbers(arrays[content])
    if kind == "names":
        return arrays[content].astype(object)
    if kind == "texts":
        return _texts(arrays[content])
    if kind == "dict":
        return {name: from_plain(part, arrays) for name, part in content.items()}
    if kind not in _MAKERS:
        raise ValueError(f"a value is of the unknown kind {kind!r}")
    return _MAKERS[kind](*(from_plain(part, arrays) for part in content))


def _numbers(array: Any) -> Any:
    if array.dtype.kind not in _NUMBERS:
        raise ValueError("an array holds no numbers")
    return array


def _texts(array: Any) -> Any:
    if array.dtype.kind != "U":
        raise ValueError("an array holds no texts")
    return array


def _make_sparse(data: Any, columns: Any, starts: Any, shape: Any) -> csr_array:
    matrix = csr_array((data, columns, starts), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _make_low_rank(diagonal: Any, left: Any, core: Any, right: Any) -> LowRankPlusDiagonal:
    columns = (len(diagonal), len(core))
    if np.ndim(diagonal) != 1 or core.shape != columns[1:] * 2 or {left.shape, right.shape} != {columns}:
        raise ValueError("the parts of a matrix do not fit together")
    return LowRankPlusDiagonal(diagonal, left, core, right)


def _make_history(table: Any) -> Convergence:
    rows = [(*row[:4], int(row[4]), row[5]) for row in table.tolist()]
    return Convergence(CertifiedIteration(*row) for row in rows)


def _make_standardized(mean: Any, factor: Any) -> Standardized:
    view = Standardized()
    view._mean, view._factor = mean, factor
    return view


def _make_ranks(sizes: Any, values: Any, ranks: Any, units: Any) -> RankGauss:
    if sizes.ndim != 1 or sizes.sum() != len(values):
        raise ValueError("the ranks of a view do not fit their features")
    view, ends = RankGauss(), np.cumsum(sizes)[:-1]
    view._knots = list(zip(np.split(values, ends), np.split(ranks, ends), strict=True))
    view._units = units
    return view


_MAKERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda *parts: parts,
    "list": lambda *parts: list(parts),
    "sparse": _make_sparse,
    "low_rank": _make_low_rank,
    "local_pairs": LocalPairs,
    "history": _make_history,
    "standard": _make_standardized,
    "rank": _make_ranks,
    **_RECORDS,
}
