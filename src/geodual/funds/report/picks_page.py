"""The page that a committee decides on: seven answers, picks, record, overlap, cautions, reasons."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import partial
from html import escape
from os.path import relpath
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from ..evaluation.case import INDEX, PickCase
from ..evaluation.orders import Orders
from ..evaluation.sheet_tables import DayFactors, make_tables
from ..evaluation.track_record import SelectionTables
from ..language import current_language, phrase, reword, say, say_all
from ..run import REPORT, SHEETS
from ..sources.reading.fund_facts import take_facts
from .committee import (
    Answer,
    answer_all,
    count_years,
    label_of,
    list_cautions,
    mean_correlation,
    measure_mixed,
    tell_range,
)
from .fund_page import show_figure
from .fund_sheet import FundSheet
from .line_chart import draw_record
from .markup import (
    Column,
    Section,
    make_details,
    make_list,
    make_paragraph,
    make_section,
    make_table,
    make_text,
)
from .orders_section import show_orders
from .render import content_policy, frame_texts, make_link, read_asset, write_page
from .wording import (
    ALL_VIEWS,
    PARTS,
    RELATIVE,
    SHARES,
    UNITS,
    UNITS_WITHIN_TYPES,
    count_things,
    format_day,
    format_number,
    format_percent,
    format_two,
    format_whole,
    join_words,
    name_factor,
    name_forecaster,
    name_source,
    span_days,
)

_LONGEST = 30  # letters of a name in the sentence on what to sell
_TEXTS = ("name", "type", "finding")  # of the picks; a table may lack them, and a text may be missing


def render_selection(
    selection: SelectionTables, report: str = "", sheets: Mapping[str, str] | None = None, title: str = ""
) -> str:
    """Return the page of picks as one HTML document, without scripts.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    report : str
        Address of the report of the study that the selection continues, if there is one.
    sheets : mapping of str to str, optional
        Address of the fact sheet of each pick, by code.
    title : str
        Title of the page; by default the forecaster and the day.
    """
    title = title or say(
        "Picks of {forecaster} on {day}",
        forecaster=name_forecaster(selection.forecaster),
        day=format_day(selection.as_of),
    )
    style = read_asset("style.css") + read_asset("sheet.css") + read_asset("picks.css")
    addresses = sheets or {}
    sections = (
        _show_minute(selection, addresses),
        _show_picks(selection, addresses),
        None
        if selection.orders is None
        else show_orders(selection.orders, take_facts(selection.facts).names),
        _show_record(selection),
        _show_risk(selection),
        _show_cautions(selection),
        _show_reasons(selection),
        _show_left_out(selection),
    )
    facts = (
        name_source(selection.source),
        span_days(selection.first_day, selection.as_of),
        count_things(len(selection.picks), "{n} pick", "{n} picks"),
        count_things(len(selection.left_out), "{n} fund left out", "{n} funds left out"),
    )
    return Template(read_asset("selection.html")).substitute(
        frame_texts(),
        policy=content_policy([style], []),
        style=style,
        title=escape(title),
        facts="".join(f"<li>{escape(fact)}</li>" for fact in facts)
        + make_link(report, "The study of this strategy"),
        record="",
        notes="",
        sections="\n".join(section.html(level=2) for section in sections if section is not None),
    )


def write_selection(
    selection: SelectionTables, path: str | Path, *, sheets: bool = False, title: str = ""
) -> Path:
    """Write the page of picks; the file is written completely or not at all.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    path : path
        The HTML file to create or replace.
    sheets : bool
        Whether to write the fact sheets of the picks into the folder `funds` beside the page, too.
    title : str
        Title of the page; by default the forecaster and the day.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    report = _address_of_report(selection.run, path)
    addresses = _write_sheets(selection, path.parent) if sheets else {}
    return write_page(path, render_selection(selection, report, addresses, title))


