"""The layouts people have their NAVs in all give the same panel."""

import decimal
import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from geodual.errors import DataError
from geodual.funds.panel import Panel
from geodual.funds.sources.reading.fund_facts import read_facts
from geodual.funds.sources.reading.nav_file import read_index, read_nav

FUNDS = ["000001", "519001", "00700.HK", "华夏成长", "NA"]


def nav_table() -> pd.DataFrame:
    """Forty days over a year's end; a birth, a closure, a gap."""
    rng = np.random.default_rng(7)
    days = pd.bdate_range("2012-12-03", periods=40, name="date").as_unit("us")  # the unit that is read
    levels = np.round(np.exp(np.cumsum(rng.normal(0.0, 0.02, (40, 5)), axis=0)), 4)
    levels[:12, 1], levels[30:, 2], levels[20:22, 3] = np.nan, np.nan, np.nan
    return pd.DataFrame(levels, index=days, columns=pd.Index(FUNDS, name="fund"))


NAV = nav_table()


def stacked(by: str = "fund") -> pd.DataFrame:
    long = NAV.reset_index().melt("date", value_name="nav")
    return long if by == "fund" else long.sort_values("date", kind="stable", ignore_index=True)


def dated(style: str) -> pd.DataFrame:
    return NAV.set_axis(pd.Index(NAV.index.strftime(style), name="date"))


def unpadded(style: str) -> pd.DataFrame:
    """Days without leading zeros, such as 2013/1/4."""
    return NAV.set_axis([style.format(day) for day in NAV.index]).rename_axis("date")


def written(
    make: Callable[[], pd.DataFrame], index: bool = True, **options: object
) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "nav.csv"
        make().to_csv(path, index=index, **options)
        return path

    return write


def edited(change: Callable[[str], str], **options: object) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = written(lambda: NAV, **options)(folder)
        path.write_text(change(path.read_text("utf-8")), "utf-8")
        return path

    return write


def zipped(folder: Path) -> Path:
    path = folder / "nav.csv.gz"
    path.write_bytes(gzip.compress(NAV.to_csv().encode(), mtime=0))
    return path


