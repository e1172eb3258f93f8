"""What a case is: one call of an entry point, with what may be expected of its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Rng = np.random.Generator


class UserError(Exception):
    """Raised by functions that a user of geodual might write; it must reach the user unchanged."""


def nothing_wrong(answer: Any) -> Iterable[str]:
    """Accept every answer."""
    return ()


def only_an_answer(answer: Any) -> str:
    """Return the claim of an answer that certifies nothing."""
    return "answer"


@dataclass(frozen=True)
class Case:
    """One call of an entry point.

    Attributes
    ----------
    name : str
        The call in words, for the report.
    call : callable
        Calls the entry point and returns its answer.
    inputs : tuple
        The arrays and tables that the call gets, none of which may change.
    check : callable
        ``check(answer)`` yields a sentence for everything that is wrong with the answer.
    claim : callable
        ``claim(answer)`` returns what the answer claims to be: "certificate", "status" (an honest failure) or
        "answer".
    errors : tuple of exception types
        Exceptions that count as refusals here, besides `ValueError` and `TypeError`.
    """

    name: str
    call: Callable[[], Any]
    inputs: tuple[Any, ...] = ()
    check: Callable[[Any], Iterable[str]] = nothing_wrong
    claim: Callable[[Any], str] = only_an_answer
    errors: tuple[type[BaseException], ...] = ()


def pick(rng: Rng, *choices: Any) -> Any:
    """Return one of the choices, which numpy's `choice` would turn into array entries."""
    return choices[int(rng.integers(len(choices)))]


def has_nan(values: Any) -> bool:
    """Return whether an array, or nested tuples, lists and dictionaries of numbers, hold NaN or infinity."""
    if isinstance(values, dict):
        return any(map(has_nan, values.values()))
    if isinstance(values, (tuple, list)):
        return any(map(has_nan, values))
    return not bool(np.isfinite(np.asarray(values, dtype=complex)).all())
