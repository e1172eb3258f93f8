"""Read a study back from its run folder, and check it: files may have been edited since."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.bounded_reading import parse_nested
from geodual.errors import DataError

from ..config import StudyConfig, read_config
from ..csv_cells import read_csv
from ..evaluation.overfitting import Trials
from ..evaluation.performance import portfolio_row
from ..evaluation.periods import PERIODS
from ..evaluation.result_tables import ic_table
from ..evaluation.risk_free import rate_of_table
from ..evaluation.table_registry import Table
from ..forecasters.peers import types_of_study
from ..forecasters.registry import UNIVERSE
from ..panel import Finding
from ..run import CONFIG, SUMMARY
from .study import Study

# Tables are written with all digits. Sums of up to a million numbers may be rounded in another order.
_ROUNDING = 1e-9
_KEY = ["date", "forecaster", "fund"]
_DAYS = ("date", "decided", "executed", "day")
_TEXTS = (
    *("fund", "forecaster", "neighbor", "factor", "view", "label", "side"),
    *("name", "type", "company", "group", "redemption_fees"),
)
_OF_OLD_FACTS = ["fund", "name", "type", "company"]
_SUMMARY = {
    "source": str,
    "sha256": str,
    "index": str,
    "index_sha256": str,
    "facts_sha256": str,
    "table1": dict,
    "chosen": dict,
    "notes": list,
    "factor_labels": dict,
    "seconds": int | float,
}
# Each row of a table on the left belongs to a row, with the same key, of the table on the right.
_PARENTS = {"holdings": "predictions", "neighbors": "holdings", "reasons": "holdings"}


def read_study(folder: str | Path) -> Study:
    """Read a study back from the run folder that `Study.save` or ``geodual backtest`` wrote.

    The files are checked, and numbers that follow from others are computed again: ICs from predictions,
    forecasts and outcomes of holdings from predictions, values of fills from units and prices, costs of
    trades from the fees of their fills, the equity on days of trades from the fills (if no order waited and
    no fund closed), and the mean ICs and the measures of all curves in ``summary.json``. If they differ by
    more than rounding, the folder is refused.

    The NAVs are not in the folder. So what follows from them only is not computed again: realized returns,
    weights, neighbors, reasons, ``ic_decay.csv``, ``factor_ic.csv`` and ``random_portfolios.csv``. Files
    that are not read, such as ``table1.csv`` and the report, are not compared either.

    Parameters
    ----------
    folder : path
        The run folder.

    Returns
    -------
    Study
        The study, as it was saved.

    See Also
    --------
    Study : The result; its method `save` writes the folder.
    backtest : Run a study.

    Examples
    --------
    >>> import tempfile
    >>> from geodual.funds import backtest, read_study, synthetic_universe
    >>> study = backtest(synthetic_universe(20, "2014-01-02", "2015-06-30").panel, metrics="euclidean")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = read_study(study.save(folder))
    >>> again.ic.equals(study.ic)
    True
    """
    folder = Path(folder)
    try:
        return _read(folder)
    except FileNotFoundError as error:
        raise DataError(
            f"{folder}: not a finished run, {Path(error.filename).name} is missing. Give the folder that "
            "`geodual backtest --out` wrote."
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: the run cannot be read ({error}). Run the study again.") from None


def _read(folder: Path) -> Study:
    """Read the settings and the tables of a run folder, and check that they belong together."""
    summary = _read_summary(folder / SUMMARY)
    config = StudyConfig(**({"relative_to": "all"} | read_config(folder / CONFIG)))  # the default once
    if _is_old(summary):
        config = replace(config, baselines=())
    names = {"forecaster": config.compared, "baseline": config.baselines}
    data = [table for table in Study.tables() if table.is_data and not (table.is_new and _is_old(summary))]
    tables = {table.name: _read_table(folder / f"{table.file}.csv", table, names) for table in data}
    _check_forecasters(tables, config)
    _check_keys(tables)
    if (tables["equity"] <= 0.0).any(axis=None):
        raise ValueError("equity.csv: a value is not positive")
    compare_tables(tables, types_of_study(config, tables.get("facts", pd.DataFrame())))
    compare_summary(summary, tables)
    return Study(
        config=config,
        source=summary["source"],
        digest=summary["sha256"],
        findings=_read_findings(folder / "findings.csv"),
        index_name=summary["index"],
        index_digest=summary["index_sha256"],
        facts_digest=summary["facts_sha256"],
        **tables,  # type: ignore[arg-type]
        factor_labels=summary["factor_labels"],
        chosen=summary["chosen"],
        units=summary["units"] if not _is_old(summary) else dict.fromkeys(config.compared, "return"),
        notes=tuple(map(str, summary["notes"])),
        trials=_read_trials(summary.get("trials")),
        seconds=summary["seconds"],
    )


def _read_trials(saved: Any) -> Trials | None:
    """Return what else a sweep tried, if the study is one of a sweep."""
    if saved is None:
        return None
    try:
        choices = {period: int(saved["choices"][period]) for period in PERIODS}
        numbers = (saved["sharpe_spread"], saved["overfitting_probability"])
        spread, overfitting = (np.nan if each is None else float(each) for each in numbers)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{SUMMARY}: `trials` has no numbers of trials by period") from None
    if min(choices.values()) < 1:
        raise ValueError(f"{SUMMARY}: `trials` has a number below 1")
    return Trials(choices, spread, overfitting)


def _is_old(summary: dict[str, Any]) -> bool:
    """Return whether a run is of a version before there were baselines and other forecasters than metrics."""
    return "baselines" not in summary and "units" not in summary


def _read_summary(path: Path) -> dict[str, Any]:
    try:
        summary = parse_nested(json.loads, path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not isinstance(summary, dict):
        raise ValueError(f"{path.name}: it holds no table of results")
    for name, kind in (
        _SUMMARY if _is_old(summary) else _SUMMARY | {"baselines": dict, "units": dict}
    ).items():
        if not isinstance(summary.get(name), kind):
            raise ValueError(f"{path.name}: `{name}` is missing or of the wrong type")
    return dict(summary)


def _read_table(path: Path, about: Table, names: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return a table of data with the types of its columns checked; only sparse ones may have no rows."""
    # Runs of earlier versions call the column of the forecasters `metric`, and spell others otherwise.
    old = {"metric": "forecaster"} if "forecaster" in about.columns else {}
    old |= {"neighbour": "neighbor", "realised": "realized"}
    if about.name == "neighbors" and not path.exists():
        path = path.with_name("neighbours.csv")
    # Only an empty cell is missing: a fund may be called "NA".
    texts = [column for column in (about.key, *about.columns) if column in _TEXTS]
    table = read_csv(path, dtype=dict.fromkeys([*texts, *old], str), keep_default_na=False, na_values=[""])
    table = table.rename(columns={name: new for name, new in old.items() if new not in table})
    wide = table.columns[1:] if about.per in ("factor", "portfolio") else names.get(about.per, ())
    columns = [*([about.key] if about.key else []), *wide, *about.columns]
    if about.name == "facts" and list(table) == _OF_OLD_FACTS:
        columns = _OF_OLD_FACTS
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(f"{path.name}: no column `{missing[0]}`")
    if table.empty and not about.sparse:
        raise ValueError(f"{path.name}: no rows")
    days = {
        column: pd.to_datetime(table[column], format="%Y-%m-%d", errors="coerce")
        for column in columns
        if column in _DAYS
    }
    table = table[columns].assign(**days)
    for column in columns if len(table) else []:
        _check_column(table[column], path, about)
    return _indexed(table, path, about) if about.key else table


