"""Download fund NAVs and an index from a source, fund by fund, so that a run can be resumed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from geodual.atomic_file import write_atomically
from geodual.errors import DataError

from ...config import check_day
from ...csv_cells import write_csv
from ...run import ProgressCallback, ignore_progress
from ..reading.table_file import read_parquet
from .source import FundSource, Pace, check_least, find_source

_LONGEST_HOLIDAY = pd.Timedelta(days=12)  # a longer gap in the index is missing data, not a holiday
_HINDSIGHT = (
    "Only current sizes are published, so the size filter uses what investors of the time did not know."
)
_BLOCKED = 20  # this many funds in a row without an answer mean that the site is blocking


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
        Listed funds of other kinds, and those that only repeat the NAVs of another code.
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
    source: str | FundSource = "akshare",
    start: str = "2012-01-01",
    end: str | None = None,
    minimum_size: float = 1e8,
    kinds: str | Sequence[str] | None = None,
    limit: int | None = None,
    pause: float = 0.5,
    retries: int = 5,
    progress: ProgressCallback = ignore_progress,
) -> FetchSummary:
    """Download adjusted NAVs of funds and an index: through akshare, Chinese open-end funds and CSI 930950.

    Each fund is saved in its own file, ``funds/<code>.parquet`` (`date`, `adjusted`, and what the source
    published). If a run is interrupted, the next one fetches only what is missing, damaged or had failed. At
    the end, it writes ``nav.parquet`` (trading day × fund, adjusted), ``index.csv``, ``meta.csv`` (code,
    name, type, size), ``failed.csv`` (code, error) and ``fetch.json`` (time, settings, summary). To bring
    NAVs up to date, use a new folder.

    Parameters
    ----------
    out : str or Path
        Folder for the files; it is created if necessary.
    source : str or object
        Where the data come from: "akshare", an import path such as ``package.module:Class``, or an object of
        your own (see `docs/add_a_source.md`).
    start : str
        First day of ``nav.parquet`` and ``index.csv``.
    end : str, optional
        Last day; today by default.
    minimum_size : float
        Funds known to be smaller now are left out; akshare's sizes are in yuan. Funds whose size is not
        published are included, without a size in ``meta.csv``, so you can filter them later.
    kinds : str or sequence of str, optional
        Beginnings of the types to include; by default those of the source. With akshare, money-market funds
        are left out, because they have no NAV of this kind.
    limit : int, optional
        Fetch at most this number of funds, for a trial run.
    pause : float
        Seconds to wait before each call.
    retries : int
        Number of times to repeat a failing call; the wait doubles each time.
    progress : callable
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
    Here a source answers with two days of one fund; leave `source` out to download real data.

    >>> import tempfile
    >>> import pandas as pd
    >>> from geodual.funds import fetch_universe
    >>> class Source:
    ...     name, version, index, kinds = "mine", "1", "market", ("",)
    ...     def list_funds(self, failures):
    ...         return pd.DataFrame({"name": ["A"], "type": ["equity"]}, index=["000001"])
    ...     def fetch_nav(self, code):
    ...         days = pd.to_datetime(["2015-01-05", "2015-01-06"])
    ...         return pd.DataFrame({"date": days, "adjusted": [1.0, 1.1]})
    ...     def fetch_index(self, first, last):
    ...         return pd.Series(dtype=float, index=pd.DatetimeIndex([]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summary = fetch_universe(folder, source=Source(), start="2015-01-01", end="2015-12-31")
    >>> summary.fetched, summary.unknown_size, summary.first_day, summary.last_day
    (1, 1, '2015-01-05', '2015-01-06')
    """
    first, last = _check_range(start, end)
    check_least(0, minimum_size=minimum_size)
    check_least(1, limit=limit)
    source = find_source(source, Pace(pause, retries))
    kinds = [kinds] if isinstance(kinds, str) else [*(source.kinds if kinds is None else kinds)]
    settings = {"start": start, "end": end, "minimum_size": minimum_size, "kinds": kinds, "limit": limit}
    folder = _make_folder(Path(out))
    failures: dict[str, str] = {}
    try:
        meta, selection = _choose_funds(source.list_funds(failures), kinds, minimum_size, limit)
        index = _fetch_index(source, first, last, folder / "index.csv", failures)
        incomplete = tuple(failures)
        series, outcome = _download_funds(source, list(meta.index), folder / "funds", failures, progress)
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
    report = _describe_run(summary, settings, source)
    write_atomically(folder / "fetch.json", lambda path: path.write_text(report, "utf-8"))
    return summary


def _check_range(start: str, end: str | None) -> tuple[pd.Timestamp, pd.Timestamp]:
    last = datetime.now().date() if end is None else check_day("end", end)
    range_ = pd.Timestamp(check_day("start", start)), pd.Timestamp(last)
    if range_[0] > range_[1]:
        raise DataError(f"`start` must not be after `end`, got {start} and {end or 'today'}; swap them.")
    return range_


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


def _describe_run(summary: FetchSummary, settings: Mapping[str, Any], source: FundSource) -> str:
    """Return the text of ``fetch.json``."""
    report = {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        source.name: source.version,
        "settings": settings,
        "summary": asdict(summary),
        "note": _HINDSIGHT,
    }
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def _download_funds(
    source: FundSource,
    codes: Sequence[str],
    folder: Path,
    failures: dict[str, str],
    progress: ProgressCallback,
) -> tuple[dict[str, pd.Series], Counter[str]]:
    """Fetch the funds that have no complete file ``<code>.parquet`` in the folder yet.

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
                f"{source.name} may be old. Finished funds are kept; run again later, or with a longer pause."
            )
        if table is not None and not table.empty:
            series[code] = table.set_index("date")["adjusted"].dropna()
            outcome["unusable_rows"] += len(table) - len(series[code])
        outcome["failed" if table is None else "empty" if table.empty else origin] += 1
        progress(done, len(codes), code)
    return series, outcome


def _fetch_fund(source: FundSource, folder: Path, code: str, failures: dict[str, str]) -> pd.DataFrame | None:
    """Fetch and save one fund, or record its error; the file of a fund without NAVs has no rows."""
    try:
        table = _check_nav(source.fetch_nav(code))
    except Exception as error:  # one bad fund must not stop the download of the others
        failures[code] = f"{type(error).__name__}: {error}"
        return None
    if table["adjusted"].isna().all():
        table = table.iloc[:0]
    path = folder / f"{code}.parquet"
    # With checksums, a file that is damaged later is noticed and fetched again.
    write_atomically(path, lambda place: table.to_parquet(place, index=False, write_page_checksum=True))
    return table


def _check_nav(table: pd.DataFrame) -> pd.DataFrame:
    """Return the history of a fund; raise if a source gave it another form."""
    used = table.dropna(subset="adjusted")
    if not (used["adjusted"] > 0.0).all() or used["date"].duplicated().any():
        raise DataError("`fetch_nav` must return one positive value per day; correct the source.")
    return table


def _read_fund(folder: Path, code: str) -> pd.DataFrame | None:
    """Read a finished fund; None if its file is absent, cut short or damaged."""
    try:
        table = read_parquet((folder / f"{code}.parquet").read_bytes(), code)
    except Exception:  # a damaged footer can raise any exception
        return None
    return table if {"date", "adjusted"} <= set(table.columns) else None


def _forget(codes: Sequence[str], folder: Path) -> None:
    """Remove the files of funds that look empty only because the site was blocking."""
    for code in codes:
        (folder / f"{code}.parquet").unlink(missing_ok=True)


def _choose_funds(
    listed: pd.DataFrame, kinds: Sequence[str], minimum_size: float, limit: int | None
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the funds to fetch, and the numbers of funds listed, left out and chosen."""
    wanted = listed["type"].str.startswith(tuple(kinds))
    if "repeats" in listed:
        wanted &= ~listed["repeats"]
    chosen = listed[wanted].reindex(columns=["name", "type", "size"])
    if chosen.empty:
        raise DataError(
            f"None of the {len(listed)} listed funds is of the kinds {', '.join(kinds)}; change `kinds`."
        )
    # Written as "not smaller", the condition keeps funds of unknown size (NaN).
    meta = chosen[~(chosen["size"] < minimum_size)].sort_index().iloc[:limit]
    return meta, {
        "listed": len(listed),
        "unwanted": len(listed) - len(chosen),
        "small": int((chosen["size"] < minimum_size).sum()),
        "unknown_size": int(meta["size"].isna().sum()),
        "wanted": len(meta),
    }


def _fetch_index(
    source: FundSource, first: pd.Timestamp, last: pd.Timestamp, known: Path, failures: dict[str, str]
) -> pd.Series:
    """Return the levels of the index; for years that fail, those of an earlier run, in the file `known`."""
    parts = [_read_known(known, source.index)]
    # Year by year, since sites cut long answers.
    for year in range(first.year, last.year + 1):
        opening, closing = max(first, pd.Timestamp(year, 1, 1)), min(last, pd.Timestamp(year, 12, 31))
        try:
            parts.append(source.fetch_index(opening, closing))
        except Exception as error:  # one bad year must not stop the others
            failures[f"index {year}"] = str(error)
    index = pd.concat(parts)
    latest: pd.Series = index.loc[~index.index.duplicated(keep="last")].sort_index()
    return latest.loc[first:last].rename(source.index)


def _read_known(path: Path, name: str) -> pd.Series:
    try:
        return pd.read_csv(path, index_col="date", parse_dates=["date"])[name].astype(float)
    except (OSError, ValueError, KeyError):
        return pd.Series(dtype=float, index=pd.DatetimeIndex([]))
