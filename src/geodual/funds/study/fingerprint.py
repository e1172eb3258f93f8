"""A text that identifies forecasters and factors, the user's own code included."""

from __future__ import annotations

import inspect
import io
import pickle
import sys
from contextlib import suppress
from types import FunctionType
from typing import Any
from uuid import uuid4

import joblib

# Packages whose code does not change between two runs; the version of geodual is checked besides.
_INSTALLED = ("geodual", "sklearn", "numpy", "pandas", "scipy", "builtins")


def fingerprint(parts: object) -> str:
    """Return a text that identifies forecasters and factors; a unique one if they cannot be hashed.

    A pickle names classes and functions, but does not hold their code. So the source of the modules that
    define them is hashed too: after a change of it, no decision of before is reused.

    Parameters
    ----------
    parts : object
        Forecasters and factors.
    """
    try:
        code = _CodeFinder()
        code.dump(parts)
        return str(joblib.hash((parts, sorted(code.found.items()))))
    except (TypeError, AttributeError, pickle.PicklingError):
        return uuid4().hex  # matches no checkpoint, so that nothing wrong is reused


class _CodeFinder(pickle.Pickler):
    """Finds the classes and functions that a pickle refers to, and their source."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.found: dict[str, str] = {}

    def reducer_override(self, thing: Any) -> Any:
        """Note the source of a class or function; it is pickled as usual."""
        if isinstance(thing, type | FunctionType) and thing.__module__.split(".")[0] not in _INSTALLED:
            self.found[f"{thing.__module__}.{thing.__qualname__}"] = _source(thing)
        return NotImplemented


def _source(thing: Any) -> str:
    """Return the source of the module that defines a class or function, or at least its own."""
    with suppress(OSError, TypeError):  # a notebook has no file
        return inspect.getsource(sys.modules[thing.__module__])
    try:
        return inspect.getsource(thing)
    except TypeError:  # compiled code
        return ""
    except OSError:  # typed at a prompt: nobody can tell whether it has changed
        return uuid4().hex
