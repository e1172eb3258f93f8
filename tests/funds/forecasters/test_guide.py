"""docs/forecasters.md from its own text: in Python, as a file of settings, and in the command."""

import re
from dataclasses import fields

import pandas as pd

from geodual.funds import Today, Training, forecaster_names, read_study
from geodual.metric import metric_names
from tests.guides import DOCS, run_command, run_guide

TEXT = (DOCS / "forecasters.md").read_text("utf-8")
GETS = TEXT.split("### What it gets")[1].split("\n## ")[0]


def test_the_forecaster_of_the_guide_works_in_python_and_in_the_command(tmp_path, monkeypatch):
    guide = run_guide("forecasters.md", tmp_path, monkeypatch)
    told = re.search(r"# (\[.*\]) (\d)$", GETS, flags=re.M)
    assert (str([*guide["present"]][:3]), guide["training"].n_intervals) == (told[1], int(told[2]))
    assert len(guide["past"]) == len(guide["training"].returns)
    panel, own = guide["universe"].panel, guide["own"].predictions
    day, start = own["date"].unique()[-1], own["date"].unique()[-2]
    earned = panel.nav.loc[day] / panel.nav.loc[start] - 1.0
    last = own[own["date"] == day].set_index("fund")["forecast"]
    steady = panel.nav.loc[start:day].notna().all()
    steady = [fund for fund in last.index if steady[fund]]
    assert len(steady) > 20
    pd.testing.assert_series_equal(last[steady], -earned[steady], check_names=False)
    panel.nav.to_csv(tmp_path / "nav.csv")
    run_command(
        tmp_path, "backtest", "nav.csv", "--forecasters", "momentum,reversal:Reversal", "-j", "1", "-q"
    )
    assert list(read_study(tmp_path / "geodual-run").ic) == ["momentum", "reversal:Reversal"]


def test_the_table_lists_all_names():
    section = TEXT.split("## By name")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, flags=re.M))
    assert named == set(forecaster_names()) - set(metric_names())


def test_the_guide_names_all_that_a_forecaster_gets():
    for table, kind in zip(GETS.split("\n\n|")[1:3], (Training, Today), strict=True):
        named = re.findall(r"^\| `(\w+)` \|", table, flags=re.M)
        assert sorted(named) == sorted(field.name for field in fields(kind))
