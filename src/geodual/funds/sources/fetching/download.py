"""One file a fund, written in one go, so that a download can break at any moment and be resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from geodual.errors import DataError

from ...atomic_file import write_atomically
from .adjusted_nav import adjust_nav, needs_events
from .akshare_source import Akshare

_COLUMNS = ["date", "unit_nav", "growth", "adjusted"]
_BLOCKED = 20  # funds in a row without an answer


def download_funds(
    source: Akshare,
    codes: Sequence[str],
    folder: Path,
    failures: dict[str, str],
    progress: Callable[[int, int, str], object] | None = None,
) -> tuple[dict[str, pd.Series], Counter[str]]:
    """Fetch the funds that have no sound file yet.

    Parameters
    ----------
    source : Akshare
        Who is asked.
    codes : sequence of str
        The funds.
    folder : Path
        Where ``<code>.parquet`` is read and written. The file of a fund without NAVs has no row.
    failures : dict
        Receives what went wrong, by code, while the others go on.
    progress : callable, optional
        Called with funds done, funds wanted and the code after each fund.

    Returns
    -------
    series : dict of str to Series
        Adjusted NAVs by day, of the funds that have any.
    outcome : Counter
        Funds `resumed` from a file, `fetched`, `empty` and `failed`; `unusable_rows` of the first two.
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
                f"No answer for {_BLOCKED} funds in a row, last {code}: the site may be blocking, or akshare "
                "out of date. What is finished is kept; run again later, or with a longer pause."
            )
        if table is not None and not table.empty:
            series[code] = table.set_index("date")["adjusted"].dropna()
            outcome["unusable_rows"] += len(table) - len(series[code])
        outcome["failed" if table is None else "empty" if table.empty else origin] += 1
        if progress:
            progress(done, len(codes), code)
    return series, outcome


def _fetch_fund(source: Akshare, folder: Path, code: str, failures: dict[str, str]) -> pd.DataFrame | None:
    """Fetch and save one fund, or record why not."""
    try:
        history = source.fetch_history(code)
        table = adjust_nav(history, source.fetch_events(code) if needs_events(history) else None)
    except Exception as error:  # one odd fund must not end the others' download
        failures[code] = f"{type(error).__name__}: {error}"
        return None
    if table["adjusted"].isna().all():
        table = table.iloc[:0]
    path = folder / f"{code}.parquet"
    write_atomically(path, lambda place: table.to_parquet(place, index=False, write_page_checksum=True))
    return table


def _read_fund(folder: Path, code: str) -> pd.DataFrame | None:
    """Read a finished fund; nothing if it is absent, cut short or damaged."""
    try:
        table = pd.read_parquet(folder / f"{code}.parquet", page_checksum_verification=True)
    except Exception:  # a damaged footer raises anything
        return None
    return table if list(table.columns) == _COLUMNS else None


def _forget(codes: Sequence[str], folder: Path) -> None:
    """Remove the files of funds whose empty answers were no answers."""
    for code in codes:
        (folder / f"{code}.parquet").unlink(missing_ok=True)
