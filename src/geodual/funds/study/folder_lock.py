"""Keep a run folder from two runs that write at the same time."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout, UnixFileLock

from geodual.errors import DataError

_NAME = ".lock"
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP)  # errors of file systems that know no locks


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder while a block runs; in a thread that holds it already, do nothing.

    The operating system frees the lock if the process is killed. A hidden file marks the folder while it is
    held; afterward the file is gone, and so are folders that were made for it and are still empty.

    Parameters
    ----------
    folder : Path
        The run folder; created if needed.

    Raises
    ------
    DataError
        Immediately, if another run holds the folder.
    """
    # One object per file, so that a call inside a call finds the lock held.
    lock = FileLock(folder.resolve() / _NAME, blocking=False, is_singleton=True)
    if lock.is_locked:
        yield
        return
    made = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _acquire(lock, folder)
        yield
    finally:
        _release(lock)
        for path in made:  # the innermost comes first
            with suppress(OSError):  # not empty
                path.rmdir()


def _acquire(lock: FileLock, folder: Path) -> None:
    try:
        lock.acquire()
    except Timeout:
        raise DataError(
            f"{folder}: another run is writing to this folder. Wait until it has ended, or choose another "
            "folder."
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:  # without locks, run as before there were any
            raise OSError(error.errno, error.strerror, str(folder)) from None


def _release(lock: FileLock) -> None:
    if not lock.is_locked:
        return
    # Elsewhere filelock removes the file itself. While the lock is held this is safe: a run that has
    # opened the file already sees that it has no name any more, and tries again.
    if isinstance(lock, UnixFileLock):
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
