"""Excel out: what pandas reads back is what was written, and nothing runs when the file is opened."""

import datetime
import sys

import numpy as np
import openpyxl
import pandas as pd
import pytest

from geodual.funds import DataError, Panel, backtest, read_nav, select
from geodual.funds.study.workbook import MAIN_TABLES, SELECTION_TABLES, add_table, write_selection_workbook

HOSTILE = ["=HYPERLINK(0)", "+1", "-1", "@SUM(A1)", "#N/A", "000001", "NA", "TRUE", " spaced ", "名称", "="]


@pytest.fixture(scope="module")
def workbook(study, tmp_path_factory):
    return study.to_excel(tmp_path_factory.mktemp("excel") / "new" / "study.xlsx", all_tables=True)


@pytest.fixture(scope="module")
def book(workbook):
    return openpyxl.load_workbook(workbook)


def read_sheet(path, title, **options):
    return pd.read_excel(path, sheet_name=title, keep_default_na=False, na_values=[""], **options)


def assert_same_numbers(found, expected):
    """Exactly: all digits of a double are there."""
    pd.testing.assert_frame_equal(
        found, expected, check_exact=True, check_dtype=False, check_names=False, check_index_type=False
    )


def write_table(path, table, percent=()):
    book = openpyxl.Workbook(write_only=True)
    add_table(book, "Table", table, percent)
    book.save(path)
    return openpyxl.load_workbook(path)


def test_plain_tables_are_read_back_exactly(workbook, study):
    for title in ("Predictions", "Holdings", "Trades", "Fills", "Universe", "Neighbors", "Reasons"):
        assert_same_numbers(read_sheet(workbook, title), getattr(study, title.lower()))


def test_indexed_tables_are_read_back_exactly(workbook, study):
    tables = {
        ("Table 1", "period", "forecaster"): study.table(),
        ("ICs", "date"): study.ic,
        ("Equity", "date"): study.equity,
        ("Cash", "date"): study.cash,
        ("Annual returns", "year"): study.annual_returns(),
        ("Comparisons", "period", "forecaster", "against"): study.comparisons_by_period,
        ("Costs", "forecaster"): study.costs,
    }
    for (title, *index), table in tables.items():
        assert_same_numbers(read_sheet(workbook, title).set_index(index), table)


def test_the_summary_comes_first_and_tells_the_result(book, study):
    assert book.sheetnames[0] == "Summary"
    rows = list(book["Summary"].iter_rows(values_only=True))
    assert rows[0][0] == "Headline"
    assert "did best" in rows[0][1]
    values = dict(rows)
    assert values["Data SHA-256"] == study.digest
    assert values["Setting top"] == 5
    assert values["First day"] == datetime.datetime(2012, 12, 31)
    assert [value for label, value in rows if label == "Note"][-len(study.notes) :] == list(study.notes)
    assert {f"Sheet {name}" for name in book.sheetnames[1:]} <= set(values)


def test_by_default_there_are_eight_sheets_with_charts_that_print(study, tmp_path):
    book = openpyxl.load_workbook(study.to_excel(tmp_path / "study.xlsx"))
    assert book.sheetnames[0] == "Summary"
    assert sorted(book.sheetnames[1:]) == sorted(MAIN_TABLES)
    assert dict(book["Summary"].iter_rows(values_only=True))["More tables"].endswith("(--excel-all)")
    for sheet in book:
        assert (int(sheet.page_setup.paperSize), sheet.page_setup.fitToHeight) == (9, 0)
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
    charts = {sheet.title: sheet._charts for sheet in book if sheet._charts}
    assert set(charts) == {"Annual returns", "Equity"}
    for title, table in (("Equity", study.equity), ("Annual returns", study.annual_returns())):
        (chart,) = charts[title]
        shown = [str(line.val.numRef.f) for line in chart.series]
        columns = [chr(ord("B") + i) for i in range(table.shape[1])]
        assert shown == [f"'{title}'!${c}$2:${c}${len(table) + 1}" for c in columns]


