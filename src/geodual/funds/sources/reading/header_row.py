"""Find the header of a table: banners, such as a title or the day of the download, may stand above it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from .day_column import looks_like_day

SAMPLE = 40  # filled rows among which the header is looked for

Row = Sequence[str]


def find_header(rows: Sequence[Row]) -> int:
    """Return the position of the header among the first filled rows of a table.

    If a column of days begins, the header is the row above it. Otherwise, it is the first row that is at
    least half as wide as the rows usually are, with another row below it.
    """
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            if looks_like_day(cell.strip()) and _days_begin(rows, at, column):
                if at == 0:
                    return 0  # there is no header
                # A header names a column besides the days; a title stands alone.
                if any(name.strip() for other, name in enumerate(rows[at - 1]) if other != column):
                    return at - 1
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    usual = median_low(filled)
    wide = [at for at, width in enumerate(filled[:-1]) if width > 1 and 2 * width >= usual]
    return wide[0] if wide else 0


def _days_begin(rows: Sequence[Row], at: int, column: int) -> bool:
    """Return whether days begin in a cell: there is none above it, and most cells below are days."""
    near = rows[max(at - 1, 0) :]
    is_day = [column < len(row) and looks_like_day(row[column].strip()) for row in near]
    if at == 0:  # a day in a banner is followed by something else, and days without a header by days
        return all(is_day[:2])
    return not is_day[0] and 2 * sum(is_day[2:]) >= len(is_day) - 2
