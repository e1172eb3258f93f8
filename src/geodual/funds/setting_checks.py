"""Checks of single settings: each returns the value in its usual form, or raises an error with a remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from geodual.errors import DataError


def check_integer(name: str, value: Any, least: int, default: Any) -> int:
    """Return a whole number that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:  # bool is an Integral
        raise DataError(
            f"`{name}` must be a whole number of at least {least}, got {value!r}; leave it out for the "
            f"default, {default}."
        )
    return int(value)


def check_different(setting: str, names: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return one or more different names."""
    remedy = f'write a list such as ["{default[0]}"]'
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DataError(f"`{setting}` must be a list of names, got {names!r}; {remedy}.")
    if not names or not all(isinstance(name, str) and name for name in names):
        raise DataError(f"`{setting}` must be one or more names in quotes, got {list(names)!r}; {remedy}.")
    # The equity curves of a study are columns named by forecaster; "index" is the column of the benchmark.
    if len(set(names)) < len(names) or "index" in names:
        raise DataError(
            f"`{setting}` must be different names, none of them 'index', got {', '.join(names)}; remove the "
            "repeated or reserved name."
        )
    return tuple(names)


def check_texts(setting: str, texts: Any) -> tuple[str, ...]:
    """Return a list of texts, which may be empty."""
    is_list = isinstance(texts, Sequence) and not isinstance(texts, str)
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise DataError(f"`{setting}` must be a list of texts, got {texts!r}; write [] for none.")
    return tuple(texts)


def check_tables(setting: str, tables: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """Return tables of settings by name."""
    for name, table in tables.items():
        if not isinstance(name, str) or not isinstance(table, Mapping):
            raise DataError(
                f"`{setting}` must be names or a table of settings per name, got {name!r} = {table!r}; write "
                f"[{setting}.mine] and the settings below it."
            )
    return {name: {key: _listed(each) for key, each in table.items()} for name, table in tables.items()}


def _listed(value: Any) -> Any:
    """Return a value with tuples as lists, as a TOML file has them."""
    return [_listed(each) for each in value] if isinstance(value, tuple | list) else value


def check_share(name: str, value: Any) -> float:
    """Return a share of a whole: above 0, at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
        raise DataError(
            f"`{name}` must be above 0 and at most 1, got {value!r}; write 30 % as 0.3, and no limit as 1."
        )
    return float(value)


def check_day(name: str, value: Any) -> str:
    """Return a day as text in the ISO format."""
    import pandas as pd  # only where a day is read: the help of the command must not wait for pandas

    problem = f"`{name}` must be a date, got {value!r}; write it as 2017-01-01."
    # pandas would read numbers as nanoseconds since 1970, and empty values as missing.
    if value is None or value == "" or isinstance(value, int | float) or str(value).isdigit():
        raise DataError(problem)
    try:
        day = pd.Timestamp(value)
        if not pd.isna(day):  # which pandas makes of "NaN" and the like
            return day.date().isoformat()
    except (ValueError, TypeError, NotImplementedError):  # the last for years before 1, such as "-1"
        pass
    raise DataError(problem)
