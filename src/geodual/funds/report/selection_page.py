"""The page of picks: the funds to hold, with the neighbours and main factors of each."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template

import pandas as pd

from geodual.metric.registry import metric_label

from ..evaluation.selection_tables import SelectionTables
from .html_table import Column, make_table
from .markup import make_details, make_paragraph, make_section
from .render import content_policy, read_asset, write_page
from .wording import SHARES, VIEWS, format_day, format_number, format_percent, name_factor


def render_selection(selection: SelectionTables) -> str:
    """Return the page of picks as one HTML document, without scripts.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    """
    title = f"Picks of {metric_label(selection.metric)} on {selection.as_of:%Y-%m-%d}"
    style = read_asset("style.css")
    sections = [
        make_paragraph(selection.record_text, "headline"),
        *(make_paragraph(note) for note in selection.notes),
        _show_picks(selection),
        _show_reasons(selection),
        _show_left_out(selection),
    ]
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
        sections="\n".join(sections),
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


def _show_picks(selection: SelectionTables) -> str:
    past = "past picks" if selection.pooled else "past picks of the same rank"
    columns = (
        Column("fund", "Fund", kind="text"),
        Column("rank", "Rank", lambda value: format_number(value, 0)),
        Column("weight", "Weight", format_percent),
        Column("forecast", "Forecast", format_percent),
        Column("past_low", "Past low", format_percent, hint=f"10 % of {past} earned less"),
        Column("past_high", "Past high", format_percent, hint=f"10 % of {past} earned more"),
        Column("n_past", "Past decisions", lambda value: format_number(value, 0)),
    )
    lead = (
        "The forecast is the mean of what the fund's nearest neighbours earned over a past holding interval. "
        f"80 % of {past} earned between the past low and the past high."
    )
    table = make_table(selection.picks, columns, "Picks, best first")
    return make_section("picks", "What to hold", make_paragraph(lead), table)


def _show_reasons(selection: SelectionTables) -> str:
    parts = [make_details(str(fund), _reasons_of(selection, fund)) for fund in selection.picks["fund"]]
    return make_section("reasons", "Why these funds", make_paragraph(SHARES, "note"), *parts)


def _reasons_of(selection: SelectionTables, fund: str) -> str:
    columns = (
        Column("neighbour", "Neighbour", kind="text"),
        Column("distance", "Distance", format_number),
        Column("earned", "Earned", format_percent),
    )
    neighbours = selection.neighbours[selection.neighbours["fund"] == fund]
    reasons = selection.reasons[selection.reasons["fund"] == fund]
    bars = [
        f"<h3>{escape(title)}</h3><ul>{_bars(reasons[reasons['view'] == view], selection.factor_labels)}</ul>"
        for view, title in VIEWS.items()
        if (reasons["view"] == view).any()
    ]
    return make_table(neighbours, columns, f"Neighbours of {fund}") + "".join(bars)


def _bars(reasons: pd.DataFrame, labels: Mapping[str, str]) -> str:
    # A meter cannot show a negative share; the number beside it does.
    return "".join(
        f"<li>{escape(name_factor(factor, labels))}: {format_percent(share)} "
        f'<meter min="0" max="1" value="{min(max(share, 0.0), 1.0):.4f}">{format_percent(share)}</meter></li>'
        for factor, share in zip(reasons["factor"], reasons["share"], strict=True)
    )


def _show_left_out(selection: SelectionTables) -> str:
    if selection.left_out.empty:
        return make_section("left-out", "Left out", make_paragraph("No fund was left out."))
    columns = (Column("fund", "Fund", kind="text"), Column("why", "Why", kind="text"))
    return make_section("left-out", "Left out", make_table(selection.left_out, columns, "Funds left out"))