def _address_of_report(run: str, page: Path) -> str:
    """Return the address of the report of a run, as seen from a page; nothing if there is none."""
    report = Path(run, REPORT).resolve()
    if not run or not report.exists():
        return ""
    try:
        return Path(relpath(report, page.resolve().parent)).as_posix()
    except ValueError:  # on another drive of Windows
        return ""


def _write_sheets(selection: SelectionTables, folder: Path) -> dict[str, str]:
    """Write the fact sheet of each pick; return its address, as seen from the folder, by code."""
    panel = selection.panel
    if panel is None:
        return {}
    (folder / SHEETS).mkdir(parents=True, exist_ok=True)
    risk_free = 0.0 if selection.case is None else selection.case.risk_free
    facts, addresses, factors = take_facts(selection.facts), {}, DayFactors(panel)
    for fund in selection.picks["fund"]:
        addresses[fund] = sheet_address(fund)
        index = selection.levels.get(fund)
        tables = make_tables(panel, fund, index, facts, None, risk_free, factors)
        FundSheet(**tables).to_html(folder / addresses[fund], language=current_language())
    return addresses


def sheet_address(code: str) -> str:
    """Return the address of the fact sheet of a pick, as seen from the page."""
    return f"{SHEETS}/{_file_name(code)}"


def _file_name(code: str) -> str:
    """Return a name for the file of a fund; codes that are no such names stay apart by their digest."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", code)
    kept = (
        plain
        if plain == code and len(code) <= 64
        else f"{plain[:32]}-{hashlib.sha256(code.encode()).hexdigest()[:8]}"
    )
    return f"{kept}.html"


def _show_minute(selection: SelectionTables, addresses: Mapping[str, str]) -> Section:
    """Return the seven answers, with the record as a small chart; or the record in words if that is all."""
    case = selection.case
    if case is None:
        return make_section(
            "minute", "In a minute", make_paragraph(reword(selection.record_text), "headline")
        )
    first, *others = answer_all(selection, case)
    answers = [_answer(first, _list_picks(selection, addresses)), *(_answer(each) for each in others)]
    chart = _draw(case)
    kind = "minute" if chart else "minute alone"
    body = f'<div class="{kind}"><dl class="answers">{"".join(answers)}</dl>{chart}</div>'
    return make_section("minute", "In a minute", body)


def _answer(answer: Answer, more: str = "") -> str:
    # A phone shows the leads only; the sections below say the rest.
    text = f' <span class="more">{make_text(answer.text)}</span>' if answer.text else ""
    return (
        f"<div><dt>{escape(answer.question)}</dt>"
        f"<dd><strong>{make_text(answer.lead)}</strong>{text}{more}</dd></div>"
    )


def _list_picks(selection: SelectionTables, addresses: Mapping[str, str]) -> str:
    """Return the picks by name or code, each with a link to its fact sheet; then the orders."""
    names = _texts(selection.picks, "name")
    kind = "names" if any(names) else "codes"
    shown = [
        f"<li>{_fund_link(fund, name or fund, addresses)}</li>"
        for fund, name in zip(selection.picks["fund"], names, strict=True)
    ]
    picks = f'<ol class="{kind}">{"".join(shown)}</ol>' if shown else ""
    if selection.orders is None:
        return picks
    return f"{picks}{escape(_tell_orders(selection.orders, take_facts(selection.facts).names))}"


def _tell_orders(orders: Orders, names: Mapping[str, str]) -> str:
    """Return what is sold, and how many orders lead to the picks, in words."""
    sold = orders.table[orders.table["action"] == "sell"]
    is_all = np.isclose(sold["units"], sold["units_before"])
    whole, part = (
        join_words([_cut(names.get(fund) or fund) for fund in sold.loc[rows, "fund"]])
        for rows in (is_all, ~is_all)
    )
    purchases = int((orders.table["action"] == "buy").sum())
    return say_all(
        say("Sell {funds} in full.", funds=whole) if whole else "",
        say("Sell {funds} in part.", funds=part) if part else "",
        say(
            "To get there: {sales} and {purchases} for {fees} in fees, see the orders below.",
            sales=count_things(len(sold), "{n} sale", "{n} sales"),
            purchases=count_things(purchases, "{n} purchase", "{n} purchases"),
            fees=format_two(orders.fees),
        ),
    )


def _cut(name: str) -> str:
    """Return a name that leaves room for others; the table below has all of it."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1].rstrip(' -(')}…"


