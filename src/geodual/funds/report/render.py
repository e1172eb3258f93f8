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

from geodual.atomic_file import write_atomically

from ..evaluation.study_tables import StudyTables
from . import baseline_sections as baselines
from . import data_sections as data
from . import forecast_sections as forecasts
from . import portfolio_sections as portfolio
from . import risk_sections as risk
from . import skill_map_section as skill_map
from . import skill_sections as skill
from . import summary_sections as summary
from . import trading_sections as trading
from .contents import Group, make_contents
from .headline import Headline, write_headline
from .markup import make_breakable
from .payload import make_payload
from .wording import TERMS, count_terms, format_whole

_SCRIPTS = ("vendor/chart.umd.min.js", "page.js", "tables.js", "plots.js", "axes.js", "charts.js", "picks.js")


def render_report(study: StudyTables) -> str:
    """Return the report of a study as one HTML document; the same study always gives the same text.

    Parameters
    ----------
    study : StudyTables
        A finished study.
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
        facts=_facts(study),
        contents=make_contents(groups),
        groups="\n\n".join(group.html() for group in groups),
        data=make_payload(study, headline.best),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _make_groups(study: StudyTables, headline: Headline) -> list[Group]:
    return [
        Group(
            "summary",
            "Summary",
            "",
            (
                summary.show_answers(study, headline),
                summary.show_table1(study, headline),
                baselines.show_baselines(study, headline),
            ),
        ),
        _group_forecasts(study, headline),
        _group_portfolio(study, headline),
        Group(
            "risk",
            "Risk",
            "How much could be lost, and when?",
            (risk.show_drawdowns(study), risk.show_rolling(study), risk.show_exposure(study)),
        ),
        Group(
            "trading",
            "Trading",
            "What was traded, why, and at what cost?",
            (trading.show_costs(study), trading.show_picks(study)),
        ),
        Group(
            "inputs",
            "Data",
            "What were the results computed from?",
            (data.show_data(study), data.show_notes(study), data.show_configuration(study)),
        ),
    ]


def _group_forecasts(study: StudyTables, headline: Headline) -> Group:
    sections = (
        forecasts.show_ic(study),
        forecasts.show_distribution(study),
        forecasts.show_fifths(study, headline),
        forecasts.show_types(study),
        forecasts.show_stability(study),
        skill.show_skill(study, headline),
        skill_map.show_skill_map(study, headline),
        skill.show_comparisons(study, headline),
    )
    return Group("forecasts", "Forecasts", "Do the forecasts rank the funds?", sections)


def _group_portfolio(study: StudyTables, headline: Headline) -> Group:
    sections = (
        portfolio.show_performance(study),
        portfolio.show_annual_returns(study),
        portfolio.show_monthly_returns(study, headline),
        portfolio.show_against_index(study, headline),
        portfolio.show_random_portfolios(study),
    )
    return Group("portfolio", "Portfolio", "What would the portfolios have earned?", sections)


def write_report(study: StudyTables, path: str | Path) -> Path:
    """Write the report of a study; the file is written completely or not at all.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    path : path
        The HTML file to create or replace.

    Returns
    -------
    Path
        The file.
    """
    return write_page(path, render_report(study))


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
