"""The shape of the code: layers, sizes, names, documentation."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import geodual
import geodual.manifolds
import geodual.optimize

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MODULES = [info.name for info in pkgutil.walk_packages(geodual.__path__, "geodual.")]
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
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


@pytest.mark.parametrize("package", [geodual.manifolds, geodual.optimize])
def test_public_names_exist_and_are_listed_in_order(package) -> None:
    assert all(hasattr(package, name) for name in package.__all__)
    assert len(set(package.__all__)) == len(package.__all__)


def test_the_library_imports_without_its_extras() -> None:
    """jax is loaded only when a problem is built from jax functions."""
    code = (
        "import sys, geodual.optimize, geodual.manifolds; assert not {'jax', 'pymanopt'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
