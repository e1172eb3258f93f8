"""Older sources to compare with: a folder, or a commit of this repository."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from .one_fit import ROOT


@contextmanager
def older_sources(place: str | None) -> Iterator[Path | None]:
    """Yield a folder with the older sources in its folder `src`; None if there is nothing to compare with.

    Parameters
    ----------
    place : str, optional
        Such a folder, or a commit.
    """
    if place is None or (Path(place) / "src" / "geodual").is_dir():
        yield None if place is None else Path(place)
        return
    command = ["git", "archive", place, "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode().strip()
        raise ValueError(f"`--old` must be a checkout of geodual or a commit of it, got {place} ({reason}).")
    with TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder)
