"""The constraints that a user gives, as blocks with derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .constraint import Constraint, listed

INSTALL_JAX = "write it with jax.numpy and use Problem.from_jax (pip install 'geodual[jax]')"


def check_function(function: Any, name: str) -> None:
    """Raise a `TypeError` if something that should be a function is none."""
    if not callable(function):
        raise TypeError(f"`{name}` must be a function, got {type(function).__name__}; write it with def.")


def blocks_of(functions: Any, products: Any, name: str, product_name: str) -> tuple[Constraint, ...]:
    """Join functions with their derivatives to blocks; blocks that are given stay as they are.

    Parameters
    ----------
    functions : callable, Constraint or sequence of them, or None
        The constraints.
    products : callable or sequence of callables, or None
        One ``jacobian_product`` per plain function, in order.
    name, product_name : str
        What the user calls both.

    Returns
    -------
    tuple of Constraint
        One block per function or block.
    """
    blocks, derivatives = listed(functions), listed(products)
    plain = [block for block in blocks if not isinstance(block, Constraint)]
    if len(derivatives) != len(plain):
        raise ValueError(
            f"`{product_name}` must hold one function per plain function in `{name}` ({len(plain)}), "
            f"got {len(derivatives)}. Give (x, w) -> the sum of w_k times the gradient of entry k, or "
            f"{INSTALL_JAX}."
        )
    for function in plain:
        check_function(function, name)
    for function in derivatives:
        check_function(function, product_name)
    # A `Constraint` brings its own derivatives; plain functions take theirs in order.
    remaining = iter(derivatives)
    return tuple(b if isinstance(b, Constraint) else Constraint(b, next(remaining)) for b in blocks)


def parts_of(blocks: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Return the functions that the blocks were joined from."""
    return tuple(part for block in blocks for part in block.parts)
