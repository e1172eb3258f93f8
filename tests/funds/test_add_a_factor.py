"""The factor of docs/add_a_factor.md, from its own text: in Python, and in the command from elsewhere."""

import re

import numpy as np
import pandas as pd
import pytest

from geodual.funds import backtest, check_leakage, read_study, select, synthetic_universe
from geodual.funds.factors.factor import WINDOWS
from tests.funds.test_factors import COLUMNS
from tests.guides import DOCS, run_command, run_guide

pytestmark = pytest.mark.usefixtures("blank_figures")


@pytest.fixture
def guide(tmp_path, monkeypatch):
    return run_guide("add_a_factor.md", tmp_path, monkeypatch)


def test_its_values_are_those_of_the_definition(guide):
    nav, table = guide["universe"].panel.nav, guide["table"]
    assert list(table.columns[:70]) == COLUMNS
    for w in WINDOWS:
        high = nav.rolling(w + 1).max().loc[table.index.unique("date")]
        expected = (nav.loc[high.index] / high - 1.0).stack(future_stack=True)
        np.testing.assert_allclose(table[f"below_high_{w}"], expected, atol=1e-15)


@pytest.mark.usefixtures("no_fresh_processes")
def test_the_study_learns_from_it_and_the_report_shows_its_label(guide, tmp_path):
    study, panel = guide["study"], guide["universe"].panel
    without = backtest(panel, metrics=["euclidean", "gmml"])
    assert not np.allclose(study.predictions["forecast"], without.predictions["forecast"])
    alone = backtest(panel, metrics="euclidean", factors=guide["BELOW_HIGH"])
    assert set(alone.reasons["factor"]) <= {f"below_high_{w}" for w in WINDOWS}
    page = alone.report(tmp_path / "report.html").read_text("utf-8")
    assert "distance below its high, 90 days" in page
    again = read_study(alone.save(tmp_path / "run")).report(tmp_path / "again.html").read_text("utf-8")
    assert "distance below its high, 90 days" in again, "the label is saved with the run"
    assert check_leakage(panel, "euclidean", factors=guide["BELOW_HIGH"]).passed


def test_a_factor_with_a_short_window_lets_young_funds_in(guide):
    factor = type(guide["BELOW_HIGH"])("short", guide["BELOW_HIGH"].measure, "short", windows=(10,))
    panel = guide["universe"].panel
    early = select(panel, "2014-04-30", "euclidean", factors=factor)
    assert early.left_out["why"].str.contains("120").sum() == 0
    assert len(early.picks) == 10


def test_the_command_finds_it_in_the_configuration_and_as_an_option(guide, tmp_path, monkeypatch):
    folder = tmp_path / "user"
    folder.mkdir()
    (tmp_path / "below_high.py").rename(folder / "below_high.py")
    synthetic_universe(30, "2014-01-02", "2015-06-30").panel.nav.to_csv(folder / "nav.csv")
    toml = re.search(r"```toml\n(.*?)```", (DOCS / "add_a_factor.md").read_text("utf-8"), flags=re.S)[1]
    (folder / "study.toml").write_text(f'{toml}metrics = ["euclidean", "gmml"]\n')
    run_command(folder, "backtest", "nav.csv", "--config", "study.toml", "--out", "run", "--jobs", "1")
    found = pd.read_csv(folder / "run" / "predictions.csv")["forecast"]
    np.testing.assert_allclose(found, guide["study"].predictions["forecast"], rtol=1e-12)
    run_command(folder, "factors", "nav.csv", "--factors", "roc,below_high:BELOW_HIGH", "-o", "f.csv")
    assert pd.read_csv(folder / "f.csv").shape[1] == 2 + 14