def _check_column(values: pd.Series[Any], path: Path, about: Table) -> None:
    if values.name not in (*_DAYS, *_TEXTS) and not pd.api.types.is_numeric_dtype(values):
        raise ValueError(f"{path.name}: text in the column `{values.name}`")
    # The last decision has no outcome yet, and flat funds have no rank correlation.
    may_be_missing = values.name == "realized" or (about.gaps and values.name != about.key)
    if values.isin([np.inf, -np.inf]).any() or (values.isna().any() and not may_be_missing):
        raise ValueError(f"{path.name}: a row has no finite value in the column `{values.name}`")


def _check_forecasters(tables: dict[str, pd.DataFrame], config: StudyConfig) -> None:
    """Raise if the tables are not about the forecasters and baselines of the settings."""
    compared, baselines = set(config.compared), {name for name in config.baselines if name != UNIVERSE}
    for about in Study.tables():
        if about.name not in tables or "forecaster" not in about.columns:
            continue
        found = set(tables[about.name]["forecaster"].unique())
        if about.name.startswith("baseline_"):
            if found != baselines:
                raise ValueError(f"{about.file}.csv: its baselines differ from those of config.toml")
        elif not found <= compared or not (about.sparse or found == compared):
            raise ValueError(f"{about.file}.csv: its forecasters differ from those of config.toml")
    followed = tables.get("benchmarks", pd.DataFrame())
    if not followed.empty and set(followed) != compared:
        raise ValueError("benchmarks.csv: its forecasters differ from those of config.toml")
    if "baseline_equity" in tables and bool(config.baselines) == tables["baseline_equity"].empty:
        raise ValueError("baseline_equity.csv: its rows were changed")


