"""Checks of parameters: each raises an error that names the parameter, its value and what is allowed."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def check_n_components(n_components: Any, n_features: int) -> None:
    """Raise unless `n_components` is None or a valid number of components."""
    if n_components is not None:
        check_whole("n_components", n_components)
        if not 1 <= n_components <= n_features:
            raise ValueError(f"`n_components` must be between 1 and {n_features}, got {n_components}.")


def check_number(name: str, value: Any) -> None:
    """Raise unless a parameter is a number."""
    if not isinstance(value, numbers.Real):
        raise ValueError(f"`{name}` must be a number, got {value!r}.")


def check_positive(name: str, value: Any) -> None:
    """Raise unless a parameter is positive and finite."""
    check_number(name, value)
    if not 0.0 < value < np.inf:
        raise ValueError(f"`{name}` must be positive, got {value}.")


def check_not_negative(name: str, value: Any) -> None:
    """Raise unless a parameter is finite and at least 0."""
    check_number(name, value)
    if not 0.0 <= value < np.inf:
        raise ValueError(f"`{name}` must not be negative or infinite, got {value}.")


def check_share(name: str, value: Any) -> None:
    """Raise unless a parameter lies between 0 and 1."""
    check_number(name, value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"`{name}` must lie in [0, 1], got {value}.")


def check_whole(name: str, value: Any, least: int | None = None) -> None:
    """Raise unless a parameter is a whole number, and not below the least that is allowed."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ValueError(f"`{name}` must be a whole number, got {value!r}.")
    if least is not None and value < least:
        raise ValueError(f"`{name}` must be at least {least}, got {value}.")


def check_iteration(tol: Any, max_iter: Any) -> None:
    """Raise unless the tolerance is positive and the iteration budget a positive whole number."""
    check_number("tol", tol)
    if not tol > 0.0:
        raise ValueError(f"`tol` must be positive, got {tol}; leave it out for the default.")
    check_whole("max_iter", max_iter, 1)
