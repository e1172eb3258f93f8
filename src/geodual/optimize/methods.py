"""The methods that `minimize` knows by name, and how a method is started."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .primal_dual import primal_dual, primal_dual_linearized
from .proximal_lagrangian import proximal_lagrangian
from .updates import Stop, Update

Method = Callable[..., Iterator[Update | Stop]]
"""``method(constraints, start, **options)`` yields one `Update` per step; see `docs/add_a_method.md`."""

_OWN_MAX_ITER = 1000  # for a user's method, whose steps may be cheap and small


@dataclass(frozen=True)
class MethodChoice:
    """A method with its default budget of iterations."""

    run: Method
    max_iter: int

    def start(
        self,
        constraints: ConstraintVector,
        start: EvaluatedPoint,
        known: dict[str, Any],
        options: dict[str, Any],
    ) -> Iterator[Update | Stop]:
        """Start the method with its options and those `known` values that its signature names."""
        # A method that needs no tolerance or units does not have to accept them.
        asked = inspect.signature(self.run).parameters
        wanted = {name: value for name, value in known.items() if name in asked}
        return iter(self.run(constraints, start, **wanted, **options))


METHODS = {
    "proximal-lagrangian": MethodChoice(proximal_lagrangian, 200),
    "primal-dual": MethodChoice(primal_dual, 1000),
    "primal-dual-linearized": MethodChoice(primal_dual_linearized, 10_000),
}


def choose_method(method: str | Method) -> MethodChoice:
    """Return the method with the given name, or the given function as a method."""
    if callable(method):
        return MethodChoice(method, _OWN_MAX_ITER)
    if method not in METHODS:
        raise ValueError(
            f"`method` must be one of {', '.join(map(repr, METHODS))}, or a function, got {method!r}."
        )
    return METHODS[method]
