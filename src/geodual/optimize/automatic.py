"""What `Problem` asks of a library for automatic derivatives, such as jax or torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from geodual.manifolds.frame import Point

from .blocks import check_function
from .constraint import listed
from .joined_constraint import JoinedConstraint

Function = Callable[..., Any]


@dataclass(frozen=True)
class Engine:
    """A library that differentiates functions.

    Functions are prepared once, and then bound to data as often as the data change.

    Attributes
    ----------
    place : callable
        ``place(data)`` returns the data as the library wants them.
    prepare_cost : callable
        ``prepare_cost(cost)`` returns a function of placed data, which returns the cost, its gradient and
        its Hessian product.
    prepare_constraints : callable
        ``prepare_constraints(functions, name)`` returns a function of placed data, which returns all the
        functions as one block.
    """

    place: Callable[[Any], Any]
    prepare_cost: Callable[[Function], Callable[[Any], Sequence[Function]]]
    prepare_constraints: Callable[[Sequence[Function], str], Callable[[Any], JoinedConstraint]]


class PreparedFunctions:
    """The functions of a problem, prepared by an engine.

    Parameters
    ----------
    engine : Engine
        The library.
    cost : callable
        The cost.
    inequalities, equalities : callable or sequence of callables, optional
        The constraints.
    """

    def __init__(self, engine: Engine, cost: Any, inequalities: Any, equalities: Any) -> None:
        self._place = engine.place
        check_function(cost, "cost")
        self._cost = engine.prepare_cost(cost)
        self._blocks = {}
        for name, functions in (("inequalities", listed(inequalities)), ("equalities", listed(equalities))):
            for k, function in enumerate(functions):
                check_function(function, f"{name}[{k}]")
            if functions:
                self._blocks[name] = engine.prepare_constraints(functions, name)

    def bound(self, data: Any) -> dict[str, Any]:
        """Return the arguments of `Problem` for some data."""
        placed = self._place(data)
        cost, gradient, hessian_product = self._cost(placed)
        blocks = {name: bind(placed) for name, bind in self._blocks.items()}
        return {"cost": cost, "gradient": gradient, "hessian_product": hessian_product, **blocks}


def called(function: Function, name: str, x: Point, data: Any) -> Any:
    """Call a user's function at a point, with the data if there are any; an error says which one it was."""
    try:
        return function(x) if data is None else function(x, data)
    except Exception as error:
        arguments = "x" if data is None else "x, data"
        error.add_note(f"`{name}` was called as {name}({arguments}), in double precision.")
        raise
