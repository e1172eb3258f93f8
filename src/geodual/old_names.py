"""Names that were spelled otherwise before 0.3.0: they still work, and warn."""

from __future__ import annotations

import warnings
from typing import Any


def warn_of_old_name(old: str, new: str) -> None:
    """Warn, at the line that called the caller, that a name is old."""
    warnings.warn(f"`{old}` is now called `{new}`; the old name will go.", FutureWarning, stacklevel=3)


class OldName:
    """Let an attribute of a class be read by its old name, with a warning.

    Parameters
    ----------
    new : str
        Name of the attribute now.
    """

    def __init__(self, new: str):
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:  # what lists the attributes of a class lists each of them once
            raise AttributeError(self._old)
        value = getattr(instance, self._new)
        warn_of_old_name(self._old, self._new)
        return value
