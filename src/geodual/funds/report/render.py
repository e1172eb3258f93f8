"""The report: one HTML file that contains its style, scripts and data, and needs no network.

Charts are drawn by Chart.js 4 (MIT, 205 kB). It has lines, grouped bars and hover values for all curves;
Plotly and ECharts need 1 MB or more for the same, and uPlot (50 kB) has no grouped bars. Screen readers
do not read any charting library well, so legends are buttons, arrow keys announce the values, and each chart
comes with a table.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import quote

from geodual.atomic_file import write_atomically

from ..evaluation.study_tables import StudyTables
from ..language import ENGLISH, LANGUAGES, current_language, in_language, say
from ..run import PICKS
from . import data_sections as data
from . import forecast_sections as forecasts
from . import portfolio_sections as portfolio
from . import skill_sections as skill
from . import summary_sections as summary
from . import trading_sections as trading
from .headline import Headline, write_headline
from .markup import (
    Group,
    make_breakable,
    make_contents,
)
from .payload import make_payload
from .persistence_section import show_persistence
from .wording import count_terms, format_whole, name_source, name_term, span_days

_SCRIPTS = ("vendor/chart.umd.min.js", "page.js", "tables.js", "plots.js", "axes.js", "charts.js", "picks.js")
_HEAD = 100  # letters of a page, in which it says its language
_NO_PICKS = "<!-- no picks yet -->"  # stands in a report where the link to them would be


def render_report(study: StudyTables, picks: str = "", title: str = "") -> str:
    """Return the report of a study as one HTML document; the same study always gives the same text.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    picks : str
        Address of the page with the next picks, if there is one.
    title : str
        Title of the report; by default the name of the data.
    """
    headline = write_headline(study)
    groups = _make_groups(study, headline)
    style = read_asset("style.css")
    # The reference to a source map, which is not shipped, would make browsers look for a file.
    scripts = [read_asset(name).partition("//# sourceMappingURL")[0] for name in _SCRIPTS]
    name = title or name_source(study.source)
    return Template(read_asset("template.html")).substitute(
        frame_texts(),
        policy=content_policy([style], scripts),
        style=style,
        source=escape(name),
        title=escape(title) if title else make_breakable(name),
        facts=_facts(study),
        picks=_link_to_picks(picks) or _NO_PICKS,
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
        portfolio.show_trailing_returns(study),
        portfolio.show_monthly_returns(*both),
        portfolio.show_against_index(*both),
        portfolio.show_random_portfolios(study),
    )
    risk = (
        portfolio.show_drawdowns(study),
        portfolio.show_rolling(study),
        portfolio.show_exposure(study),
    )
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


def write_report(study: StudyTables, path: str | Path, title: str = "") -> Path:
    """Write the report of a study; the file is written completely or not at all.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    path : path
        The HTML file to create or replace. If there is a page of picks in its folder, the report links to it.
    title : str
        Title of the report; by default the name of the data.

    Returns
    -------
    Path
        The file.
    """
    picks = PICKS if (Path(path).parent / PICKS).exists() else ""
    return write_page(path, render_report(study, picks, title))


def add_link_to_picks(report: Path) -> None:
    """Let a report that was written before the page of picks link to it."""
    text = report.read_text("utf-8") if report.exists() else ""
    if _NO_PICKS in text:
        language = next((name for name in LANGUAGES if f'<html lang="{name}">' in text[:_HEAD]), ENGLISH)
        with in_language(language):
            link = _link_to_picks(PICKS)
        write_page(report, text.replace(_NO_PICKS, link, 1))


def _link_to_picks(address: str) -> str:
    link = make_link(address, "The next picks of this strategy")
    return link.replace("<li>", '<li class="next">', 1)


def write_page(path: str | Path, text: str) -> Path:
    """Write a page, completely or not at all, with the same bytes on every system."""
    path = Path(path)
    write_atomically(path, lambda place: place.write_text(text, encoding="utf-8", newline="\n"))
    return path


def _facts(study: StudyTables) -> str:
    """Return the key facts of the study, for the top of the page."""
    days, funds, config = study.equity.index, study.universe["funds"], study.config
    facts = (
        span_days(days[0], days[-1]),
        say("{terms} with decisions", terms=count_terms(len(study.ic), config.frequency)),
        say("up to {n} funds", n=format_whole(funds.max())),
        say("{n} funds held per {term}", n=config.top, term=name_term(config.frequency)),
        *([say("{n} neighbors per forecast", n=config.k)] if config.metrics else []),
    )
    return "".join(f"<li>{escape(fact)}</li>" for fact in facts)


def make_link(address: str, text: str) -> str:
    """Return a link as one of the facts at the top of a page; nothing without an address."""
    return f'<li><a href="{quote(address)}">{escape(say(text))}</a></li>' if address else ""


def frame_texts() -> dict[str, str]:
    """Return the texts of the templates of pages, and the language that they say they are in."""
    texts = {
        "skip": say("Skip to the results"),
        "study": say("Fund study"),
        "selection": say("Fund selection"),
        "dark": say("Dark mode"),
        "contents_of": say("Contents"),
        "made": say("Made by geodual. Past returns say little about future returns."),
    }
    language = {ENGLISH: "en-GB"}.get(current_language(), current_language())
    return {name: escape(text) for name, text in texts.items()} | {"language": language}


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
