"""Run a guide of `docs/` from its own text, as a user who follows it would.

A code block whose first line is ```` ```python name.py ```` is (a part of) the new file `name.py`; it is
written to a folder outside the package. A plain ```` ```python ```` block is code that uses it, run in order.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def run_guide(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Write the files that a guide shows, run the code that uses them, and return its names."""
    text = (DOCS / name).read_text("utf-8")
    files: dict[str, list[str]] = {}
    uses: list[str] = []
    for file, block in re.findall(r"```python *(\S*)\n(.*?)```", text, flags=re.S):
        (files.setdefault(file, []) if file else uses).append(block)
    assert files, f"{name} shows no new file"
    assert uses, f"{name} does not use its file"
    for file, blocks in files.items():
        (folder / file).write_text("\n\n".join(blocks), "utf-8")
        monkeypatch.delitem(sys.modules, Path(file).stem, raising=False)
    monkeypatch.syspath_prepend(folder)
    names: dict[str, Any] = {"__name__": "guide"}
    for block in uses:
        exec(compile(block, name, "exec"), names)
    return names


def run_command(folder: Path, *arguments: str) -> str:
    """Run the command in a folder, in a process of its own, and return what it prints."""
    code = (
        "from geodual.cli import main; main()"  # as the installed command does: the folder is not on the path
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
