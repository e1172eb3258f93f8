"""Print options for pytest that leave out the test files whose imports are not installed.

``make test-min`` and ``make test-newest`` install geodual without the packages that it is compared with.
"""

import ast
import importlib.util
from pathlib import Path

_ROOT = Path(__file__).parent.parent


def imported(path: Path) -> set[str]:
    """Return the packages that a file imports anywhere."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def ignored() -> list[str]:
    """Return the option for each file that cannot be imported here."""
    own = {path.name for path in _ROOT.iterdir() if path.is_dir()}  # packages of this checkout
    files = sorted((_ROOT / "tests").rglob("test_*.py"))
    missing = (
        path for path in files if any(importlib.util.find_spec(name) is None for name in imported(path) - own)
    )
    return [f"--ignore={path.relative_to(_ROOT)}" for path in missing]


if __name__ == "__main__":
    print(" ".join(ignored()))
