"""The run folder: complete, readable by any program, the same bytes from the same study."""

import json

import numpy as np
import pandas as pd
import pytest

from geodual.funds import Finding, Panel, StudyConfig, backtest, read_config

FILES = {
    "config.toml",
    "summary.json",
    "table1.csv",
    "ic.csv",
    "predictions.csv",
    "equity.csv",
    "annual_returns.csv",
    "holdings.csv",
    "figure1.svg",
    "figure1.png",
    "figure2.svg",
    "figure2.png",
}


@pytest.fixture(scope="module")
def folder(study, tmp_path_factory):
    return study.save(tmp_path_factory.mktemp("runs") / "a" / "b")


def assert_same(found, expected):
    pd.testing.assert_frame_equal(
        found, expected, rtol=1e-15, check_dtype=False, check_names=False, check_index_type=False
    )


def test_every_file_is_there_and_none_half_written(folder):
    names = {file.name for file in folder.iterdir()}
    assert names >= FILES
    assert not [name for name in names if name.startswith(".")]
    assert all(file.stat().st_size for file in folder.iterdir())


def test_tables_are_read_back_as_they_were(folder, study):
    for name in ("predictions", "holdings", "neighbors", "reasons", "universe"):
        assert_same(pd.read_csv(folder / f"{name}.csv", parse_dates=["date"]), getattr(study, name))
    trades = pd.read_csv(folder / "trades.csv", parse_dates=["decided", "executed"])
    assert_same(trades, study.trades)
    for name in ("ic", "equity"):
        found = pd.read_csv(folder / f"{name}.csv", index_col="date", parse_dates=True)
        assert_same(found, getattr(study, name))


def test_summaries_are_read_back_as_they_were(folder, study):
    table = pd.read_csv(folder / "table1.csv", index_col=["period", "forecaster"], dtype={"n": "Int64"})
    assert_same(table, study.table())
    assert_same(pd.read_csv(folder / "annual_returns.csv", index_col="year"), study.annual_returns())
    pairs = pd.read_csv(folder / "comparisons.csv", index_col=["forecaster", "against"])
    assert_same(pairs, study.comparisons())


def test_days_are_written_without_a_time(folder):
    for name in ("predictions", "ic", "equity", "trades"):
        assert "00:00" not in (folder / f"{name}.csv").read_text("utf-8")
    first_lines = (folder / "equity.csv").read_text("utf-8").splitlines()[:2]
    assert first_lines == ["date,euclidean,gmml,rpdml,index", "2012-12-31,1.0,1.0,1.0,1.0"]


def test_the_configuration_is_read_back(folder, study):
    assert StudyConfig(**read_config(folder / "config.toml")) == study.config


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def test_the_summary_is_strict_json_and_agrees_with_table_1(folder, study):
    summary = json.loads((folder / "summary.json").read_text("utf-8"), parse_constant=refuse)
    assert summary["sha256"] == study.digest
    assert summary["days"] == ["2012-12-31", "2014-12-31"]
    assert summary["rebalances"] == 8
    assert summary["notes"] == list(study.notes)
    assert any("median" in note for note in summary["notes"])
    table = study.table()
    for (period, name), row in table.iterrows():
        for column, value in row.items():
            stored = summary["table1"][period][name][column]
            assert stored is None if pd.isna(value) else stored == value
    assert summary["table1"]["test"]["index"]["ic_mean"] is None


def test_two_runs_give_the_same_bytes(folder, universe, tmp_path):
    again = backtest(
        universe.panel, universe.index, ("euclidean", "gmml", "rpdml"), top=5, test_start="2014-01-01"
    )
    again.save(tmp_path)
    for file in folder.iterdir():
        if file.suffix in {".csv", ".svg", ".png", ".toml"}:  # the others tell the run time
            assert file.read_bytes() == (tmp_path / file.name).read_bytes(), file.name


@pytest.fixture(scope="module")
def small_study(universe):
    nav = universe.panel.nav.loc[:"2013-06-28"]
    nav = nav.set_axis(pd.Index([f"{j:06d}" for j in range(nav.shape[1])], name="fund"), axis=1)
    finding = Finding("gap", False, "000001", "2012-02-01", 3, "Three days are missing, “quoted”, and so on.")
    return backtest(Panel(nav, findings=(finding,)), metrics="euclidean")


@pytest.fixture(scope="module")
def small_folder(small_study, tmp_path_factory):
    return small_study.save(tmp_path_factory.mktemp("small"))


def test_codes_with_leading_zeros_survive(small_study, small_folder):
    found = pd.read_csv(small_folder / "holdings.csv", dtype={"fund": str})["fund"]
    assert found.tolist() == small_study.holdings["fund"].tolist()
    assert found.str.fullmatch(r"\d{6}").all()


def test_findings_are_written(small_study, small_folder):
    found = pd.read_csv(small_folder / "findings.csv", dtype={"fund": str})
    assert found.to_dict("records") == [vars(small_study.findings[0])]


def test_one_metric_has_nothing_to_compare_with(small_folder):
    assert len(pd.read_csv(small_folder / "comparisons.csv")) == 0


def test_a_failing_write_leaves_whole_files(small_study, tmp_path, monkeypatch):
    small_study.save(tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    original = pd.DataFrame.to_csv

    def fail_half_way(self, place, **options):
        if "holdings" in place.name:
            place.write_text("date,met")
            raise OSError(28, "No space left on device")
        return original(self, place, **options)

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail_half_way)
    with pytest.raises(OSError, match="No space left"):
        small_study.save(tmp_path)
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert before.pop("summary.json"), "its absence says that not all is there"
    assert after == before


def test_two_saves_into_one_folder_do_not_collide(small_study, small_folder, tmp_path, monkeypatch):
    original, waiting = pd.DataFrame.to_csv, ["the other run"]

    def save_meanwhile(self, place=None, **options):
        text = original(self, place, **options)
        if waiting and place is not None and "predictions" in place.name:
            waiting.clear()
            small_study.save(tmp_path)
        return text

    monkeypatch.setattr(pd.DataFrame, "to_csv", save_meanwhile)
    small_study.save(tmp_path)
    assert not waiting
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        file.name: file.read_bytes() for file in small_folder.iterdir()
    }


@pytest.fixture(scope="module")
def flat_folder(tmp_path_factory):
    """Flat funds have neither ICs nor ratios, and this panel no findings."""
    days = pd.bdate_range("2019-01-01", "2020-06-30", name="date")
    nav = pd.DataFrame(np.ones((len(days), 12)), index=days, columns=[f"F{j:02d}" for j in range(12)])
    return backtest(Panel(nav), metrics="euclidean").save(tmp_path_factory.mktemp("flat"))


def test_no_findings_are_a_table_without_rows(flat_folder):
    found = pd.read_csv(flat_folder / "findings.csv")
    assert len(found) == 0
    assert found.columns.tolist() == ["kind", "matters", "fund", "date", "count", "message"]


def test_what_is_not_known_is_null(flat_folder):
    summary = json.loads((flat_folder / "summary.json").read_text("utf-8"), parse_constant=refuse)
    assert summary["table1"]["both"]["euclidean"]["ic_mean"] is None
