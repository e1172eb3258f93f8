"""Print the lower bound of every dependency as a constraint for pip, for ``make test-min``.

``python release/lower_bounds.py`` turns ``numpy>=2.0`` of ``pyproject.toml`` into ``numpy==2.0``. The extras
`funds` and `excel` count too: tests run studies and write workbooks.
"""

import re
import tomllib
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_BOUND = re.compile(r"(?P<name>[\w.-]+)>=(?P<version>[\w.]+)")


def lower_bounds() -> list[str]:
    """Return one constraint per dependency; raise if one has no lower bound."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = (*project["dependencies"], *extras["funds"], *extras["excel"])
    bounds = []
    for requirement in (entry for entry in listed if not entry.startswith("geodual[")):
        match = _BOUND.fullmatch(requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml has no lower bound; write name>=version.")
        bounds.append(f"{match['name']}=={match['version']}")
    return bounds


if __name__ == "__main__":
    print("\n".join(lower_bounds()))
