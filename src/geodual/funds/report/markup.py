"""HTML blocks of the pages: groups of sections, tabs, charts, tables. All texts are escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any
from urllib.parse import quote

import pandas as pd

from ..evaluation.study_tables import StudyTables
from ..language import say
from .wording import PERIOD_TITLES, name_curve, name_period


@dataclass(frozen=True)
class Section:
    """A section of a page, with a heading.

    Attributes
    ----------
    name : str
        Its identifier, the target of links.
    title : str
        Its heading.
    parts : tuple of str
        Its content as HTML; empty parts are left out.
    short : str
        Its title in the contents; the heading if empty.
    """

    name: str
    title: str
    parts: tuple[str, ...]
    short: str = ""

    def html(self, level: int = 3) -> str:
        """Return the section with a heading of a level from 2 to 6."""
        body = "\n".join(part for part in self.parts if part)
        return (
            f'<section id="{self.name}" aria-labelledby="{self.name}-title">\n'
            f'<h{level} id="{self.name}-title" class="title">{escape(self.title)}</h{level}>\n'
            f"{body}\n</section>"
        )


@dataclass(frozen=True)
class Plot:
    """One panel of a chart.

    Attributes
    ----------
    name : str
        Name under which the script `plots.js` knows its content.
    label : str
        Description in words, for screen readers.
    tall : bool
        Whether it is the main panel, which is higher.
    title : str
        Short heading above the panel, if any.
    """

    name: str
    label: str
    tall: bool = True
    title: str = ""


def make_section(name: str, title: str, *parts: str, short: str = "") -> Section:
    """Return a section; `parts` are HTML."""
    return Section(name, say(title), parts, say(short))


def make_text(text: str) -> str:
    """Return plain text in which no line breaks within a day such as 2015-12-31."""
    return re.sub(r"\d{4}-\d\d-\d\d", r'<span class="day">\g<0></span>', escape(text))


def make_paragraph(text: str, kind: str = "lead") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{make_text(say(text))}</p>'


def make_list(texts: Sequence[str], kind: str) -> str:
    """Return a list of plain texts, or nothing if there are none."""
    items = "".join(f"<li>{make_text(text)}</li>" for text in texts)
    return f'<ul class="{kind}">{items}</ul>' if items else ""


def make_breakable(text: str) -> str:
    """Return a name in which a line may break after a point, a hyphen or an underscore."""
    return "<wbr>".join(map(escape, re.split(r"(?<=[._-])(?=\w)", text)))


def make_tabs(name: str, panels: Mapping[str, str], chosen: str, label: str = "Period") -> str:
    """Return panels shown one at a time, as tabs; without scripts all are shown.

    Parameters
    ----------
    name : str
        Prefix of the identifiers.
    panels : mapping of str to str
        HTML of each panel, by title.
    chosen : str
        Title of the panel shown first.
    label : str
        What the tabs choose, for screen readers.
    """
    parts = [f'<div class="tabs" data-chosen="{escape(chosen)}" data-label="{escape(say(label))}">']
    for i, (title, body) in enumerate(panels.items()):
        parts.append(f'<div class="panel" id="{name}-{i}" data-title="{escape(title)}">{body}</div>')
    return "\n".join([*parts, "</div>"])


def make_period_tabs(
    study: StudyTables, chosen: str, name: str, table: pd.DataFrame, columns: Sequence[Column], title: str
) -> str:
    """Return a table whose index begins with the period as tabs, one per period with results.

    Parameters
    ----------
    study : StudyTables
        The study.
    chosen : str
        The period shown first.
    name : str
        Prefix of the identifiers.
    table : DataFrame
        The data.
    columns : sequence of Column
        The columns to show.
    title : str
        Beginning of the captions; the period and its days follow.
    """
    panels = {
        say(PERIOD_TITLES[period]): make_table(
            table.loc[period].reset_index(), columns, caption_of(title, period, study)
        )
        for period in study.known_periods or ["both"]
    }
    return make_tabs(f"{name}-panel", panels, say(PERIOD_TITLES[chosen]))


def caption_of(title: str, period: str, study: StudyTables) -> str:
    """Return the caption of a table about a period: its title, the period and its days."""
    return say("{title}, {period}", title=say(title), period=name_period(period, study.decided(period)))


def make_chart(
    plots: Sequence[Plot], *, log_switch: bool = False, chooser: bool = False, beside: bool = False
) -> str:
    """Return the frame of a chart, which the page fills: a legend of buttons, and one canvas per panel.

    Parameters
    ----------
    plots : sequence of Plot
        Panels from top to bottom.
    log_switch : bool
        Whether to add a switch for a logarithmic scale in the first panel.
    chooser : bool
        Whether the chart shows one forecaster at a time, which the reader chooses.
    beside : bool
        Whether the panels stand side by side where there is room.
    """
    scale, forecaster = escape(say("Logarithmic scale")), escape(say("Forecaster"))
    shown = escape(say("Curves shown"))
    switch = f'<label class="switch"><input type="checkbox" class="log-switch"> {scale}</label>'
    choice = f'<label class="choice">{forecaster} <select class="chooser"></select></label>'
    canvases = "\n".join(map(_canvas, plots))
    return (
        f'<div class="chart">\n<div class="chart-bar">{choice if chooser else ""}<div class="legend" '
        f'role="group" aria-label="{shown}"></div>{switch if log_switch else ""}</div>\n'
        f'<div class="plots{" beside" if beside else ""}">\n{canvases}\n</div>\n'
        '<p class="spoken" aria-live="polite"></p>\n</div>'
    )


def _canvas(plot: Plot) -> str:
    title = f'<p class="plot-title">{escape(say(plot.title))}</p>' if plot.title else ""
    return (
        f'<div>{title}<div class="plot {"tall" if plot.tall else "low"}"><canvas data-plot="{plot.name}" '
        f'role="img" tabindex="0" aria-label="{escape(say(plot.label))}"></canvas></div></div>'
    )


def make_details(summary: str, body: str) -> str:
    """Return HTML that is folded away until the reader opens it."""
    return f"<details><summary>{escape(say(summary))}</summary>\n{body}\n</details>"


def make_pair(left: str, right: str) -> str:
    """Return two blocks of HTML that stand side by side where there is room."""
    return f'<div class="pair">\n<div>{left}</div>\n<div>{right}</div>\n</div>'


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
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(say(caption))}" '
        f'data-fill="{name}" data-style="{style}"></div>'
    )
    return make_details(caption, box)


def make_foot(*details: str, csv: Sequence[str]) -> str:
    """Return the foot of a section: tables folded away, and buttons that save embedded CSVs."""
    buttons = "".join(map(_button, csv))
    downloads = f'<p class="downloads"><span>{escape(say("Download"))}</span>{buttons}</p>'
    return f'<div class="foot">{"".join(details)}{downloads}</div>'


def _button(name: str) -> str:
    label = escape(say("Download {file}", file=f"{name}.csv"))
    return (
        f'<button type="button" class="download" data-csv="{name}" aria-label="{label}">{name}.csv</button>'
    )


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    key : str
        Column of the DataFrame.
    title : str
        Its heading.
    show : callable
        Formats a value as text.
    kind : str
        "number" (aligned to the right, sorted by the exact value, which the cell stores), "text" (on one
        line) or "prose" (on several lines).
    hint : str
        Explanation of the heading, shown on hover.
    under : tuple of str
        Columns of the DataFrame whose texts stand in small letters under the value; empty texts are left out.
    tint : callable, optional
        Returns the style class that colors the cell of a value.
    draw : callable, optional
        Returns a drawing (SVG) of a row, which is shown in place of a text. It needs a kind of its own, and a
        key that holds numbers.
    link : mapping of str to str, optional
        Address that a value links to; values that it lacks stay plain.
    """

    key: str
    title: str
    show: Callable[[Any], str] = str
    kind: str = "number"
    hint: str = ""
    under: tuple[str, ...] = ()
    tint: Callable[[Any], str] | None = None
    draw: Callable[[dict[Any, Any]], str] | None = None
    link: Mapping[str, str] | None = None


