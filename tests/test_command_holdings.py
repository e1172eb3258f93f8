"""`geodual select --holdings`, `geodual watch` and `geodual backtest --update`, as their user meets them."""

import json
import re

import pandas as pd
import pytest

from geodual.funds import synthetic_universe
from tests.guides import DOCS

pytestmark = pytest.mark.usefixtures("blank_figures", "blank_report")

MINE = "code;units;bought\nM00002;1000;04.01.2016\nM00002;500,5;\nB00003;800;15.02.2016\nX;3;\n"


@pytest.fixture(scope="module")
def universe():
    return synthetic_universe(40, "2014-01-02", "2016-03-31", seed=1)


@pytest.fixture
def folder(universe, tmp_path):
    universe.panel.nav.to_csv(tmp_path / "nav.csv")
    (tmp_path / "mine.csv").write_text("\ufeff" + MINE, "utf-8")
    return tmp_path


CHOICE = ("select", "nav.csv", "--metric", "euclidean", "--top", 3, "--jobs", 1, "-q")


def test_orders_are_printed_and_saved_beside_the_picks(geodual, folder):
    given = ("--holdings", "mine.csv", "--cash", 1000, "--redemption-fees", "100:0.01", "--csv", "picks.csv")
    code, out, err = geodual(*CHOICE, *given)
    assert (code, err) == (0, "")
    assert "Orders, at the last published values" in out
    assert "Doing nothing: saves " in out
    assert out.count("not in the table") == 2  # the row of the fund, and one warning
    saved = pd.read_csv(folder / "picks-orders.csv").set_index("fund")
    assert saved.at["X", "action"] == "unknown"
    assert {"sell", "buy"} <= set(saved["action"])
    code, out, _ = geodual(*CHOICE, *given, "--json")
    record = json.loads(out)["orders"]
    assert code == 0
    assert record["total"] == pytest.approx(saved["value_before"].sum() + 1000.0)
    assert {lot["fund"] for lot in record["lots"]} == {"M00002", "B00003"}
    assert record["cash_left"] >= 0.0


def test_orders_of_a_run_lie_in_its_folder(geodual, folder):
    geodual("backtest", "nav.csv", "--metrics", "euclidean", "--out", "run", "--jobs", 1, "-q")
    code, out, _ = geodual("select", "nav.csv", "--run", "run", "--holdings", "mine.csv", "--jobs", 1)
    assert code == 0
    assert "Orders: run/picks-orders.csv" in out.replace("\\", "/")
    assert (folder / "run" / "picks-orders.csv").exists()


def test_the_holdings_are_not_written_over(geodual, folder):
    (folder / "picks-orders.csv").write_text(MINE, "utf-8")
    code, _, err = geodual(*CHOICE, "--holdings", "picks-orders.csv", "--csv", "picks.csv")
    assert code == 2
    assert "would be overwritten" in err
    assert (folder / "picks-orders.csv").read_text("utf-8") == MINE


def test_watch_ends_with_1_if_something_crossed_a_limit(geodual, folder, universe):
    given = ("watch", "nav.csv", "--holdings", "mine.csv", "--since", "2015-09-30")
    code, out, err = geodual(*given, "--rank-drop", 1, "--drawdown", 1)
    assert (code, err) == (0, "")
    assert "X is not in the table" in out
    nav = universe.panel.nav.copy()
    nav.loc["2016-03-01":, "M00002"] = float("nan")
    nav.to_csv(folder / "nav.csv")
    code, out, err = geodual(*given, "--json")
    assert (code, err) == (1, "")
    record = json.loads(out)
    assert record["crossed"]
    told = {row["fund"]: row["crossed"] for row in record["funds"]}
    assert "no value since 2016-02-29" in told["M00002"]


def test_what_is_wrong_is_told_in_one_line(geodual, folder):
    code, _, err = geodual("watch", "nav.csv", "--holdings", "mine.csv", "--since", "2030-01-01")
    assert code == 2
    assert err.startswith("geodual: `since` must be")
    code, _, err = geodual("backtest", "nav.csv", "--update", "--overwrite")
    assert code == 2
    assert "give one of them" in err


def test_update_continues_a_run_and_refuses_other_data(geodual, folder, universe):
    nav = universe.panel.nav
    given = ("--metrics", "euclidean", "--out", "run", "--update", "--jobs", 1, "-q", "--json")
    nav.loc[:"2015-11-20"].to_csv(folder / "nav.csv")
    code, _, _ = geodual("backtest", "nav.csv", *given)
    assert code == 0
    kept = {path.name: path.read_bytes() for path in (folder / "run" / "decisions").rglob("*.npz")}
    nav.to_csv(folder / "nav.csv")
    code, _, err = geodual("backtest", "nav.csv", *given)
    assert (code, err) == (0, "")
    now = {path.name: path.read_bytes() for path in (folder / "run" / "decisions").rglob("*.npz")}
    assert {name: now[name] for name in kept} == kept
    assert {name[:10] for name in now.keys() - kept.keys()} == {"2015-12-31"}
    (nav * 2.0).to_csv(folder / "nav.csv")
    code, _, err = geodual("backtest", "nav.csv", *given)
    assert code == 2
    assert "run of other data" in err


def test_the_guide_runs(geodual, folder):
    """Each command of the guide, in its order; the watch may find something."""
    text = (DOCS / "how_to" / "work_from_holdings.md").read_text("utf-8")
    (folder / "mine.csv").write_text(re.findall(r"```text\n(.*?)```", text, flags=re.S)[0], "utf-8")
    commands = re.findall(r"^geodual (.*)$", text, flags=re.M)
    assert len(commands) >= 4
    for command in commands:
        arguments = command.split()
        jobs = () if arguments[0] == "watch" else ("--jobs", 1)
        code, out, err = geodual(*arguments, *jobs)
        assert code in ((0, 1) if arguments[0] == "watch" else (0,)), err
        assert out
