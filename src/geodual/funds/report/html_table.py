"""Tables in HTML: captioned, sortable, in a box of their own that scrolls, every text escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd


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
        Gives the text of a value.
    kind : str
        "number" (aligned to the right, sorted by its whole value, which the cell carries), "text" (in one
        line) or "prose" (in several).
    hint : str
        What the heading means, shown on hover.
    """

    key: str
    title: str
    show: Callable[[Any], str] = str
    kind: str = "number"
    hint: str = ""


def make_table(rows: pd.DataFrame, columns: Sequence[Column], caption: str) -> str:
    """Return a table in HTML; the first column heads the rows.

    Parameters
    ----------
    rows : DataFrame
        One row a row.
    columns : sequence of Column
        What to show, in order.
    caption : str
        What it shows, plain text.
    """
    head = "".join(_head_cell(column) for column in columns)
    records = rows[[column.key for column in columns]].itertuples(index=False, name=None)
    body = "\n".join(f"<tr>{_row_cells(record, columns)}</tr>" for record in records)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">\n'
        f'<table class="sortable"><caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _head_cell(column: Column) -> str:
    hint = f' title="{escape(column.hint)}"' if column.hint else ""
    return f'<th scope="col" class="{column.kind}"{hint}>{escape(column.title)}</th>'


def _row_cells(record: tuple[Any, ...], columns: Sequence[Column]) -> str:
    cells = [_cell(value, column) for value, column in zip(record, columns, strict=True)]
    cells[0] = cells[0].replace("<td", '<th scope="row"').replace("</td>", "</th>")
    return "".join(cells)


def _cell(value: Any, column: Column) -> str:
    text = escape(column.show(value))
    if column.kind != "number":
        return f'<td class="{column.kind}">{text}</td>'
    exact = "" if pd.isna(value) else repr(float(value))
    return f'<td class="number" data-value="{exact}">{text}</td>'