def name_column(study: StudyTables, key: str = "forecaster", title: str = "Forecaster") -> Column:
    """Return the column of the names of forecasters and of the index."""
    return Column(key, title, partial(name_curve, study.index_name), kind="text")


def make_table(rows: pd.DataFrame, columns: Sequence[Column], caption: str, kind: str = "sortable") -> str:
    """Return a table in HTML; the cells of the first column are row headings.

    Parameters
    ----------
    rows : DataFrame
        The data; each row becomes a table row.
    columns : sequence of Column
        The columns to show, in order.
    caption : str
        Caption of the table, as plain text.
    kind : str
        Style classes of the table; the page makes a "sortable" one sortable.
    """
    head = "".join(head_cell(column) for column in columns)
    body = "\n".join(f"<tr>{_row_cells(record, columns)}</tr>" for record in rows.to_dict("records"))
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(say(caption))}">\n'
        f'<table class="{kind}"><caption><span>{make_text(say(caption))}</span></caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def head_cell(column: Column) -> str:
    """Return the heading of a column."""
    hint = f' title="{escape(say(column.hint))}"' if column.hint else ""
    return f'<th scope="col" class="{column.kind}"{hint}>{escape(say(column.title))}</th>'


def _row_cells(record: dict[Any, Any], columns: Sequence[Column]) -> str:
    cells = [_cell(record, column) for column in columns]
    # The first cell heads the row.
    cells[0] = cells[0].replace("<td", '<th scope="row"').replace("</td>", "</th>")
    return "".join(cells)


