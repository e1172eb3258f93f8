"""Files that cannot be used, each broken in one way: name → function that writes it in a folder."""

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pandas as pd

HEADER = "date,000001,000002\n"
ROWS = ("2012-01-04,1.0,2.0\n", "2012-01-05,1.1,2.1\n", "2012-01-06,1.2,2.2\n")
GOOD = HEADER + "".join(ROWS)
LONG = "date,fund,nav\n2012-01-04,000001,1.0\n2012-01-04,000002,2.0\n2012-01-05,000001,1.1\n"


def text(content: str, name: str = "nav.csv", encoding: str = "utf-8") -> Callable[[Path], Path]:
    return data(content.encode(encoding), name)


def data(content: bytes, name: str = "nav.csv") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return write


def changed(old: str, new: str) -> Callable[[Path], Path]:
    """Write the good table with one text replaced by another."""
    assert old in GOOD
    return text(GOOD.replace(old, new))


def frame(change: Callable[[pd.DataFrame], pd.DataFrame], keep: float = 1.0) -> Callable[[Path], Path]:
    """Write a changed table as Parquet, and keep only a part of the file."""

    def write(folder: Path) -> Path:
        path = folder / "nav.parquet"
        days = pd.date_range("2012-01-04", periods=3, name="date")
        change(pd.DataFrame({"000001": [1.0, 1.1, 1.2], "000002": [2.0, 2.1, 2.2]}, index=days)).to_parquet(
            path
        )
        path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
        return path

    return write


def folder_instead(folder: Path) -> Path:
    path = folder / "nav.csv"
    path.mkdir()
    return path


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how old and encrypted workbooks begin
SHEET = [["date", "000001", "000002"], ["2012-01-04", 1.0, 2.0], ["2012-01-05", 1.1, 2.1]]


def workbook(
    sheets: dict[str, list[list[object]]] | None = None, change: Callable[[bytes], bytes] = bytes
) -> Callable[[Path], Path]:
    """Write rows as the sheets of a workbook, and change its bytes."""

    def write(folder: Path) -> Path:
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in (sheets or {"A": SHEET}).items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        path = folder / "nav.xlsx"
        book.save(path)
        path.write_bytes(change(path.read_bytes()))
        return path

    return write


