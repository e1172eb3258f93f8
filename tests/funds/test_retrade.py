"""Trading a study anew gives what `backtest` gives with the same settings, to the last digit."""

from dataclasses import fields
from types import SimpleNamespace

import pandas as pd
import pytest

from geodual.funds import DataError, Study, StudyConfig, backtest, read_facts, read_study, synthetic_universe
from geodual.funds.config import AFTER_FORECASTS
from geodual.funds.decisions import walk_forward
from tests.funds.same_study import assert_same

# Each of them differs from its default and from the study.
OTHER = {
    "top": 4,
    "weights": "inverse-volatility",
    "max_weight": 0.5,
    "max_type": 0.9,
    "max_company": 0.9,
    "keep_rank": 8,
    "min_holding": 100,
    "cost": 0.003,
    "redemption_fees": ("7:0.015",),
    "settlement_lag": ("mixed:2",),
    "execution_lag": 2,
    "risk_free": 0.03,
    "baselines": ("factor:rsi_63", "universe"),
}


@pytest.fixture(scope="module")
def market():
    """Thirty funds of three types and five companies."""
    drawn = synthetic_universe(30, "2013-01-02", "2014-12-31")
    codes = drawn.panel.nav.columns
    facts = pd.DataFrame({"code": codes, "type": codes.map(drawn.facts.types)})
    companies = [f"C{at % 5}" for at in range(len(codes))]
    return SimpleNamespace(
        panel=drawn.panel, index=drawn.index, facts=read_facts(facts.assign(company=companies))
    )


@pytest.fixture(scope="module")
def learned(market):
    return backtest(market.panel, market.index, ("euclidean", "gmml"), facts=market.facts, top=5, cost=0.001)


def test_every_setting_of_trading_is_tried():
    assert set(OTHER) == set(AFTER_FORECASTS)


@pytest.mark.parametrize("settings", [{"execution_lag": 1, "cost": 0.002}, OTHER])
def test_trading_anew_is_a_fresh_study(market, learned, settings, monkeypatch):
    fresh = backtest(
        market.panel,
        market.index,
        ("euclidean", "gmml"),
        facts=market.facts,
        **{"top": 5, "cost": 0.001} | settings,
    )
    decided = []
    monkeypatch.setattr(walk_forward, "decide", lambda name, *rest: decided.append(name))
    if "baselines" in settings:
        monkeypatch.undo()
    assert_same(learned.retrade(**settings), fresh)
    assert not decided


def test_trading_anew_twice_keeps_what_was_set_before(learned):
    twice = learned.retrade(top=3).retrade(execution_lag=1)
    assert (twice.config.top, twice.config.execution_lag, twice.config.cost) == (3, 1, 0.001)
    assert_same(twice, learned.retrade(top=3, execution_lag=1))
    assert_same(twice.retrade(top=5, execution_lag=0), learned)


def test_a_saved_study_is_traded_anew(market, learned, tmp_path):
    """Its own picks keep their reasons; those of other picks are not in the folder."""
    saved = read_study(learned.save(tmp_path / "run"))
    data = {"panel": market.panel, "index": market.index, "facts": market.facts}
    assert_same(
        saved.retrade(**data, cost=0.002, execution_lag=1), learned.retrade(cost=0.002, execution_lag=1)
    )
    more, expected = saved.retrade(**data, top=8), learned.retrade(top=8)
    assert_same(more, expected, without=("neighbors", "reasons"))
    key = ["date", "forecaster", "fund"]
    known = expected.reasons.merge(learned.holdings[key]).reset_index(drop=True)
    # How many picks are explained at once changes the order of sums.
    pd.testing.assert_frame_equal(more.reasons, known[more.reasons.columns], rtol=1e-12)


def test_a_tuned_study_keeps_what_was_chosen(market):
    given = {"metrics": "gmml", "tune": True, "test_start": "2014-07-01"}
    tuned = backtest(market.panel, **given)
    assert_same(tuned.retrade(top=3), backtest(market.panel, **given, top=3))


def test_what_is_missing_or_wrong_is_named(market, learned, tmp_path):
    saved = read_study(learned.save(tmp_path / "run"))
    with pytest.raises(DataError, match="which does not keep the data; give `panel`"):
        saved.retrade(top=3)
    with pytest.raises(DataError, match="give `index`"):
        saved.retrade(panel=market.panel, facts=market.facts, top=3)
    with pytest.raises(DataError, match="give `facts`"):
        saved.retrade(panel=market.panel, index=market.index, top=3)
    other = market.panel.until(pd.Timestamp("2014-11-28"))
    for study in (saved, learned):
        with pytest.raises(DataError, match="`panel` is not that of the study"):
            study.retrade(panel=other, index=market.index, facts=market.facts, top=3)
    with pytest.raises(DataError, match="forecasts depend on `k`"):
        learned.retrade(k=5)
    with pytest.raises(DataError, match="unknown setting `lag`"):
        learned.retrade(lag=1)
    with pytest.raises(DataError, match="`execution_lag` must be at most"):
        learned.retrade(execution_lag=10_000)


def test_the_docstring_names_every_setting():
    told = " ".join((Study.retrade.__doc__ or "").split("**settings")[1].split("Returns")[0].split())
    named = {field.name for field in fields(StudyConfig) if f"`{field.name}`" in told}
    assert named == set(AFTER_FORECASTS)
