"""An index per type: a portfolio is compared with the mix of indices by its weights in the types."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from geodual.cli.main import app
from geodual.funds import DataError, Panel, backtest, read_facts, read_study, select
from geodual.funds.study.index_mix import IndexMix, index_of_funds

DAYS = pd.bdate_range("2014-01-01", periods=420, name="date")
NAMES = [f"{kind}{j:02d}" for kind in "BE" for j in range(12)]


@pytest.fixture(scope="module")
def nav():
    steps = np.random.default_rng(0).standard_normal((len(DAYS), len(NAMES)))
    steps *= np.where([name[0] == "B" for name in NAMES], 0.001, 0.01)
    return pd.DataFrame(np.exp(steps.cumsum(axis=0)), DAYS, pd.Index(NAMES, name="fund"))


@pytest.fixture(scope="module")
def facts():
    kinds = {"B": "bond", "E": "equity"}
    return read_facts(pd.DataFrame({"code": NAMES, "type": [kinds[name[0]] for name in NAMES]}))


@pytest.fixture(scope="module")
def indices(nav):
    return {
        "bond": nav[NAMES[:12]].mean(axis=1).rename("Bonds"),
        "*": nav[NAMES[12:]].mean(axis=1).rename("Shares"),
    }


@pytest.fixture(scope="module")
def study(nav, facts, indices):
    return backtest(Panel(nav), indices, "euclidean", facts=facts, top=5, execution_lag=1)


def test_the_first_index_that_fits_a_type_is_its_index():
    types = {"A": "Bond short", "B": "equity", "C": "gold"}
    assert index_of_funds(["bond*", "equity", "*"], types, "ABCD") == {
        "A": "bond*",
        "B": "equity",
        "C": "*",
        "D": "*",
    }
    with pytest.raises(DataError, match=r"none for funds of the type gold, unknown\. Give one for each type"):
        index_of_funds(["bond*", "equity"], types, "ABCD")


def test_a_mix_drifts_between_rebalances():
    """By hand: half and half from day 0; one quarter and three quarters from day 2."""
    days = pd.bdate_range("2020-01-01", periods=4)
    levels = pd.DataFrame({"a": [1.0, 2.0, 2.0, 4.0], "b": [1.0, 1.0, 3.0, 3.0]}, days)
    mix = IndexMix(levels, {"x": "a", "y": "b", "z": "b"}, "")
    half = pd.Series({"x": 0.4, "y": 0.2, "z": 0.2})  # a fifth in cash is spread over the indices
    later = pd.Series({"x": 0.25, "y": 0.75})
    found = mix.follow({days[0]: half, days[2]: later}, 0)
    assert found.tolist() == pytest.approx([1.0, 1.5, 2.5, 2.5 * 1.25])


def test_each_portfolio_has_the_mix_of_its_types(study, indices):
    """Bought with the first decision and held to the second, as by hand."""
    first, second = study.ic.index[:2]
    weights = study.holdings[study.holdings["date"] == first]
    bonds = weights.loc[weights["fund"].str[0] == "B", "weight"].sum()
    assert 0.0 < bonds < 1.0
    start = DAYS[DAYS.get_loc(first) + 1]
    grown = [indices[kind][second] / indices[kind][start] for kind in ("bond", "*")]
    mixed = study.benchmark("euclidean")
    assert mixed[second] / mixed[start] == pytest.approx(bonds * grown[0] + (1.0 - bonds) * grown[1])
    neutral = study.equity["index"]
    assert neutral[second] / neutral[start] == pytest.approx(0.5 * sum(grown)), "half of the universe"
    assert study.index_name == "bond: Bonds, *: Shares"
    assert study.against_index["beta"]["both", "euclidean"] > 0.5


def test_a_saved_study_keeps_the_mix(study, tmp_path):
    again = read_study(study.save(tmp_path / "run"))
    pd.testing.assert_frame_equal(again.benchmarks, study.benchmarks, check_freq=False)
    pd.testing.assert_frame_equal(again.against_index, study.against_index)


def test_picks_are_compared_with_the_mix(nav, facts, indices, study):
    found = select(nav, metric="euclidean", index=indices, facts=facts, top=5, execution_lag=1)
    beta = study.against_index["beta"]["both", "euclidean"]
    assert found.record.n_over_index == found.record.n
    assert found.record.beta == pytest.approx(beta, abs=0.1)


def test_a_fact_sheet_compares_a_pick_with_the_index_of_its_type(nav, facts, indices, study):
    found = select(nav, metric="euclidean", index=indices, facts=facts, top=5, execution_lag=1)
    assert found.case.index_name == "bond: Bonds, *: Shares"
    names = {fund: {"B": "Bonds", "E": "Shares"}[fund[0]] for fund in found.picks["fund"]}
    assert {fund: levels.name for fund, levels in found.levels.items()} == names
    assert set(names.values()) == {"Bonds", "Shares"}
    continued = select(nav, run=study, facts=facts)
    assert continued.case.index_name == study.index_name
    assert continued.levels == {}, "the mix of a portfolio is no index for a fund"


def test_one_index_for_all_types_is_as_a_single_one(nav, facts, indices):
    settings = {"metrics": "euclidean", "facts": facts, "top": 5}
    mixed = backtest(Panel(nav), {"*": indices["bond"]}, **settings)
    single = backtest(Panel(nav), indices["bond"], **settings)
    pd.testing.assert_frame_equal(mixed.equity, single.equity)
    pd.testing.assert_frame_equal(mixed.against_index, single.against_index)
    assert single.benchmarks.empty


def test_the_command_takes_files_or_columns_by_type(nav, facts, indices, tmp_path):
    nav.to_csv(tmp_path / "nav.csv")
    facts.table.reset_index()[["code", "type"]].to_csv(tmp_path / "meta.csv", index=False)
    pd.DataFrame({"b": indices["bond"], "e": indices["*"]}).to_csv(tmp_path / "both.csv")
    for kind, name in (("bond", "b"), ("*", "e")):
        indices[kind].rename(name).to_csv(tmp_path / f"{name}.csv")
    folder, runs = str(tmp_path), {}
    for run, given in {
        "files": ["--index", f"bond={folder}/b.csv,equity={folder}/e.csv"],
        "columns": ["--index", f"{folder}/both.csv", "--index-column", "bond=b,equity=e"],
    }.items():
        common = [f"{folder}/nav.csv", "--meta", f"{folder}/meta.csv", "--out", f"{folder}/{run}", "-j", "1"]
        result = CliRunner().invoke(app, ["backtest", *common, "--metrics", "euclidean", *given, "-q"])
        assert result.exit_code == 0, result.output
        runs[run] = read_study(tmp_path / run)
    assert runs["files"].index_name == "bond: b, equity: e"
    pd.testing.assert_frame_equal(runs["files"].benchmarks, runs["columns"].benchmarks)


def test_a_name_for_one_index_is_not_given_to_several(nav, tmp_path):
    nav.to_csv(tmp_path / "nav.csv")
    nav[["B00"]].to_csv(tmp_path / "b.csv")
    given = ["--index", f"bond={tmp_path}/b.csv,*={tmp_path}/b.csv", "--index-name", "All"]
    result = CliRunner().invoke(app, ["backtest", f"{tmp_path}/nav.csv", *given, "--out", f"{tmp_path}/run"])
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith("`--index-name` names one index; indices by type take")