def _check_keys(tables: dict[str, pd.DataFrame]) -> None:
    """Raise if the tables are not about the same days and funds."""
    days = set(tables["ic"].index)
    for name, column in (
        ("predictions", "date"),
        ("universe", "date"),
        ("trades", "decided"),
        ("fills", "decided"),
    ):
        if not set(tables[name][column].unique()) <= days:
            raise ValueError(f"{name}.csv: a day is not in ic.csv")
    # Holdings must have a forecast, and neighbors and reasons a holding.
    keys = {name: pd.MultiIndex.from_frame(tables[name][_KEY]) for name in ("predictions", *_PARENTS)}
    for name, parent in _PARENTS.items():
        if not keys[name].isin(keys[parent]).all():
            raise ValueError(f"{name}.csv: a fund is not in {parent}.csv")
    for name, key in (("predictions", _KEY), ("holdings", _KEY), ("trades", ["forecaster", "decided"])):
        if tables[name].duplicated(key).any():
            raise ValueError(f"{name}.csv: a row occurs twice")


def _indexed(table: pd.DataFrame, path: Path, about: Table) -> pd.DataFrame:
    if not about.per:  # funds, in any order
        return table.set_index(about.key)
    if not (table[about.key].is_monotonic_increasing and table[about.key].is_unique):
        raise ValueError(f"{path.name}: the column `{about.key}` is not in order")
    return table.set_index(about.key).rename_axis(columns="forecaster")


def _read_findings(path: Path) -> tuple[Finding, ...]:
    # Fund codes and dates stay text: leading zeros would be lost, and both may be empty.
    types = {"kind": str, "matters": bool, "fund": str, "date": str, "count": int, "message": str}
    table = read_csv(path, dtype=types, keep_default_na=False)
    if list(table.columns) != [field.name for field in fields(Finding)]:
        raise ValueError(f"{path.name}: its columns were changed")
    return tuple(Finding(*row) for row in table.itertuples(index=False, name=None))


def compare_tables(tables: Mapping[str, pd.DataFrame], types: Mapping[str, str]) -> None:
    """Raise if tables of a run disagree.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables by name, as `Study` has them.
    types : mapping of str to str
        From `types_of_study`.

    Raises
    ------
    ValueError
        With the file, the row, what is there and what should be.
    """
    _compare(tables["ic"], ic_table(tables["predictions"], types), "ic.csv", "predictions.csv")
    _compare_holdings(tables["holdings"], tables["predictions"])
    fills = tables["fills"]
    values = fills.set_index(["day", "forecaster", "fund"])[["value"]].astype(float)
    products = (fills["units"] * fills["price"]).to_numpy(float)
    _compare(values, values.assign(value=products), "fills.csv", "its units and prices")
    for forecaster, trades in tables["trades"].groupby("forecaster"):
        own = fills[fills["forecaster"] == forecaster]
        _compare_books(str(forecaster), trades.set_index("decided"), own, tables["equity"])


