"""A file that cannot be used ends in one line that says where, what, and what to do."""

import re
from pathlib import Path

import pytest

from geodual.errors import DataError
from geodual.funds.sources.reading.nav_file import read_index, read_nav
from tests.funds.broken_files import BROKEN

# What stands in the message after the file, as a reader of the file would look for it.
PLACES = {
    "missing file": ": there is no such file",
    "folder": ": this is a folder",
    "empty": ": the file is empty",
    "blank lines": ": the file is empty",
    "header only": ": there is a header but no row",
    "one column": ", line 1: the header 'date'",
    "no header": ": there is no header, the first name is '2012-01-04'",
    "no days": ": there is no column of days",
    "word for a day": ", line 3, column 'date': 'yesterday'",
    "impossible day": ", line 3, column 'date': '2012-02-30'",
    "far day": ", line 3, column 'date': '2912-01-05' is not a day",
    "blank day": ", line 3, column 'date': ''",
    "ambiguous days": ", column 'date': '03/04/2012' may be",
    "days in two orders": ", column 'date': '13/04/2012' may be",
    "time zone": ", line 3, column 'date': '2012-01-05T15:00:00+08:00' has a time zone",
    "day twice": ", line 4, column 'date': the day 2012-01-04 is also in line 2",
    "two times on a day": ", line 4, column 'date': the day 2012-01-05 is also in line 3",
    "fund twice": ": the fund '000001' has two columns",
    "fund and day twice": ", line 5, column 'nav': the fund '000002' has another value on 2012-01-04 in",
    "fund without a name": ": column 3 has no name",
    "row without a fund": ", line 5, column 'fund': there is no fund",
    "long without values": ": it is unclear which column has the NAVs of the funds in 'code'",
    "zero": ", line 3, column '000001': the value '0' is not positive",
    "negative": ", line 3, column '000001': the value '-1.1' is negative, as 1 of 3 values are",
    "word for a value": ", line 4, column '000002': the value 'closed' is not a number",
    "percent": ", line 4, column '000002': the value '2.2%' is not a number",
    "infinite": ", line 4, column '000002': the value 'inf' is infinite",
    "thousands": ", line 4, column '000002': the value '2,200.5' is not a number",
    "german thousands": ", line 4, column '000001': the mark in '1.003' seems to group thousands",
    "english thousands": ", line 3, column '000001': the mark in '1,003' seems to group thousands",
    "returns": ", line 4, column '000001': the value '-0.02' is negative, as 1 of 4 values are",
    "two decimal marks": ", line 3, column '000001': the value '1.6' is not a number",
    "days only": ": there is no column other than the days",
    "one row": ": there is only one day, 2012-01-04",
    "no value": ": there is no value at all",
    "too many fields": ", line 3: the row has 4 fields, the header has 3",
    "cut in a row": ", line 4: the row has 2 fields, the header has 3",
    "open quote": ", line 3",
    "across with a fund twice": ", line 3, column 'code': the fund '000001' has two rows",
    "across without a fund": ", line 3, column 'code': there is no fund",
    "across with a day twice": ", the header, column 'date': the day 2012-01-04 is also in the header",
    "across with a word": ", line 3, column '2012-01-05': the value 'closed' is not a number",
    "web page": ", line 1: the header '<!DOCTYPE html>' has one column",
    "long cell": ": there is a cell of more than 131,072 characters",
    "long line": ": there is a cell of more than 131,072 characters",
    "encoding of Taiwan": ": this is not text",
    "encoding of Japan": ": this is not text",
    "encoding of Japan on Windows": ": this is not text",
    "encoding of Russia": ": this is not text",
    "encoding of Poland": ": this is not text",
    "no byte order mark": ": this is not text",
    "binary": ": this is not text",
    "zip damaged": ": the zip or Excel file is damaged",
    "zip of a csv": ": this zip file is not from Excel",
    "workbook cut short": ": the zip or Excel file is damaged",
    "workbook damaged": ": the Excel file is damaged",
    "workbook with a password": ": the Excel file has a password",
    "old workbook": ": this is an old Excel file",
    "workbook without a table": ": no sheet holds a table",
    "workbook with two tables": ": the sheets 'A', 'B' hold tables",
    "workbook with a header only": ": no sheet holds a table",
    "workbook with a word": ", row 6, column '000001': the value 'closed' is not a number",
    "workbook with a day twice": ", row 4, column 'date': the day 2012-01-04 is also in row 2",
    "banner and too many fields": ", line 5: the row has 4 fields, the header has 3",
    "banner and a word": ", line 5, column '000001': the value 'closed' is not a number",
    "month that is none": ", line 3, column 'date': '05-Foo-2012' is not a day",
    "short year": ", line 3, column 'date': '05-Jan-12' is not a day",
    "gzip cut short": ": the gzip file is damaged",
    "gzip damaged": ": the gzip file is damaged",
    "parquet cut short": ": the Parquet file is damaged",
    "parquet without days": ": there is no column of days",
    "parquet with a zone": ", column 'date': the days carry a time zone",
    "parquet without rows": ": there is no row",
    "parquet with a loss": ", row 1, column '000001': the value -0.05",
    "parquet with flags": ", row 1, column '000001': the value False is not a number",
}


def test_every_way_to_break_a_file_has_its_message() -> None:
    assert BROKEN.keys() == PLACES.keys()


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_refused_in_one_line_with_place_and_remedy(kind: str, tmp_path: Path) -> None:
    path = BROKEN[kind](tmp_path)
    with pytest.raises(DataError) as caught:
        read_nav(path)
    message = str(caught.value)
    assert message.startswith(f"{path}{PLACES[kind]}")
    assert re.fullmatch(r".+: .+\. [A-Z][^\n]+\.", message)


# Where the levels of the index themselves are sound.
FINE_FOR_AN_INDEX = {"fund without a name", "word for a value", "percent", "infinite", "thousands"}
SAME_LEVELS = {"workbook with a day twice"}  # only another column differs, so the rows can be merged


@pytest.mark.parametrize("kind", sorted(BROKEN.keys() - FINE_FOR_AN_INDEX - SAME_LEVELS))
def test_an_index_is_refused_likewise(kind: str, tmp_path: Path) -> None:
    path = BROKEN[kind](tmp_path)
    with pytest.raises(DataError, match=r"^[^\n]+: [^\n]+\. [A-Z][^\n]+\.$") as caught:
        read_index(path, "000001")
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("kind", sorted(FINE_FOR_AN_INDEX))
def test_an_index_is_read_beside_a_broken_column(kind: str, tmp_path: Path) -> None:
    assert read_index(BROKEN[kind](tmp_path), "000001").tolist() == [1.0, 1.1, 1.2]
