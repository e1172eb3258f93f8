"""Load a user's own objects by their place: ``package.module:name``."""

from __future__ import annotations

import importlib
import re
from typing import Any

from .errors import DataError

# Two dotted names around one colon; `[^\W\d]` is a letter or underscore of any script.
_PLACE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def is_place(text: object) -> bool:
    """Tell whether a text has the form of a place: ``package.module:name``."""
    return isinstance(text, str) and bool(_PLACE.fullmatch(text))


def name_at(place: str) -> str:
    """Return the last name of a place: ``package.module:name`` → ``name``."""
    return place.rpartition(":")[2]


def load_place(place: str, what: str) -> Any:
    """Import the object at a place; error messages call it `what`, such as "metric"."""
    module, _, names = place.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in names.split("."):  # a name may be nested, as in `Class.attribute`
            if not hasattr(found, name):
                raise DataError(f"The {what} {place!r}: {module} has no {names!r}; check the spelling.")
            found = getattr(found, name)
    except ImportError as error:
        raise DataError(
            f"The {what} {place!r} cannot be imported ({error}); check the spelling, and that the module is "
            "installed or lies in this folder."
        ) from error
    return found