def compare_summary(summary: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
    """Raise if the results in ``summary.json`` do not follow from the tables.

    Every day of a curve has its part in the volatility, so that a change of any is noticed.

    Parameters
    ----------
    summary : mapping
        The summary.
    tables : mapping of str to DataFrame
        The tables by name, as `Study` has them.
    """
    rates = tables.get("risk_free", pd.DataFrame())  # old folders have none
    for part, table in (("table1", "equity"), ("baselines", "baseline_equity")):
        rows = summary.get(part, {}).get("both")
        for name, curve in tables.get(table, pd.DataFrame()).items():  # old folders have no baselines
            found = rows.get(name) if isinstance(rows, dict) else None
            if not isinstance(found, dict):
                raise ValueError(f"summary.json: there are no results of {name!r}")
            _compare_measures(found, portfolio_row(curve, rate_of_table(rates)), str(name), f"{table}.csv")
            if table == "equity" and name in tables["ic"]:
                _compare_measures(found, {"ic_mean": tables["ic"][name].mean()}, str(name), "ic.csv")


def _compare_measures(found: dict[str, Any], expected: dict[str, Any], name: str, source: str) -> None:
    values = {measure: found.get(measure) for measure in expected}
    wrong = [measure for measure, value in values.items() if not isinstance(value, int | float | None)]
    if wrong:
        raise ValueError(f"summary.json: `{wrong[0]}` of {name!r} is not a number")
    table = pd.DataFrame([values], index=[name], dtype=float)
    _compare(table, pd.DataFrame([expected], index=[name], dtype=float), "summary.json", source)


def _compare_holdings(holdings: pd.DataFrame, predictions: pd.DataFrame) -> None:
    columns = ["forecast", "realized"]
    found = holdings.set_index(_KEY)[columns]
    _compare(found, predictions.set_index(_KEY)[columns], "holdings.csv", "predictions.csv")


def _compare_books(forecaster: str, trades: pd.DataFrame, fills: pd.DataFrame, equity: pd.DataFrame) -> None:
    """Compare fees with costs and, on days of trades, the equity with what the fills leave in the books."""
    before = equity[forecaster].reindex(trades["executed"]).set_axis(trades.index)
    fees = fills.groupby("decided")["fee"].sum().reindex(trades.index, fill_value=0.0)
    _compare(trades[["cost"]], (fees / before).to_frame("cost"), f"trades.csv, {forecaster}", "fills.csv")
    # Orders that waited, and funds that closed, change the books on days that the fills do not tell.
    executed = trades["executed"].reindex(fills["decided"]).to_numpy()
    if fills.empty or (fills["side"] == "closure").any() or (fills["day"].to_numpy() != executed).any():
        return
    sign = np.where(fills["side"] == "buy", 1.0, -1.0)
    own = fills.assign(units=sign * fills["units"], spent=sign * fills["value"] + fills["fee"])
    by_fund = own.groupby(["decided", "fund"])
    price: pd.DataFrame = by_fund["price"].first().unstack()
    held: pd.DataFrame = by_fund["units"].sum().unstack().fillna(0.0).cumsum()
    is_known = (price.notna() | (held.abs() < _ROUNDING * held.abs().max())).all(axis=1)
    money = 1.0 - own.groupby("decided")["spent"].sum().cumsum()
    worth = (money + (held * price).sum(axis=1) + fees.reindex(money.index))[is_known]
    worth = worth.set_axis(trades["executed"].reindex(worth.index))
    _compare(equity[[forecaster]].reindex(worth.index), worth.to_frame(forecaster), "equity.csv", "fills.csv")


def _compare(found: pd.DataFrame, expected: pd.DataFrame, file: str, source: str) -> None:
    """Raise for the first number that is not as expected, up to rounding; NaN equals NaN."""
    there = found.to_numpy(float)
    wanted = expected.reindex(index=found.index, columns=found.columns).to_numpy(float)
    wrong = ~np.isclose(there, wanted, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        place = ", ".join(_shown(part) for part in np.atleast_1d(np.asarray(found.index[row], dtype=object)))
        raise ValueError(
            f"{file}, {place}: `{found.columns[column]}` is {there[row, column]:.12g}, and {source} gives "
            f"{wanted[row, column]:.12g}"
        )


def _shown(part: Any) -> str:
    return f"{part:%Y-%m-%d}" if isinstance(part, pd.Timestamp) else str(part)
