"""Things of a user's own, found by their place: ``package.module:name``."""

from __future__ import annotations

import importlib
import re
from typing import Any

from .errors import DataError

_PLACE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def is_place(text: object) -> bool:
    """Tell whether a text is written like the place of something: ``package.module:name``."""
    return isinstance(text, str) and bool(_PLACE.fullmatch(text))


def name_at(place: str) -> str:
    """Return the last name of a place: ``package.module:name`` → ``name``."""
    return place.rpartition(":")[2]


def load_place(place: str, what: str) -> Any:
    """Import what stands at a place; an error calls it `what`, such as "metric"."""
    module, _, names = place.partition(":")
    try:
        found = importlib.import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except ImportError as error:
        raise DataError(
            f"The {what} {place!r} cannot be imported ({error}); check the spelling, and that the module is "
            "installed or lies in this folder."
        ) from error
    except AttributeError:
        raise DataError(f"The {what} {place!r}: {module} has no {names!r}; check the spelling.") from None
    return found
