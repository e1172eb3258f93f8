"""Looks into the files of the user: what is understood and found in a table, an index, facts or holdings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from geodual import funds
from geodual.errors import DataError
from geodual.funds.calendar import keep_trading_days
from geodual.funds.config import StudyConfig, read_config
from geodual.funds.evaluation.market import make_fee_rules
from geodual.funds.evaluation.orders import Position, tell_unknown, value_holdings
from geodual.funds.report.wording import (
    count_things,
    format_day,
    format_number,
    format_percent,
    format_two,
)
from geodual.funds.run import CONFIG, ProgressCallback
from geodual.funds.sources.reading.table_file import open_source

from .inputs import File, Inputs, Result, open_file, open_holdings
from .suggestions import suggest

_SHOWN = 200  # findings shown; those that matter come first
_TYPES = 5  # types of funds named
_PREVIEW = 4  # funds and days of the preview
_SPACINGS = ((1.5, "daily"), (10.0, "weekly"), (45.0, "monthly"))  # days between two rows, at most


def look(progress: ProgressCallback, table: File) -> Result:
    """Read a table, and return what was understood and found.

    Parameters
    ----------
    progress : callable
        Called after each step.
    table : file
        NAVs, in any form that `read_nav` reads.
    """
    progress(0, 0, "reading the table")
    names = set(open_file(open_source, table).names)
    panel = open_file(funds.read_nav, table)
    nav = panel.nav
    findings = sorted(panel.findings, key=lambda found: (not found.matters, found.fund != "", found.kind))
    shown = [[f.kind, f.fund, f.date, f.message, f.matters] for f in findings[:_SHOWN]]
    return {
        "layout": _layout(names, panel),
        "spacing": _spacing(pd.DatetimeIndex(nav.index)),
        "days": [len(nav), *(str(day.date()) for day in nav.index[[0, -1]])],
        "codes": list(nav.columns),
        "missing": format_percent(float(nav.isna().to_numpy().mean())),
        "preview": _preview(nav),
        "findings": shown,
        "hidden": len(findings) - len(shown),
        "serious": sum(finding.matters for finding in findings),
        "suggestions": suggest(nav),
        "digest": panel.digest,
    }


def _layout(names: set[str], panel: funds.Panel) -> str:
    if any(finding.kind == "transposed" for finding in panel.findings):
        return "wide, turned: one row per fund, one column per day"
    if panel.nav.columns[0] in names:
        return "wide: one row per day, one column per fund"
    return "long: one row per fund and day"


def _spacing(days: pd.DatetimeIndex) -> str:
    typical = days.to_series().diff().median() / pd.Timedelta(days=1)
    return next((name for most, name in _SPACINGS if typical <= most), "less than monthly")


def _preview(nav: pd.DataFrame) -> Result:
    """Return the first and the last days of the first funds, as texts."""
    few = nav.iloc[:, :_PREVIEW]
    rows = few if len(few) <= _PREVIEW else pd.concat([few.head(_PREVIEW // 2), few.tail(_PREVIEW // 2)])
    cells = [[format_number(value, 4) for value in row] for row in rows.to_numpy()]
    return {"funds": list(few.columns), "days": [f"{day:%Y-%m-%d}" for day in rows.index], "cells": cells}


def look_at_index(progress: ProgressCallback, index: File, column: str) -> Result:
    """Read an index, and return in one sentence what was understood.

    Parameters
    ----------
    progress : callable
        Called after each step.
    index : file
        Index levels.
    column : str
        Its column; "" for the only one.
    """
    levels = open_file(lambda path: funds.read_index(path, column or None), index)
    first, last = (f"{day:%Y-%m-%d}" for day in levels.index[[0, -1]])
    return {"told": f"{levels.name}: {len(levels):,} levels from {first} to {last}."}


def look_at_facts(progress: ProgressCallback, facts: File, codes: list[str]) -> Result:
    """Read facts about funds, and return in one sentence what was understood, and the names of the funds.

    Parameters
    ----------
    progress : callable
        Called after each step.
    facts : file
        Facts about funds.
    codes : list of str
        The funds of the table.
    """
    known = open_file(funds.read_facts, facts).table
    ours = known.loc[known.index.isin(codes)]
    if ours.empty:
        counted = count_things(len(known), "{n} fund", "{n} funds")
        raise DataError(
            f"{facts[1]}: it has {counted}, and none is in the table. Give facts with the codes of the "
            f"table, such as {codes[0]}."
        )
    columns = [name.replace("_", " ") for name in ours.columns if ours[name].notna().any()]
    types = ours["type"].dropna().unique().tolist()
    more = f" and {len(types) - _TYPES} more" if len(types) > _TYPES else ""
    listed = f" Types: {', '.join(sorted(types)[:_TYPES])}{more}." if types else ""
    told = f"Facts about {len(ours):,} of {len(codes):,} funds: {', '.join(columns) or 'codes only'}."
    return {"told": told + listed, "names": {str(k): str(v) for k, v in ours["name"].dropna().items()}}


def look_at_holdings(progress: ProgressCallback, folder: str, inputs: Result, holdings: File) -> Result:
    """Read what is held, and return what is known of each lot at the last values of a table.

    Parameters
    ----------
    progress : callable
        Called after each step.
    folder : str
        The run whose settings say what is locked and what sales cost.
    inputs : dict
        The attributes of `Inputs`.
    holdings : file
        What is held.
    """
    progress(0, 0, "reading the holdings")
    mine = open_holdings(holdings)
    progress(0, 0, "looking the funds up in the table")
    ours, config = Inputs(**inputs), StudyConfig(**read_config(Path(folder) / CONFIG))
    facts, nav = _facts_for(ours, folder), keep_trading_days(ours.panel()).nav
    position = value_holdings(mine, nav, make_fee_rules(config, facts), config.min_holding)
    rows = [*_unknown_lots(mine, position), *_closed_funds(mine, position), *_known_lots(position, config)]
    lots = _count_lots(len(mine.lots))
    held = f"{lots} of {count_things(mine.lots['code'].nunique(), '{n} fund', '{n} funds')}"
    worth = format_two(position.lots["value"].sum())
    return {
        "told": f"{held}. What can be sold is worth {worth} at the last values, {format_day(nav.index[-1])}.",
        "cautions": [*tell_unknown(position), *_cautions(position, config)],
        "rows": [[facts.names.get(row[0], ""), *row] for row in rows[:_SHOWN]],
        "hidden": max(len(rows) - _SHOWN, 0),
    }


def _facts_for(ours: Inputs, folder: str) -> funds.FundFacts:
    """Return the facts given with the table, otherwise those of the run."""
    if ours.facts is not None:
        return ours.known_facts()
    from geodual.funds.study.continued_run import facts_of_run  # here, because it imports all learners

    return facts_of_run(funds.read_study(folder))


def _row(fund: Any, bought: Any, lot: Any, told: str, matters: bool) -> list[Any]:
    return [str(fund), format_day(bought), format_number(lot.units, 4), format_two(lot.value), told, matters]


def _unknown_lots(mine: funds.Holdings, position: Position) -> list[list[Any]]:
    lots = mine.lots[mine.lots["code"].isin(list(position.unknown))]
    return [_row(lot.code, lot.bought, lot, "not in the table", True) for lot in lots.itertuples()]


def _closed_funds(mine: funds.Holdings, position: Position) -> list[list[Any]]:
    first = mine.lots.groupby("code")["bought"].min()
    rows = zip(position.closed.index, position.closed.itertuples(), strict=True)
    return [_row(fund, first[fund], lot, f"no value since {format_day(lot.day)}", True) for fund, lot in rows]


def _known_lots(position: Position, config: StudyConfig) -> list[list[Any]]:
    rows = []
    for lot in position.lots.itertuples():
        told = [f"locked: held for {lot.days_held:.0f} of {config.min_holding} days"] if lot.locked else []
        told += [f"a sale today costs {format_percent(lot.rate, 2)}"] if lot.rate else []
        rows.append(_row(lot.fund, lot.bought, lot, "; ".join(told), bool(lot.locked)))
    return rows


def _count_lots(n: int) -> str:
    return count_things(n, "{n} lot", "{n} lots")


def _cautions(position: Position, config: StudyConfig) -> list[str]:
    """Return what may change the orders, besides funds that are not in the table."""
    locked, undated = int(position.lots["locked"].sum()), int(position.lots["bought"].isna().sum())
    told = []
    if locked:
        least = count_things(config.min_holding, "{n} day", "{n} days")
        told.append(f"{_count_lots(locked)} cannot be sold yet: the run holds funds for {least}.")
    if len(position.closed):
        closed = ", ".join(position.closed.index)
        told.append(f"Without a value for more than ten days, and so in no order: {closed}.")
    if undated:
        told.append(f"{_count_lots(undated)} without a day of purchase, which counts as long ago.")
    return told
