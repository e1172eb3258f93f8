"""``geodual fund``, as its user meets it."""

import json

import pandas as pd
import pytest

from geodual.funds import fund_sheet, synthetic_universe


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, universe = (
        tmp_path_factory.mktemp("data"),
        synthetic_universe(30, "2013-12-30", "2016-06-30", seed=0),
    )
    universe.panel.nav.to_csv(folder / "nav.csv")
    universe.index.to_csv(folder / "index.csv")
    pd.DataFrame({"code": universe.panel.nav.columns, "name": "同名"}).to_csv(
        folder / "meta.csv", index=False
    )
    (folder / "rates.csv").write_text("date,rate\n2013-01-01,0.03\n", "utf-8")
    return folder, universe


def test_the_sheet_is_written_and_told(geodual, files, tmp_path):
    folder, universe = files
    given = ("--index", folder / "index.csv", "--meta", folder / "meta.csv", "--style", folder / "index.csv")
    code, out, err = geodual(
        "fund", folder / "nav.csv", "M00001", *given, "--risk-free", folder / "rates.csv"
    )
    assert (code, err) == (0, "")
    page = (tmp_path / "fund-M00001.html").read_text("utf-8")
    assert "同名 (M00001)" in page
    assert "<script" not in page
    expected = fund_sheet(universe.panel, "M00001").trailing.at["1", "value"]
    assert f"{100.0 * expected:.1f} %" in out
    assert "Sheet: fund-M00001.html" in out
    assert "beyond a risk-free rate of the rates given" in out


def test_the_page_has_the_language_asked_for_and_the_terminal_is_english(geodual, files, tmp_path):
    code, out, _ = geodual("fund", files[0] / "nav.csv", "M00001", "--language", "zh")
    assert code == 0
    assert '<html lang="zh">' in (tmp_path / "fund-M00001.html").read_text("utf-8")
    assert "Sheet: fund-M00001.html" in out
    assert out.isascii()


def test_json_is_the_summary_and_writes_no_page(geodual, files, tmp_path):
    folder, _ = files
    code, out, _ = geodual("fund", folder / "nav.csv", "M00001", "--json")
    assert code == 0
    assert json.loads(out)["code"] == "M00001"
    assert list(tmp_path.iterdir()) == []
    geodual("fund", folder / "nav.csv", "M00001", "--json", "--out", "sheet.html")
    assert (tmp_path / "sheet.html").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("M0001",), "Did you mean M00001"),
        (("M00001", "--risk-free", "6"), "write 6 % as 0.06"),
        (("M00001", "--risk-free", "none.csv"), "no such file"),
        (("M00001", "--style", "none.csv"), "no such file"),
        (("M00001", "--out", "none/sheet.html"), "there is no folder"),
        (("同名",), "There is no fund"),
        (("M00001", "--language", "fr"), "`language` must be one of en, zh, got 'fr'."),
    ],
)
def test_mistakes_end_with_2_and_one_line(arguments, told, geodual, files, tmp_path):
    code, out, err = geodual("fund", files[0] / "nav.csv", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_input_is_not_overwritten(geodual, files):
    nav = files[0] / "nav.csv"
    before = nav.read_bytes()
    code, _, err = geodual("fund", nav, "M00001", "--out", nav)
    assert code == 2
    assert "would be overwritten" in err
    assert nav.read_bytes() == before
