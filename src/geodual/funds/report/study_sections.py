"""Sections on the study itself: picks and the reasons for them, data, configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from html import escape
from typing import Any

import pandas as pd

from geodual.metric.registry import metric_label

from ..evaluation.study_tables import StudyTables
from .html_table import Column, make_table
from .markup import make_details, make_downloads, make_filled_table, make_paragraph, make_section
from .summary import versions
from .wording import SHARES, TERMS, format_day, format_number, format_percent

_whole = partial(format_number, digits=0)
_NEIGHBOURS = {
    "train": "Neighbours are funds as they were on an earlier rebalance day; their return is that of the "
    "{term} that followed.",
    "current": "Neighbours are other funds on the same day; their return is that of the {term} before.",
}


def show_picks(study: StudyTables) -> str:
    """Return the frame in which the page shows the picks of a rebalance day, and why a fund was picked."""
    term = TERMS[study.config.frequency]
    lead = (
        "Choose a rebalance day and a metric to see what was bought, its forecast, and its realised return "
        f"in the next {term}. Choose a fund to see why it was picked."
    )
    note = make_paragraph(
        "A forecast is the mean return of the nearest neighbours. "
        f"{_NEIGHBOURS[study.config.neighbours].format(term=term)} {SHARES}",
        "note",
    )
    places = f"""<div class="choices">
<label>Rebalance day <select id="pick-day"></select></label>
<label>Metric <select id="pick-metric"></select></label>
</div>
<div class="picks">
<div>
<div class="scroll" role="region" tabindex="0" aria-label="Picks">
<table><caption id="pick-caption">Picks</caption>
<thead><tr><th scope="col" class="number">Rank</th><th scope="col">Fund</th>
<th scope="col" class="number">Weight</th><th scope="col" class="number">Forecast</th>
<th scope="col" class="number">Realised</th>
<th scope="col" class="number" title="Rank of the realised return among all funds">Outcome</th></tr></thead>
<tbody id="pick-rows"></tbody></table></div>
{note}
</div>
<div id="pick-reason" class="reason" aria-live="polite"></div>
</div>"""
    return make_section("picks", "Picks, and why", make_paragraph(lead), places, make_downloads("holdings"))


def show_data(study: StudyTables) -> str:
    """Return the findings about the data, and the universe of each rebalance day."""
    universe = study.universe
    columns = (
        Column("date", "Rebalance day", format_day, kind="text"),
        Column("funds", "Funds", _whole, hint="Number of funds with enough history"),
        Column(
            "coverage", "Factors known", format_percent, hint="Share of the factors that could be computed"
        ),
        Column("label", "Label used", str, kind="text"),
    )
    fewest, most = _whole(universe["funds"].min()), _whole(universe["funds"].max())
    lead = (
        f"Each decision was made from {fewest} to {most} funds, "
        f"with at least {format_percent(universe['coverage'].min())} of the factors known."
    )
    table = make_table(universe, columns, "Universe by rebalance day")
    return make_section(
        "data",
        "Data quality and coverage",
        make_paragraph(lead),
        _show_findings(study),
        make_details("Table of the universe by rebalance day", table),
        make_downloads("universe", *(["findings"] if study.findings else [])),
    )


def _show_findings(study: StudyTables) -> str:
    """Return the number of findings by kind, and a list of all of them to open."""
    if not study.findings:
        return make_paragraph("There are no findings about the data.", "note")
    findings = pd.DataFrame(list(map(asdict, study.findings)))
    # In the order in which the checks report them.
    groups = findings.groupby("kind", sort=False)
    kinds = groups.agg(findings=("kind", "size"), matters=("matters", "sum"), example=("message", "first"))
    columns = (
        Column("kind", "Kind", str, kind="text"),
        Column("findings", "Findings", _whole),
        Column("matters", "That matter", _whole, hint="Findings that can change a result"),
        Column("example", "First finding", str, kind="prose"),
    )
    table = make_table(kinds.reset_index(), columns, "Findings about the data, by kind")
    return table + "\n" + make_filled_table("findings", "All findings about the data", "text")


def show_configuration(study: StudyTables) -> str:
    """Return notes, settings, data, versions and run time: all that is needed to repeat the study."""
    settings = {name: _plain(value) for name, value in asdict(study.config).items()}
    chosen = {metric_label(name): _plain(found) for name, found in study.chosen.items()}
    data = {"Source": study.source, "SHA-256": study.digest, "Index": study.index_name}
    notes = "".join(f"<li>{escape(note)}</li>" for note in study.notes)
    return make_section(
        "configuration",
        "Configuration",
        f'<ul class="study-notes">{notes}</ul>' if notes else "",
        '<div class="columns">',
        _describe("Settings", settings.items()),
        _describe("Chosen on the validation period", chosen.items()) if chosen else "",
        _describe("Data", data.items()),
        _describe("Versions", versions().items()),
        _describe("Run", [("Time", f"{format_number(study.seconds, 1)} s")]),
        "</div>",
    )


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_plain(item)}" for name, item in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_plain, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe(title: str, items: Iterable[tuple[str, str]]) -> str:
    """Return a heading and a list of names with their values."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in items)
    return f"<div><h3>{escape(title)}</h3><dl>{rows}</dl></div>"
