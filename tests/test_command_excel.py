"""The option --excel, as its user meets it."""

import sys
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from geodual.funds import synthetic_universe

pytestmark = pytest.mark.usefixtures("blank_figures")

QUICK = ("--metrics", "euclidean,gmml", "--test-start", "2015-04-01", "--jobs", "1")


@pytest.fixture(scope="module")
def nav_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "nav.csv"
    synthetic_universe(15, "2014-01-02", "2015-09-30", seed=1).panel.nav.to_csv(path)
    return path


def test_backtest_and_report_write_the_same_tables(geodual, nav_file, tmp_path) -> None:
    code, out, _ = geodual("backtest", nav_file, "--out", "run", *QUICK, "--excel", "run/study.xlsx")
    assert code == 0
    assert "Excel: run/study.xlsx" in out
    code, out, _ = geodual("report", "run", "--excel", "again.xlsx")
    assert code == 0
    assert "Excel: again.xlsx" in out
    first, second = (pd.read_excel(name, sheet_name=None) for name in ("run/study.xlsx", "again.xlsx"))
    assert list(first) == list(second)
    pd.testing.assert_frame_equal(first["Equity"], second["Equity"], check_exact=True)
    table = pd.read_csv(tmp_path / "run" / "table1.csv")
    pd.testing.assert_frame_equal(first["Table 1"], table, rtol=1e-15, check_dtype=False)


def test_quiet_and_json_do_not_mention_it(geodual, nav_file) -> None:
    code, out, err = geodual("backtest", nav_file, *QUICK, "--excel", "study.xlsx", "--json")
    assert (code, err) == (0, "")
    assert out.startswith("{")
    _, out, _ = geodual("report", "geodual-run", "--excel", "again.xlsx", "--quiet")
    assert out == ""
    assert openpyxl.load_workbook("again.xlsx").sheetnames[:2] == ["Summary", "Table 1"]


def test_select_writes_picks(geodual, nav_file) -> None:
    arguments = ("--metric", "gmml", "--top", 3, "--jobs", 1, "--excel", "picks.xlsx", "--csv", "picks.csv")
    assert geodual("select", nav_file, *arguments)[0] == 0
    found = pd.read_excel("picks.xlsx", sheet_name="Picks")
    assert found["fund"].tolist() == pd.read_csv("picks.csv")["fund"].tolist()
    assert found["forecast"].notna().all()


@pytest.mark.parametrize("command", ["backtest", "select"])
def test_what_cannot_be_written_is_told_before_the_work(command, geodual, nav_file, monkeypatch) -> None:
    code, out, err = geodual(command, nav_file, "--excel", "study.xls")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert ".xlsx" in err
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    code, out, err = geodual(command, nav_file, "--excel", "study.xlsx")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "geodual[excel]" in err


@pytest.mark.parametrize("command", ["backtest", "select"])
def test_the_nav_table_is_never_overwritten(command, geodual, nav_file, tmp_path) -> None:
    pd.read_csv(nav_file, index_col=0, parse_dates=True).to_excel(tmp_path / "nav.xlsx")
    before = (tmp_path / "nav.xlsx").read_bytes()
    code, _, err = geodual(command, "nav.xlsx", "--excel", "./nav.xlsx")
    assert code == 2
    assert "would be overwritten" in err
    assert (tmp_path / "nav.xlsx").read_bytes() == before
