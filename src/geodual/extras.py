"""Import optional packages, such as matplotlib, or raise an error with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .errors import DataError


class MissingExtraError(DataError, ImportError):
    """Raised if an optional package is not installed; the message has the command that installs it."""


def import_extra(module: str, extra: str, what: str) -> Any:
    """Import an optional package and return it.

    Parameters
    ----------
    module : str
        Name of the module, such as "matplotlib.pyplot".
    extra : str
        The extra of geodual that installs it.
    what : str
        What needs it, as the beginning of the error message: "Plots need matplotlib".
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(_remedy(what, extra, str(error))) from error


def require_extra(extra: str, *packages: str, what: str) -> None:
    """Raise an error unless all these packages are installed, without importing them."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise MissingExtraError(_remedy(what, extra, f"not installed: {', '.join(missing)}"))


def new_axes(width: float, height: float, columns: int = 1, rows: int = 1) -> Any:
    """Return the axes of a new matplotlib figure: one, or an array of several side by side.

    Parameters
    ----------
    width, height : float
        Size of the figure in inches.
    columns, rows : int
        Number of axes side by side, and one below the other; the latter share the horizontal axis.
    """
    pyplot = import_extra("matplotlib.pyplot", "funds", "Plots need matplotlib")
    sharing = "col" if rows > 1 else False
    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", sharex=sharing)[1]


def _remedy(what: str, extra: str, reason: str) -> str:
    return f"{what}: run pip install 'geodual[{extra}]' ({reason})."
