"""Make a Jupyter notebook of each tutorial: ``python -m docs.make_notebooks FOLDER``.

The page is the source: its code becomes cells, its commands become cells with lines that begin with ``!``,
and its text Markdown without links, which would lead nowhere. What a page prints is left out.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).parent / "tutorials"
USERS = {"researcher": "researcher", "engineer": "engineer", "notebook": "quant", "analyst": "analyst"}
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```\n?", flags=re.S | re.M)


def make_notebook(page: str) -> dict[str, Any]:
    """Return the notebook of a page, in format 4."""
    cells: list[dict[str, Any]] = []
    end = 0
    for match in BLOCK.finditer(page):
        add_text(cells, page[end : match.start()])
        end = match.end()
        kind, block = match.groups()
        if kind != "text":
            add_code(cells, block if kind == "python" else commands(block))
    add_text(cells, page[end:])
    return {
        "cells": cells,
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def commands(block: str) -> str:
    """Return the commands of a console block, as a notebook runs them."""
    return "\n".join(f"!{line}" for line in re.findall(r"^\$ (.*)$", block, flags=re.M))


def add_code(cells: list[dict[str, Any]], code: str) -> None:
    """Add a cell of code."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells.append({**cell, "source": code.strip("\n").splitlines(keepends=True)})


def add_text(cells: list[dict[str, Any]], text: str) -> None:
    """Add a cell of Markdown, if there is any text."""
    text = re.sub(r"\{[\w:]+\}`~?(?:\w+\.)*(\w+)`", r"`\1`", text)  # a link to the reference
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    if text.strip():
        source = text.strip("\n").splitlines(keepends=True)
        cells.append({"cell_type": "markdown", "metadata": {}, "source": source})


def write_notebooks(folder: Path) -> None:
    """Write the notebook of each user into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page, user in USERS.items():
        notebook = make_notebook((TUTORIALS / f"{page}.md").read_text("utf-8"))
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{user}.ipynb").write_text(text, "utf-8")


if __name__ == "__main__":
    write_notebooks(Path(sys.argv[1]))
