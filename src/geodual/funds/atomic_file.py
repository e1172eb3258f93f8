"""Write files so that they are either complete or absent."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a temporary file next to `path` and rename it, so that nobody sees a half-written file.

    Several programs may write the same file at the same time: the last one to finish wins. An `OSError` names
    `path`, not the temporary file.

    Parameters
    ----------
    path : Path
        The file to create or replace; its folder must exist.
    write : callable
        Called with the temporary path, which has the same folder and the same suffix.
    """
    # The same folder is on the same file system, where `os.replace` is atomic.
    temporary = path.with_name(f".writing-{uuid4().hex}-{path.name}")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        number = error.errno or errno.EIO  # libraries such as pyarrow raise an OSError without a number
        reason = os.strerror(number) if error.errno else str(error)
        raise OSError(number, reason, str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
