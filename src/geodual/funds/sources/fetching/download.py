"""Download funds into one file each, so that a download can stop at any moment and be resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from geodual.atomic_file import write_atomically
from geodual.errors import DataError

from ..reading.table_file import read_parquet
from .adjusted_nav import adjust_nav, needs_events
from .akshare_source import Akshare

_COLUMNS = ["date", "unit_nav", "growth", "adjusted"]
_BLOCKED = 20  # this many funds in a row without an answer mean that the site is blocking


def download_funds(
    source: Akshare,
    codes: Sequence[str],
    folder: Path,
    failures: dict[str, str],
    progress: Callable[[int, int, str], object] | None = None,
) -> tuple[dict[str, pd.Series], Counter[str]]:
    """Fetch the funds that have no complete file yet.

    Parameters
    ----------
    source : Akshare
        Source of the data.
    codes : sequence of str
        Codes of the funds.
    folder : Path
        Where ``<code>.parquet`` is read and written. The file of a fund without NAVs has no rows.
    failures : dict
        Receives the errors, by code; an error of one fund does not stop the others.
    progress : callable, optional
        Called after each fund with the number of funds done, the number wanted and the code.

    Returns
    -------
    series : dict of str to Series
        Adjusted NAVs by day of each fund that has any.
    outcome : Counter
        Numbers of funds `resumed` from a file, `fetched`, `empty` and `failed`, and of `unusable_rows` in the
        first two.
    """
    series: dict[str, pd.Series] = {}
    outcome = Counter(resumed=0, fetched=0, empty=0, failed=0, unusable_rows=0)
    silent: list[str] = []
    for done, code in enumerate(codes, 1):
        table, origin = _read_fund(folder, code), "resumed"
        if table is None:
            table, origin = _fetch_fund(source, folder, code, failures), "fetched"
            silent = [*silent, code] if table is None or table.empty else []
        if len(silent) == _BLOCKED:
            _forget(silent, folder)
            raise DataError(
                f"No answer for {_BLOCKED} funds in a row, the last is {code}: the site may be blocking, or "
                "akshare may be old. Finished funds are kept; run again later, or with a longer pause."
            )
        if table is not None and not table.empty:
            series[code] = table.set_index("date")["adjusted"].dropna()
            outcome["unusable_rows"] += len(table) - len(series[code])
        outcome["failed" if table is None else "empty" if table.empty else origin] += 1
        if progress:
            progress(done, len(codes), code)
    return series, outcome


def _fetch_fund(source: Akshare, folder: Path, code: str, failures: dict[str, str]) -> pd.DataFrame | None:
    """Fetch and save one fund, or record its error."""
    try:
        history = source.fetch_history(code)
        table = adjust_nav(history, source.fetch_events(code) if needs_events(history) else None)
    except Exception as error:  # one bad fund must not stop the download of the others
        failures[code] = f"{type(error).__name__}: {error}"
        return None
    if table["adjusted"].isna().all():
        table = table.iloc[:0]
    path = folder / f"{code}.parquet"
    # With checksums, a file that is damaged later is noticed and fetched again.
    write_atomically(path, lambda place: table.to_parquet(place, index=False, write_page_checksum=True))
    return table


def _read_fund(folder: Path, code: str) -> pd.DataFrame | None:
    """Read a finished fund; None if its file is absent, cut short or damaged."""
    try:
        table = read_parquet((folder / f"{code}.parquet").read_bytes(), code)
    except Exception:  # a damaged footer can raise any exception
        return None
    return table if list(table.columns) == _COLUMNS else None


def _forget(codes: Sequence[str], folder: Path) -> None:
    """Remove the files of funds that look empty only because the site was blocking."""
    for code in codes:
        (folder / f"{code}.parquet").unlink(missing_ok=True)