def test_sheets_are_ready_to_use(book):
    for sheet in book.worksheets[1:]:
        header = [cell.value for cell in sheet[1]]
        assert all(cell.font.bold for cell in sheet[1])
        assert all(isinstance(name, str) and "Unnamed" not in name for name in header)
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref == sheet.dimensions
        widths = [sheet.column_dimensions[cell.column_letter].width for cell in sheet[1]]
        assert all(width > len(name) for width, name in zip(widths, header, strict=True))
        assert max(widths) <= 60


def test_dates_are_dates_and_shares_are_percentages(book):
    header = {cell.value: cell.column for cell in book["Holdings"][1]}
    day, weight = (book["Holdings"].cell(2, header[name]) for name in ("date", "weight"))
    assert (day.data_type, day.number_format) == ("d", "yyyy-mm-dd")
    assert (weight.data_type, weight.number_format) == ("n", "0.00%")
    assert book["Annual returns"]["B2"].number_format == "0.00%"
    assert book["ICs"]["B2"].number_format == "0.0000"
    assert book["Findings"]["D2"].data_type == "d"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_stays_the_same_text(text, tmp_path):
    sheet = write_table(tmp_path / "t.xlsx", pd.DataFrame({text: [text, "b"]}))["Table"]
    for cell in (sheet["A1"], sheet["A2"]):
        assert (cell.value, cell.data_type) == (text, "s")
        assert bool(cell.quotePrefix) == text.startswith(("=", "+", "-", "@"))
    assert read_sheet(tmp_path / "t.xlsx", "Table", dtype=str).iloc[0, 0] == text


def test_what_xml_cannot_hold_is_replaced(tmp_path):
    table = pd.DataFrame({"a": ["x\x00\x1b\ud800\ufffey"]}, dtype=object)
    sheet = write_table(tmp_path / "t.xlsx", table)["Table"]
    assert sheet["A2"].value == "x\ufffd\ufffd\ufffd\ufffdy"


def test_numbers_of_all_sizes_are_exact(tmp_path):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, 2000, dtype=np.int64) | (rng.integers(0, 2, 2000) << 63)
    doubles = bits.view(float)
    doubles = np.concatenate([doubles[np.isfinite(doubles)], [0.1 + 0.2, 1 / 3, 5e-324, np.pi]])
    write_table(tmp_path / "t.xlsx", pd.DataFrame({"a": doubles}))
    np.testing.assert_array_equal(read_sheet(tmp_path / "t.xlsx", "Table")["a"].to_numpy(float), doubles)


def test_missing_and_infinite_values_break_nothing(tmp_path):
    days = pd.to_datetime(["2020-01-01", None, "2020-01-03"])
    table = pd.DataFrame(
        {
            "x": [np.nan, np.inf, -np.inf],
            "day": days,
            "n": pd.array([1, None, 2], "Int64"),
            "flag": [True, False, True],
            "text": ["a", None, "c"],
        }
    )
    cells = [
        [cell.value for cell in row] for row in write_table(tmp_path / "t.xlsx", table)["Table"].iter_rows()
    ]
    assert cells[1] == [None, datetime.datetime(2020, 1, 1), 1, True, "a"]
    assert cells[2] == ["inf", None, None, False, None]
    assert cells[3] == ["-inf", datetime.datetime(2020, 1, 3), 2, True, "c"]


def test_a_table_longer_than_a_sheet_is_split(tmp_path, monkeypatch):
    monkeypatch.setattr("geodual.funds.study.workbook.MAX_ROWS", 4)
    book = write_table(tmp_path / "t.xlsx", pd.DataFrame({"a": range(7)}))
    assert book.sheetnames == ["Table", "Table 2", "Table 3"]
    assert [sheet.max_row for sheet in book] == [4, 4, 2]
    parts = pd.read_excel(tmp_path / "t.xlsx", sheet_name=None).values()
    assert pd.concat(parts)["a"].tolist() == list(range(7))


