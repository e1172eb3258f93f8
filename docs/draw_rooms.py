"""Draw `images/rooms.svg`, the picture of the rooms, from the import contracts and the docstrings.

Run ``python -m docs.draw_rooms`` after a contract in `pyproject.toml` has changed.
"""

from __future__ import annotations

import ast
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
WIDTH, ROW, GAP, INDENT = 980, 26, 4, 28
COLORS = {
    "funds": "#FDF0D5",
    "metric": "#DFF0E6",
    "model": "#F9E0E6",
    "optimize": "#DCEBF7",
    "manifolds": "#E9E3F5",
}
PLAIN = "#F3F3F3"


def contracts() -> dict[str, list[list[str]]]:
    """Return the layers of each container, from top to bottom, as the contracts have them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layered = [c for c in config["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    return {
        container: [layer.split(" | ") for layer in contract["layers"]]
        for contract in layered
        for container in contract["containers"]
    }


def purpose(module: str) -> str:
    """Return the first line of a module's docstring."""
    path = ROOT / "src" / Path(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return text.splitlines()[0].replace("`", "")


def rooms() -> list[tuple[int, str, str, str]]:
    """Return depth, name, purpose and color of each row of the picture, from top to bottom."""
    layers, rows = contracts(), []
    for names in layers["geodual"]:
        for name in names:
            color = COLORS.get(name, PLAIN)
            rows.append((0, name, purpose(f"geodual.{name}"), color))
            for floor in layers.get(f"geodual.{name}", []):
                whats = [purpose(f"geodual.{name}.{room}") for room in floor]
                rows.append((1, ", ".join(floor), whats[0] if len(floor) == 1 else "", color))
    return rows


def draw() -> str:
    """Return the picture as SVG."""
    rows = rooms()
    height = len(rows) * (ROW + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for i, (depth, name, what, color) in enumerate(rows):
        x, y = GAP + INDENT * depth, GAP + i * (ROW + GAP)
        weight = "normal" if depth else "bold"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH - GAP - x}" height="{ROW}" rx="4" fill="{color}" '
            f'stroke="#8A8A8A" stroke-width="{0.6 if depth else 1}"/>'
            f'<text x="{x + 10}" y="{y + 18}" font-weight="{weight}" fill="#1A1A1A">{escape(name)}</text>'
            f'<text x="{WIDTH - 12}" y="{y + 18}" text-anchor="end" fill="#4A4A4A">{escape(what)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