def zipped(files: dict[str, str]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "nav.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return path

    return write


BROKEN: dict[str, Callable[[Path], Path]] = {
    "missing file": lambda folder: folder / "nav.csv",
    "folder": folder_instead,
    "empty": text(""),
    "blank lines": text("\n\n  \n,,,\n"),
    "header only": text(HEADER),
    "one column": text("date\n2012-01-04\n2012-01-05\n"),
    "no header": text("".join(ROWS)),
    "no days": text("when,000001\nmonday,1.0\ntuesday,1.1\n"),
    "word for a day": changed("2012-01-05", "yesterday"),
    "impossible day": changed("2012-01-05", "2012-02-30"),
    "far day": changed("2012-01-05", "2912-01-05"),
    "blank day": changed("2012-01-05", ""),
    "ambiguous days": text("date,000001\n03/04/2012,1.0\n04/04/2012,1.1\n"),
    "days in two orders": text("date,000001\n13/04/2012,1.0\n04/14/2012,1.1\n"),
    "time zone": changed("2012-01-05", "2012-01-05T15:00:00+08:00"),
    "day twice": changed("2012-01-06", "2012-01-04"),
    "two times on a day": changed("2012-01-06", "2012-01-05 15:00:00"),
    "fund twice": changed("000002", "000001"),
    "fund and day twice": text(LONG + "2012-01-04,000002,2.5\n"),
    "fund without a name": changed(",000002", ","),
    "row without a fund": text(LONG + "2012-01-05,,2.1\n"),
    "long without values": text("code,name,since\n000001,Growth,2001-12-18\n000011,Value,2004-08-11\n"),
    "zero": changed("1.1", "0"),
    "negative": changed("1.1", "-1.1"),
    "word for a value": changed("2.2", "closed"),
    "percent": changed("2.2", "2.2%"),
    "infinite": changed("2.2", "inf"),
    "thousands": changed("2.2", '"2,200.5"'),
    "german thousands": text("date;000001\n04.01.2012;998\n05.01.2012;\n06.01.2012;1.003\n09.01.2012;999\n"),
    "english thousands": text("date\t000001\n2012-01-04\t998\n2012-01-05\t1,003\n"),
    "returns": text("date,000001\n2012-01-04,0\n2012-01-05,0.01\n2012-01-06,-0.02\n2012-01-09,0.01\n"),
    "two decimal marks": text("date;000001\n2012-01-04;1,5\n2012-01-05;1.6\n"),
    "days only": text("date;\n2012-01-04;\n2012-01-05;\n"),
    "one row": text(HEADER + ROWS[0]),
    "no value": text("date,000001\n2012-01-04,\n2012-01-05,NaN\n"),
    "too many fields": changed("2.1", "2.1,3.1"),
    "cut in a row": text(GOOD[:-8]),
    "open quote": changed("2012-01-05", '"2012-01-05'),
    "across with a fund twice": text("code,2012-01-04,2012-01-05\n000001,1.0,1.1\n000001,1.0,1.2\n"),
    "across without a fund": text("code,2012-01-04,2012-01-05\n000001,1.0,1.1\n,1.0,1.2\n"),
    "across with a day twice": text("code,2012-01-04,20120104\n000001,1.0,1.1\n"),
    "across with a word": text("code,2012-01-04,2012-01-05\n000001,1.0,1.1\n000002,1.0,closed\n"),
    "web page": text("<!DOCTYPE html>\n<html><body>404, not found</body></html>\n"),
    "long line": text("x" * 200_000),
    "long cell": text(GOOD.replace("2.1", f'"{"x" * 200_000}"')),
    "encoding of Taiwan": text(GOOD.replace("000002", "台灣成長基金"), encoding="big5"),
    "encoding of Japan": text(GOOD.replace("000002", "日本株式ファンド"), encoding="euc-jp"),
    "encoding of Japan on Windows": text(GOOD.replace("000002", "ひふみ投信"), encoding="shift-jis"),
    "encoding of Russia": text(GOOD.replace("000002", "Фонд облигаций"), encoding="cp1251"),
    "encoding of Poland": text(GOOD.replace("000002", "Złoty żółty"), encoding="cp1250"),
    "no byte order mark": text(GOOD, encoding="utf-16-le"),
    "binary": data(bytes(range(256)) * 20),
    "zip damaged": data(b"PK\x03\x04" + bytes(100), "nav.xlsx"),
    "zip of a csv": zipped({"nav.csv": GOOD}),
    "workbook cut short": workbook(change=lambda content: content[:-100]),
    "workbook damaged": zipped({"xl/workbook.xml": "<workbook>", "[Content_Types].xml": "<Types/>"}),
    "workbook with a password": data(OLE + "EncryptedPackage".encode("utf-16-le"), "nav.xlsx"),
    "old workbook": data(OLE + bytes(500), "nav.xls"),
    "workbook without a table": workbook({"Notes": [["Prices of our funds"], [], ["See the web page."]]}),
    "workbook with two tables": workbook({"Notes": [["Both:"]], "A": SHEET, "B": SHEET}),
    "workbook with a header only": workbook({"A": [["Our funds"], ["date", "000001"]]}),
    "workbook with a word": workbook({"A": [["Our funds"], [], *SHEET, ["2012-01-06", "closed", 2.2]]}),
    "workbook with a day twice": workbook({"A": [*SHEET, [*SHEET[1][:-1], 2.5]]}),
    "banner and too many fields": text("Our funds\n\n" + GOOD.replace("2.1", "2.1,3.1")),
    "banner and a word": text(
        "Our funds;as of 2012-01-06\n\n" + GOOD.replace(",", ";").replace("1.1", "closed")
    ),
    "month that is none": changed("2012-01-05", "05-Foo-2012"),
    "short year": changed("2012-01-05", "05-Jan-12"),
    "gzip cut short": data(gzip.compress(GOOD.encode(), mtime=0)[:-12], "nav.csv.gz"),
    "gzip damaged": data(gzip.compress(GOOD.encode(), mtime=0)[:12] + b"\xff" * 40, "nav.csv.gz"),
    "parquet cut short": frame(lambda nav: nav, keep=0.6),
    "parquet without days": frame(lambda nav: nav.reset_index(drop=True)),
    "parquet with a zone": frame(lambda nav: nav.tz_localize("Asia/Shanghai")),
    "parquet without rows": frame(lambda nav: nav.iloc[:0]),
    "parquet with a loss": frame(lambda nav: nav - 1.05),
    "parquet with flags": frame(lambda nav: nav > 1.0),
}
