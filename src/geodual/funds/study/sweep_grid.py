"""The settings that a sweep tries: all combinations of a grid, checked before anything is learned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from geodual.errors import DataError

from ..config import check_names
from .inputs import Data, Inputs, make_inputs

_EXAMPLE = 'such as {"k": [5, 10, 20], "top": [5, 10]}'


def combine_settings(grid: Any, given: Iterable[str]) -> list[dict[str, Any]]:
    """Return all combinations of the values of a grid; the last setting changes fastest.

    Parameters
    ----------
    grid : mapping of str to iterable
        Values to try, by setting.
    given : iterable of str
        Names of settings that have one value in the whole sweep.
    """
    if not isinstance(grid, Mapping) or not grid:
        raise DataError(
            f"sweep: `grid` must map settings to values to try, {_EXAMPLE}, got {grid!r}; name at least one "
            "setting."
        )
    for name, values in grid.items():
        _check_values(name, values)
    named = check_names({name: list(values) for name, values in grid.items()}, "sweep")
    twice = [name for name in check_names(dict.fromkeys(given), "sweep") if name in named]
    if twice:
        raise DataError(
            f"sweep: `{twice[0]}` is both in the grid and given as a setting; leave out one of the two."
        )
    return [dict(zip(named, values, strict=True)) for values in product(*named.values())]


def _check_values(name: Any, values: Any) -> None:
    """Raise unless there are one or more values, all different."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise DataError(f"sweep: the values of `{name}` must be a list, got {values!r}; write {_EXAMPLE}.")
    listed = list(values)
    if not listed:
        raise DataError(f"sweep: `{name}` has no values to try; name some, {_EXAMPLE}.")
    twice = [value for at, value in enumerate(listed) if value in listed[:at]]
    if twice:
        raise DataError(
            f"sweep: `{name}` has the value {twice[0]!r} twice, which would be two trials; give it once."
        )


def inputs_of(
    data: Data, combination: Mapping[str, Any], compared: tuple[Any, Any], settings: Mapping[str, Any]
) -> Inputs:
    """Return the inputs of one combination.

    Parameters
    ----------
    data : Data
        The data.
    combination : mapping of str to object
        The settings tried.
    compared : tuple of object
        The arguments `metrics` and `forecasters` of `sweep`.
    settings : mapping of str to object
        Its other settings.
    """
    own = {**settings, **combination}
    metrics, forecasters = own.pop("metrics", compared[0]), own.pop("forecasters", compared[1])
    try:
        return make_inputs(data, (metrics, forecasters), own)
    except DataError as error:
        raise DataError(f"sweep, {describe(combination)}: {error}") from None


def describe(combination: Mapping[str, Any]) -> str:
    """Return settings in words, such as "k = 5, top = 10"."""
    return ", ".join(f"{name} = {show_value(value)}" for name, value in combination.items())


def show_value(value: Any) -> Any:
    """Return a value as tables show it: numbers, and texts for all else."""
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return value if isinstance(value, str | int | float) else str(value)