def test_tables_without_rows_have_no_sheet(tmp_path):
    days = pd.bdate_range("2019-01-01", "2020-06-30", name="date")
    nav = pd.DataFrame(np.ones((len(days), 12)), index=days, columns=[f"=F{j:02d}" for j in range(12)])
    path = backtest(Panel(nav), metrics="euclidean").to_excel(tmp_path / "flat.xlsx")
    book = openpyxl.load_workbook(path)
    assert not {"Comparisons", "Findings", "Funds"} & set(book.sheetnames)
    assert {cell.data_type for cell in book["Holdings"]["C"]} == {"s"}


@pytest.fixture(scope="module")
def small(universe):
    """Twenty funds over seven quarters."""
    return Panel(universe.panel.nav.iloc[:, :20].loc[:"2013-09-30"])


def test_names_stand_next_to_codes(small, tmp_path):
    funds = small.nav.columns
    facts = pd.DataFrame({"code": funds[:-1], "name": [f"=Fund {fund}" for fund in funds[:-1]]})
    named = backtest(small, metrics="euclidean", facts=facts)
    path = named.to_excel(tmp_path / "study.xlsx", all_tables=True)
    assert len(read_sheet(path, "Funds")) == len(funds) - 1
    for title in ("Holdings", "Fills", "Predictions"):
        table = read_sheet(path, title)
        assert list(table).index("name") == list(table).index("fund") + 1
        known = table[table["fund"] != funds[-1]]
        assert (known["name"] == "=Fund " + known["fund"]).all()
        assert table.loc[table["fund"] == funds[-1], "name"].isna().all()


def test_from_excel_to_excel(small, universe, tmp_path):
    small.nav.to_excel(tmp_path / "nav.xlsx")
    panel = read_nav(tmp_path / "nav.xlsx")
    np.testing.assert_allclose(panel.nav.to_numpy(), small.nav.to_numpy(), rtol=1e-15)
    again = backtest(panel, universe.index, ("euclidean", "gmml"), top=5, test_start="2013-06-30")
    path = again.to_excel(tmp_path / "study.xlsx")
    assert_same_numbers(read_sheet(path, "ICs").set_index("date"), again.ic)


def test_a_selection_has_its_picks_and_reasons(universe, tmp_path):
    selection = select(universe.panel, metric="gmml", top=3)
    path = write_selection_workbook(selection, tmp_path / "picks.xlsx")
    book = openpyxl.load_workbook(path)
    assert book["Summary"]["A1"].value == "Track record"
    assert book["Summary"]["B1"].value == selection.record_text
    for sheet in SELECTION_TABLES:
        if sheet.title in ("Orders", "Lots"):  # there are no holdings
            assert sheet.title not in book.sheetnames
            continue
        told = sheet.of(selection).replace("", np.nan)  # an empty cell is read as missing
        assert_same_numbers(read_sheet(path, sheet.title), told)


def test_a_failing_write_leaves_the_file_as_it_was(study, tmp_path, monkeypatch):
    path = tmp_path / "study.xlsx"
    path.write_text("mine")

    def fail(self, place):
        place.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(openpyxl.Workbook, "save", fail)
    monkeypatch.setattr("geodual.funds.study.workbook.add_table", lambda *arguments: None)
    monkeypatch.setattr("geodual.funds.study.workbook.add_list", lambda *arguments: None)
    with pytest.raises(OSError, match="No space left"):
        study.to_excel(path)
    assert [file.name for file in tmp_path.iterdir()] == ["study.xlsx"]
    assert path.read_text() == "mine"


def test_without_openpyxl_the_error_names_the_extra(study, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install 'geodual\[excel\]'"):
        study.to_excel(tmp_path / "study.xlsx")


@pytest.mark.parametrize("name", ["study.xls", "study.csv", "study", ".xlsx"])
def test_the_name_must_end_in_xlsx(study, name, tmp_path):
    with pytest.raises(DataError, match=r"must end in \.xlsx"):
        study.to_excel(tmp_path / name)
    assert not list(tmp_path.iterdir())
