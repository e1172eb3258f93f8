"""Write files atomically: a file is either complete or absent."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows: leftovers of killed programs stay
    fcntl = None  # type: ignore[assignment]

_MARK = ".writing-"


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: a temporary file next to `path` is written first, then renamed.

    Several programs may write the same file at the same time; the last one to finish wins. Temporary files of
    the same file that killed programs left behind are removed. An `OSError` names `path`, not the temporary
    file.

    Parameters
    ----------
    path : Path
        The file to create or replace; its folder must exist.
    write : callable
        Called with the temporary path, which has the same folder and the same suffix. It must write into the
        file that exists there.
    """
    # The same folder is on the same file system, where `os.replace` is atomic.
    temporary = path.parent / f"{_MARK}{uuid4().hex}-{path.name}"
    try:
        with _claimed(temporary):
            write(temporary)
            os.replace(temporary, path)
    except OSError as error:
        number = error.errno or errno.EIO  # libraries such as pyarrow raise an OSError without a number
        reason = os.strerror(number) if error.errno else str(error)
        raise OSError(number, reason, str(path)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    _remove_leftovers(path)


@contextmanager
def _claimed(temporary: Path) -> Iterator[None]:
    """Create a temporary file and lock it; the operating system frees the lock if the program is killed."""
    if fcntl is None:
        yield
        return
    while True:
        with temporary.open("xb") as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            # Before the file was locked, another program may have removed it as a leftover.
            if temporary.exists():
                yield
                return


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of `path` that no running program writes to."""
    if fcntl is None:
        return
    for name in glob.glob(f"{_MARK}{'[0-9a-f]' * 32}-{glob.escape(path.name)}", root_dir=path.parent):
        leftover = path.parent / name
        with suppress(OSError), leftover.open("rb") as file:  # an error means that a program writes to it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()
