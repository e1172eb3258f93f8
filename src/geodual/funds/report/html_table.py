"""Tables in HTML: with caption, sortable, in a box that scrolls. All texts are escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from .markup import make_text


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
        Returns the style class that colours the cell of a value.
    draw : callable, optional
        Returns a drawing (SVG) of a row, which is shown in place of a text. It needs a kind of its own, and a
        key that holds numbers.
    """

    key: str
    title: str
    show: Callable[[Any], str] = str
    kind: str = "number"
    hint: str = ""
    under: tuple[str, ...] = ()
    tint: Callable[[Any], str] | None = None
    draw: Callable[[dict[Any, Any]], str] | None = None


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
    head = "".join(_head_cell(column) for column in columns)
    body = "\n".join(f"<tr>{_row_cells(record, columns)}</tr>" for record in rows.to_dict("records"))
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">\n'
        f'<table class="{kind}"><caption><span>{make_text(caption)}</span></caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _head_cell(column: Column) -> str:
    hint = f' title="{escape(column.hint)}"' if column.hint else ""
    return f'<th scope="col" class="{column.kind}"{hint}>{escape(column.title)}</th>'


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
    text = escape(column.show(value)) + below
    if column.kind != "number":
        return f'<td class="{column.kind}">{text}</td>'
    tint = f" {column.tint(value)}" if column.tint else ""
    return f'<td class="number{tint}" data-value="{exact}">{text}</td>'