def _fund_link(fund: str, text: str, addresses: Mapping[str, str]) -> str:
    return f'<a href="{quote(addresses[fund])}">{escape(text)}</a>' if fund in addresses else escape(text)


def _draw(case: PickCase) -> str:
    """Return the chart of the record, with what it shows in words; nothing without a record."""
    curves = case.record.curves.dropna(axis=1, how="all")
    if len(curves) < 2:
        return ""
    labels = {str(name): label_of(str(name), case) for name in curves}
    last = {labels[str(name)]: curve.dropna().iloc[-1] - 1.0 for name, curve in curves.items()}
    told = say("; ").join(f"{name} {format_percent(value)}" for name, value in last.items())
    return show_figure(
        partial(draw_record, curves, labels),
        "Return after costs",
        say("Line chart of returns after costs: {values}.", values=told),
    )


def _show_picks(selection: SelectionTables, addresses: Mapping[str, str]) -> Section:
    past = say("the funds of similar volatility")
    picks, case = _with_texts(selection.picks), selection.case
    if case is not None:
        picks = picks.join(case.risk.drop(columns="sharpe"), on="fund")
        picks["fees"] = [_tell_fees(row) for row in picks.to_dict("records")]
    columns = (
        Column("fund", "Fund", kind="text", under=("remark",), link=addresses),
        Column("rank", "Rank", format_whole),
        Column("weight", "Weight", format_percent),
        Column("forecast", "Forecast", format_number if selection.unit == "rank" else format_percent),
        Column("past_low", "Past low", format_percent, hint=say("10 % of {peers} earned less", peers=past)),
        Column("past_high", "Past high", format_percent, hint=say("10 % of {peers} earned more", peers=past)),
        *(_RISK if case is not None else ()),
        *([Column("finding", "Found in the data", reword, kind="prose")] if picks["finding"].any() else []),
    )
    n_past = int(picks["n_past"].max()) if len(picks) else 0
    lead = [_tell_forecasts(selection)]
    if n_past:
        lead.append(
            say(
                "80 % of {peers} earned between the past low and the past high after {n} past decisions.",
                peers=past,
                n=n_past,
            )
        )
    if case is not None:
        lead.append(
            say("Volatility, worst quarter and deepest loss are of the last three years, or since the start.")
        )
    table = make_table(picks, columns, "Picks, best first", "compact")
    return make_section("picks", "What to hold", make_paragraph(say_all(*lead)), table)


def _tell_forecasts(selection: SelectionTables) -> str:
    """Return what the forecasts are."""
    is_mean = len(selection.neighbors) > 0 and selection.unit != "rank"
    if selection.within_types:
        return say(RELATIVE if is_mean else UNITS_WITHIN_TYPES[selection.unit])
    if is_mean and selection.unit == "return":
        return say(
            "The forecast is the mean of what the fund's nearest neighbors earned over a past interval."
        )
    return say(UNITS[selection.unit])


