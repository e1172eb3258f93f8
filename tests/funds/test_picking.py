"""Which funds are picked: the best, within limits, and without needless trades."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Panel, StudyConfig, backtest, read_facts, select
from geodual.funds.decisions.decision import Decision
from geodual.funds.decisions.picking import Picker, held_since
from geodual.funds.decisions.universe import filter_funds
from geodual.funds.evaluation.market import make_fee_rules
from geodual.funds.sources.reading.fund_facts import no_facts

DAYS = pd.to_datetime(["2015-03-31", "2015-06-30", "2015-09-30"])


def decision(day, ranking):
    """Return a decision whose forecasts rank the funds as given, best first."""
    funds = pd.Index(sorted(ranking), name="fund", dtype=str)
    forecast = np.array([-ranking.index(fund) for fund in funds], dtype=float)
    empty = np.zeros((len(funds), 0))
    return Decision(day, "m", funds, forecast, empty.astype(int), empty, empty, "sign", 0.0, ())


def picked(rankings, facts=None, **settings):
    config = StudyConfig(("m",), **settings)
    picker = Picker(config, facts or no_facts(), None)
    return [
        decision(day, list(names)).funds[picker.pick(decision(day, list(names)))].tolist()
        for day, names in zip(DAYS, rankings, strict=False)
    ]


def facts_of(**columns):
    return read_facts(pd.DataFrame({"code": list("ABCDEF"), **columns}))


def test_the_best_are_picked_and_ties_go_by_name():
    assert picked(["CABD", "DCBA"], top=2) == [["C", "A"], ["D", "C"]]


def test_a_held_fund_stays_until_it_falls_below_the_rank():
    first, second, third = picked(["ABCDEF", "CDBAEF", "CDEFAB"], top=2, keep_rank=3)
    assert first == ["A", "B"]
    assert second == ["C", "B"], "B ranks third and stays; A ranks fourth and is sold"
    assert third == ["C", "D"], "B ranks sixth"


def test_without_a_buffer_the_rank_decides():
    assert picked(["ABCD", "CDBA"], top=2) == picked(["ABCD", "CDBA"], top=2, keep_rank=2)


def test_a_fund_is_held_for_some_days_at_least():
    first, second, third = picked(["ABCDEF", "FEDCBA", "FEDCBA"], top=2, min_holding=120)
    assert (first, second) == (["A", "B"], ["B", "A"]), "91 days are fewer than 120"
    assert third == ["F", "E"], "183 days are enough"


def test_a_fund_that_left_the_universe_cannot_be_held():
    assert picked(["ABCD", "BCD"], top=2, min_holding=365)[1] == ["B", "C"]


def test_limits_by_type_and_company():
    facts = facts_of(type=["x", "x", "x", "y", "y", None], company=["p", "q", "p", "p", "r", "p"])
    assert picked(["ABCDEF"], facts, top=4, max_type=0.5) == [["A", "B", "D", "E"]]
    assert picked(["ABCDEF"], facts, top=4, max_company=0.25) == [["A", "B", "E"]], "fewer than four are left"
    assert picked(["FABCDE"], facts, top=3, max_type=0.34) == [["F", "A", "D"]], "F has no type: no limit"


def test_since_when_funds_are_held():
    held = held_since([(1, ["A", "B"]), (2, ["B", "C"]), (3, ["B", "A"])])
    assert held == {"B": 1, "A": 3}


@pytest.fixture(scope="module")
def panel(universe):
    return universe.panel


@pytest.fixture(scope="module")
def facts(panel):
    funds = panel.nav.columns
    return read_facts(
        pd.DataFrame(
            {
                "code": funds,
                "name": [f"Fund {fund}" for fund in funds],
                "type": [fund[0] for fund in funds],
                "company": [f"C{j % 4}" for j in range(len(funds))],
            }
        )
    )


def test_types_names_and_codes_filter(panel, facts):
    kept = filter_funds(panel, StudyConfig(types=("b",)), facts).nav.columns
    assert set(kept) == {fund for fund in panel.nav if fund.startswith("B")}
    one = panel.nav.columns[0]
    assert one not in filter_funds(panel, StudyConfig(exclude=(f"fund {one.lower()}",)), facts).nav
    some = filter_funds(panel, StudyConfig(include=("E*", "*1")), facts).nav.columns
    assert set(some) == {fund for fund in panel.nav if fund.startswith("E") or fund.endswith("1")}
    assert filter_funds(panel, StudyConfig(), facts) is panel


@pytest.mark.parametrize(
    ("settings", "known", "message"),
    [
        ({"types": ("gold",)}, True, r"`types`: no fund has the type 'gold'; known are B, E, M\."),
        ({"types": ("E",)}, False, r"types of funds, which are not known\. Give fund facts"),
        ({"max_company": 0.2}, False, "companies of funds, which are not known"),
        ({"include": ("zzz*",)}, True, r"`include`: no fund has the code or name 'zzz\*'"),
        ({"exclude": ("*",)}, True, "leave no fund"),
        ({"settlement_lag": ("gold:2",)}, True, "`settlement_lag`: no fund has the type 'gold'"),
        ({"settlement_lag": ("2",)}, True, "must be type:days"),
        ({"settlement_lag": ("E:2", "e:3")}, True, "`settlement_lag` has the type 'e' twice"),
        (
            {"settlement_lag": ("E:70",)},
            True,
            r"shorter than the \d+ trading days between two rebalances, got 70",
        ),
        ({"redemption_fees": ("gold:7:0.01",)}, True, "`redemption_fees`: no fund has the type 'gold'"),
        ({"end": "1990-01-01"}, True, "`end`, 1990-01-01, lies before the first row"),
        ({"start": "2030-01-01"}, True, "`start`, 2030-01-01, lies after the last rebalance day"),
        ({"start": "2014-10-01", "end": "2014-12-31"}, True, "day that other rows follow, 2014-09-30"),
    ],
)
def test_settings_that_cannot_be_met_are_named(panel, facts, settings, known, message):
    with pytest.raises(DataError, match=message):
        backtest(panel, metrics="euclidean", facts=facts if known else None, **settings)


def test_facts_of_other_funds_are_refused_where_they_are_needed(panel, facts, plain_study):
    others = read_facts(pd.DataFrame({"code": ["1", "2"], "type": ["x", "y"]}))
    with pytest.raises(DataError, match=r"belong to other funds, such as '1', while the NAV table has"):
        backtest(panel, metrics="euclidean", facts=others, max_type=0.3)
    some = read_facts(facts.table.reset_index().iloc[3:])
    notes = backtest(panel, metrics="euclidean", facts=some).notes
    assert any(note.startswith(f"3 of {len(panel.nav.columns)} funds, such as ") for note in notes)
    for study in (backtest(panel, metrics="euclidean", facts=facts), plain_study):
        assert not any("fund facts" in note for note in study.notes)


def test_only_the_star_is_a_wildcard(panel):
    one, two = panel.nav.columns[:2]
    facts = read_facts(pd.DataFrame({"code": [one, two], "name": ["Growth [A]", "Growth ?"]}))
    assert list(filter_funds(panel, StudyConfig(include=("growth [a]",)), facts).nav) == [one]
    assert list(filter_funds(panel, StudyConfig(include=("growth ?",)), facts).nav) == [two]
    with pytest.raises(DataError, match="no fund has the code or name"):
        filter_funds(panel, StudyConfig(include=("growt? *",)), facts)


def test_facts_of_other_funds_are_told_only_if_a_setting_needs_them(panel):
    facts = read_facts(pd.DataFrame({"code": ["zz1"], "type": ["bond"]}))
    assert filter_funds(panel, StudyConfig(), facts) is panel
    with pytest.raises(DataError, match=r"the types belong to other funds, such as 'zz1'"):
        filter_funds(panel, StudyConfig(types=("bond",)), facts)


def test_fees_and_lags_by_type_do_not_heed_capitals(panel, facts):
    config = StudyConfig(settlement_lag=("e:2",), redemption_fees=("B:7:0.01", "m:9:0.02"))
    rules = make_fee_rules(config, facts)
    for fund, kind in facts.types.items():
        assert rules.delay.get(fund, 0) == (2 if kind == "E" else 0)
        assert rules.redemption_rate(fund, 0) == {"B": 0.01, "M": 0.02, "E": 0.0}[kind]


@pytest.mark.parametrize("text", ["0.5%", "bond:7:0.01"])
def test_wrong_fees_of_a_fund_name_the_fund(text):
    facts = read_facts(pd.DataFrame({"code": ["1", "2"], "redemption fees": ["7:0.01", text]}))
    with pytest.raises(DataError, match="DataFrame, fund '2': "):
        make_fee_rules(StudyConfig(), facts)


def test_start_and_end_bound_the_study_and_change_no_decision(panel, plain_study):
    whole = plain_study
    part = backtest(panel, metrics="euclidean", start="2013-06-01", end="2014-05-15")
    assert part.ic.index[0] == pd.Timestamp("2013-06-28")
    assert part.equity.index[-1] == pd.Timestamp("2014-05-15")
    both = whole.predictions.merge(
        part.predictions, on=["date", "forecaster", "fund"], suffixes=("", "_part")
    )
    assert len(both) == len(part.predictions)
    assert (both["forecast"] == both["forecast_part"]).all()


def test_a_buffer_trades_less(panel):
    plain = backtest(panel, metrics="euclidean", top=5)
    buffered = backtest(panel, metrics="euclidean", top=5, keep_rank=20)
    assert buffered.trades["turnover"].sum() < 0.8 * plain.trades["turnover"].sum()


def test_limits_hold_in_a_whole_study(panel, facts):
    study = backtest(
        panel,
        metrics="euclidean",
        facts=facts,
        top=8,
        max_type=0.5,
        max_company=0.25,
        max_weight=0.2,
        weights="minimum-variance",
    )
    held = study.holdings.assign(
        type=study.holdings["fund"].str[0], company=study.holdings["fund"].map(facts.companies)
    )
    for by, most in (("type", 0.5), ("company", 0.25), ("fund", 0.2)):
        assert held.groupby(["date", by])["weight"].sum().max() <= most + 1e-9
    assert study.holdings.groupby("date")["weight"].sum().min() > 0.99
    assert study.facts.loc[held["fund"].iloc[0], "name"].startswith("Fund ")


def test_forecasts_relative_to_the_type_do_not_see_its_level(panel, facts):
    """Money poured evenly into one type moves no forecast that is relative to the types."""
    lifted = panel.nav.copy()
    bonds = [fund for fund in lifted if fund.startswith("B")]
    day = pd.Timestamp("2014-06-30")
    lifted.loc[day:, bonds] *= 1.5  # a jump of all bond funds on the day of the decision
    settings = {"metrics": "euclidean", "facts": facts, "factors": ["rsi"], "label": "median"}
    forecasts = {}
    for relative in ("all", "type"):
        study = backtest(Panel(lifted), relative_to=relative, **settings)
        own = study.predictions[study.predictions["date"] == day].set_index("fund")["forecast"]
        forecasts[relative] = own
    mean = {kind: abs(own.mean()) for kind, own in forecasts.items()}
    assert mean["all"] > 0.05, "the jump is in the returns that neighbors earned"
    assert mean["type"] < 0.02, "relative to its own type nothing has happened"


def test_a_selection_goes_on_from_what_is_held(panel):
    """With a buffer, a fund of the last picks stays although others now rank higher."""
    day = pd.Timestamp("2014-12-31")
    study = backtest(panel, metrics="euclidean", top=5, keep_rank=25)
    before = study.holdings[study.holdings["date"] == study.holdings["date"].max()]["fund"]
    chosen = select(panel, day, "euclidean", top=5, keep_rank=25).picks["fund"]
    plain = select(panel, day, "euclidean", top=5).picks["fund"]
    assert len(set(chosen) & set(before)) > len(set(plain) & set(before))


def test_a_selection_tunes_when_asked_and_says_so(panel):
    found = select(panel, "2014-12-31", "gmml", tune=True, test_start="2014-01-01")
    assert any(note.startswith("Chosen on past decisions before 2014-01-01: ") for note in found.notes)


def test_the_picks_are_compared_with_the_index(universe, plain_study):
    found = select(universe.panel, "2014-12-31", "euclidean", index=universe.index)
    days = [day for day in plain_study.ic.index if day < found.as_of]
    earned = plain_study.holdings.groupby("date")["realized"].mean()
    levels = universe.index
    ends = [*days[1:], pd.Timestamp("2014-12-31")]
    over = [earned[a] - (levels[b] / levels[a] - 1.0) for a, b in zip(days, ends, strict=True)]
    assert found.record.over_index == pytest.approx(np.mean(over))
    assert "than the index" in found.record_text
    assert "index" not in select(universe.panel, "2014-12-31", "euclidean").record_text


def test_an_index_that_ends_early_counts_only_where_it_is_known(universe, plain_study):
    """After its last level an index is not flat, but unknown."""
    levels = universe.index[:"2014-03-31"]
    found = select(universe.panel, "2014-12-31", "euclidean", index=levels).record
    earned = plain_study.holdings.groupby("date")["realized"].mean()
    days = [day for day in plain_study.ic.index if day <= levels.index[-1]]
    over = [earned[a] - (levels[b] / levels[a] - 1.0) for a, b in pairwise(days)]
    assert found.n_over_index == len(over) < found.n
    assert found.over_index == pytest.approx(np.mean(over))
    assert f"than the index, whose levels cover {len(over)} decisions;" in replace(found, n=8).tell("quarter")
    late = select(universe.panel, "2014-12-31", "euclidean", index=universe.index["2014-12-01":]).record
    assert late.n_over_index == 0
    assert "the index has no levels in this time" in replace(late, n=8).tell("quarter")


def test_few_funds_are_not_blamed_on_limits(panel):
    notes = backtest(panel, metrics="euclidean", top=500).notes
    assert any("funds to hold instead of 500" in note for note in notes)
    assert not any("of the money" in note for note in notes)
