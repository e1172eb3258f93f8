"""Trees of arrays: points and vectors of products, and the data of a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from geodual.manifolds.frame import Vector


def mapped(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to every leaf of nested tuples, lists and dictionaries.

    Lists of any class become tuples: jax would treat pymanopt's own lists as leaves.

    Parameters
    ----------
    function : callable
        Function of one leaf of each tree.
    tree : any
        A leaf, or a tuple, list or dictionary of trees.
    *others : any
        Trees of the same structure; the keys of dictionaries may be in a different order.

    Returns
    -------
    any
        The same structure with the results.
    """
    if isinstance(tree, dict):
        return {key: mapped(function, part, *(t[key] for t in others)) for key, part in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [mapped(function, *row) for row in zip(tree, *others, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    return function(tree, *others)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree in order."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def as_doubles(tree: Any) -> Any:
    """Return the tree with every leaf as an array in double precision; complex numbers stay complex."""
    return mapped(_double, tree)


def as_data(data: Any) -> Any:
    """Return a copy of the data of a problem as read-only arrays.

    Real numbers are stored in double precision. Integers and truth values keep their type, because they may
    be indices and masks. None stays None.

    Raises
    ------
    ValueError
        If a leaf does not consist of numbers.
    """
    return None if data is None else mapped(_frozen, data)


def same_structure(a: Any, b: Any) -> bool:
    """Return whether two trees have the same structure, apart from their leaves."""
    return bool(mapped(lambda _: None, a) == mapped(lambda _: None, b))


def _double(leaf: Any) -> Any:
    array = np.asarray(leaf)
    return array if array.dtype.kind == "c" else array.astype(float, copy=False)


def _frozen(leaf: Any) -> Any:
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufc":
        raise ValueError(
            f"`data` must consist of numbers and arrays of numbers, got {type(leaf).__name__}; "
            "put them into a tuple, a list or a dictionary."
        )
    copy = np.array(_double(array) if array.dtype.kind == "f" else array)
    copy.flags.writeable = False
    return copy


# Linear algebra on ambient vectors: arrays or, on a product, tuples or dictionaries of vectors. Every Hessian
# product calls these functions several times, so arrays bypass `mapped`.

_NESTED = (dict, tuple, list)


def total(vectors: Sequence[Vector]) -> Vector:
    """Return the sum of the vectors, in new memory."""
    if len(vectors) == 1:
        return vectors[0] if _is_foreign(vectors[0]) else scaled(1.0, vectors[0])
    if isinstance(vectors[0], _NESTED):
        return mapped(lambda *parts: reduce(add, parts), *vectors)
    return reduce(add, vectors)


def added(a: Vector, b: Vector) -> Vector:
    """Return the sum of two vectors."""
    return mapped(add, a, b) if isinstance(a, _NESTED) else a + b


def _is_foreign(vector: Vector) -> bool:
    """Return whether a vector is an immutable array of another library, such as jax."""
    if not isinstance(vector, np.ndarray) or vector.flags.writeable:
        return False
    return vector.base is not None and not isinstance(vector.base, np.ndarray)


def scaled(weight: float, vector: Vector) -> Vector:
    """Return `vector` times `weight`."""
    if isinstance(vector, _NESTED):
        return mapped(lambda part: weight * part, vector)
    return weight * vector


def pairing(a: Vector, b: Vector) -> float:
    """Return the plain inner product of two ambient vectors; its real part if they are complex."""
    if isinstance(a, _NESTED):
        return float(sum(leaves(mapped(pairing, a, b))))
    return float(np.vdot(a, b).real)
