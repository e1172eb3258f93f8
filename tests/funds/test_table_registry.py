"""One registry of tables: whoever saves, reads, shows or lists tables takes them from it."""

import re
from dataclasses import dataclass, fields

import openpyxl
import pandas as pd
import pytest

from docs.table_reference import describe_tables
from geodual.funds import Study
from geodual.funds.evaluation.table_registry import computed
from geodual.funds.report.render import render_report

from .report_page import Page

pytestmark = pytest.mark.usefixtures("blank_figures")


@dataclass(frozen=True, eq=False, kw_only=True)
class LargerStudy(Study):
    """A study with one more table, which is named here and nowhere else."""

    @computed("Longest names", "the funds with the longest codes", percent={"share"}, saved=True)
    def longest_names(self):
        """The funds with the longest codes."""
        return pd.DataFrame({"share": [0.5, 0.25]}, index=pd.Index(["=F1", "F2"], name="fund"))


@pytest.fixture(scope="module")
def larger(study):
    return LargerStudy(**{field.name: getattr(study, field.name) for field in fields(study)})


def test_a_new_table_is_saved_listed_and_embedded(larger, tmp_path):
    folder = larger.save(tmp_path / "run")
    text = "fund,share\n'=F1,0.5\nF2,0.25\n"
    assert (folder / "longest_names.csv").read_text("utf-8") == text
    assert embedded(folder / "report.html")["longest_names"] == text
    book = openpyxl.load_workbook(larger.to_excel(tmp_path / "study.xlsx", all_tables=True))
    assert [cell.value for cell in book["Longest names"]["A"]] == ["fund", "=F1", "F2"]
    assert book["Longest names"]["B2"].number_format == "0.00%"
    listed = {row[0].value: row[1].value for row in book["Summary"].iter_rows()}
    assert listed["Sheet Longest names"] == "the funds with the longest codes (2 rows)"


def embedded(path):
    return Page(path.read_text("utf-8")).data["csv"]


def test_what_is_saved_embedded_and_in_excel_is_what_the_registry_says(study, tmp_path):
    folder = study.save(tmp_path / "run")
    tables = Study.tables()
    assert {path.stem for path in folder.glob("*.csv")} == {table.file for table in tables if table.saved}
    assert set(embedded(folder / "report.html")) == {table.file for table in tables if table.embedded}
    book = openpyxl.load_workbook(study.to_excel(tmp_path / "study.xlsx", all_tables=True))
    filled = [table.title for table in tables if table.title and table.of(study).notna().any(axis=None)]
    assert book.sheetnames == ["Summary", *filled]


def test_the_report_only_offers_tables_that_it_has(study):
    """Its buttons and long tables name embedded CSVs."""
    named = set(re.findall(r'data-(?:csv|fill)="(\w+)"', render_report(study)))
    assert {"table1", "equity"} < named <= {table.file for table in Study.tables() if table.embedded}


def test_every_table_has_one_name_and_one_title():
    tables = Study.tables()
    for names in ([table.name for table in tables], [table.title for table in tables if table.title]):
        assert len(names) == len(set(names))
    assert all(table.about for table in tables)


def test_every_frame_of_a_study_is_registered(study):
    """Those that are stored, and those that are computed and documented."""
    registered = {table.name for table in Study.tables()}
    frames = {field.name for field in fields(study) if isinstance(getattr(study, field.name), pd.DataFrame)}
    assert frames <= registered
    for name in registered - {field.name for field in fields(study)}:
        assert getattr(Study, name).__doc__, name


def test_the_reference_lists_every_table():
    rows = describe_tables().splitlines()[2:]
    assert len(rows) == len(Study.tables())
    assert (
        "| `annual_returns()` | returns of calendar years | `annual_returns.csv` | Annual returns |" in rows
    )
    assert "| `ic_cumulated` | running sums of the information coefficients |  |  |" in rows
