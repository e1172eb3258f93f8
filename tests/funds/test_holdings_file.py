"""What an investor holds, in the files that people have; and files that cannot be used."""

import pandas as pd
import pytest

from geodual.funds import DataError, read_holdings

GERMAN = "\ufeffCode;Units;Bought\n000001;1234,5;31.12.2013\n000002;7;\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_semicolons_decimal_commas_and_a_byte_order_mark(tmp_path, encoding):
    text = GERMAN if encoding == "utf-8" else GERMAN.removeprefix("\ufeff")
    (tmp_path / "mine.csv").write_text(text, encoding)
    lots = read_holdings(tmp_path / "mine.csv").lots
    assert lots["code"].tolist() == ["000001", "000002"]
    assert lots["units"].tolist() == [1234.5, 7.0]
    assert lots["value"].isna().all()
    assert lots["bought"].tolist() == [pd.Timestamp("2013-12-31"), pd.NaT]


def test_chinese_names_values_and_texts_that_spreadsheets_marked(tmp_path):
    (tmp_path / "mine.csv").write_text("基金代码,市值,买入日期\n'-1,500,2014-01-02\n", "gbk")
    lots = read_holdings(tmp_path / "mine.csv").lots
    assert (lots["code"][0], lots["value"][0], lots["bought"][0]) == ("-1", 500.0, pd.Timestamp("2014-01-02"))


def test_a_data_frame_is_not_changed_and_days_may_be_missing():
    frame = pd.DataFrame(
        {"code": ["A", "B"], "units": [1.0, None], "value": [None, 3], "bought": [pd.NaT, "2014-01-02"]}
    )
    before = frame.copy(deep=True)
    lots = read_holdings(frame).lots
    pd.testing.assert_frame_equal(frame, before)
    assert lots["units"].fillna(0).tolist() == [1.0, 0.0]
    assert lots["bought"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name_of_it,units\nA,1\n", "no column of fund codes"),
        ("code,price\nA,1\n", "units or values. Name it 'units' or 'value'"),
        ("code,units\nA,-1\n", "line 2, column 'units': '-1' is not a positive number"),
        ("code,units\nA,0\n", "not a positive number"),
        ("code,units\nA,inf\n", "not a"),
        ("code,units\nA,many\n", "line 2, column 'units': the value 'many' is not a number"),
        ("code,units\nA,\n", "neither units nor a value"),
        ("code,units\nA,1\nB,2\nA,1\n", "line 4: the row says the same as line 2"),
        ("code,units,bought\nA,1,\nB,2,\nA,1,\n", "line 4: the row says the same as line 2"),
        ("code,units,bought\nA,1,\nB,2,soon\n", "line 3, column 'bought': 'soon' is not a day"),
        ("code,units,bought\nA,1,2014-02-30\n", "is not a day"),
        ("code,units,bought\nA,1,03/04/2014\n", "day/month or month/day"),
        ("code,units\n,1\n", "no fund code"),
        ("code,units\n", "header but no row"),
        ("", "empty"),
        ("code\nA\n", "one column"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, text, message):
    path = tmp_path / "mine.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_holdings(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
