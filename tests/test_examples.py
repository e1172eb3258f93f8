"""What the documentation shows runs: examples, the README, the docstrings."""

import ast
import doctest
import importlib
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from geodual.funds.forecasters import registry as forecasters
from geodual.metric import registry as metrics

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
MODULES = [
    path.relative_to(ROOT / "src").with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for path in sorted((ROOT / "src" / "geodual").rglob("*.py"))
    if ">>>" in path.read_text("utf-8")
]


@pytest.fixture(autouse=True)
def _no_window(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Draw without a window, and leave no figure and no setting behind."""
    with mpl.rc_context({"backend": "agg"}):
        monkeypatch.setattr(plt, "show", lambda: None)
        plt.close("all")  # those of other tests
        yield
        plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each script ends in assertions of its own, draws one picture, and writes nothing."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert len(plt.get_fignums()) == 1
    assert plt.gcf().axes
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_a_page_of_the_gallery(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    title, underline, empty, *text = (ast.get_docstring(tree) or "").splitlines()
    assert underline == "=" * len(title)
    assert empty == ""
    assert "What to look for:" in " ".join(text)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.Module(tree.body[-4:], [])))
    imports = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    public = {"manifolds", "optimize", "optimize.autodiff", "semidefinite"}
    public |= {"metric", "compat.metric_learn", "funds"}
    assert {name for name in imports if name.startswith("geodual")} <= {f"geodual.{name}" for name in public}


def test_examples_are_listed_with_their_pictures() -> None:
    text = (ROOT / "docs" / "examples.md").read_text("utf-8")
    named = re.findall(r"python (examples/\w+/\w+\.py)", text)
    assert sorted(named) == sorted(path.relative_to(ROOT).as_posix() for path in EXAMPLES)
    pictures = re.findall(r"\]\((images/\w+\.png)\)", text)
    assert sorted(pictures) == sorted(f"images/{path.stem}.png" for path in EXAMPLES)
    assert all((ROOT / "docs" / picture).is_file() for picture in pictures)


def test_readme_examples_run_in_order() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), flags=re.S)
    assert len(blocks) >= 3
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


@pytest.mark.usefixtures("no_fresh_processes")
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, table in ((metrics, "METRICS"), (forecasters, "FORECASTERS")):
        monkeypatch.setattr(module, table, dict(getattr(module, table)))  # examples leave no name behind
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
    assert result.attempted


def test_readme_gives_both_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert "make demo" in text
    assert "make test" in text
