"""The command, as its user meets it: what it prints, what it leaves behind, how it ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodual.funds import read_nav, synthetic_universe
from geodual.funds.decisions.decision import Decision
from geodual.funds.decisions.walk_forward import Checkpoints
from tests.funds.broken_files import BROKEN
from tests.funds.fake_akshare import make_market
from tests.funds.test_run_folder import FILES

pytestmark = pytest.mark.usefixtures("blank_figures")

RUN_FILES = {*FILES, "report.html"}


@pytest.fixture(scope="session")
def nav_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "nav.csv"
    synthetic_universe(40, "2014-01-02", "2016-03-31", seed=1).panel.nav.to_csv(path)
    return path


@pytest.fixture(scope="session")
def index_file(nav_file: Path) -> Path:
    path = nav_file.with_name("index.csv")
    synthetic_universe(40, "2014-01-02", "2016-03-31", seed=1).index.to_csv(path)
    return path


def quick(*more: object) -> tuple[object, ...]:
    return ("--metrics", "euclidean,gmml", "--test-start", "2015-07-01", "--jobs", "1", *more)


def test_backtest_saves_the_run_folder_and_prints_table_1(geodual, nav_file, index_file, tmp_path) -> None:
    code, out, err = geodual("backtest", nav_file, "--index", index_file, "--out", "run", *quick())
    assert code == 0
    assert {path.name for path in (tmp_path / "run").iterdir()} >= RUN_FILES
    assert not list((tmp_path / "run").glob(".*"))
    table = pd.read_csv(tmp_path / "run" / "table1.csv").set_index(["period", "forecaster"])
    shown = f"{table.loc[('test', 'gmml'), 'ic_mean']:+.3f} ± {table.loc[('test', 'gmml'), 'ic_std']:.3f}"
    assert shown in out
    assert "Table 1, validation" in out
    assert "report.html" in out
    assert "learning: " in err


@pytest.mark.usefixtures("blank_report")
def test_json_is_the_summary(geodual, nav_file, tmp_path) -> None:
    code, out, err = geodual("backtest", nav_file, "--out", "run", *quick("--json"))
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads((tmp_path / "run" / "summary.json").read_text("utf-8"))


@pytest.mark.usefixtures("blank_report")
def test_a_configuration_file_is_read_and_options_override_it(geodual, nav_file, tmp_path) -> None:
    (tmp_path / "study.toml").write_text('label = "median"\nk = 7\nmetrics = ["euclidean"]\n', "utf-8")
    code, _, _ = geodual(
        "backtest", nav_file, "--config", "study.toml", "--k", 4, "--out", "run", "--jobs", 1
    )
    assert code == 0
    text = (tmp_path / "run" / "config.toml").read_text("utf-8")
    assert 'label = "median"' in text
    assert "k = 4\n" in text
    assert 'metrics = ["euclidean"]' in text


@pytest.mark.usefixtures("blank_report")
def test_the_configuration_that_was_saved_repeats_the_run(geodual, nav_file, tmp_path) -> None:
    geodual("backtest", nav_file, "--out", "one", *quick("--label", "median"))
    geodual("backtest", nav_file, "--out", "two", "--config", "one/config.toml", "--jobs", 1)
    files = sorted(path.name for path in (tmp_path / "one").glob("*.csv"))
    assert len(files) > 8
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files_end_with_2_and_one_line(kind: str, geodual, tmp_path) -> None:
    path = BROKEN[kind](tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, out, err = geodual("backtest", path, "--out", "run")
    assert code == 2
    assert out == ""
    assert err.startswith("geodual: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--metrics", "nope"), "nope"),
        (("--label", "up"), "`label`"),
        (("--k", 0), "`k`"),
        (("--cost", 2), "`cost`"),
        (("--test-start", "soon"), "`test_start`"),
        (("--frequency", "weekly"), "`frequency`"),
        (("--config", "none.toml"), "none.toml"),
        (("--index", "none.csv"), "none.csv"),
    ],
)
def test_bad_options_end_with_2_and_name_themselves(arguments, told, geodual, nav_file, tmp_path) -> None:
    code, out, err = geodual("backtest", nav_file, "--out", "run", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_file_in_the_way_of_the_folder_is_left_alone(geodual, nav_file, tmp_path) -> None:
    (tmp_path / "run").write_text("mine")
    code, _, err = geodual("backtest", nav_file, "--out", "run", *quick())
    assert code == 2
    assert "--out" in err
    assert (tmp_path / "run").read_text() == "mine"


def test_check_tells_what_matters_by_its_exit_code(geodual, nav_file, tmp_path) -> None:
    code, out, _ = geodual("check", nav_file)
    assert code == 0
    assert "Findings for information:" in out
    assert "late-start" not in out
    assert "late-start" in geodual("check", nav_file, "--all")[1]
    nav = pd.read_csv(nav_file, index_col=0)
    nav.iloc[100:, 3] *= 0.6
    nav.to_csv(tmp_path / "jump.csv")
    code, out, _ = geodual("check", "jump.csv")
    assert code == 1
    assert "jump" in out
    assert nav.columns[3] in out
    code, out, _ = geodual("check", "jump.csv", "--json")
    assert code == 1
    assert any(finding["kind"] == "jump" and finding["matters"] for finding in json.loads(out)["findings"])


def test_check_inspects_the_index_like_a_fund(geodual, nav_file, index_file, tmp_path) -> None:
    assert geodual("check", nav_file, "--index", index_file)[0] == 0
    levels = pd.read_csv(index_file, index_col=0)
    levels.assign(mine=levels["index"].where(levels.index < "2015", levels["index"] / 1000)).to_csv("two.csv")
    code, out, _ = geodual("check", nav_file, "--index", "two.csv", "--index-column", "mine")
    assert code == 1
    assert "index mine" in out


@pytest.mark.usefixtures("no_fresh_processes")
def test_check_leakage_finds_nothing_in_the_study(geodual, nav_file) -> None:
    code, out, err = geodual("check-leakage", nav_file, "--metrics", "euclidean,gmml")
    assert code == 0
    assert "forecasts of euclidean, gmml on 5 of 5 decision days compared: none changed" in out
    assert "testing: 15/15" in err
    checks = json.loads(geodual("check-leakage", nav_file, "--metrics", "gmml", "--days", 2, "--json")[1])
    assert len(checks) == 4
    assert all(check["passed"] and check["compared"] for check in checks)


def test_factors_are_written_in_the_kind_of_file_asked_for(geodual, nav_file, tmp_path) -> None:
    for name in ("f.csv", "f.csv.gz", "f.parquet"):
        assert geodual("factors", nav_file, "-o", name)[0] == 0
    parquet = pd.read_parquet(tmp_path / "f.parquet")
    assert parquet.shape == (9 * 40, 70)
    for name in ("f.csv", "f.csv.gz"):
        table = pd.read_csv(tmp_path / name, index_col=[0, 1], parse_dates=["date"])
        np.testing.assert_allclose(table.to_numpy(), parquet.to_numpy(), rtol=1e-12)
    code, _, err = geodual("factors", nav_file, "-o", "f.xlsx")
    assert code == 2
    assert ".parquet" in err


def test_select_prints_picks_and_writes_them(geodual, nav_file, tmp_path) -> None:
    arguments = ("--metric", "gmml", "--top", 3, "--jobs", 1)
    code, out, _ = geodual("select", nav_file, *arguments, "--csv", "picks.csv")
    assert code == 0
    picks = pd.read_csv(tmp_path / "picks.csv")
    assert list(picks["rank"]) == [1, 2, 3]
    assert all(fund in out for fund in picks["fund"])
    record = json.loads(geodual("select", nav_file, *arguments, "--json")[1])
    assert [pick["fund"] for pick in record["picks"]] == list(picks["fund"])
    assert record["as_of"] == "2016-03-31"
    assert len(record["neighbors"]) == 30


def test_select_warns_off_rebalance_days(geodual, nav_file) -> None:
    code, out, _ = geodual("select", nav_file, "--as-of", "2016-02-20", "--metric", "gmml", "--jobs", 1)
    assert code == 0
    assert "2016-02-19 is not a quarterly rebalance day" in out
    code, _, err = geodual("select", nav_file, "--as-of", "1999-01-01")
    assert code == 2
    assert "1999-01-01" in err


def test_fetch_writes_a_folder_that_backtest_reads(geodual, monkeypatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "akshare", make_market())
    code, out, _ = geodual("fetch", "--out", "cn", "--pause", 0)
    assert code in (0, 1)
    assert "nav.parquet" in out
    assert len(read_nav(tmp_path / "cn" / "nav.parquet").nav) > 1


def test_fetch_without_akshare_names_the_extra(geodual, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "akshare", None)
    code, _, err = geodual("fetch", "--out", "cn")
    assert code == 2
    assert "geodual[data]" in err


def test_report_needs_a_finished_run(geodual, tmp_path) -> None:
    code, _, err = geodual("report", "nowhere")
    assert code == 2
    assert "summary.json" in err


def test_every_command_has_help_with_an_example(geodual) -> None:
    code, out, _ = geodual("--help")
    assert code == 0
    commands = (
        "demo",
        "backtest",
        "select",
        "fund",
        "factors",
        "check",
        "check-leakage",
        "fetch",
        "learn",
        "predict",
        "report",
    )
    for name in commands:
        assert name in out
        code, text, _ = geodual(name, "--help")
        assert code == 0
        assert f"geodual {name}" in text


@pytest.mark.usefixtures("blank_report")
def test_an_interrupted_run_goes_on(geodual, nav_file, tmp_path, monkeypatch) -> None:
    arguments = ("backtest", nav_file, "--out", "run", *quick())
    keep, saved = Checkpoints.save, []

    def save(checkpoints: Checkpoints, decision: Decision) -> None:
        keep(checkpoints, decision)
        saved.append((decision.day, decision.forecaster))
        if len(saved) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Checkpoints, "save", save)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs without it
    code, _, err = geodual(*arguments)
    assert code == 130
    assert "Run the same command again" in err
    assert len(list((tmp_path / "run" / ".finished").rglob("*.npz"))) == 3
    first = saved.copy()
    assert geodual(*arguments)[0] == 0
    ic = pd.read_csv(tmp_path / "run" / "ic.csv", index_col="date")
    assert len(saved) == len(set(saved)) == ic.size > 3, "what was finished is not made again"
    assert saved[:3] == first
    assert not (tmp_path / "run" / ".finished").exists()


def test_select_writes_a_page_that_escapes_names(geodual, nav_file, tmp_path) -> None:
    hostile = "<script>alert(1)</script>"
    nav = pd.read_csv(nav_file, index_col=0)
    nav.rename(columns=dict.fromkeys(nav.columns[:1], hostile)).to_csv(tmp_path / "nav.csv")
    arguments = ("--metric", "gmml", "--top", 40, "--jobs", 1, "--html", "picks.html", "--json")
    code, out, _ = geodual("select", "nav.csv", *arguments)
    page = (tmp_path / "picks.html").read_text("utf-8")
    assert code == 0
    assert hostile not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for pick in json.loads(out)["picks"]:
        assert f"{100 * abs(pick['forecast']):.1f}" in page


@pytest.mark.parametrize(
    "arguments",
    [("demo", "--start", "x"), ("demo", "--seed", -1), ("demo", "--funds", 0), ("demo", "--jobs", 0)],
    ids=lambda arguments: arguments[1],
)
def test_bad_options_of_the_demo_end_with_2(arguments, geodual, tmp_path) -> None:
    code, out, err = geodual(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_configuration_with_wrong_types_ends_with_2(geodual, nav_file, tmp_path) -> None:
    for setting in ("metrics = 5", 'k = "ten"', "metrics = [1]", 'cost = "low"', "tune = 1"):
        (tmp_path / "study.toml").write_text(setting, "utf-8")
        code, _, err = geodual("backtest", nav_file, "--config", "study.toml", "--out", "run")
        assert code == 2, setting
        assert f"`{setting.split()[0]}`" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("blank_report")
def test_quiet_is_quiet_and_table_1_is_whole_on_a_narrow_terminal(geodual, nav_file, monkeypatch) -> None:
    for module in ("console", "study_commands"):
        monkeypatch.setattr(f"geodual.cli.{module}.page_width", lambda: 80)
    _, out, err = geodual("backtest", nav_file, "--out", "run", *quick("--quiet"))
    assert err == ""
    assert "…" not in out.replace(" … ", "")
    *tables, headline = out.splitlines()
    assert headline.startswith("Over the whole study ")
    assert max(map(len, tables)) <= 80
    assert out.count("euclidean") == 6


@pytest.mark.usefixtures("no_fresh_processes")
def test_the_settings_of_a_study_serve_select_and_the_leakage_check(geodual, nav_file, tmp_path) -> None:
    (tmp_path / "study.toml").write_text(
        'metrics = ["gmml"]\nk = 3\ntop = 4\nfrequency = "monthly"\n', "utf-8"
    )
    record = json.loads(
        geodual("select", nav_file, "--config", "study.toml", "--metric", "gmml", "--jobs", 1, "--json")[1]
    )
    assert len(record["picks"]) == 4
    assert len(record["neighbors"]) == 12
    checks = json.loads(
        geodual("check-leakage", nav_file, "--config", "study.toml", "--days", 1, "--json")[1]
    )
    assert {check["forecaster"] for check in checks} == {"gmml"}


FORECASTERS = """
test_start = "2015-07-01"
[forecasters.pooled]
metric = "euclidean"
target = "rank"
window = "all"
[forecasters.calm]
factor = "stddev_90"
sign = -1
"""


@pytest.mark.usefixtures("blank_report")
def test_a_configuration_file_describes_forecasters(geodual, nav_file, tmp_path) -> None:
    (tmp_path / "study.toml").write_text(FORECASTERS, "utf-8")
    code, out, _ = geodual("backtest", nav_file, "--config", "study.toml", "--jobs", 1, "--out", "one", "-q")
    assert code == 0
    assert "Baselines, both periods" in out
    assert "return_12m" in out
    geodual("backtest", nav_file, "--config", "one/config.toml", "--jobs", 1, "--out", "two", "-q")
    for name in ("predictions.csv", "baselines.csv", "config.toml"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    chosen = ("--forecasters", "calm,ridge", "--baselines", "")
    code, out, _ = geodual("backtest", nav_file, "--config", "study.toml", *chosen, "--jobs", 1, "-o", "some")
    assert code == 0
    assert "Baselines" not in out
    ic = pd.read_csv(tmp_path / "some" / "ic.csv")
    assert list(ic.columns) == ["date", "calm", "ridge"]
    one = pd.read_csv(tmp_path / "one" / "ic.csv")
    assert ic["calm"].equals(one["calm"]), "a name of the file keeps its settings"


def test_select_takes_a_forecaster_by_name_or_chooses_one(geodual, nav_file, tmp_path) -> None:
    (tmp_path / "study.toml").write_text(FORECASTERS, "utf-8")
    file = ("--config", "study.toml", "--jobs", 1, "--top", 3)
    record = json.loads(geodual("select", nav_file, *file, "--forecaster", "calm", "--json")[1])
    assert (record["forecaster"], record["unit"], record["candidates"]) == ("calm", "rank", [])
    record = json.loads(geodual("select", nav_file, *file, "--json")[1])
    assert {each["forecaster"] for each in record["candidates"]} == {"pooled", "calm"}
    code, out, _ = geodual("select", nav_file, *file)
    assert code == 0
    assert "is used" in out
    code, _, err = geodual("select", nav_file, "--metric", "gmml", "--forecaster", "ridge")
    assert (code, "cannot be combined" in err) == (2, True)


def test_a_table_of_the_configuration_finds_modules_in_this_folder(
    geodual, nav_file, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_ridge.py").write_text(
        "from sklearn.linear_model import Ridge\n\n\nclass OwnRidge(Ridge):\n    pass\n"
    )
    (tmp_path / "study.toml").write_text('[forecasters.mine]\nestimator = "own_ridge:OwnRidge"\n')
    code, out, err = geodual("select", nav_file, "--config", "study.toml", "--factors", "roc", "--jobs", 1)
    assert code == 0, err
    assert "Picks of mine" in out


def test_a_mistake_in_a_module_is_named_in_one_line(geodual, nav_file, tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mistaken.py").write_text("import math\n\nmath.nothing\n\n\nclass Mine:\n    pass\n")
    code, _, told = geodual("backtest", nav_file, "--metrics", "mistaken:Mine")
    assert code == 2
    assert "AttributeError: module 'math' has no attribute 'nothing'" in told
    assert len(told.splitlines()) == 1


def test_no_command_writes_over_a_file_that_it_reads(geodual, nav_file, index_file, tmp_path) -> None:
    for file in (nav_file, index_file):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    facts = tmp_path / "facts.csv"
    facts.write_text("code,type\nE00000,equity\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for arguments in (
        ("factors", "nav.csv", "-o", "./nav.csv"),
        ("select", "nav.csv", "--index", "index.csv", "--csv", "index.csv"),
        ("select", "nav.csv", "--meta", "facts.csv", "--html", "facts.csv"),
        ("backtest", "nav.csv", "--meta", "facts.csv", "--out", "."),
    ):
        code, out, err = geodual(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), arguments
        assert "would be overwritten" in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("place", ["nowhere/file", "."])
@pytest.mark.parametrize(
    "arguments",
    [
        ("factors", "nav.csv", "-o"),
        ("select", "nav.csv", "--csv"),
        ("select", "nav.csv", "--html"),
        ("learn", "table.csv", "--target", "kind", "-o"),
        ("predict", "model.npz", "table.csv", "-o"),
        ("report", "run", "-o"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_read(arguments, place, geodual) -> None:
    code, out, err = geodual(*arguments, place)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert ("no folder nowhere" if place != "." else "this is a folder") in err


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "geodual", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("geodual ")


@pytest.mark.usefixtures("blank_report")
def test_a_run_of_other_data_is_not_overwritten(geodual, nav_file, tmp_path) -> None:
    assert geodual("backtest", nav_file, "--out", "run", *quick("-q"))[0] == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    table = pd.read_csv(nav_file, index_col=0)
    table.iloc[:-1].to_csv("other.csv")
    code, _, err = geodual("backtest", "other.csv", "--out", "run", *quick("-q"))
    assert code == 2
    assert "run: there is a run of other data" in err
    longer = pd.read_csv(nav_file, index_col=0, parse_dates=True)
    longer.loc[longer.index[-1] + pd.offsets.BDay()] = longer.iloc[-1]
    longer.to_csv("longer.csv")
    code, _, err = geodual("backtest", "longer.csv", "--out", "run", *quick("-q"))
    assert code == 2
    assert "of the same table that ends earlier. Continue it with --update" in err
    assert "--out" in err
    assert "--overwrite" in err
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    assert geodual("backtest", nav_file, "--out", "run", *quick("-q", "--top", 3))[0] == 0, "the same data"
    assert geodual("backtest", "other.csv", "--out", "run", "--overwrite", *quick("-q"))[0] == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "summary.json").write_text("[1]")
    code, _, err = geodual("backtest", nav_file, "--out", "mine", *quick("-q"))
    assert (code, (tmp_path / "mine" / "summary.json").read_text()) == (2, "[1]")
    assert "summary.json of something else" in err


def test_select_continues_a_run(geodual, nav_file, tmp_path) -> None:
    given = ("--cost", 0.002, "--execution-lag", 1, "--top", 4)
    assert geodual("backtest", nav_file, "--out", "run", *quick("-q", *given))[0] == 0
    code, out, err = geodual("select", nav_file, "--run", "run", "--jobs", 1)
    assert code == 0, err
    assert "Page: run/picks.html (study: run/report.html)" in out
    assert 'href="report.html"' in (tmp_path / "run" / "picks.html").read_text("utf-8")
    assert 'href="picks.html"' in (tmp_path / "run" / "report.html").read_text("utf-8")
    record = json.loads(geodual("select", nav_file, "--run", "run", "--jobs", 1, "--json")[1])
    assert len(record["picks"]) == 4
    again = geodual("select", nav_file, "--config", "run/config.toml", "--jobs", 1, "--json")[1]
    assert json.loads(again)["picks"] == record["picks"]
    assert json.loads(again)["track_record"] == record["track_record"]
    for more, message in (
        (("--k", 5), "`k` is a setting of the run"),
        (("--metric", "gmml"), "`metric`"),
        (("--forecaster", "ridge"), "euclidean, gmml"),
        (("--csv", "run/ic.csv"), "this file is an input"),
    ):
        code, _, err = geodual("select", nav_file, "--run", "run", *more)
        assert (code, message in err) == (2, True), err


def test_a_run_with_a_metric_of_this_folder_is_continued(geodual, nav_file, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_scaler.py").write_text("from sklearn.preprocessing import StandardScaler as Own\n")
    run = ("--metrics", "own_scaler:Own", "--jobs", 1, "-q", "--out", "run")
    assert geodual("backtest", nav_file, *run)[0] == 0
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    sys.modules.pop("own_scaler", None)
    code, out, err = geodual("select", nav_file, "--run", "run", "--jobs", 1)
    assert code == 0, err
    assert "Picks of own_scaler:Own" in out
