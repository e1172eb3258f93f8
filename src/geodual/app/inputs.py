"""The files of the user as jobs get them: each is a pair of its path and the name that its owner gave it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from geodual import funds
from geodual.errors import DataError
from geodual.funds.config import StudyConfig
from geodual.funds.sources.reading.fund_facts import take_facts

from .form import label_of

File = tuple[str, str]
Result = dict[str, Any]

_Read = TypeVar("_Read")

# What messages call an argument of a function or an option, and where the app asks for it.
_IN_APP = {
    "give them again as `facts` (--meta)": "add the file on the page of the table",
    "give fund facts (--meta)": "add facts about the funds on the page of the table",
    "(`facts` in Python, --meta in the command)": "on the page of the table",
    "Give `cash` (--cash) to invest": "Write cash to invest",
    "Choose a later `as_of`, or run": "Choose a later version of the table, or run",
}


def tell(error: DataError) -> str:
    """Return what went wrong in words of the app: settings are called as in the form."""
    text = str(error)
    for ours, told in _IN_APP.items():
        text = text.replace(ours, told)
    settings = "|".join(field.name for field in fields(StudyConfig))
    return re.sub(f"`({settings})`", lambda name: f"“{label_of(name[1])}”", text)


def open_file(read: Callable[[str], _Read], file: File) -> _Read:
    """Read a file; error messages call it as its owner does."""
    path, name = file
    try:
        return read(path)
    except DataError as error:
        raise DataError(str(error).replace(path, name)) from error


def open_holdings(file: File) -> funds.Holdings:
    """Read what is held; later messages, too, call it as its owner does."""
    return replace(open_file(funds.read_holdings, file), source=file[1])


@dataclass(frozen=True)
class Inputs:
    """A table, and what belongs to it.

    Attributes
    ----------
    table : file
        NAVs, in any form that `read_nav` reads.
    index, facts : file, optional
        Index levels, and facts about the funds.
    column : str
        Column of the index; "" for the only one.
    """

    table: File
    index: File | None = None
    column: str = ""
    facts: File | None = None

    def panel(self) -> funds.Panel:
        """Read the table."""
        return replace(open_file(funds.read_nav, self.table), source=self.table[1])

    def given(self) -> Result:
        """Read the index and the facts, as arguments of the functions of `geodual.funds`."""
        return {"index": self._levels(), "facts": None if self.facts is None else self.known_facts()}

    def _levels(self) -> Any:
        if self.index is None:
            return None
        return open_file(lambda path: funds.read_index(path, self.column or None), self.index)

    def known_facts(self) -> funds.FundFacts:
        """Read the facts; without a file, nothing is known."""
        return take_facts(None) if self.facts is None else open_file(funds.read_facts, self.facts)
