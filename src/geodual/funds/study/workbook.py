"""Excel workbooks of a study and of a selection: a summary first, then one sheet per table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from geodual.atomic_file import write_atomically

from ..evaluation.selection_tables import SelectionTables
from ..evaluation.study_tables import StudyTables
from ..panel import Finding
from ..report.headline import write_headline
from ..report.summary import versions
from .excel_sheet import add_list, add_table, load_openpyxl

# Columns that are shares, by name; they are shown as percentages wherever they occur.
SHARES = frozenset(
    {
        *("hit_rate", "annual_return", "volatility", "max_drawdown", "depth", "coverage", "share", "known"),
        *("weight", "forecast", "realised", "earned", "past_low", "past_high", "turnover", "traded", "cost"),
        *("cash", "unfilled", "gross", "net", "excess", "break_even", "1", "2", "3", "4", "5", "spread"),
        *("alpha", "tracking_error", "up_capture", "down_capture", "cvar"),
    }
)


RANKED = SHARES - {"forecast"}  # where forecasts are ranks between −½ and ½


class Sheet(NamedTuple):
    """A sheet to write: its title, the attribute that holds its table, what it tells, and its percentages."""

    title: str
    source: str
    about: str
    percent: Collection[str] | None = SHARES  # None for all columns of decimal numbers


STUDY_SHEETS = (
    Sheet("Table 1", "table", "quality of forecasts and portfolios, by period and forecaster"),
    Sheet("Baselines", "baselines", "the same for baselines that learn nothing"),
    Sheet("Against baselines", "against_baselines", "differences of mean ICs from those of the baselines"),
    Sheet("ICs", "ic", "information coefficients, rebalance day × forecaster"),
    Sheet("Skill", "skill", "mean ICs with p-values corrected for the choice among forecasters"),
    Sheet("Skill map", "skill_map", "what factors and forecasters know, and what momentum does not explain"),
    Sheet("Factor ICs", "factor_ic", "information coefficients of every factor alone"),
    Sheet("Comparisons", "comparisons_by_period", "forecaster against forecaster: differences of mean ICs"),
    Sheet("IC decay", "ic_decay", "mean IC by months after the decision"),
    Sheet("ICs within types", "ic_within_types", "mean IC within fund types, rebalance day × forecaster"),
    Sheet("ICs by type", "ic_by_type", "mean IC of each forecaster in each fund type"),
    Sheet("Rank autocorrelation", "rank_autocorrelation", "forecasts against those one rebalance before"),
    Sheet("Fifths", "fifths", "mean returns by fifth of the forecasts; 5 has the best"),
    Sheet("Spreads", "spreads", "best fifth minus worst, rebalance day × forecaster", None),
    Sheet("Spread summary", "spread_summary", "the mean of these spreads", {"mean", "low", "high"}),
    Sheet("Equity", "equity", "value of each portfolio and of the index, starting at 1"),
    Sheet("Annual returns", "annual_returns", "returns of calendar years", None),
    Sheet("Monthly returns", "monthly_returns", "returns of calendar months", None),
    Sheet("Against index", "against_index", "each portfolio against the index"),
    Sheet("Random portfolios", "random_portfolios", "portfolios drawn at random under the same rules"),
    Sheet("Random rank", "random_rank", "share of the random portfolios that each portfolio beats", None),
    Sheet("Overfitting", "overfitting", "Sharpe ratios corrected for the number of trials"),
    Sheet("Drawdowns", "drawdowns", "the worst drawdowns of each portfolio and of the index"),
    Sheet("Rolling drawdowns", "rolling_drawdowns", "one-year rolling maximum drawdowns", None),
    Sheet("Rolling Sharpe", "rolling_sharpe", "one-year rolling Sharpe ratios"),
    Sheet("Rolling beta", "rolling_beta", "one-year rolling betas"),
    Sheet("Exposure", "exposure", "weight of each fund type, by decision and forecaster", None),
    Sheet("Costs", "costs", "turnover, cost and break-even cost of each portfolio"),
    Sheet("Cash", "cash", "share of each portfolio in cash, day × forecaster", None),
    Sheet("Holdings", "holdings", "the funds held, with weight, forecast and realised return"),
    Sheet("Trades", "trades", "one row per forecaster and rebalance"),
    Sheet("Fills", "fills", "one row per order filled; the portfolio starts with the value 1"),
    Sheet("Universe", "universe", "the funds that could be chosen, by rebalance day"),
    Sheet("Funds", "facts", "name, type and company of each fund"),
    Sheet("Findings", "findings", "what was found in the data"),
    Sheet("Neighbours", "neighbours", "the neighbours behind each holding"),
    Sheet("Reasons", "reasons", "the factors behind each holding"),
    Sheet("Predictions", "predictions", "forecast and realised return of every fund"),
    Sheet("Baseline ICs", "baseline_ic", "information coefficients of the baselines"),
    Sheet("Baseline equity", "baseline_equity", "value of the portfolio of each baseline, starting at 1"),
    Sheet("Baseline trades", "baseline_trades", "one row per baseline and rebalance"),
    Sheet("Baseline predictions", "baseline_predictions", "forecasts of the baselines", RANKED),
)
SELECTION_SHEETS = (
    Sheet("Picks", "picks", "the funds to hold, best first"),
    Sheet("Neighbours", "neighbours", "the neighbours behind each pick"),
    Sheet("Reasons", "reasons", "the factors behind each pick"),
    Sheet("Left out", "left_out", "funds that could not be chosen, and why"),
)


def check_excel(path: str | Path) -> None:
    """Raise if a workbook cannot be written, before hours of work: wrong ending, or openpyxl missing."""
    load_openpyxl(Path(path))


def write_study_workbook(study: StudyTables, path: str | Path) -> Path:
    """Write all tables of a study into one workbook, completely or not at all.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    path : path
        The .xlsx file to create or replace.

    Returns
    -------
    Path
        The file.
    """
    return _write(study, STUDY_SHEETS, _summarise_study(study), Path(path))


def write_selection_workbook(selection: SelectionTables, path: str | Path) -> Path:
    """Write the tables of a selection into one workbook, completely or not at all.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    path : path
        The .xlsx file to create or replace.

    Returns
    -------
    Path
        The file.
    """
    return _write(selection, SELECTION_SHEETS, _summarise_selection(selection), Path(path))


def _write(result: Any, sheets: Iterable[Sheet], summary: Iterable[tuple[str, Any]], path: Path) -> Path:
    book = load_openpyxl(path).Workbook(write_only=True)
    names, ranked = _fund_names(result), "rank" in _units(result)
    tables = [(sheet, _add_names(_table_of(result, sheet.source), names)) for sheet in sheets]
    filled = [(sheet, table) for sheet, table in tables if len(table)]
    listed = [(f"Sheet {sheet.title}", f"{sheet.about} ({len(table)} rows)") for sheet, table in filled]
    add_list(book, "Summary", [*summary, *listed])
    for sheet, table in filled:
        add_table(book, sheet.title, table, RANKED if ranked and sheet.percent is SHARES else sheet.percent)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, book.save)
    return path


def _units(result: Any) -> set[str]:
    return set(result.units.values()) if isinstance(result, StudyTables) else {result.unit}


def _table_of(result: Any, source: str) -> pd.DataFrame:
    """Return the table that an attribute holds, or that a method returns; findings become a table."""
    found = getattr(result, source)
    if source == "findings":
        table = pd.DataFrame(found, columns=[field.name for field in fields(Finding)])
        return table.assign(date=pd.to_datetime(table["date"], errors="coerce"))
    table = pd.DataFrame(found() if callable(found) else found)
    return table.dropna(how="all") if source == "facts" else table  # most universes come without facts


def _fund_names(result: Any) -> pd.Series[str]:
    facts = getattr(result, "facts", pd.DataFrame())  # a selection has the names in its picks
    return facts["name"].dropna() if "name" in facts else pd.Series(dtype=str)


def _add_names(table: pd.DataFrame, names: pd.Series[str]) -> pd.DataFrame:
    """Return a table with the names of the funds next to their codes, if any name is known."""
    if names.empty or "fund" not in table or "name" in table:
        return table
    named = table.copy()
    named.insert(list(table.columns).index("fund") + 1, "name", table["fund"].map(names))
    return named


def _summarise_study(study: StudyTables) -> Iterator[tuple[str, Any]]:
    headline = write_headline(study)
    yield "Headline", headline.sentence
    for note in dict.fromkeys((*headline.notes, *study.notes)):  # both may tell of survivorship
        yield "Note", note
    yield from ((f"Superior ability, {period}", p) for period, p in study.spa.dropna().items())
    if not pd.isna(study.overfitting_probability):
        yield "Overfitting probability", study.overfitting_probability
    yield from _name_data(study.source, study.digest)
    yield "Index", study.index_name
    yield "Index SHA-256", study.index_digest or None
    yield "First day", study.equity.index[0]
    yield "Last day", study.equity.index[-1]
    yield "Rebalances", len(study.ic)
    yield "Run time in seconds", round(study.seconds, 1)
    yield from (("Version", f"{name} {number}") for name, number in versions().items())
    yield from ((f"Setting {name}", _show(value)) for name, value in asdict(study.config).items())
    yield from ((f"Chosen for {name}", _show(value)) for name, value in study.chosen.items())


def _summarise_selection(selection: SelectionTables) -> Iterator[tuple[str, Any]]:
    yield "Track record", selection.record_text
    for note in selection.notes:
        yield "Note", note
    yield "Day of the decision", selection.as_of
    yield "Forecaster", selection.forecaster
    yield from _name_data(selection.source)
    yield "First day of the data", selection.first_day
    yield from (("Version", f"{name} {number}") for name, number in versions().items())


def _name_data(source: str, digest: str = "") -> Iterator[tuple[str, Any]]:
    yield "Data", source
    if digest:
        yield "Data SHA-256", digest


def _show(value: Any) -> Any:
    """Return a setting as one value: a list or a mapping as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value
