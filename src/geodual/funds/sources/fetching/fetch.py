"""Real Chinese fund NAVs and their index, downloaded fund by fund so that a broken run can be resumed."""

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

from geodual.errors import DataError

from ...atomic_file import write_atomically
from .akshare_source import SIZE_CLASSES, Akshare, import_akshare
from .download import download_funds

KINDS = ("股票型", "混合型", "债券型", "指数型", "QDII")
INDEX_CODE = "930950"
_LONGEST_HOLIDAY = pd.Timedelta(days=12)
_HINDSIGHT = "Only current sizes are published: the filter knows what an investor of the time did not."


@dataclass(frozen=True)
class FetchSummary:
    """What a download brought.

    Attributes
    ----------
    folder : str
        Where the files are.
    listed : int
        Funds in the list of all.
    unwanted : int
        Of them, those of other kinds and back-end classes, which repeat the NAVs of another code.
    small : int
        Those known to be smaller than asked for.
    unknown_size : int
        Those taken although their size is not published.
    wanted : int
        Funds asked for.
    resumed, fetched, empty, failed : int
        Of them, those kept from an earlier run, answered in this one, without any NAV, and failed.
    unusable_rows : int
        Published rows without a positive NAV, or corrected by a later one.
    incomplete : tuple of str
        Size classes and years of the index that failed.
    funds, days : int
        Columns and rows of ``nav.parquet``.
    first_day, last_day : str
        Its range (ISO).
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
    kinds: Sequence[str] = KINDS,
    limit: int | None = None,
    pause: float = 0.5,
    retries: int = 5,
    seed: int = 0,
    client: Any = None,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[int, int, str], object] | None = None,
) -> FetchSummary:
    """Download adjusted NAVs of Chinese open-end funds and the CSI 930950 index through akshare.

    Each fund is a file of its own, ``funds/<code>.parquet`` (`date`, `unit_nav`, `growth` as published, and
    `adjusted`), written in one go: however a run ends, the next one asks only for what is missing, damaged or
    had failed. At the end come ``nav.parquet`` (trading day × fund, adjusted), ``index.csv``, ``meta.csv``
    (code, name, type, size), ``failed.csv`` (code, error) and ``fetch.json`` (when, how, counts). To bring
    NAVs up to date, use a new folder.

    Parameters
    ----------
    out : path
        The folder, made if absent.
    start, end : str
        First and last day of ``nav.parquet`` and ``index.csv``; until today by default.
    minimum_size : float
        Funds known to be smaller now, in yuan, are left out. Those whose size is not published are taken,
        without a size in ``meta.csv``: what was never fetched cannot be filtered later.
    kinds : sequence of str
        How the type of a fund begins. Money-market funds have no NAV of this kind.
    limit : int, optional
        Only the first so many funds, for a try.
    pause, retries, seed : float, int, int
        Seconds between calls; repetitions of a failing one, with doubling waits; the seed of their jitter.
    client : module, optional
        What stands for akshare.
    sleep : callable
        What waits so many seconds.
    progress : callable, optional
        Called with funds done, funds wanted and the code after each fund.

    Returns
    -------
    FetchSummary
        What came of it.

    Raises
    ------
    DataError
        If akshare is absent, an argument is wrong, no fund has a NAV, or so many funds in a row are not
        answered that the site must be blocking.
    """
    settings = {"start": start, "end": end, "minimum_size": minimum_size, "kinds": [*kinds], "limit": limit}
    first, last = _check_range(start, end)
    _check_numbers(minimum_size=minimum_size, pause=pause, retries=retries, limit=limit)
    source = Akshare(client or import_akshare(), pause, retries, sleep, np.random.default_rng(seed))
    folder = _make_folder(Path(out))
    failures: dict[str, str] = {}
    try:
        meta, selection = _choose_funds(source, kinds, minimum_size, limit, failures)
        index = _fetch_index(source, first, last, folder / "index.csv", failures)
        incomplete = tuple(failures)
        series, outcome = download_funds(source, list(meta.index), folder / "funds", failures, progress)
    finally:
        table = pd.DataFrame(failures.items(), columns=["code", "error"])
        write_atomically(folder / "failed.csv", lambda path: table.to_csv(path, index=False))
    nav = _assemble(series, index.index, first, last)
    if nav.empty:
        raise DataError(
            f"No fund had a NAV from {first:%Y-%m-%d} to {last:%Y-%m-%d}: see {folder}/failed.csv."
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
        write_atomically(folder / "index.csv", lambda path: index.to_csv(path, index_label="date"))
    write_atomically(folder / "meta.csv", lambda path: meta.loc[nav.columns].to_csv(path, index_label="code"))
    write_atomically(folder / "nav.parquet", lambda path: nav.to_parquet(path))
    report = _describe_run(summary, settings, getattr(source.client, "__version__", "unknown"))
    write_atomically(folder / "fetch.json", lambda path: path.write_text(report, "utf-8"))
    return summary


def _check_range(start: str, end: str | None) -> tuple[pd.Timestamp, pd.Timestamp]:
    try:
        first, last = pd.Timestamp(start), pd.Timestamp(end or datetime.now().date())
    except ValueError as error:
        raise DataError(f"`start` and `end` must be dates such as 2012-01-01: {error}.") from error
    if not first <= last:
        raise DataError(f"`start` must be a day not after `end`, got {start} and {end or 'today'}.")
    return first, last


def _check_numbers(**numbers: float | None) -> None:
    for name, number in numbers.items():
        if number is not None and not number >= (name == "limit"):
            raise DataError(f"`{name}` must be at least {int(name == 'limit')}, got {number}.")


def _make_folder(folder: Path) -> Path:
    try:
        (folder / "funds").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be used as a folder ({error.strerror}): name another.") from error
    return folder


def _choose_funds(
    source: Akshare, kinds: Sequence[str], minimum_size: float, limit: int | None, failures: dict[str, str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return name, type and size of the funds to fetch, by code, and how many were chosen why."""
    listed = source.list_funds().set_index("code")
    back_end = listed["name"].str.contains("后端")
    chosen = listed[listed["type"].str.startswith(tuple(kinds)) & ~back_end]
    if chosen.empty:
        raise DataError(
            f"None of {len(listed)} funds listed is of the kinds {', '.join(kinds)}: change `kinds`."
        )
    chosen = chosen.assign(size=_fetch_sizes(source, failures).reindex(chosen.index))
    meta = chosen[~(chosen["size"] < minimum_size)].sort_index().iloc[:limit]
    return meta, {
        "listed": len(listed),
        "unwanted": len(listed) - len(chosen),
        "small": int((chosen["size"] < minimum_size).sum()),
        "unknown_size": int(meta["size"].isna().sum()),
        "wanted": len(meta),
    }


