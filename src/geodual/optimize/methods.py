"""The methods that `minimize` knows by name, and how a method is started."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .interior_point import interior_point
from .primal_dual import primal_dual, primal_dual_linearized
from .proximal_lagrangian import proximal_lagrangian
from .updates import Stop, Update

Method = Callable[..., Iterator[Update | Stop]]
"""``method(constraints, start, **options)`` yields one `Update` per step; see `docs/add_a_method.md`."""

_OWN_MAX_ITER = 1000  # for a user's method, whose steps may be cheap and small


@dataclass(frozen=True)
class MethodChoice:
    """A method with its name and its default budget of iterations."""

    name: str
    run: Method
    max_iter: int

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters that the method accepts, by name."""
        return inspect.signature(self.run).parameters

    def start(
        self,
        constraints: ConstraintVector,
        start: EvaluatedPoint,
        known: dict[str, Any],
        options: dict[str, Any],
    ) -> Iterator[Update | Stop]:
        """Start the method with its options and those `known` values that its signature names."""
        # A method that needs no tolerance or units does not have to accept them.
        wanted = {name: value for name, value in known.items() if name in self.parameters}
        self._check_options(options, known)
        return iter(self.run(constraints, start, **wanted, **options))

    def _check_options(self, options: dict[str, Any], known: dict[str, Any]) -> None:
        parameters = list(self.parameters.values())[2:]  # after constraints and start
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return
        allowed = [parameter.name for parameter in parameters if parameter.name not in known]
        for name in options:
            if name not in allowed:
                listed = ", ".join(f"`{each}`" for each in allowed)
                remedy = f"its options are {listed}." if allowed else "it has none; leave it out."
                raise TypeError(f"`{name}` is not an option of the method {self.name!r}; {remedy}")


METHODS = {
    choice.name: choice
    for choice in (
        MethodChoice("proximal-lagrangian", proximal_lagrangian, 400),
        MethodChoice("interior-point", interior_point, 2000),
        MethodChoice("primal-dual", primal_dual, 1000),
        MethodChoice("primal-dual-linearized", primal_dual_linearized, 10_000),
    )
}


def choose_method(method: str | Method) -> MethodChoice:
    """Return the method with the given name, or the given function as a method."""
    if callable(method):
        return MethodChoice(getattr(method, "__name__", type(method).__name__), method, _OWN_MAX_ITER)
    if not (isinstance(method, str) and method in METHODS):
        raise ValueError(
            f"`method` must be one of {', '.join(map(repr, METHODS))}, or a function, got {method!r}."
        )
    return METHODS[method]
