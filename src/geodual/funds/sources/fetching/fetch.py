"""Download real Chinese fund NAVs and their index, fund by fund, so that a run can be resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.atomic_file import write_atomically
from geodual.errors import DataError

from ...csv_cells import write_csv
from .akshare_source import Akshare, import_akshare
from .download import download_funds
from .fund_choice import choose_funds
from .index_levels import fetch_index

KINDS = ("股票型", "混合型", "债券型", "指数型", "QDII")  # equity, mixed, bond, index, invested abroad
_LONGEST_HOLIDAY = pd.Timedelta(days=12)  # a longer gap in the index is missing data, not a holiday
_HINDSIGHT = (
    "Only current sizes are published, so the size filter uses what investors of the time did not know."
)


@dataclass(frozen=True)
class FetchSummary:
    """The numbers of funds, days and failures of a download.

    Parameters
    ----------
    folder : str
        Folder of the files.
    listed : int
        Number of funds in the list of all funds.
    unwanted : int
        Listed funds of other kinds, and back-end classes, which repeat the NAVs of another code.
    small : int
        Funds known to be smaller than asked for.
    unknown_size : int
        Funds that are wanted although their size is not published.
    wanted : int
        Funds to fetch.
    resumed : int
        Wanted funds kept from an earlier run.
    fetched : int
        Wanted funds fetched in this run.
    empty : int
        Wanted funds without any NAV.
    failed : int
        Wanted funds that could not be fetched.
    unusable_rows : int
        Published rows without a positive NAV, or corrected by a later row.
    incomplete : tuple of str
        Size classes and years of the index that could not be fetched.
    funds, days : int
        Columns and rows of ``nav.parquet``.
    first_day, last_day : str
        First and last day of ``nav.parquet`` (ISO).

    See Also
    --------
    fetch_universe : Download funds.

    Examples
    --------
    >>> from geodual.funds import FetchSummary
    >>> counts = dict(listed=9, unwanted=2, small=1, unknown_size=0, wanted=6)
    >>> counts |= dict(resumed=1, fetched=3, empty=1, failed=1, unusable_rows=0, funds=4, days=60)
    >>> summary = FetchSummary("data", **counts, incomplete=(), first_day="2015-01-05", last_day="2015-03-27")
    >>> if summary.failed or summary.incomplete:
    ...     print(f"{summary.failed} of {summary.wanted} funds failed; run fetch_universe again")
    1 of 6 funds failed; run fetch_universe again
    """

    folder: str
    listed: int
    unwanted: int
    small: int
    unknown_size: int
    wanted: int
    resumed: int
    fetched: int
    empty: int
    failed: int
    unusable_rows: int
    incomplete: tuple[str, ...]
    funds: int
    days: int
    first_day: str
    last_day: str


def fetch_universe(
    out: str | Path,
    *,
    start: str = "2012-01-01",
    end: str | None = None,
    minimum_size: float = 1e8,
    kinds: str | Sequence[str] = KINDS,
    limit: int | None = None,
    pause: float = 0.5,
    retries: int = 5,
    seed: int = 0,
    client: Any = None,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[int, int, str], object] | None = None,
) -> FetchSummary:
    """Download adjusted NAVs of Chinese open-end funds and the CSI 930950 index through akshare.

    Each fund is saved in a file of its own, ``funds/<code>.parquet`` (`date`, `unit_nav` and `growth` as
    published, and `adjusted`). If a run is interrupted, the next one fetches only what is missing, damaged or
    had failed. At the end come ``nav.parquet`` (trading day × fund, adjusted), ``index.csv``, ``meta.csv``
    (code, name, type, size), ``failed.csv`` (code, error) and ``fetch.json`` (time, settings, summary). To
    bring NAVs up to date, use a new folder.

    Parameters
    ----------
    out : str or Path
        Folder for the files; it is created if necessary.
    start : str
        First day of ``nav.parquet`` and ``index.csv``.
    end : str, optional
        Last day; today by default.
    minimum_size : float
        Funds known to be smaller now, in yuan, are left out. Funds whose size is not published are taken,
        without a size in ``meta.csv``, so that they can be filtered later.
    kinds : str or sequence of str
        Beginnings of the types to take. Money-market funds have no NAV of this kind.
    limit : int, optional
        Fetch at most this number of funds, to try it out.
    pause : float
        Seconds to wait before each call.
    retries : int
        Number of times to repeat a failing call; the wait doubles each time.
    seed : int
        Seed of the random part of these waits.
    client : module, optional
        Stand-in for akshare.
    sleep : callable
        Waits the given number of seconds.
    progress : callable, optional
        Called after each fund with the number of funds done, the number wanted and the code.

    Returns
    -------
    FetchSummary
        Numbers of funds fetched, left out and failed.

    Raises
    ------
    DataError
        If akshare is not installed, an argument is wrong, no fund has a NAV, or the site does not answer for
        many funds in a row.

    See Also
    --------
    read_nav : Read ``nav.parquet``.
    read_index : Read ``index.csv``.

    Examples
    --------
    Here a stand-in for akshare answers with two days of one fund; leave `client` out to download real data.

    >>> import tempfile
    >>> import pandas as pd
    >>> from geodual.funds import fetch_universe
    >>> class Client:
    ...     def fund_name_em(self):
    ...         return pd.DataFrame({"基金代码": ["000001"], "基金简称": ["A"], "基金类型": ["混合型"]})
    ...     def fund_scale_open_sina(self, symbol):
    ...         return None
    ...     def stock_zh_index_hist_csindex(self, symbol, start_date, end_date):
    ...         return None
    ...     def fund_open_fund_info_em(self, symbol, indicator, period):
    ...         days, nav, growth = ["2015-01-05", "2015-01-06"], [1.0, 1.1], [None, 10.0]
    ...         return pd.DataFrame({"净值日期": days, "单位净值": nav, "日增长率": growth})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = fetch_universe(folder, start="2015-01-01", end="2015-12-31", client=Client(), pause=0.0)
    >>> summary.fetched, summary.unknown_size, summary.first_day, summary.last_day
    (1, 1, '2015-01-05', '2015-01-06')
    """
    kinds = [kinds] if isinstance(kinds, str) else [*kinds]
    settings = {"start": start, "end": end, "minimum_size": minimum_size, "kinds": kinds, "limit": limit}
    first, last = _check_range(start, end)
    _check_numbers(minimum_size=minimum_size, pause=pause, retries=retries, limit=limit)
    source = Akshare(client or import_akshare(), pause, retries, sleep, np.random.default_rng(seed))
    folder = _make_folder(Path(out))
    failures: dict[str, str] = {}
    try:
        meta, selection = choose_funds(source, kinds, minimum_size, limit, failures)
        index = fetch_index(source, first, last, folder / "index.csv", failures)
        incomplete = tuple(failures)
        series, outcome = download_funds(source, list(meta.index), folder / "funds", failures, progress)
    finally:  # an interrupted run must list its failures, too
        table = pd.DataFrame(failures.items(), columns=["code", "error"])
        write_csv(folder / "failed.csv", table, keep_index=False)
    nav = _assemble(series, index.index, first, last)
    if nav.empty:
        raise DataError(
            f"No fund had a NAV from {first:%Y-%m-%d} to {last:%Y-%m-%d}; see {folder}/failed.csv, or change "
            "`start`, `end` or `minimum_size`."
        )
    summary = FetchSummary(
        folder=str(folder),
        **selection,
        **outcome,
        incomplete=incomplete,
        funds=nav.shape[1],
        days=nav.shape[0],
        first_day=f"{nav.index[0]:%Y-%m-%d}",
        last_day=f"{nav.index[-1]:%Y-%m-%d}",
    )
    if not index.empty:
        write_csv(folder / "index.csv", index.rename_axis("date").to_frame(), keep_index=True)
    write_csv(folder / "meta.csv", meta.loc[nav.columns].rename_axis("code"), keep_index=True)
    write_atomically(folder / "nav.parquet", lambda path: nav.to_parquet(path))
    report = _describe_run(summary, settings, getattr(source.client, "__version__", "unknown"))
    write_atomically(folder / "fetch.json", lambda path: path.write_text(report, "utf-8"))
    return summary


def _check_range(start: str, end: str | None) -> tuple[pd.Timestamp, pd.Timestamp]:
    try:
        first, last = pd.Timestamp(start), pd.Timestamp(end or datetime.now().date())
    except ValueError as error:
        raise DataError(f"`start` and `end` must be dates ({error}); write them as 2012-01-01.") from error
    if not first <= last:
        raise DataError(f"`start` must not be after `end`, got {start} and {end or 'today'}; swap them.")
    return first, last


def _check_numbers(**numbers: float | None) -> None:
    for name, number in numbers.items():
        least = int(name == "limit")
        if number is not None and not number >= least:  # in this form, NaN is refused too
            raise DataError(f"`{name}` must be at least {least}, got {number}; leave it out for the default.")


def _make_folder(folder: Path) -> Path:
    try:
        (folder / "funds").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be used as a folder ({error.strerror}); name another.") from error
    return folder


def _assemble(
    series: Mapping[str, pd.Series], open_days: pd.Index, first: pd.Timestamp, last: pd.Timestamp
) -> pd.DataFrame:
    """Return day × fund on trading days.

    Funds publish a NAV at the end of June and December even if the exchange is closed. A closed day is a day
    at a weekend, or a day between two days of the index on which the index has no level. Such days are left
    out; their returns go to the next day.
    """
    if not series:
        return pd.DataFrame()
    nav = pd.concat(series, axis=1, sort=True).rename_axis(index="date", columns="fund").loc[first:last]
    calendar = pd.Series(open_days, open_days)
    at_weekend = pd.DatetimeIndex(nav.index).day_of_week >= 5
    # From the index day on or before a row to the one on or after it: zero if the index has this day.
    gap = calendar.reindex(nav.index, method="bfill") - calendar.reindex(nav.index, method="ffill")
    closed = at_weekend | (gap > pd.Timedelta(0)) & (gap <= _LONGEST_HOLIDAY)
    return nav.loc[~closed].dropna(axis=1, how="all")


def _describe_run(summary: FetchSummary, settings: Mapping[str, Any], version: str) -> str:
    """Return the text of ``fetch.json``."""
    report = {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "akshare": version,
        "settings": settings,
        "summary": asdict(summary),
        "note": _HINDSIGHT,
    }
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"
