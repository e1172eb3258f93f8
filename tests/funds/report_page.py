"""What a browser sees of a report: its elements, scripts and tables."""

import json
from dataclasses import replace
from html.parser import HTMLParser


def reworded(study, **changes):
    """Return the study with other fields on which no statistic depends, and with its statistics so far."""
    changed = replace(study, **changes)
    vars(changed).update({name: value for name, value in vars(study).items() if name not in vars(changed)})
    return changed


class Page(HTMLParser):
    """Elements, scripts, all text outside of them, and the cells of each table by its caption."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.tables, self.text = [], [], {}, ""
        self._caption = self._cell = self._script = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag in ("script", "style"):
            self._script = ""
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th", "caption"):
            self._cell = [attributes.get("data-value"), ""]

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.scripts.append((tag, self.elements[-1][1], self._script))
            self._script = None
        if tag == "caption":
            self._caption, self._cell = self._cell[1], None
        if tag in ("td", "th"):
            self._rows[-1].append(tuple(self._cell))
            self._cell = None
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if self._cell is not None:
            self._cell[1] += data
        if self._script is None:
            self.text += data
        else:
            self._script += data

    @property
    def data(self):
        """The data that the page works with."""
        return next(json.loads(text) for _, kept, text in self.scripts if kept.get("id") == "report-data")

    def values(self, name):
        """Return an attribute of all elements that have it."""
        return [kept[name] for _, kept in self.elements if name in kept]

    def table(self, start):
        """Return the rows of the table whose caption starts so, without the heading, as text by column."""
        rows = next(rows for caption, rows in self.tables.items() if caption.startswith(start))
        titles = [text for _, text in rows[0]]
        return [dict(zip(titles, (text for _, text in row), strict=True)) for row in rows[1:]]
