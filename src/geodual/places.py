"""Load a user's own objects by their import path: ``package.module:name``."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from .errors import DataError

# Two dotted names around one colon; `[^\W\d]` is a letter or underscore of any script.
_PLACE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
_ABSENT = object()


def is_place(text: object) -> bool:
    """Return whether a text has the form of an import path: ``package.module:name``."""
    return isinstance(text, str) and bool(_PLACE.fullmatch(text))


def name_at(place: str) -> str:
    """Return the last name of an import path: ``package.module:name`` → ``name``."""
    return place.rpartition(":")[2]


def load_place(place: str, what: str) -> Any:
    """Import the object at an import path; error messages call it `what`, such as "metric"."""
    module, _, names = place.partition(":")
    found = run_own(
        lambda: _find(module, names),
        f"The {what} {place!r} cannot be imported",
        "check the spelling, and that the module runs and is installed or in this folder",
    )
    if found is _ABSENT:
        raise DataError(f"The {what} {place!r}: {module} has no {names!r}; check the spelling.")
    return found


def run_own(run: Callable[[], Any], problem: str, remedy: str) -> Any:
    """Run the user's own code and return its result; any exception, even SystemExit, becomes a DataError.

    Parameters
    ----------
    run : callable
        The code.
    problem, remedy : str
        Beginning and end of the error message.
    """
    try:
        return run()
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DataError(f"{problem} ({reason}); {remedy}.") from error


def _find(module: str, names: str) -> Any:
    found: Any = importlib.import_module(module)
    for name in names.split("."):  # a name may be nested, as in `Class.attribute`
        found = getattr(found, name, _ABSENT)
    return found
