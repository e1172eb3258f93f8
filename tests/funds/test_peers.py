"""Peer groups: with types given, funds are compared within their type; without types nothing changes."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from geodual.funds import Panel, StudyConfig, backtest, check_leakage, read_facts, read_study
from geodual.funds.decisions.universe import standardized
from geodual.funds.evaluation.result_tables import ic_table
from geodual.funds.forecasters.peers import (
    peer_groups,
    rank_predictions,
    ranks_within,
    types_compared,
)

N = 24  # funds of each of two types


def make_universe(n_days=420, seed=0):
    """Two types: equity funds move 40 times as much as money-market funds; in each, growth is steady."""
    rng = np.random.default_rng(seed)
    days = pd.bdate_range("2019-01-01", periods=n_days, name="date")
    own = np.linspace(-1.0, 1.0, N)
    money = 1e-4 + 2e-5 * own + 5e-5 * rng.standard_normal((n_days, N))
    market = 2e-3 + 1e-3 * rng.standard_normal((n_days, 1))
    equity = market + 8e-4 * own + 2e-3 * rng.standard_normal((n_days, N))
    names = [f"M{j:02d}" for j in range(N)] + [f"S{j:02d}" for j in range(N)]
    nav = np.exp(np.cumsum(np.hstack([money, equity]), axis=0))
    return Panel(pd.DataFrame(nav, days, pd.Index(names, name="fund")))


def make_facts(panel):
    kinds = {"M": "money", "S": "equity"}
    funds = panel.nav.columns
    return read_facts(pd.DataFrame({"code": funds, "type": [kinds[fund[0]] for fund in funds]}))


@pytest.fixture(scope="module")
def panel():
    return make_universe()


@pytest.fixture(scope="module")
def facts(panel):
    return make_facts(panel)


@pytest.fixture(scope="module")
def study(panel, facts):
    return backtest(panel, metrics="euclidean", facts=facts, top=6)


def test_small_types_and_unknown_funds_form_one_group():
    types = dict.fromkeys(range(10), "a") | dict.fromkeys(range(10, 19), "b")
    assert peer_groups(range(20), types).tolist() == ["a"] * 10 + ["other"] * 10
    assert peer_groups(range(20), {}).size == 0


def test_types_count_only_if_asked_for_and_if_there_are_several():
    config, types = StudyConfig(), {"A": "x", "B": "y"}
    assert types_compared(config, types, "AB") == types
    assert types_compared(config, types, "ABC") == {**types, "C": "other"}
    assert types_compared(config, types, "A") == {} == types_compared(config, {}, "AB")
    assert types_compared(StudyConfig(relative_to="all"), types, "AB") == {}


def test_ranks_within_groups():
    groups = np.array(["a", "a", "b", "b", "b", "c"])
    found = ranks_within([5.0, 1.0, 3.0, 3.0, np.nan, 9.0], groups)
    np.testing.assert_array_equal(found, [0.25, -0.25, 0.0, 0.0, np.nan, 0.0])
    np.testing.assert_allclose(ranks_within([2.0, 3.0, 1.0], groups[:0]), [0.0, 1.0 / 3.0, -1.0 / 3.0])


def test_factors_are_standardized_within_types(panel, facts, study):
    from geodual.funds.decisions.observations import observe
    from geodual.funds.factors.compute import compute_factors
    from geodual.funds.factors.factor import choose_factors

    factors = choose_factors()
    observations = observe(panel, study.config, factors, facts)
    day, section = observations.days[-1], observations.sections[-1]
    raw = compute_factors(panel, observations.days[-1:], factors).loc[day].to_numpy()
    for rows in (slice(0, N), slice(N, 2 * N)):
        np.testing.assert_allclose(section.features[rows], standardized(raw[rows]), atol=1e-12)


def test_the_ic_is_the_mean_of_the_types(study, facts):
    """With types of one size, the correlation of ranks within types is their mean correlation, up to ties."""
    known = study.predictions.dropna()
    assert len(study.ic) > 1
    for day, own in known.groupby("date"):
        of_types = [
            spearmanr(group["forecast"], group["realized"])[0] for _, group in own.groupby(own["fund"].str[0])
        ]
        assert study.ic["euclidean"][day] == pytest.approx(np.mean(of_types), abs=2e-3)


def test_picks_are_the_first_of_each_type(study):
    for day, own in study.predictions.groupby("date"):
        held = study.holdings[study.holdings["date"] == day]["fund"]
        best = own.sort_values("forecast", ascending=False).groupby(own["fund"].str[0]).head(3)["fund"]
        assert set(held) == set(best)


def test_compared_with_all_only_equity_funds_are_picked(panel, facts):
    plain = backtest(panel, metrics="euclidean", facts=facts, top=6, relative_to="all")
    assert set(plain.holdings["fund"].str[0]) == {"S"}


def test_without_types_or_with_one_type_nothing_changes(panel, facts):
    one = read_facts(facts.table.assign(type="fund").reset_index())
    settings = {"metrics": "gmml", "forecasters": {"both": {"members": ["momentum", "factor:rsi_63"]}}}
    expected = backtest(panel, relative_to="all", **settings)
    for given in (None, one):
        found = backtest(panel, facts=given, **settings)
        for name in ("predictions", "ic", "ic_decay", "holdings", "equity", "factor_ic", "spreads", "skill"):
            pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name), check_exact=True)


def test_factors_of_single_funds_are_ranked_within_types(panel, facts):
    study = backtest(panel, forecasters=["momentum"], facts=facts)
    for _, own in study.predictions.groupby("date"):
        for _, group in own.groupby(own["fund"].str[0]):
            ranks = np.arange(1, N + 1) - (N + 1) / 2.0
            np.testing.assert_allclose(np.sort(group["forecast"]), ranks / N)


def test_spreads_are_within_types(study):
    """Each fifth has as many funds of one type as of the other, so it does not tell equity from money."""
    ranked = rank_predictions(study.predictions, study.types, "forecast")
    for _, own in ranked.groupby("date"):
        kinds = own.sort_values("forecast", kind="stable")["fund"].str[0].to_numpy()
        for part in np.array_split(kinds, 4):
            assert np.mean(part == "M") == 0.5


def test_a_saved_study_has_the_same_ics(study, tmp_path):
    again = read_study(study.save(tmp_path / "run"))
    assert again.types == study.types
    pd.testing.assert_frame_equal(again.ic, study.ic, check_exact=True)
    pd.testing.assert_frame_equal(ic_table(again.predictions, again.types), again.ic)


def test_decisions_within_types_depend_on_the_past_only(panel, facts):
    checks = check_leakage(panel, ["gmml"], facts=facts, n_days=1, factors=["roc"])
    assert checks
    assert all(check.passed for check in checks)
