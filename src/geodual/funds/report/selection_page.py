"""The page of picks: the track record, the funds to hold, and the neighbours and main factors of each."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template

import pandas as pd

from ..evaluation.selection_tables import SelectionTables
from ..forecasters.registry import forecaster_label
from .html_table import Column, make_table
from .markup import Section, make_details, make_list, make_paragraph, make_section
from .render import content_policy, read_asset, write_page
from .wording import (
    ALL_VIEWS,
    PARTS,
    SHARES,
    UNITS,
    format_day,
    format_number,
    format_percent,
    format_whole,
    name_factor,
)

_TEXTS = ("name", "type", "finding")  # of the picks; a table may lack them, and a text may be missing


def render_selection(selection: SelectionTables) -> str:
    """Return the page of picks as one HTML document, without scripts.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    """
    title = f"Picks of {forecaster_label(selection.forecaster)} on {selection.as_of:%Y-%m-%d}"
    style = read_asset("style.css")
    sections = (_show_picks(selection), _show_reasons(selection), _show_left_out(selection))
    facts = (
        selection.source,
        f"{format_day(selection.first_day)} to {format_day(selection.as_of)}",
        f"{len(selection.picks)} picks",
        f"{len(selection.left_out)} funds left out",
    )
    return Template(read_asset("selection.html")).substitute(
        policy=content_policy([style], []),
        style=style,
        title=escape(title),
        facts="".join(f"<li>{escape(fact)}</li>" for fact in facts),
        record=make_paragraph(selection.record_text, "headline"),
        notes=make_list(selection.notes, "study-notes"),
        sections="\n".join(section.html(level=2) for section in sections),
    )


def write_selection(selection: SelectionTables, path: str | Path) -> Path:
    """Write the page of picks; the file is written completely or not at all.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    path : path
        The HTML file to create or replace.

    Returns
    -------
    Path
        The file.
    """
    return write_page(path, render_selection(selection))


def _show_picks(selection: SelectionTables) -> Section:
    past = "past picks" if selection.pooled else "past picks of the same rank"
    picks = _with_texts(selection.picks)
    columns = (
        Column("fund", "Fund", kind="text", under=("name", "remark")),
        Column("rank", "Rank", format_whole),
        Column("weight", "Weight", format_percent),
        Column("forecast", "Forecast", format_number if selection.unit == "rank" else format_percent),
        Column("past_low", "Past low", format_percent, hint=f"10 % of {past} earned less"),
        Column("past_high", "Past high", format_percent, hint=f"10 % of {past} earned more"),
        Column("n_past", "Past decisions", format_whole),
        *([Column("finding", "Found in the data", kind="prose")] if picks["finding"].any() else []),
    )
    basis = UNITS[selection.unit]
    if len(selection.neighbours) and selection.unit == "return":
        basis = "The forecast is the mean of what the fund's nearest neighbours earned over a past interval."
    lead = f"{basis} 80 % of {past} earned between the past low and the past high."
    table = make_table(picks, columns, "Picks, best first")
    return make_section("picks", "What to hold", make_paragraph(lead), table)


def _with_texts(picks: pd.DataFrame) -> pd.DataFrame:
    """Return the picks with their texts, empty where unknown, and a remark on type and known factors."""
    texts = {name: _texts(picks, name) for name in _TEXTS}
    known = picks.get("known", pd.Series(1.0, index=picks.index))
    shares = [f"{format_percent(share, 0)} of its factors known" if share < 1.0 else "" for share in known]
    remarks = [" · ".join(filter(None, each)) for each in zip(texts["type"], shares, strict=True)]
    return picks.assign(**texts, remark=remarks)


def _texts(table: pd.DataFrame, column: str) -> list[str]:
    """Return a column of texts; a text that is missing, or in a missing column, is empty."""
    values = table[column] if column in table else [""] * len(table)
    return ["" if pd.isna(value) else str(value) for value in values]


def _show_reasons(selection: SelectionTables) -> Section:
    picks = selection.picks
    titles = [
        f"{fund} {name}".strip() for fund, name in zip(picks["fund"], _texts(picks, "name"), strict=True)
    ]
    parts = [
        make_details(title, _reasons_of(selection, fund))
        for title, fund in zip(titles, picks["fund"], strict=True)
    ]
    note = SHARES if len(selection.neighbours) else PARTS
    if selection.reasons.empty and selection.neighbours.empty:
        note = "This forecaster gives no reasons for single funds."
    return make_section("reasons", "Why these funds", make_paragraph(note, "note"), *parts)


def _reasons_of(selection: SelectionTables, fund: str) -> str:
    neighbours = selection.neighbours[selection.neighbours["fund"] == fund]
    columns = (
        Column("neighbour", "Neighbour", kind="text", under=("name",)),
        Column("distance", "Distance", format_number),
        Column("earned", "Earned", format_percent),
    )
    reasons = selection.reasons[selection.reasons["fund"] == fund]
    bars = [
        f'<h3 class="view">{escape(title)}</h3><ul class="factors">'
        f"{_bars(reasons[reasons['view'] == view], selection.factor_labels)}</ul>"
        for view, title in ALL_VIEWS.items()
        if (reasons["view"] == view).any()
    ]
    named = neighbours.assign(name=_texts(neighbours, "name"))
    table = make_table(named, columns, f"Neighbours of {fund}") if len(named) else ""
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
    columns = (Column("fund", "Fund", kind="text", under=("name",)), Column("why", "Why", kind="prose"))
    table = make_table(left_out, columns, "Funds left out")
    return make_section("left-out", "Left out", make_details("Funds left out, and why", table))