_RISK = (
    Column("volatility", "Volatility", format_percent, hint="Annualized standard deviation of daily returns"),
    Column("worst_quarter", "Worst quarter", format_percent, hint="Lowest return of a calendar quarter"),
    Column("max_drawdown", "Deepest loss", format_percent, hint="Largest loss from an earlier peak"),
    Column("fees", "Buy / sell fee", kind="prose", hint="The fee to sell may depend on the days held"),
)
_RECORD = (
    Column("name", "After costs", kind="text", under=("days",)),
    Column("annual_return", "Return p.a.", format_percent, hint="Geometric annual return"),
    Column("volatility", "Volatility", format_percent, hint="Annualized standard deviation of daily returns"),
    Column("sharpe", "Sharpe", format_two, hint="Annualized, beyond the risk-free rate"),
    Column("max_drawdown", "Deepest loss", format_percent, hint="Largest loss from an earlier peak"),
    Column("worst_quarter", "Worst quarter", format_percent, hint="Lowest return of a calendar quarter"),
)


def _tell_fees(pick: dict[Any, Any]) -> str:
    """Return the fees of a pick in words: to buy, and to sell by days held."""
    if not isinstance(pick["redemption"], tuple):
        return ""
    sale = [
        say("{share} before {n} days", share=format_percent(rate, 2), n=days)
        if days
        else format_percent(rate, 2)
        for days, rate in pick["redemption"]
    ]
    rates = [pick["purchase"], *(rate for _, rate in pick["redemption"])]
    if not any(rates):
        return say("none set")
    return f"{format_percent(pick['purchase'], 2)} / {say(', ').join(sale)}"


def _with_texts(picks: pd.DataFrame) -> pd.DataFrame:
    """Return the picks with their texts, and a remark: name, type and share of known factors."""
    texts = {name: _texts(picks, name) for name in _TEXTS}
    known = picks.get("known", pd.Series(1.0, index=picks.index))
    shares = [
        say("{share} of its factors known", share=format_percent(share, 0)) if share < 1.0 else ""
        for share in known
    ]
    remarks = [
        " · ".join(filter(None, each)) for each in zip(texts["name"], texts["type"], shares, strict=True)
    ]
    return picks.assign(**texts, remark=remarks)


def _texts(table: pd.DataFrame, column: str) -> list[str]:
    """Return a column of texts; a text that is missing, or in a missing column, is empty."""
    values = table[column] if column in table else [""] * len(table)
    return ["" if pd.isna(value) else str(value) for value in values]


def _show_record(selection: SelectionTables) -> Section | None:
    """Return the record of the strategy beside index, universe and momentum."""
    case = selection.case
    if case is None:
        return None
    words = make_paragraph(say_all(reword(selection.record_text), tell_range(case)))
    rows = case.record.measures(case.risk_free)
    if rows.empty:
        return make_section("record", "Record", words)
    rows["name"] = [label_of(str(name), case) for name in rows.index]
    rows["days"] = [span_days(row.first, row.last) for row in rows.itertuples()]
    table = make_table(rows, _RECORD, "Record, after the costs and lags of the settings", "compact")
    note = say("The universe pays no costs; momentum pays those of the strategy.")
    if INDEX in rows.index:
        note = say("The index and the universe pay no costs; momentum pays those of the strategy.")
    return make_section("record", "Record", words, table, make_paragraph(note, "note"))


def _show_risk(selection: SelectionTables) -> Section | None:
    """Return how far the picks move together, and what they would have lost together."""
    case = selection.case
    if case is None or len(case.correlations) < 2:
        return None
    alike, table = mean_correlation(case.correlations), case.correlations
    if np.isnan(alike):
        return make_section("overlap", "Overlap of the picks", make_paragraph("Too few common weeks."))
    above = table.where(np.triu(np.ones(table.shape, dtype=bool), 1)).stack().dropna()
    place = int(above.to_numpy().argmax())
    (one, other), most = list(above.index)[place], above.iloc[place]
    lead = say(
        "Correlations of weekly returns over the last year: on average {mean}; highest for {fund} and "
        "{other}, {most}.",
        mean=format_number(alike, 2),
        fund=one,
        other=other,
        most=format_number(most, 2),
    )
    own = measure_mixed(case)
    if own is not None:
        mixed = say(
            "Bought {years} ago with these weights, the picks would have earned {earned} per year. They were "
            "picked knowing this, so it is no forecast.",
            years=count_years(own["years"]),
            earned=format_percent(own["annual_return"]),
        )
        lead = say_all(lead, mixed)
    return make_section("overlap", "Overlap of the picks", make_paragraph(lead), _show_matrix(table))


