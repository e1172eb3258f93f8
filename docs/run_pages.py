"""Run the code of a page, and compare or renew what the page says that it prints.

The ``python`` blocks are run in order, in one namespace per page. A ``text`` block right after one is what it
prints. In a ``console`` block, lines that begin with ``$`` are commands, and the lines below are what they
print; ``...`` stands for any text there. A command is a program with arguments, which works in every shell.

Run ``python -m docs.run_pages`` to renew what all pages of `PAGES` print, after a look at the difference.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGES = [
    "tutorials/researcher.md",
    "tutorials/formulas.md",
    "tutorials/engineer.md",
    "tutorials/notebook.md",
    "tutorials/analyst.md",
    "how_to/choose_a_solver.md",
    "how_to/write_derivatives.md",
    "how_to/differentiate_a_solution.md",
    "how_to/solve_a_semidefinite_program.md",
    "how_to/learn_from_a_table.md",
    "how_to/scale_to_a_cluster.md",
    "how_to/bring_your_own_fund_data.md",
    "reference/atoms.md",
    "explanation/why_the_printed_updates_diverge.md",
    "explanation/worth_of_an_ic.md",
]
BLOCK = re.compile(r"^```(python|text|console)\n(.*?)^```$", flags=re.S | re.M)


def run_page(text: str, folder: Path) -> str:
    """Return the text of a page with what its code prints when run in a folder."""
    names: dict[str, Any] = {"__name__": "page"}
    printed: str | None = None  # by the block above, if a block of text may follow

    def renew(match: re.Match[str]) -> str:
        nonlocal printed
        kind, block = match.groups()
        if kind == "console":
            block = run_commands(block, folder)
        elif kind == "python":
            printed = run_code(block, names)
            return match.group()
        elif printed is not None:
            block, printed = printed, None
        return f"```{kind}\n{block}```"

    with contextlib.chdir(folder):
        return BLOCK.sub(renew, text)


def run_code(block: str, names: dict[str, Any]) -> str:
    """Run a block of Python and return what it prints, without spaces at the ends of lines."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block, "page", "exec"), names)
    return tidied(output.getvalue())


def run_commands(block: str, folder: Path) -> str:
    """Return a block of commands with what they print, as it is shown already where that fits."""
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": place, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    environment["PYTHONIOENCODING"] = "utf-8"
    parts = []
    for line, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.M):
        program, *arguments = shlex.split(line)
        done = subprocess.run(
            [shutil.which(program, path=place) or program, *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode not in (0, 1):  # 1: done, with a finding
            raise RuntimeError(f"{line} failed: {done.stderr}")
        printed = tidied(done.stdout)
        parts.append(f"$ {line}\n{shown if fits(shown, printed) else printed}")
    return "".join(parts)


def fits(shown: str, printed: str) -> bool:
    """Return whether a page shows what was printed, where ``...`` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), printed, flags=re.S) is not None


def tidied(text: str) -> str:
    """Return a text without spaces at the ends of lines and empty lines at the ends."""
    lines = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return lines and lines + "\n"


if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as name:
            path = DOCS / page
            path.write_text(run_page(path.read_text("utf-8"), Path(name)), "utf-8")