def parquet(make: Callable[[], pd.DataFrame]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "nav"  # the name does not tell
        make().to_parquet(path)
        return path

    return write


def banner(text: str, **options: object) -> Callable[[Path], Path]:
    """Write lines above the header."""
    return edited(lambda table: text + table, **options)


def excel(*sheets: tuple[str, Callable[[], pd.DataFrame]], skip: int = 0, index: bool = True) -> Callable:
    """Write tables as the sheets of a workbook, the first `skip` rows of each left empty."""

    def write(folder: Path) -> Path:
        path = folder / "nav.data"  # the name does not tell
        with pd.ExcelWriter(path, engine="openpyxl") as book:
            for name, make in sheets:
                make().to_excel(book, sheet_name=name, index=index, startrow=skip)
                if skip:
                    book.sheets[name]["A1"] = "NAVs of our funds"
                    book.sheets[name]["A2"], book.sheets[name]["B2"] = "as of", NAV.index[-1]
        return path

    return write


def notes() -> pd.DataFrame:
    return pd.DataFrame(index=["Prices of our funds", "in euros", "see the other sheet"])


def serial() -> pd.DataFrame:
    """Days as Excel counts them, from 1899-12-30 on."""
    return NAV.set_axis(pd.Index((NAV.index - pd.Timestamp("1899-12-30")).days, name="date"))


def doubled() -> pd.DataFrame:
    return pd.concat([stacked(), stacked().iloc[[3, 77]]], ignore_index=True)


CHINESE = {"date": "净值日期", "fund": "基金代码", "nav": "单位净值"}

FILES: dict[str, Callable[[Path], Path]] = {
    "comma": written(lambda: NAV),
    "semicolon": written(lambda: NAV, sep=";"),
    "tab": written(lambda: NAV, sep="\t"),
    "bar": written(lambda: NAV, sep="|"),
    "decimal comma": written(lambda: dated("%d.%m.%Y"), sep=";", decimal=","),
    "decimal comma by tabs": written(lambda: NAV, sep="\t", decimal=","),
    "byte order mark": written(lambda: NAV, encoding="utf-8-sig"),
    "gbk": written(lambda: NAV.rename_axis("日期"), encoding="gbk"),
    "utf-16": written(lambda: NAV, encoding="utf-16"),
    "windows lines": edited(lambda text: text, lineterminator="\r\n"),
    "quoted": written(lambda: NAV, quoting=1),
    "gzip": zipped,
    "unnamed days": written(lambda: NAV.rename_axis(None)),
    "own name for days": written(lambda: NAV.rename_axis("as of")),
    "counted rows": written(lambda: NAV.reset_index()),
    "days in the last column": written(lambda: NAV.assign(day=NAV.index), index=False),
    "last delimiter": edited(lambda text: text.replace("\n", ",\n")),
    "blank lines": edited(lambda text: "\n" + text.replace("\n", "\n\n") + ",,,,,\n \n"),
    "spaces": edited(lambda text: text.replace(",", " , ")),
    "compact days": written(lambda: dated("%Y%m%d")),
    "slashes": written(lambda: unpadded("{0:%Y}/{0.month}/{0.day}")),
    "chinese days": written(lambda: unpadded("{0.year}年{0.month}月{0.day}日")),
    "day first": written(lambda: dated("%d/%m/%Y")),
    "month first": written(lambda: unpadded("{0.month}/{0.day}/{0.year}")),
    "english months": written(lambda: dated("%d-%b-%Y")),
    "english months with spaces": written(lambda: unpadded("{0.day} {0:%B} {0.year}")),
    "english months first": written(lambda: unpadded("{0:%b} {0.day}, {0.year}")),
    "excel's days": written(serial),
    "title": banner("NAVs of our funds\n"),
    "title with delimiters": banner("NAVs of our funds,,,,,\nas of,2013-01-25,,,,\n\n"),
    "title before semicolons": banner("Funds, in euros\nas of; 2013-01-25\n", sep=";", decimal=","),
    "a day above the days": banner("2013-01-25\n"),
    "excel": excel(("nav", lambda: NAV)),
    "excel below a title": excel(("nav", lambda: NAV), skip=3),
    "excel on the second sheet": excel(("read me", notes), ("nav", lambda: NAV)),
    "excel on the first sheet": excel(("nav", lambda: NAV), ("other", lambda: NAV[::-1])),
    "excel with a column of days": excel(("nav", lambda: NAV.reset_index()), index=False),
    "excel with texts": excel(("nav", lambda: dated("%d-%b-%Y").astype(str))),
    "excel with numbers for days": excel(("nav", serial)),
    "long in excel": excel(("nav", stacked), index=False),
    "times": written(lambda: dated("%Y-%m-%d 15:00:00")),
    "iso times": written(lambda: dated("%Y-%m-%dT15:00")),
    "long by fund": written(stacked, index=False),
    "long by day": written(lambda: stacked("date"), index=False),
    "long in chinese": written(lambda: stacked().rename(columns=CHINESE), index=False, encoding="gbk"),
    "long in capitals": written(
        lambda: stacked()[["nav", "fund", "date"]].set_axis(["Adj. Close", "Ticker", "Trade Date"], axis=1),
        index=False,
    ),
    "long without known names": written(lambda: stacked().set_axis(["a", "b", "c"], axis=1), index=False),
    "long with decimal comma": written(stacked, index=False, sep=";", decimal=","),
    "across": written(lambda: NAV.T),
    "across with names": written(
        lambda: NAV.T.reset_index().assign(name=list("abcde"))[["name", "fund", *NAV.index]], index=False
    ),
    "across in german": written(lambda: dated("%d.%m.%Y").T, sep=";", decimal=","),
    "across in excel": excel(("nav", lambda: NAV.T)),
    "parquet": parquet(lambda: NAV),
    "parquet with a column of days": parquet(lambda: NAV.reset_index()),
    "parquet long": parquet(stacked),
}
for token in ("NaN", "nan", "NA", "null", "None", "-", "--", "N/A", "#N/A"):
    FILES[f"missing is {token}"] = written(lambda token=token: NAV, na_rep=token)

FRAMES: dict[str, Callable[[], pd.DataFrame]] = {
    "days in the index": lambda: NAV,
    "unnamed index": lambda: NAV.rename_axis(None).rename_axis(None, axis=1),
    "nanoseconds": lambda: NAV.set_axis(NAV.index.as_unit("ns")),
    "column of days": lambda: NAV.reset_index(),
    "filtered rows": lambda: pd.concat([NAV.reset_index().iloc[:1]] * 2 + [NAV.reset_index()]).iloc[2:],
    "numbers for days": lambda: NAV.set_axis([int(f"{day:%Y%m%d}") for day in NAV.index]),
    "date objects": lambda: NAV.set_axis(pd.Index([day.date() for day in NAV.index], dtype=object)),
    "periods": lambda: NAV.set_axis(NAV.index.to_period("D")),
    "closing times": lambda: NAV.set_axis(NAV.index + pd.Timedelta(hours=15)),
    "text": lambda: NAV.astype(object).map(str, na_action="ignore"),
    "decimals": lambda: NAV.map(lambda level: None if np.isnan(level) else decimal.Decimal(str(level))),
    "nullable": lambda: NAV.astype("Float64"),
    "across": lambda: NAV.T,
    "long": stacked,
    "long by category": lambda: stacked().astype({"fund": "category"}),
    "long by index": lambda: stacked().set_index(["date", "fund"]),
    "long from stack": lambda: stacked().set_index(["date", "fund"]).rename_axis([None, None]),
    "long in pieces": lambda: pd.concat([stacked().iloc[:70], stacked().iloc[70:]], ignore_index=True),
}


# What is found in the table itself, and what in how it is written.
FOUND = {"short", "late-start", "early-end", "gap"}
TOLD = {"gbk": "encoding", "long in chinese": "encoding"}


def assert_is_the_table(panel: Panel, layout: str = "") -> None:
    pd.testing.assert_frame_equal(panel.nav, NAV, check_freq=False)
    assert panel.digest == Panel(NAV).digest
    told = "transposed" if layout.startswith("across") else TOLD.get(layout)
    assert {finding.kind for finding in panel.findings} == FOUND | {told} - {None}


@pytest.mark.parametrize("layout", FILES)
def test_every_file_gives_the_same_panel(layout: str, tmp_path: Path) -> None:
    path = FILES[layout](tmp_path)
    panel = read_nav(path)
    assert_is_the_table(panel, layout)
    assert panel.source == str(path)
    assert read_nav(str(path)).digest == panel.digest


@pytest.mark.parametrize("layout", FRAMES)
def test_every_frame_gives_the_same_panel_and_is_left_alone(layout: str) -> None:
    frame = FRAMES[layout]()
    before = frame.copy(deep=True)
    assert_is_the_table(read_nav(frame), layout)
    pd.testing.assert_frame_equal(frame, before)


class OtherFrame:
    """A table of a library that turns into one of pandas, as those of polars and pyarrow do."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def to_pandas(self) -> pd.DataFrame:
        return self.frame


def polars_frame(frame: pd.DataFrame) -> object:
    return pytest.importorskip("polars").from_pandas(frame)


@pytest.mark.parametrize("turn", [OtherFrame, pa.Table.from_pandas, polars_frame])
def test_tables_of_other_libraries_are_read(turn: Callable[[pd.DataFrame], object]) -> None:
    assert_is_the_table(read_nav(turn(NAV.reset_index())))
    levels = read_index(turn(LEVELS.reset_index()))
    pd.testing.assert_series_equal(levels, LEVELS["930950"], check_freq=False)
    assert read_facts(turn(pd.DataFrame({"code": ["1"], "name": ["Growth"]}))).names == {"1": "Growth"}


@pytest.mark.parametrize("source", [None, 3, NAV.to_numpy(), NAV["NA"]])
def test_what_is_neither_a_path_nor_a_table_is_refused(source: object) -> None:
    with pytest.raises(DataError, match=f"must be a path or a DataFrame, got {type(source).__name__};"):
        read_nav(source)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_line_longer_than_a_field_may_be_is_read(delimiter: str, tmp_path: Path) -> None:
    """The csv module refuses fields of 131,072 characters, which a whole line is to a wrong delimiter."""
    funds = [f"{at:02700d}" for at in range(50)]
    wide = pd.DataFrame(1.0, index=NAV.index[:2], columns=funds)
    path = written(lambda: wide, sep=delimiter)(tmp_path)
    assert list(read_nav(path).nav.columns) == funds


@pytest.mark.parametrize(
    ("encoding", "names", "told"),
    [
        ("cp1252", ["Société d’État – €", "Zürich"], "Windows-1252"),
        ("latin-1", ["Größe"], "Windows-1252"),
        ("latin-1", ["FUNDO DE AÇÕES", "Aplicação"], "Windows-1252"),
        ("gbk", ["A类", "C类"], "GBK"),
        ("gbk", ["朱镕基", "华夏成长混合"], "GBK"),
        ("utf-8", ["Société", "华夏成长"], None),
        ("utf-16", ["Größe", "华夏成长"], None),
    ],
)
def test_names_keep_their_letters_and_a_guessed_encoding_is_told(
    encoding: str, names: list[str], told: str | None, tmp_path: Path
) -> None:
    table = NAV.iloc[:, : len(names)].set_axis(names, axis=1)
    panel = read_nav(written(lambda: table, encoding=encoding)(tmp_path))
    assert list(panel.nav.columns) == names
    found = [finding.message for finding in panel.findings if finding.kind == "encoding"]
    assert [f"read as {told}." in message for message in found] == [True] * (told is not None)
    facts = tmp_path / "facts.csv"
    facts.write_bytes(f"code,name\n1,{names[0]}\n".encode(encoding))
    assert read_facts(facts).names == {"1": names[0]}


@pytest.mark.parametrize(
    "cells",
    [("1", "1.003", "1.012"), ("30", "1.003"), ("0.998", "150"), ("1.003", "1.01", "999"), ("1200", "1.003")],
)
def test_points_are_decimal_where_thousands_would_be_further_apart_or_badly_grouped(
    cells: tuple[str, ...],
) -> None:
    assert read_index(pd.Series(cells, index=NAV.index[: len(cells)])).tolist() == list(map(float, cells))


@pytest.mark.parametrize("make", [lambda: NAV[::-1], lambda: stacked()[::-1][["date", "fund", "nav"]]])
def test_unsorted_days_are_sorted_and_remarked(make: Callable[[], pd.DataFrame]) -> None:
    panel = read_nav(make())
    pd.testing.assert_frame_equal(panel.nav[FUNDS], NAV, check_freq=False)
    (finding,) = [finding for finding in panel.findings if finding.kind == "unsorted"]
    assert not finding.matters


@pytest.mark.parametrize(
    ("make", "count"), [(doubled, 2), (lambda: NAV.iloc[[0, 1, 1, *range(2, 40), 39]], 2)]
)
def test_rows_that_repeat_another_are_merged_and_remarked(
    make: Callable[[], pd.DataFrame], count: int
) -> None:
    panel = read_nav(make())
    pd.testing.assert_frame_equal(panel.nav, NAV, check_freq=False)
    (finding,) = [finding for finding in panel.findings if finding.kind == "duplicate"]
    assert (finding.matters, finding.count) == (False, count)


def test_an_index_with_rows_that_repeat_is_read() -> None:
    twice = pd.concat([LEVELS, LEVELS.iloc[5:8]])
    pd.testing.assert_series_equal(read_index(twice), LEVELS["930950"], check_freq=False)


def test_excel_without_openpyxl_tells_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = FILES["excel"](tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install 'geodual\[excel\]'"):
        read_nav(path)


def test_an_empty_fund_is_dropped_and_remarked() -> None:
    panel = read_nav(NAV.assign(empty=np.nan))
    pd.testing.assert_frame_equal(panel.nav, NAV, check_freq=False)
    assert [finding.fund for finding in panel.findings if finding.kind == "empty-fund"] == ["empty"]


@pytest.mark.parametrize("make", [pd.bdate_range, pd.date_range])
def test_days_without_a_value_are_left_out_and_found(make: Callable[..., pd.DatetimeIndex]) -> None:
    holidays = NAV.drop(NAV.index[[3, 7]])
    days = make(NAV.index[0], NAV.index[-1])
    panel = read_nav(holidays.reindex(days).rename_axis("date"))
    assert panel.digest == Panel(holidays).digest
    (finding,) = [finding for finding in panel.findings if finding.kind == "empty-day"]
    added = days.difference(holidays.index)
    assert (finding.matters, finding.count, finding.date) == (False, len(added), f"{added[0]:%Y-%m-%d}")


def test_one_day_with_values_is_too_few() -> None:
    blank = NAV.iloc[:3].copy()
    blank.iloc[[0, 2]] = np.nan
    with pytest.raises(DataError, match=f"only one day, {NAV.index[1]:%Y-%m-%d}"):
        read_nav(blank)


def test_whole_numbers_as_names_become_text_as_they_are() -> None:
    assert list(read_nav(NAV.set_axis([1, 2, 3, 4, 5], axis=1)).nav.columns) == ["1", "2", "3", "4", "5"]


def test_funds_numbered_like_days_are_funds() -> None:
    names = ["20200101", "20200102", "20209901", "A", "B"]
    assert list(read_nav(NAV.set_axis(names, axis=1)).nav.columns) == names


def test_the_adjusted_nav_is_preferred_and_the_unused_one_found() -> None:
    long = stacked().rename(columns={"nav": "累计净值"}).assign(单位净值=1.0, 日增长率=-0.5)
    panel = read_nav(long)
    assert panel.digest == Panel(NAV).digest
    (finding,) = [finding for finding in panel.findings if finding.kind == "column"]
    assert "累计净值" in finding.message
    assert "单位净值" in finding.message


def test_a_fund_called_like_a_role_does_not_make_a_wide_table_long() -> None:
    wide = NAV.set_axis(["fund", "nav", "value", "code", "close"], axis=1)
    assert list(read_nav(wide).nav.columns) == list(wide.columns)


def test_two_levels_of_columns_are_refused_with_a_remedy() -> None:
    with pytest.raises(DataError, match=r"2 levels\. Select one"):
        read_nav(pd.concat({"Close": NAV}, axis=1))


def test_a_file_of_several_blocks_is_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodual.funds.sources.reading.table_file.BLOCK_BYTES", 600)
    assert_is_the_table(read_nav(FILES["long by fund"](tmp_path)))


def test_one_fund_without_a_name_for_days_is_no_title(tmp_path: Path) -> None:
    path = tmp_path / "nav.csv"
    NAV[["000001"]].rename_axis(None).to_csv(path)
    pd.testing.assert_frame_equal(read_nav(path).nav, NAV[["000001"]], check_freq=False)


def test_a_hidden_sheet_is_not_read(tmp_path: Path) -> None:
    path = FILES["excel on the first sheet"](tmp_path).rename(tmp_path / "nav.xlsx")
    book = openpyxl.load_workbook(path)
    book["nav"].sheet_state, book.active = "hidden", 1
    book.save(path)
    assert "unsorted" in {finding.kind for finding in read_nav(path).findings}


def test_the_home_folder_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    FILES["comma"](tmp_path)
    assert read_nav("~/nav.csv").nav.shape == NAV.shape


def test_damaged_bytes_end_in_a_panel_or_a_data_error(tmp_path: Path) -> None:
    """Whatever a byte turns into, no other exception and no warning comes out."""
    rng = np.random.default_rng(11)
    outcomes = set()
    for original in (
        NAV.to_csv().encode(),
        gzip.compress(stacked().to_csv(index=False).encode("gbk"), mtime=0),
        FILES["excel"](tmp_path).read_bytes(),
    ):
        for _ in range(100):
            content = bytearray(original)
            content[rng.integers(len(content))] = rng.integers(256)
            path = tmp_path / "nav.csv"
            path.write_bytes(content)
            try:
                outcomes.add(type(read_nav(path)))
            except DataError:
                outcomes.add(DataError)
    assert outcomes == {Panel, DataError}


LEVELS = pd.DataFrame({"930950": NAV["000001"], "H11021": NAV["NA"]})


def test_the_paper_index_is_the_default_of_several(tmp_path: Path) -> None:
    path = written(lambda: LEVELS)(tmp_path)
    pd.testing.assert_series_equal(read_index(path), LEVELS["930950"], check_freq=False)
    pd.testing.assert_series_equal(read_index(path, "H11021"), LEVELS["H11021"], check_freq=False)


@pytest.mark.parametrize(
    ("source", "column", "name"),
    [
        (NAV["NA"], None, "NA"),
        (NAV["NA"].rename(None), None, "index"),
        (NAV["NA"], "fund index", "fund index"),
        (NAV[["NA"]].reset_index(), None, "NA"),
        (NAV[["NA"]][::-1], None, "NA"),
    ],
)
def test_one_column_needs_no_choice(source: pd.DataFrame | pd.Series, column: str | None, name: str) -> None:
    pd.testing.assert_series_equal(read_index(source, column), NAV["NA"].rename(name), check_freq=False)


def test_days_without_a_level_are_left_out() -> None:
    levels = read_index(NAV, "华夏成长")
    pd.testing.assert_series_equal(levels, NAV["华夏成长"].dropna(), check_freq=False)


@pytest.mark.parametrize("column", [None, "930951"])
def test_a_choice_that_is_open_or_wrong_lists_the_columns(column: str | None) -> None:
    with pytest.raises(DataError, match=r"Choose one of: 000001, 519001, 00700\.HK, 华夏成长, NA\."):
        read_index(NAV, column)
