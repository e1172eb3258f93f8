"""Choose the funds to hold next with the settings of a run, and write what a committee decides on."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from geodual import funds
from geodual.atomic_file import write_atomically
from geodual.funds.csv_cells import write_csv
from geodual.funds.report.orders_section import tell_orders
from geodual.funds.report.picks_page import sheet_address
from geodual.funds.report.render import add_link_to_picks
from geodual.funds.report.wording import (
    MISSING,
    format_number,
    format_percent,
    format_two,
    format_whole,
    name_curve,
)
from geodual.funds.run import PICKS, REPORT, ProgressCallback
from geodual.funds.sources.reading.fund_facts import take_facts
from geodual.funds.study.folder_lock import hold_folder

from .inputs import File, Inputs, Result, open_holdings
from .runs import ORDERS, PICKED, SHOWN_PICKS


def choose(
    progress: ProgressCallback, folder: str, inputs: Result, holdings: File | None, cash: float, jobs: int
) -> Result:
    """Choose the funds to hold next as a run would; write page, fact sheets, orders and tables to its folder.

    Parameters
    ----------
    progress : callable
        Called after each step.
    folder : str
        The run folder.
    inputs : dict
        The attributes of `Inputs`.
    holdings : file, optional
        What is held.
    cash : float
        Money to invest, besides or alone.
    jobs : int
        Number of worker processes.
    """
    progress(0, 0, "reading the table")
    out, ours = Path(folder), Inputs(**inputs)
    mine = None if holdings is None else open_holdings(holdings)
    panel, given = ours.panel(), {**ours.given(), "holdings": mine, "cash": cash}
    progress(0, 0, "comparing the table with that of the run, and choosing")
    chosen = funds.select(panel, run=out, n_jobs=jobs, progress=progress, **given)
    progress(0, 0, "writing the committee's page and the fact sheets")
    shown = _shown(chosen, inputs["table"][1], "" if holdings is None else holdings[1])
    with hold_folder(out):
        _write(chosen, out, json.dumps(shown, ensure_ascii=False, allow_nan=False))
    return {}


def _write(chosen: funds.Selection, out: Path, shown: str) -> None:
    """Write the files. What the app shows of them goes first and comes last, so it is never of others."""
    for stale in (SHOWN_PICKS, ORDERS):
        (out / stale).unlink(missing_ok=True)
    chosen.report(out / PICKS, sheets=True)
    add_link_to_picks(out / REPORT)
    chosen.to_excel(out / f"{PICKED}.xlsx")
    write_csv(out / f"{PICKED}.csv", chosen.picks, keep_index=False)
    if chosen.orders is not None:
        write_csv(out / ORDERS, chosen.order_table, keep_index=False)
    write_atomically(out / SHOWN_PICKS, lambda path: path.write_text(shown, encoding="utf-8"))


def _shown(chosen: funds.Selection, table: str, holdings: str) -> Result:
    """Return what the page of the app shows."""
    show = format_number if chosen.unit == "rank" else format_percent
    rows = [
        {
            "rank": str(pick["rank"]),
            "fund": pick["fund"],
            "name": pick["name"],
            "weight": format_percent(pick["weight"]),
            "forecast": show(pick["forecast"]),
            "between": _between(pick["past_low"], pick["past_high"]),
            "finding": pick["finding"],
            "sheet": sheet_address(pick["fund"]),
        }
        for pick in chosen.picks.to_dict("records")
    ]
    return {
        "as_of": str(chosen.as_of.date()),
        "forecaster": name_curve("", chosen.forecaster),
        "table": table,
        "holdings": holdings,
        "record": chosen.record_text,
        "notes": list(chosen.notes),
        "rows": rows,
        "orders": None if chosen.orders is None else _shown_orders(chosen.orders, chosen.facts),
    }


def _between(low: float, high: float) -> str:
    return MISSING if pd.isna(low) else f"{format_percent(low)} to {format_percent(high)}"


def _shown_orders(orders: funds.Orders, facts: funds.FundFacts | None) -> Result:
    names = take_facts(facts).names
    rows = [
        {
            "action": row["action"],
            "fund": row["fund"],
            "name": names.get(row["fund"], ""),
            "units": format_number(row["units"], 4) if row["units"] else "",
            "value": format_two(row["value"]) if row["value"] else "",
            "fee": format_two(row["fee"]) if row["fee"] else "",
            "held": format_percent(row["weight_before"]),
            "after": format_percent(row["weight_after"]),
            "rank": format_whole(row["rank"]),
            "why": row["why"],
        }
        for row in orders.table.to_dict("records")
    ]
    return {"told": tell_orders(orders), "notes": list(orders.notes), "rows": rows}
