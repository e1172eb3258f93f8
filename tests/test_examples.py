"""What the documentation shows runs: examples, the README, the docstrings."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import geodual

ROOT = Path(__file__).parent.parent
MODULES = [info.name for info in pkgutil.walk_packages(geodual.__path__, "geodual.")]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each script ends in assertions of its own; what it saves is a picture."""
    monkeypatch.chdir(tmp_path)
    assert "assert " in path.read_text("utf-8")
    runpy.run_path(str(path), run_name="__main__")
    saved = [file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()]
    assert saved == ([f"output/{path.stem}.png"] if "savefig" in path.read_text("utf-8") else [])


def test_examples_are_listed_with_their_pictures() -> None:
    text = (ROOT / "docs" / "examples.md").read_text("utf-8")
    assert all(path.name in text for path in (ROOT / "examples").glob("*.py"))
    pictures = re.findall(r"\]\((images/\w+\.png)\)", text)
    drawn = [p.stem for p in (ROOT / "examples").glob("*.py") if "savefig" in p.read_text("utf-8")]
    assert sorted(pictures) == sorted(f"images/{stem}.png" for stem in drawn)
    assert all((ROOT / "docs" / picture).is_file() for picture in pictures)


def test_readme_examples_run_in_order() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), flags=re.S)
    assert len(blocks) >= 3
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_readme_gives_both_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in text
    assert "make test" in text
