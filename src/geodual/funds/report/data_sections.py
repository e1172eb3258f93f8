"""Sections on the data and the settings: all that a study was computed from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from typing import Any

import pandas as pd

from ..evaluation.study_tables import StudyTables
from ..language import reword, say
from .markup import (
    Column,
    Section,
    make_details,
    make_filled_table,
    make_foot,
    make_list,
    make_pair,
    make_paragraph,
    make_section,
    make_table,
)
from .payload import versions
from .wording import (
    MISSING,
    format_day,
    format_number,
    format_percent,
    format_whole,
    name_forecaster,
    name_index,
)


def show_data(study: StudyTables) -> Section:
    """Return the findings about the data, and the universe of each rebalance day."""
    universe = study.universe
    columns = (
        Column("date", "Rebalance day", format_day, kind="text"),
        Column("funds", "number\x04Funds", format_whole, hint="Number of funds with enough history"),
        Column(
            "coverage", "Factors known", format_percent, hint="Share of the factors that could be computed"
        ),
        Column("label", "Label used", reword, kind="text"),
    )
    fewest, most = format_whole(universe["funds"].min()), format_whole(universe["funds"].max())
    lead = say(
        "Each decision was made from {fewest} to {most} funds, with at least {share} of the factors known.",
        fewest=fewest,
        most=most,
        share=format_percent(universe["coverage"].min()),
    )
    table = make_table(universe, columns, "Universe by rebalance day")
    return make_section(
        "data",
        "Data quality and coverage",
        make_paragraph(lead),
        _show_findings(study),
        make_foot(
            make_filled_table("findings", "All findings", "text") if study.findings else "",
            make_details("Table of the universe", table),
            csv=["universe", *(["findings"] if study.findings else [])],
        ),
    )


def _show_findings(study: StudyTables) -> str:
    """Return the number of findings by kind."""
    if not study.findings:
        return make_paragraph("There are no findings about the data.", "note")
    findings = pd.DataFrame(list(map(asdict, study.findings)))
    # In the order in which the checks report them.
    groups = findings.groupby("kind", sort=False)
    kinds = groups.agg(findings=("kind", "size"), matters=("matters", "sum"), example=("message", "first"))
    columns = (
        Column("kind", "Kind", reword, kind="text"),
        Column("findings", "Findings", format_whole),
        Column("matters", "That matter", format_whole, hint="Findings that can change a result"),
        Column("example", "First finding", reword, kind="prose"),
    )
    return make_table(kinds.reset_index(), columns, "Findings about the data, by kind")


def show_notes(study: StudyTables) -> Section | None:
    """Return the notes on the run: sentences that the reader should know."""
    if not study.notes:
        return None
    return make_section(
        "notes", "Notes on the run", make_list([reword(note) for note in study.notes], "study-notes")
    )


def show_configuration(study: StudyTables) -> Section:
    """Return settings, data, versions and run time: all that is needed to repeat the study."""
    settings = {name: _plain(value) for name, value in asdict(study.config).items()}
    chosen = {name_forecaster(name): _plain(found) for name, found in study.chosen.items()}
    data = {
        say("Source"): reword(study.source),
        "SHA-256": study.digest,
        say("Index"): name_index(study.index_name),
    }
    data |= {say("SHA-256 of the index"): study.index_digest} if study.index_digest else {}
    run = versions() | {say("Run time"): say("{n} s", n=format_number(study.seconds, 1))}
    return make_section(
        "configuration",
        "Configuration",
        _describe(say("Settings"), settings.items()),
        _describe(say("Chosen on the validation period"), chosen.items()) if chosen else "",
        make_pair(_describe(say("Data"), data.items()), _describe(say("Versions"), run.items())),
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_plain(item)}" for name, item in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_plain, value)) or MISSING
    return str(value).lower() if isinstance(value, bool) else str(value) or MISSING


def _describe(title: str, items: Iterable[tuple[str, str]]) -> str:
    """Return a heading and a list of names with their values."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in items)
    return f'<h4>{escape(title)}</h4><dl class="settings">{rows}</dl>'
