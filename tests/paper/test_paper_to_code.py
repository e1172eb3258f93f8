"""docs/paper_to_code.md is complete, and each name and each test in it exists."""

import ast
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAPER = ROOT.parent / "shared" / "paper.tex"
LABELS = [*map(str, range(1, 7)), "7a", *map(str, range(7, 19)), "20", "21", "22", "24"]
OTHERS = [
    "Algorithm 1",
    "Assumption 1",
    "Theorem 1",
    "Corollary 1",
    *(f"Update ({number})" for number in range(1, 5)),
    "Table 1",
    "Figure 1",
    "Figure 2",
    "Appendix B",
    "Appendix C: gradient",
    "Appendix C: retraction",
]


class Row(NamedTuple):
    item: str
    says: str
    code: str
    test: str
    errata: str


def read_rows() -> list[Row]:
    text = (ROOT / "docs" / "paper_to_code.md").read_text("utf-8")
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", text, re.M)
    ]
    return [Row(*row) for row in cells if row[0] != "paper" and not set(row[0]) <= {"-"}]


ROWS = read_rows()
over_rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.item)


def test_no_item_of_the_paper_is_missing_or_listed_twice() -> None:
    items = [row.item for row in ROWS]
    assert len(set(items)) == len(items)
    assert sorted(item for item in items if item.startswith("Eq.")) == sorted(f"Eq. ({n})" for n in LABELS)
    assert set(OTHERS) <= set(items)


@over_rows
def test_the_code_exists(row: Row) -> None:
    names = re.findall(r"`(geodual\.[\w.]+)`", row.code)
    assert names
    assert ", ".join(f"`{name}`" for name in names) == row.code
    for name in names:
        resolve_name(name)


@over_rows
def test_the_test_exists(row: Row) -> None:
    found = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", row.test)
    assert found, row.test
    file, name = found.groups()
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_erratum_has_its_place() -> None:
    errata = re.findall(r"^\*\*(E\d+)\.", (ROOT / "docs" / "errata.md").read_text("utf-8"), re.M)
    assert len(errata) >= 17
    assert {name for row in ROWS for name in row.errata.split(", ") if name} == set(errata)


@pytest.mark.skipif(not PAPER.is_file(), reason="the source of the paper is not part of the repository")
def test_the_list_is_that_of_the_source() -> None:
    text = PAPER.read_text("utf-8")
    assert re.findall(r"\\label\{eq:(\w+)\}", text) == LABELS
    for kind in ("algorithm", "table", "figure"):
        printed = len(re.findall(rf"\\begin\{{{kind}\*?\}}", text))
        assert printed == sum(item.split()[0].lower() == kind for item in OTHERS), kind
    for kind in ("Assumption", "Theorem", "Corollary"):
        assert set(re.findall(rf"\\textbf\{{({kind} \d+)\}}", text)) == {f"{kind} 1"}
    assert re.findall(r"^\\textbf\{(\(\d\))\}", text, re.M) == [f"({number})" for number in range(1, 5)]
