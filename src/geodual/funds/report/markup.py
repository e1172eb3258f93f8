"""HTML blocks of the pages: sections, tabs, charts and their tables. All texts are escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Plot:
    """One panel of a chart.

    Attributes
    ----------
    name : str
        Name under which the script `charts.js` knows its content.
    label : str
        Description in words, for screen readers.
    tall : bool
        Whether it is the main panel, which is higher.
    """

    name: str
    label: str
    tall: bool = True


def make_section(name: str, title: str, *parts: str) -> str:
    """Return a section with a heading; `parts` are HTML, and empty ones are left out."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{escape(title)}</h2>\n{body}\n</section>'
    )


def make_paragraph(text: str, kind: str = "lead") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>'


def make_tabs(name: str, panels: Mapping[str, str], chosen: str) -> str:
    """Return panels shown one at a time, as tabs; without scripts and in print all are shown.

    Parameters
    ----------
    name : str
        Prefix of the identifiers.
    panels : mapping of str to str
        HTML of each panel, by title.
    chosen : str
        Title of the panel shown first.
    """
    parts = [f'<div class="tabs" data-chosen="{escape(chosen)}">']
    for i, (title, body) in enumerate(panels.items()):
        parts.append(f'<div class="panel" id="{name}-{i}" data-title="{escape(title)}">{body}</div>')
    return "\n".join([*parts, "</div>"])


def make_chart(kind: str, plots: Sequence[Plot], *, log_switch: bool = False) -> str:
    """Return the frame of a chart, which the page fills: a legend of buttons, and one canvas per panel.

    Parameters
    ----------
    kind : str
        "days" (lines over time) or "groups" (grouped bars).
    plots : sequence of Plot
        Panels from top to bottom, with a common horizontal axis.
    log_switch : bool
        Whether to add a switch for a logarithmic scale in the first panel.
    """
    switch = (
        '<label class="switch"><input type="checkbox" class="log-switch"> Logarithmic scale</label>'
        if log_switch
        else ""
    )
    canvases = "\n".join(
        f'<div class="plot {"tall" if plot.tall else "low"}"><canvas data-plot="{plot.name}" role="img" '
        f'tabindex="0" aria-label="{escape(plot.label)}"></canvas></div>'
        for plot in plots
    )
    return (
        f'<div class="chart" data-kind="{kind}">\n<div class="chart-bar"><div class="legend" role="group" '
        f'aria-label="Curves shown"></div>{switch}</div>\n{canvases}\n'
        '<p class="spoken" aria-live="polite"></p>\n</div>'
    )


def make_details(summary: str, body: str) -> str:
    """Return HTML that is folded away until the reader opens it."""
    return f"<details><summary>{escape(summary)}</summary>\n{body}\n</details>"


def make_filled_table(name: str, caption: str, style: str = "number") -> str:
    """Return the frame of a long table, which the page fills from an embedded CSV when it is opened.

    Parameters
    ----------
    name : str
        Name of the CSV.
    caption : str
        Caption of the table.
    style : str
        Format of its numbers: "number", "percent", "growth" (a value that starts at 1, shown as a return) or
        "text".
    """
    box = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}" '
        f'data-fill="{name}" data-style="{style}"></div>'
    )
    return make_details(caption, box)


def make_downloads(*names: str) -> str:
    """Return buttons that save embedded CSVs."""
    buttons = "".join(
        f'<button type="button" class="download" data-csv="{name}">Download {name}.csv</button>'
        for name in names
    )
    return f'<p class="downloads">{buttons}</p>'
