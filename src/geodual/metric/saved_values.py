"""Values of a learner as plain data: a tree that JSON can hold, and arrays beside it.

A tree has texts, numbers, booleans and null. Everything else is an object with one key, which says what it
is: ``{"tuple": […]}``, ``{"array": "name"}``. Nothing in a tree names code, so that a file from a stranger
can only give wrong numbers, and these are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from .logdet.certificate import CertifiedIteration, Convergence
from .low_rank import LowRankPlusDiagonal
from .pairs.local_pairs import LocalPairs

_PLAIN = (bool, int, float, str, type(None))
_NUMBERS = "biuf"  # kinds of arrays: booleans, whole and decimal numbers


def to_plain(value: Any, arrays: dict[str, Any], place: str) -> Any:
    """Return a value as a tree, and add its arrays to `arrays`.

    Parameters
    ----------
    value : object
        A plain value, an array, a sparse array, or a type that learners hold; lists, tuples and
        dictionaries of these.
    arrays : dict
        Receives the arrays by name.
    place : str
        Name of the first array; parts of a value add their positions to it.

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
    if kind in ("array", "names"):
        arrays[place] = content
        return {kind: place}
    if isinstance(content, dict):
        return {kind: {name: to_plain(part, arrays, f"{place}.{name}") for name, part in content.items()}}
    return {kind: [to_plain(part, arrays, f"{place}.{at}") for at, part in enumerate(content)]}


def _describe(value: Any) -> tuple[str, Any]:
    """Return what a value is called in a tree, and its parts."""
    if issparse(value):
        rows = value.tocsr()
        return "sparse", [rows.data, rows.indices, rows.indptr, list(rows.shape)]
    if isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS:
        return "array", value
    if isinstance(value, np.ndarray) and all(isinstance(text, str) for text in value.flat):
        return "names", value.astype(str)
    if type(value) is dict and all(isinstance(name, str) for name in value):
        return "dict", value
    for kind, (known, take_apart) in _PARTS.items():
        if type(value) is known:
            return kind, take_apart(value)
    raise TypeError(f"a value of type {type(value).__name__}")


_PARTS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "tuple": (tuple, tuple),
    "list": (list, list),
    "low_rank": (LowRankPlusDiagonal, LowRankPlusDiagonal.parts),
    "local_pairs": (LocalPairs, astuple),
    "history": (Convergence, lambda rows: [np.array([astuple(row) for row in rows], dtype=float)]),
}


def from_plain(tree: Any, arrays: Mapping[str, Any]) -> Any:
    """Return the value that `to_plain` turned into a tree.

    Parameters
    ----------
    tree : object
        The tree.
    arrays : mapping
        The arrays by name.

    Raises
    ------
    ValueError, TypeError, KeyError
        If the tree is not one that `to_plain` makes.
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
    if kind == "dict":
        return {name: from_plain(part, arrays) for name, part in content.items()}
    if kind not in _MAKERS:
        raise ValueError(f"a value is of the unknown kind {kind!r}")
    return _MAKERS[kind](*(from_plain(part, arrays) for part in content))


def _numbers(array: Any) -> Any:
    if array.dtype.kind not in _NUMBERS:
        raise ValueError("an array holds no numbers")
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


_MAKERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda *parts: parts,
    "list": lambda *parts: list(parts),
    "sparse": _make_sparse,
    "low_rank": _make_low_rank,
    "local_pairs": LocalPairs,
    "history": _make_history,
}
