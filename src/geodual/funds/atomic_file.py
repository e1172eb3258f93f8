"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place and move it there, so that it is never seen half-written.

    Parameters
    ----------
    path : Path
        The file to make or replace; its folder exists.
    write : callable
        Called with the path to write to, in the same folder and with the same suffix.
    """
    temporary = path.with_name(f".writing-{path.name}")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
