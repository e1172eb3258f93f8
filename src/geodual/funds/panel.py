"""The table of net asset values that every stage of a fund study starts from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import pandas as pd


@dataclass(frozen=True)
class Finding:
    """One remark on the quality of a NAV table.

    Parameters
    ----------
    kind : str
        What was found, such as ``"gap"`` or ``"jump"``.
    matters : bool
        Whether it can change a result, so that ``geodual check`` ends with exit code 1.
    fund : str
        The fund concerned, or ``""`` for the whole table.
    date : str
        The first day concerned (ISO), or ``""``.
    count : int
        How many values are concerned.
    message : str
        One sentence for the reader.
    """

    kind: str
    matters: bool
    fund: str
    date: str
    count: int
    message: str


@dataclass(frozen=True, eq=False)
class Panel:
    """Net asset values of many funds on common days.

    Parameters
    ----------
    nav : DataFrame
        Day × fund; an increasing, unique DatetimeIndex named ``date``, text columns named ``fund``, positive
        floats, NaN where a fund has no value (not born, closed, a gap).
    source : str
        Where the values came from, for messages and reports.
    findings : tuple of Finding
        What the reader remarked.
    """

    nav: pd.DataFrame
    source: str = "DataFrame"
    findings: tuple[Finding, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of days, funds and values: two panels with one digest give the same study."""
        hasher = hashlib.sha256()
        hasher.update("\n".join(self.nav.columns).encode())
        hasher.update(self.nav.index.to_numpy("datetime64[ns]").tobytes())
        hasher.update(self.nav.to_numpy(float).tobytes())
        return hasher.hexdigest()

    def until(self, day: pd.Timestamp) -> Panel:
        """Return the panel as it was known on a day: no later row."""
        return Panel(self.nav.loc[:day], self.source, self.findings)
