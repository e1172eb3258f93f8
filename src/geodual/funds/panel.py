"""The table of net asset values that every stage of a fund study starts from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from geodual.errors import DataError

BLOCK = 2**21  # values per block: memory for arrays of this size is used again, larger ones get new pages


@dataclass(frozen=True)
class Finding:
    """Something found in a NAV table that its user should know about.

    Parameters
    ----------
    kind : str
        What was found, such as ``"gap"`` or ``"jump"``.
    matters : bool
        Whether it can change a result; ``geodual check`` then ends with exit code 1.
    fund : str
        The fund concerned, or ``""`` for the whole table.
    date : str
        The first day concerned (ISO), or ``""``.
    count : int
        Number of values, rows or funds concerned.
    message : str
        One sentence for the reader.

    See Also
    --------
    inspect_quality : Find what can mislead a study.
    Panel : A NAV table with its findings.

    Examples
    --------
    >>> from geodual.funds import Finding
    >>> findings = [
    ...     Finding("late-start", False, "", "2014-05-06", 2, "2 of 9 funds start after the first day."),
    ...     Finding("gap", True, "000001", "2014-03-03", 8, "8 values missing."),
    ... ]
    >>> [(finding.kind, finding.fund) for finding in findings if finding.matters]
    [('gap', '000001')]
    """

    kind: str
    matters: bool
    fund: str
    date: str
    count: int
    message: str


@dataclass(frozen=True, eq=False)
class Panel:
    """Net asset values of many funds on common days, the input of a fund study.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        Day × fund: an increasing, unique DatetimeIndex named ``date``, text columns named ``fund``, positive
        floats, NaN where a fund has no value (not started, closed, or a gap).
    source : str
        Where the values come from, for messages and reports.
    findings : tuple of Finding
        What was found while the table was read and checked.

    See Also
    --------
    read_nav : Read and check a table from a file or a DataFrame.
    synthetic_universe : Draw a panel to try things on.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodual.funds import Panel
    >>> days = pd.bdate_range("2016-01-04", periods=3, name="date")
    >>> panel = Panel(pd.DataFrame({"A": [1.0, 1.1, 1.2], "B": [2.0, None, 1.9]}, index=days))
    >>> panel.until(days[1]).nav.shape
    (2, 2)
    """

    nav: pd.DataFrame
    source: str = "DataFrame"
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        remedy = "Make such a table with `read_nav`."
        if not isinstance(self.nav, pd.DataFrame):
            raise DataError(f"`nav` must be a pandas DataFrame, got {type(self.nav).__name__}. {remedy}")
        names = self.nav.columns
        if not (names.is_unique and all(isinstance(name, str) for name in names)):
            raise DataError(f"The columns of `nav` must be different texts, the names of funds. {remedy}")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of days, funds and values: panels with the same digest give the same study."""
        hasher = hashlib.sha256()
        hasher.update("\n".join(self.nav.columns).encode())
        # One unit for all: the same days stored in microseconds have the same digest.
        hasher.update(self.nav.index.to_numpy("datetime64[ns]").tobytes())
        hasher.update(self.nav.to_numpy(float).tobytes())
        return hasher.hexdigest()

    def until(self, day: pd.Timestamp) -> Panel:
        """Return the panel as it was known on a day: without later rows."""
        return Panel(self.nav.loc[:day], self.source, self.findings)


def fund_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Yield the columns of a NAV table in blocks, so that working memory does not grow with the funds.

    Parameters
    ----------
    shape : tuple of int
        Number of days and number of funds.
    """
    size = max(BLOCK // max(shape[0], 1), 1)
    for start in range(0, shape[1], size):
        yield slice(start, start + size)
