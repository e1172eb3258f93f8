"""The report: one HTML file that contains its style, scripts and data, and needs no network.

Charts are drawn by Chart.js 4 (MIT, 205 kB). It has lines, grouped bars and hover values for all curves;
Plotly and ECharts need 1 MB or more for the same, and uPlot (50 kB) has no grouped bars. Screen readers
do not read any charting library well, so legends are buttons, arrow keys announce the values, and each chart
comes with a table.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from os.path import relpath
from pathlib import Path
from string import Template
from urllib.parse import quote

import pandas as pd

from geodual.atomic_file import write_atomically

from ..evaluation.study_tables import StudyTables
from ..evaluation.track_record import SelectionTables
from ..forecasters.registry import forecaster_label
from ..run import PICKS, REPORT
from . import data_sections as data
from . import forecast_sections as forecasts
from . import portfolio_sections as portfolio
from . import skill_sections as skill
from . import summary_sections as summary
from . import trading_sections as trading
from .headline import Headline, write_headline
from .markup import (
    Column,
    Group,
    Section,
    make_breakable,
    make_contents,
    make_details,
    make_list,
    make_paragraph,
    make_section,
    make_table,
)
from .payload import make_payload
from .persistence_section import show_persistence
from .wording import (
    ALL_VIEWS,
    PARTS,
    SHARES,
    TERMS,
    UNITS,
    count_terms,
    format_day,
    format_number,
    format_percent,
    format_whole,
    name_factor,
)

_SCRIPTS = ("vendor/chart.umd.min.js", "page.js", "tables.js", "plots.js", "axes.js", "charts.js", "picks.js")
_TEXTS = ("name", "type", "finding")  # of the picks; a table may lack them, and a text may be missing


def render_report(study: StudyTables, picks: str = "") -> str:
    """Return the report of a study as one HTML document; the same study always gives the same text.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    picks : str
        Address of the page with the next picks, if there is one.
    """
    headline = write_headline(study)
    groups = _make_groups(study, headline)
    style = read_asset("style.css")
    # The reference to a source map, which is not shipped, would make browsers look for a file.
    scripts = [read_asset(name).partition("//# sourceMappingURL")[0] for name in _SCRIPTS]
    name = Path(study.source).name
    return Template(read_asset("template.html")).substitute(
        policy=content_policy([style], scripts),
        style=style,
        source=escape(name),
        title=make_breakable(name),
        facts=_facts(study) + _link(picks, "The next picks of this strategy"),
        contents=make_contents(groups),
        groups="\n\n".join(group.html() for group in groups),
        data=make_payload(study, headline.best),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _make_groups(study: StudyTables, headline: Headline) -> list[Group]:
    """Return the sections of the report in their groups and order; this is the place for a new one."""
    both = study, headline
    answers = summary.show_answers(*both), summary.show_table1(*both), summary.show_baselines(*both)
    forecast = (
        forecasts.show_ic(study),
        forecasts.show_distribution(study),
        forecasts.show_fifths(*both),
        forecasts.show_types(study),
        forecasts.show_stability(study),
        show_persistence(study),
        skill.show_skill(*both),
        skill.show_skill_map(*both),
        skill.show_comparisons(*both),
    )
    earned = (
        portfolio.show_performance(study),
        portfolio.show_annual_returns(study),
        portfolio.show_monthly_returns(*both),
        portfolio.show_against_index(*both),
        portfolio.show_random_portfolios(study),
    )
    risk = portfolio.show_drawdowns(study), portfolio.show_rolling(study), portfolio.show_exposure(study)
    traded = trading.show_costs(study), trading.show_picks(study)
    inputs = data.show_data(study), data.show_notes(study), data.show_configuration(study)
    return [
        Group("summary", "Summary", "", answers),
        Group("forecasts", "Forecasts", "Do the forecasts rank the funds?", forecast),
        Group("portfolio", "Portfolio", "What would the portfolios have earned?", earned),
        Group("risk", "Risk", "How much could be lost, and when?", risk),
        Group("trading", "Trading", "What was traded, why, and at what cost?", traded),
        Group("inputs", "Data", "What were the results computed from?", inputs),
    ]


def write_report(study: StudyTables, path: str | Path) -> Path:
    """Write the report of a study; the file is written completely or not at all.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    path : path
        The HTML file to create or replace. If there is a page of picks in its folder, the report links to it.

    Returns
    -------
    Path
        The file.
    """
    picks = PICKS if (Path(path).parent / PICKS).exists() else ""
    return write_page(path, render_report(study, picks))


def write_page(path: str | Path, text: str) -> Path:
    """Write a page, completely or not at all, with the same bytes on every system."""
    path = Path(path)
    write_atomically(path, lambda place: place.write_text(text, encoding="utf-8", newline="\n"))
    return path


def _facts(study: StudyTables) -> str:
    """Return the key facts of the study, for the top of the page."""
    days, funds, config = study.equity.index, study.universe["funds"], study.config
    facts = (
        f"{days[0]:%Y-%m-%d} to {days[-1]:%Y-%m-%d}",
        f"{count_terms(len(study.ic), config.frequency)} with decisions",
        f"up to {format_whole(funds.max())} funds",
        f"{config.top} funds held per {TERMS[config.frequency]}",
        *([f"{config.k} neighbours per forecast"] if config.metrics else []),
    )
    return "".join(f"<li>{escape(fact)}</li>" for fact in facts)


def _link(address: str, text: str) -> str:
    """Return a link as one of the facts at the top of a page; nothing without an address."""
    return f'<li><a href="{quote(address)}">{escape(text)}</a></li>' if address else ""


def read_asset(name: str) -> str:
    """Return the text of a file of this package, such as ``style.css``."""
    return files(__package__).joinpath(name).read_text("utf-8")


def content_policy(styles: list[str], scripts: list[str]) -> str:
    """Return a content security policy that allows these styles and scripts, and nothing else."""
    return f"default-src 'none'; style-src {_hashes(styles)}; script-src {_hashes(scripts)}; img-src data:"


def _hashes(texts: list[str]) -> str:
    # Browsers compare these with the hash of the text inside each style or script element.
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def render_selection(selection: SelectionTables, report: str = "") -> str:
    """Return the page of picks as one HTML document, without scripts.

    Parameters
    ----------
    selection : SelectionTables
        The result of `select`.
    report : str
        Address of the report of the study that the selection continues, if there is one.
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
        facts="".join(f"<li>{escape(fact)}</li>" for fact in facts)
        + _link(report, "The study of this strategy"),
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
    return write_page(path, render_selection(selection, _address_of_report(selection.run, Path(path))))


def _address_of_report(run: str, page: Path) -> str:
    """Return the address of the report of a run, as seen from a page; nothing if there is none."""
    report = Path(run, REPORT).resolve()
    if not run or not report.exists():
        return ""
    try:
        return Path(relpath(report, page.resolve().parent)).as_posix()
    except ValueError:  # on another drive of Windows
        return ""


def _show_picks(selection: SelectionTables) -> Section:
    past = "the funds of like volatility"
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
    lead = f"{basis} 80 % of {past} earned between the past low and the past high after past decisions."
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