def _cell(record: dict[Any, Any], column: Column) -> str:
    value = record[column.key]
    # The page sorts by the exact value, not by the text.
    exact = "" if column.kind in ("text", "prose") or pd.isna(value) else repr(float(value))
    if column.draw is not None:
        return f'<td class="{column.kind}" data-value="{exact}">{column.draw(record)}</td>'
    below = "".join(f"<small>{escape(record[key])}</small>" for key in column.under if record[key])
    text = escape(column.show(value))
    if column.link and value in column.link:
        text = f'<a href="{quote(column.link[value])}">{text}</a>'
    text += below
    if column.kind != "number":
        return f'<td class="{column.kind}">{text}</td>'
    tint = f" {column.tint(value)}" if column.tint else ""
    return f'<td class="number{tint}" data-value="{exact}">{text}</td>'


@dataclass(frozen=True)
class Group:
    """Sections that belong together.

    Attributes
    ----------
    name : str
        Its identifier, the target of links.
    title : str
        Its heading.
    question : str
        The question that its sections answer, shown below the heading.
    sections : tuple of Section or None
        Its sections; None stands for one that does not apply to the study.
    """

    name: str
    title: str
    question: str
    sections: tuple[Section | None, ...]

    @property
    def shown(self) -> list[Section]:
        """The sections that apply to the study."""
        return [section for section in self.sections if section is not None]

    def html(self) -> str:
        """Return the group with all its sections."""
        lead = make_paragraph(self.question, "question") if self.question else ""
        body = "\n\n".join(section.html() for section in self.shown)
        return (
            f'<section id="{self.name}" class="group" aria-labelledby="{self.name}-title">\n'
            f'<h2 id="{self.name}-title">{escape(say(self.title))}</h2>\n{lead}\n{body}\n</section>'
        )


def make_contents(groups: Sequence[Group]) -> str:
    """Return the list of contents: a link per group, and within it a link per section."""
    items = []
    for group in groups:
        links = "".join(f"<li>{_link(one.name, one.short or one.title)}</li>" for one in group.shown)
        items.append(f"<li>{_link(group.name, group.title)}<ul>{links}</ul></li>")
    return f'<ul class="groups">{"".join(items)}</ul>'


def _link(name: str, title: str) -> str:
    return f'<a href="#{name}">{escape(say(title))}</a>'