def _fetch_sizes(source: Akshare, failures: dict[str, str]) -> pd.Series:
    """Return the known sizes by code."""
    parts = [pd.Series(dtype=float, index=pd.Index([], dtype=str))]
    for size_class in SIZE_CLASSES:
        try:
            parts.append(source.fetch_sizes(size_class))
        except DataError as error:
            failures[f"size {size_class}"] = str(error)
    size: pd.Series = pd.concat(parts)
    return size.loc[~size.index.duplicated()]


def _fetch_index(
    source: Akshare, first: pd.Timestamp, last: pd.Timestamp, known: Path, failures: dict[str, str]
) -> pd.Series:
    """Return the index year by year, since long answers come short; a failing year stays as known."""
    parts = [_read_index(known)]
    for year in range(first.year, last.year + 1):
        opening, closing = max(first, pd.Timestamp(year, 1, 1)), min(last, pd.Timestamp(year, 12, 31))
        try:
            parts.append(source.fetch_index(INDEX_CODE, opening, closing))
        except DataError as error:
            failures[f"index {year}"] = str(error)
    index = pd.concat(parts)
    latest: pd.Series = index.loc[~index.index.duplicated(keep="last")].sort_index()
    return latest.loc[first:last].rename(INDEX_CODE)


def _read_index(path: Path) -> pd.Series:
    try:
        return pd.read_csv(path, index_col="date", parse_dates=["date"])[INDEX_CODE].astype(float)
    except (OSError, ValueError, KeyError):
        return pd.Series(dtype=float, index=pd.DatetimeIndex([]))


def _assemble(
    series: Mapping[str, pd.Series], open_days: pd.Index, first: pd.Timestamp, last: pd.Timestamp
) -> pd.DataFrame:
    """Return day × fund on trading days.

    Funds publish a NAV also at the end of June and December, be the exchange open or not. A closed day is one
    at a weekend, or one that the index leaves out between two of its own; its return goes to the next day.
    """
    if not series:
        return pd.DataFrame()
    nav = pd.concat(series, axis=1, sort=True).rename_axis(index="date", columns="fund").loc[first:last]
    calendar = pd.Series(open_days, open_days)
    at_weekend = pd.DatetimeIndex(nav.index).day_of_week >= 5
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
