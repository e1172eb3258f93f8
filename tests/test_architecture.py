"""The shape of the code: layers, sizes, names, documentation."""

import ast
import importlib
import inspect
import pkgutil
import re
import statistics
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import geodual
import geodual.funds
import geodual.manifolds
import geodual.metric
import geodual.optimize

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MODULES = [info.name for info in pkgutil.walk_packages(geodual.__path__, "geodual.")]
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
MEDIAN_FUNCTION_LINES = 6
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc"}


def test_layers_import_downwards_only(capsys: pytest.CaptureFixture) -> None:
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_files_are_short_and_about_one_concept(path: Path) -> None:
    assert path.stem.strip("_") not in GRAB_BAGS
    assert len(path.read_text("utf-8").splitlines()) <= MAX_FILE_LINES


def body_lines(function: ast.FunctionDef) -> int:
    """Lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_functions_are_short(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    long = {node.name: body_lines(node) for node in functions if body_lines(node) > MAX_FUNCTION_LINES}
    assert not long


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented(name: str) -> None:
    """Overriding methods inherit their docstring, so it is asked for the way `help` does."""
    module = importlib.import_module(name)
    assert module.__doc__
    for label, thing in vars(module).items():
        if label.startswith("_") or getattr(thing, "__module__", None) != name or not callable(thing):
            continue
        assert inspect.getdoc(thing), f"{name}.{label}"
        if inspect.isclass(thing):
            for method, function in inspect.getmembers(thing, callable):
                if not method.startswith("_"):
                    assert inspect.getdoc(function), f"{name}.{label}.{method}"


PACKAGES = [geodual.manifolds, geodual.optimize, geodual.metric, geodual.funds]
PUBLIC = [(package, name) for package in PACKAGES for name in package.__all__]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_exist_and_are_listed_once(package) -> None:
    assert all(hasattr(package, name) for name in package.__all__)
    assert len(set(package.__all__)) == len(package.__all__)


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=lambda value: getattr(value, "__name__", value))
def test_every_public_name_shows_how_to_use_it(package, name: str) -> None:
    """`tests/test_examples.py` runs the examples."""
    text = inspect.getdoc(getattr(package, name))
    assert ">>>" in text, "an example that runs"
    assert not re.search(r"As (in|for) `", text), "a reader should not have to look elsewhere"


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=lambda value: getattr(value, "__name__", value))
def test_every_public_name_lists_its_own_parameters(package, name: str) -> None:
    thing = getattr(package, name)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    text = inspect.getdoc(thing)
    entries = re.findall(r"^(\**\w+(?:, \**\w+)*)(?: : .*)?$", text, flags=re.M)
    listed = {name.strip("* ") for entry in entries for name in entry.split(",")}
    assert set(inspect.signature(thing).parameters) <= listed


def test_functions_are_short_in_the_median() -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in SOURCES]
    sizes = [
        body_lines(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    ]
    assert statistics.median(sizes) <= MEDIAN_FUNCTION_LINES


@pytest.mark.parametrize("word", [r"\brpdml\b", r"\beuclidean\b", r"\b70\b"])
def test_no_metric_and_no_number_of_factors_is_a_special_case(word: str) -> None:
    """The registries know them; docstrings and examples may name them."""
    scripts = (ROOT / "src" / "geodual" / "funds" / "report").glob("*.js")
    found = {path.name: word for path in scripts if re.search(rf"[\"']{word}[\"']", path.read_text("utf-8"))}
    for path in SOURCES:
        if path.name in ("registry.py",):
            continue
        texts = [
            node.value
            for node in ast.walk(without_docstrings(ast.parse(path.read_text("utf-8"))))
            if isinstance(node, ast.Constant)
        ]
        hits = [text for text in texts if re.search(word, str(text))]
        if hits:
            found[path.name] = hits
    assert not found


def without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = body[1:] or [ast.Pass()]
    return tree
