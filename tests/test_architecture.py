"""The shape of the code: layers, sizes, names, documentation."""

import ast
import importlib
import inspect
import pkgutil
import re
import statistics
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import geodual
import geodual.funds
import geodual.manifolds
import geodual.metric
import geodual.model
import geodual.optimize
import geodual.semidefinite

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MODULES = [info.name for info in pkgutil.walk_packages(geodual.__path__, "geodual.")]
MAX_FUNCTION_LINES = 40
MEDIAN_FUNCTION_LINES = 6
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc"}


def test_layers_import_downward_only(capsys: pytest.CaptureFixture) -> None:
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def test_files_are_named_after_what_they_hold() -> None:
    assert [path for path in SOURCES if path.stem.strip("_") in GRAB_BAGS] == []


def body_lines(function: ast.FunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short() -> None:
    sizes = [
        (body_lines(node), path.name, node.name)
        for path in SOURCES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef)
    ]
    assert [size for size in sizes if size[0] > MAX_FUNCTION_LINES] == []
    assert statistics.median(n for n, *_ in sizes) <= MEDIAN_FUNCTION_LINES


def test_every_public_name_is_documented() -> None:
    """Overriding methods inherit their docstring, so it is asked for the way `help` does."""
    for name in MODULES:
        module = importlib.import_module(name)
        assert module.__doc__, name
        for label, thing in vars(module).items():
            if label.startswith("_") or getattr(thing, "__module__", None) != name or not callable(thing):
                continue
            assert inspect.getdoc(thing), f"{name}.{label}"
            if inspect.isclass(thing):
                for method, function in inspect.getmembers(thing, callable):
                    if not method.startswith("_"):
                        assert inspect.getdoc(function), f"{name}.{label}.{method}"


PACKAGES = [
    geodual.manifolds,
    geodual.optimize,
    geodual.model,
    geodual.semidefinite,
    geodual.metric,
    geodual.funds,
]
PUBLIC = [(package, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_exist_and_are_listed_once(package) -> None:
    assert all(hasattr(package, name) for name in package.__all__)
    assert len(set(package.__all__)) == len(package.__all__)


def test_every_public_name_shows_how_to_use_it() -> None:
    """`tests/test_examples.py` runs the examples."""
    for package, name in PUBLIC:
        text = inspect.getdoc(getattr(package, name))
        assert ">>>" in text, f"{name} needs an example that runs"
        assert not re.search(r"As (in|for) `", text), f"a reader of {name} should not have to look elsewhere"


def test_every_public_name_lists_its_own_parameters() -> None:
    for package, name in PUBLIC:
        thing = getattr(package, name)
        uncalled = (Exception, Enum)  # nor does anybody call a protocol
        if inspect.isclass(thing) and (issubclass(thing, uncalled) or getattr(thing, "_is_protocol", False)):
            continue
        bases = (
            [base for base in inspect.getmro(thing) if is_dataclass(base)] if is_dataclass(thing) else [thing]
        )
        text = "\n".join(filter(None, map(inspect.getdoc, bases)))  # fields are listed where they are added
        entries = re.findall(r"^(\**\w+(?:, \**\w+)*)(?: : .*)?$", text, flags=re.M)
        listed = {label.strip("* ") for entry in entries for label in entry.split(",")}
        assert set(inspect.signature(thing).parameters) <= listed, name


@pytest.mark.parametrize("word", [r"\brpdml\b", r"\beuclidean\b", r"\b70\b"])
def test_no_metric_and_no_number_of_factors_is_a_special_case(word: str) -> None:
    """The registries know them; docstrings and examples may name them."""
    scripts = (ROOT / "src" / "geodual" / "funds" / "report").glob("*.js")
    found = {path.name: word for path in scripts if re.search(rf"[\"']{word}[\"']", path.read_text("utf-8"))}
    for path in SOURCES:
        geometry = "model" in path.parts and "euclidean" in word  # there it names straight lines, no metric
        if path.name in ("registry.py",) or geometry:
            continue
        hits = [text for text in constants(path) if re.search(word, text)]
        if hits:
            found[path.name] = hits
    assert not found


@cache
def constants(path: Path) -> list[str]:
    """Return all constants of a file but its docstrings, as text."""
    tree, docstrings = parse(path), set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            docstrings.add(first.value)
    return [
        str(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node not in docstrings
    ]
