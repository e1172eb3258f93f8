"""A run folder read back: the same study, or one clear sentence on what was changed in it."""

import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from geodual.funds import DataError, backtest
from geodual.funds.study.saved_study import read_study
from geodual.funds.study.study import Study
from geodual.metric import EuclideanMetric

pytestmark = pytest.mark.usefixtures("blank_figures")


@pytest.fixture(scope="module")
def saved(universe, tmp_path_factory):
    panel = universe.panel.until(pd.Timestamp("2013-06-28"))
    study = backtest(panel, universe.index, ("euclidean", "gmml"), top=3, cost=0.001)
    return study, study.save(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def folder(saved, tmp_path):
    """A copy to edit."""
    return shutil.copytree(saved[1], tmp_path / "run")


def test_a_study_comes_back_as_it_was(saved):
    study, folder = saved
    found = read_study(folder)
    for name in (table.name for table in Study.tables() if table.is_data):
        pd.testing.assert_frame_equal(
            getattr(found, name), getattr(study, name), check_exact=True, check_dtype=False, check_freq=False
        )
    for name in ("config", "source", "digest", "findings", "index_name", "chosen", "notes"):
        assert getattr(found, name) == getattr(study, name)


def test_its_report_is_the_same(saved, tmp_path):
    folder = saved[1]
    found = read_study(folder).report(tmp_path / "found.html").read_text("utf-8")
    whole = found.split('id="configuration"')[0]  # what follows has the run time
    assert (folder / "report.html").read_text("utf-8").split('id="configuration"')[0] == whole


def change(table, row, column, value):
    changed = table.astype({column: object})
    changed.loc[row, column] = value
    return changed


def scale(table, row, column, factor=1.001):
    return change(table, row, column, repr(factor * float(table.loc[row, column])))


TABLE_EDITS = {
    "a column renamed": ("equity", lambda t: t.rename(columns={"gmml": "GMML"}), "no column `gmml`"),
    "a reason renamed": ("reasons", lambda t: t.rename(columns={"share": "part"}), "no column `share`"),
    "text": ("equity", lambda t: change(t, 9, "gmml", "n/a"), "text in the column `gmml`"),
    "no number": ("neighbors", lambda t: change(t, 3, "distance", ""), "no finite value in .* `distance`"),
    "infinity": ("holdings", lambda t: change(t, 3, "realized", "inf"), "no finite value in .* `realized`"),
    "no day": ("trades", lambda t: change(t, 1, "executed", ""), "no finite value in .* `executed`"),
    "a strange day": ("ic", lambda t: change(t, 0, "date", "soon"), "no finite value in .* `date`"),
    "the header only": ("holdings", lambda t: t.iloc[:0], "no rows"),
    "another forecaster": (
        "trades",
        lambda t: change(t, 0, "forecaster", "rpdml"),
        "forecasters differ from those",
    ),
    "another fund": ("holdings", lambda t: change(t, 0, "fund", "X"), "a fund is not in predictions.csv"),
    "no longer held": ("holdings", lambda t: t.iloc[1:], "a fund is not in holdings.csv"),
    "another day": ("universe", lambda t: change(t, 0, "date", "2011-01-04"), "a day is not in ic.csv"),
    "a line twice": ("trades", lambda t: pd.concat([t, t]), "a row occurs twice"),
    "upside down": ("equity", lambda t: t.iloc[::-1], "not in order"),
    "below zero": ("equity", lambda t: change(t, 9, "index", "-1.0"), "not positive"),
    "another IC": ("ic", lambda t: scale(t, 1, "gmml"), r"ic\.csv, 20.*`gmml` is .*predictions\.csv gives"),
    "an IC less": ("ic", lambda t: change(t, 0, "gmml", ""), "`gmml` is nan, and predictions.csv gives"),
    "a forecast": (
        "predictions",
        lambda t: scale(t, 5, "forecast", -9.0),
        r"ic\.csv, .*predictions\.csv gives",
    ),
    "an outcome": (
        "predictions",
        lambda t: scale(t, 5, "realized", -9.0),
        r"ic\.csv, .*predictions\.csv gives",
    ),
    "a held forecast": ("holdings", lambda t: scale(t, 0, "forecast"), r"holdings\.csv, 20.*`forecast` is"),
    "a held outcome": ("holdings", lambda t: scale(t, 0, "realized"), r"holdings\.csv, 20.*`realized` is"),
    "a price": ("fills", lambda t: scale(t, 2, "price"), r"fills\.csv, 20.*`value` is .* and its units and"),
    "a fee": (
        "fills",
        lambda t: scale(t, 2, "fee"),
        r"trades\.csv, euclidean, 20.*`cost` is .*fills\.csv gives",
    ),
    "a cost": ("trades", lambda t: scale(t, 1, "cost"), r"trades\.csv, euclidean, 20.*`cost` is"),
    "a fill less": ("fills", lambda t: t.iloc[1:], r"trades\.csv, .*`cost` is"),
    "more units": (
        "fills",
        lambda t: scale(scale(t, 2, "units"), 2, "value"),
        r"equity\.csv, 20.*`euclidean` is .*, and fills\.csv gives",
    ),
    "a value of a day": (
        "equity",
        lambda t: scale(t, 9, "gmml"),
        r"summary\.json, gmml: .*equity\.csv gives",
    ),
    "the index": ("equity", lambda t: scale(t, 9, "index"), r"summary\.json, index: .*equity\.csv gives"),
    "a baseline": (
        "baseline_equity",
        lambda t: scale(t, 9, "universe"),
        r"summary\.json, universe: .*baseline_eq",
    ),
    "a finding less": (
        "findings",
        lambda t: t.drop(columns="count"),
        "findings.csv: its columns were changed",
    ),
}


@pytest.mark.parametrize("edit", TABLE_EDITS)
def test_an_edited_table_is_refused(folder, edit):
    name, alter, message = TABLE_EDITS[edit]
    path = folder / f"{name}.csv"
    alter(pd.read_csv(path, dtype=str, keep_default_na=False)).to_csv(path, index=False)
    with pytest.raises(DataError, match=rf"run: the run cannot be read \(.*{message}.*Run the study again"):
        read_study(folder)


@pytest.mark.parametrize("text", ["{}", "[]", "null", "", "not JSON", '{"source": 1}'])
def test_another_summary_is_refused(folder, text):
    (folder / "summary.json").write_text(text)
    with pytest.raises(DataError, match="run: the run cannot be read"):
        read_study(folder)


@pytest.mark.parametrize("name", ["source", "sha256", "index", "chosen", "units", "notes", "seconds"])
def test_a_summary_without_a_part_is_refused(folder, name):
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    del summary[name]
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(DataError, match=rf"summary.json: `{name}` is missing"):
        read_study(folder)


@pytest.mark.parametrize(
    ("old", "new"), [('"gmml"', '"rpdml"'), ('"gmml"', '"gmml", "rpdml"'), ("k = 10", "k = 0"), ("=", "")]
)
def test_another_configuration_is_refused(folder, old, new):
    path = folder / "config.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(DataError, match="run: the run cannot be read"):
        read_study(folder)


def test_columns_in_another_order_and_more_of_them_do_no_harm(folder, saved):
    path = folder / "holdings.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table[table.columns[::-1]].assign(mine="note").to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_study(folder).holdings, saved[0].holdings, check_dtype=False)


def test_a_run_of_the_version_before_baselines_is_read_without_them(folder, saved, tmp_path):
    """As that version wrote it: no files of baselines or factors, nothing of them in summary and settings."""
    for path in (*folder.glob("baseline*.csv"), folder / "factor_ic.csv", folder / "skill_map.csv"):
        path.unlink()
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    del summary["baselines"], summary["units"]
    (folder / "summary.json").write_text(json.dumps(summary))
    config = (folder / "config.toml").read_text("utf-8").splitlines()
    newer = ("baselines", "forecasters")
    (folder / "config.toml").write_text("\n".join(line for line in config if not line.startswith(newer)))
    found = read_study(folder)
    assert found.config == replace(saved[0].config, baselines=())
    assert found.baselines.empty
    assert found.units == saved[0].units
    pd.testing.assert_frame_equal(found.table(), saved[0].table())
    again = read_study(found.save(tmp_path / "again"))
    assert again.skill_map.index.unique("kind").tolist() == ["forecaster"]


def test_a_missing_file_is_named(folder):
    (folder / "trades.csv").unlink()
    with pytest.raises(DataError, match=r"not a finished run, trades\.csv is missing"):
        read_study(folder)


class Bent(EuclideanMetric):
    """Not linear, so that there are no reasons."""

    def transform(self, X):
        return super().transform(X) ** 3


def test_a_study_without_reasons_is_read(universe, tmp_path):
    panel = universe.panel.until(pd.Timestamp("2013-03-29"))
    study = backtest(panel, metrics={"bent": Bent()}, top=3)
    assert study.reasons.empty
    found = read_study(study.save(tmp_path / "run"))
    assert found.reasons.empty
    assert found.report(tmp_path / "report.html").exists()


def test_a_study_without_trades_is_read(folder):
    pd.read_csv(folder / "trades.csv").assign(cost=0.0).to_csv(folder / "trades.csv", index=False)
    fills = pd.read_csv(folder / "fills.csv", dtype={"fund": str}).assign(fee=0.0)
    for kept in (slice(0, 0), slice(0, 1)):
        fills[kept].to_csv(folder / "fills.csv", index=False)
        assert len(read_study(folder).fills) == len(fills[kept])