def _show_matrix(table: pd.DataFrame) -> str:
    """Return correlations as a table, the strong ones tinted."""
    rows = table.copy()
    rows.columns = [str(column) for column in table]
    columns = [Column(str(fund), str(fund), format_two, tint=_tint) for fund in rows]
    rows.insert(0, "fund of the row", list(table.index))
    first = Column("fund of the row", "Fund", kind="text")
    return make_details(
        "All pairs", make_table(rows, [first, *columns], "Correlations of the picks", "compact")
    )


def _tint(value: float) -> str:
    return "strong" if value >= 0.9 else "middle" if value >= 0.7 else ""


def _show_cautions(selection: SelectionTables) -> Section | None:
    """Return the reasons for caution."""
    cautions = list(map(reword, selection.notes))
    if selection.case is not None:
        cautions = list_cautions(selection, selection.case)
    if not cautions:
        return None
    return make_section("cautions", "Reasons for caution", make_list(cautions, "study-notes"))


def _show_reasons(selection: SelectionTables) -> Section:
    picks = selection.picks
    titles = [
        f"{fund} {name}".strip() for fund, name in zip(picks["fund"], _texts(picks, "name"), strict=True)
    ]
    parts = [
        make_details(title, _reasons_of(selection, fund))
        for title, fund in zip(titles, picks["fund"], strict=True)
    ]
    note = SHARES if len(selection.neighbors) else PARTS
    if selection.reasons.empty and selection.neighbors.empty:
        note = phrase("This forecaster gives no reasons for single funds.")
    return make_section("reasons", "Why these funds", make_paragraph(note, "note"), *parts)


def _reasons_of(selection: SelectionTables, fund: str) -> str:
    neighbors = selection.neighbors[selection.neighbors["fund"] == fund]
    columns = (
        Column("neighbor", "Neighbor", kind="text", under=("name",)),
        Column("distance", "Distance", format_number),
        Column("earned", "Earned", format_percent),
    )
    reasons = selection.reasons[selection.reasons["fund"] == fund]
    bars = [
        f'<h3 class="view">{escape(say(title))}</h3><ul class="factors">'
        f"{_bars(reasons[reasons['view'] == view], selection.factor_labels)}</ul>"
        for view, title in ALL_VIEWS.items()
        if (reasons["view"] == view).any()
    ]
    named = neighbors.assign(name=_texts(neighbors, "name"))
    table = make_table(named, columns, say("Neighbors of {fund}", fund=fund)) if len(named) else ""
    return table + "".join(bars)


def _bars(reasons: pd.DataFrame, labels: Mapping[str, str]) -> str:
    # A meter cannot show a negative share; the number beside it does.
    return "".join(
        f'<li><span class="factor">{escape(name_factor(factor, labels))}</span>'
        f'<meter min="0" max="1" value="{min(max(share, 0.0), 1.0):.4f}">{format_percent(share)}</meter>'
        f'<span class="share">{format_percent(share)}</span></li>'
        for factor, share in zip(reasons["factor"], reasons["share"], strict=True)
    )


def _show_left_out(selection: SelectionTables) -> Section:
    if selection.left_out.empty:
        return make_section("left-out", "Left out", make_paragraph("No fund was left out."))
    left_out = selection.left_out.assign(name=_texts(selection.left_out, "name"))
    columns = (
        Column("fund", "Fund", kind="text", under=("name",)),
        Column("why", "Why", reword, kind="prose"),
    )
    table = make_table(left_out, columns, "Funds left out")
    return make_section("left-out", "Left out", make_details("Funds left out, and why", table))
