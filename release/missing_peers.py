"""Print options for pytest that leave out the test files whose imports are not installed.

``make test-min`` and ``make test-newest`` install geodual without the packages that it is compared with. A
test file needs all that it imports, also inside functions, and what modules of this checkout import at their
top.
"""

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_HOMES = (_ROOT, _ROOT / "src")  # of packages of this checkout
_OWN = {path.name for home in _HOMES for path in home.iterdir() if path.is_dir()}


@cache
def imported(path: Path, anywhere: bool) -> frozenset[str]:
    """Return the full names that a file imports, at its top or anywhere: ``a.b`` for ``from a import b``."""
    tree = ast.parse(path.read_text("utf-8"))
    folders = [part for part in path.relative_to(_ROOT).parts[:-1] if part != "src"]
    names: set[str] = set()
    for node in ast.walk(tree) if anywhere else _at_top(tree.body):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = folders[: len(folders) + 1 - node.level] if node.level else []
            start = [*above, node.module] if node.module else above
            names |= {".".join([*start, alias.name]) for alias in node.names}
    return frozenset(names)


def _at_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run in any case when a file is imported."""
    for node in body:
        yield from _at_top(node.body) if isinstance(node, ast.With) else [node]


@cache
def own_files(name: str) -> frozenset[Path]:
    """Return the files of this checkout that run when a full name is imported: packages and the module."""
    parts = name.split(".")
    places = [home.joinpath(*parts[: end + 1]) for home in _HOMES for end in range(len(parts))]
    files = {file for place in places for file in (place / "__init__.py", place.with_suffix(".py"))}
    return frozenset(filter(Path.is_file, files))


def needed(test: Path) -> set[str]:
    """Return the packages from elsewhere that a test file needs."""
    packages, seen, waiting = set(), {test}, [test]
    while waiting:
        path = waiting.pop()
        for name in imported(path, anywhere=path == test):
            package = name.partition(".")[0]
            if package not in _OWN:
                packages.add(package)
            waiting += own_files(name) - seen
            seen |= own_files(name)
    return packages


def ignored() -> list[str]:
    """Return the option for each file that cannot be run here."""
    needs = {file: needed(file) for file in sorted((_ROOT / "tests").rglob("test_*.py"))}
    missing = {name for name in set().union(*needs.values()) if importlib.util.find_spec(name) is None}
    return [f"--ignore={file.relative_to(_ROOT)}" for file, names in needs.items() if names & missing]


if __name__ == "__main__":
    print(" ".join(ignored()))
