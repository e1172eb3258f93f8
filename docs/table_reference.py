"""The tables of a study in Markdown, for the reference, read from the registry of tables."""

from __future__ import annotations

from geodual.funds import Study


def describe_tables() -> str:
    """Return one row per table: its name, what it is about, and where it is saved."""
    rows = ["| in Python | about | run folder | Excel |", "| --- | --- | --- | --- |"]
    for table in Study.tables():
        called = f"`{table.name}()`" if callable(getattr(Study, table.name, None)) else f"`{table.name}`"
        file = f"`{table.file}.csv`" if table.saved else ""
        rows.append(f"| {called} | {table.about} | {file} | {table.title} |")
    return "\n".join(rows)
