"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside its place and move it there, so that it is never seen half-written.

    Several programs may write the same file at the same time: the last one to finish wins. An `OSError` names
    the file asked for.

    Parameters
    ----------
    path : Path
        The file to make or replace; its folder exists.
    write : callable
        Called with the path to write to, in the same folder and with the same suffix.
    """
    temporary = path.with_name(f".writing-{uuid4().hex}-{path.name}")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        number = error.errno or errno.EIO
        reason = os.strerror(number) if error.errno else str(error)
        raise OSError(number, reason, str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
