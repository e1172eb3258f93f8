"""Files that the page sends: streamed to a private folder, under names of our own, up to a limit."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from geodual.errors import DataError

from .jobs import Job

_KINDS = ("index", "facts")
_LONGEST = 80  # characters of a name that are shown


@dataclass(eq=False)
class Upload:
    """A file of the user.

    Attributes
    ----------
    shown : str
        Its name, for people only.
    path : Path
        Where it lies, under a name that nobody can guess or choose.
    look : Job, optional
        The job that reads a table to see what is in it.
    given : dict
        Of a table: the index and the facts that belong to it, by kind.
    form : dict
        Of a table: the settings of the last study, as the browser sent them; empty before there was one.
    """

    shown: str
    path: Path
    look: Job | None = None
    given: dict[str, Given] = field(default_factory=dict)
    form: dict[str, list[str]] = field(default_factory=dict)
    name: str = field(default_factory=lambda: token_hex(8))

    @property
    def file(self) -> tuple[str, str]:
        """The file as jobs take it."""
        return str(self.path), self.shown

    def inputs(self) -> dict[str, Any]:
        """Return the table, its index and its facts as a job takes them; raise if one is unusable."""
        for given in self.given.values():
            if not given.job.is_over:
                raise DataError(f"{given.upload.shown} is still being read. Try again in a moment.")
            if given.job.message:
                raise DataError(f"{given.job.message} Or remove the file.")
        files = {kind: self.given[kind].upload.file if kind in self.given else None for kind in _KINDS}
        column = self.given["index"].column if "index" in self.given else ""
        return {"table": self.file, **files, "column": column}

    @property
    def digest(self) -> str:
        """The SHA-256 of the values of a table that was read."""
        return str(self.look.result.get("digest", "")) if self.look is not None else ""

    @property
    def label(self) -> str:
        """A table that was read, in words: also which of several with one name it is."""
        result = self.look.result if self.look is not None else {}
        told = f"{self.shown}: {len(result.get('codes', ())):,} funds, to {result.get('days', [''])[-1]}"
        given = ", ".join(self.given[kind].upload.shown for kind in _KINDS if kind in self.given)
        return f"{told}, with {given}" if given else told

    def funds(self) -> list[tuple[str, str]]:
        """Return the funds of a table: codes, and the names that the facts know."""
        codes = self.look.result.get("codes", []) if self.look is not None else []
        names = self.given["facts"].job.result.get("names", {}) if "facts" in self.given else {}
        return [(code, names.get(code, "")) for code in codes]


@dataclass(frozen=True, eq=False)
class Given:
    """An index or facts that belong to a table: the file, the column of the index, and the job that looks."""

    upload: Upload
    column: str
    job: Job


class Receiver:
    """Writes what arrives to a new file; without `finish`, `drop` removes it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.upload = Upload(shown_name(name), folder / token_hex(16))
        self._file: BinaryIO = self.upload.path.open("xb")

    def take(self, chunk: bytes) -> None:
        """Append bytes."""
        self._file.write(chunk)

    def finish(self) -> Upload:
        """Close the file, and return it."""
        self._file.close()
        return self.upload

    def drop(self) -> None:
        """Remove the file."""
        self._file.close()
        self.upload.path.unlink(missing_ok=True)


def shown_name(name: str) -> str:
    """Return a file name as it is shown: its last part, on one line, not too long."""
    last = re.split(r"[/\\]", name)[-1]
    text = " ".join("".join(char if char.isprintable() else " " for char in last).split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 9]}…{text[-8:]}"
    return text or "table"
