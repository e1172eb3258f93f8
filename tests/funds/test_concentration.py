"""What picks have in common is named, and what makes their index a poor measure is said first."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import Panel, backtest, read_facts, select
from geodual.funds.evaluation.alike import warn_of_beta
from geodual.funds.evaluation.concentration import largest_cluster, tell_concentration
from geodual.funds.report.headline import write_headline

DAYS = pd.bdate_range("2014-01-01", periods=520, name="date")
NAMES = [f"F{j:02d}" for j in range(20)]


def make_nav(together, seed=0, scale=0.01):
    """Funds of which the first ones follow one factor, with a correlation of about 0.99."""
    rng = np.random.default_rng(seed)
    steps = scale * rng.standard_normal((len(DAYS), len(NAMES)))
    steps[:, :together] = steps[:, :1] + 0.1 * scale * rng.standard_normal((len(DAYS), together))
    return pd.DataFrame(np.exp(steps.cumsum(axis=0)), DAYS, pd.Index(NAMES, name="fund"))


def test_funds_that_move_together_are_named_with_their_mean_correlation():
    nav = make_nav(5)
    own = nav[NAMES[:5]].iloc[-253:].pct_change().iloc[1:].corr().to_numpy()
    mean = own[np.triu_indices(5, 1)].mean()
    assert tell_concentration(NAMES[:10], nav, {}, {}) == [
        f"5 of 10 move together (mean correlation {mean:.2f})"
    ]
    assert tell_concentration(NAMES[:3] + NAMES[5:12], nav, {}, {}) == [], "three of ten are no concentration"


def test_types_and_companies_are_named():
    nav = make_nav(0)
    types = {name: "pharma" if j < 4 else f"type {j}" for j, name in enumerate(NAMES)}
    companies = dict.fromkeys(NAMES[6:10], "Acme")
    assert tell_concentration(NAMES[:10], nav, types, companies) == [
        "4 of 10 are of the type pharma",
        "4 of 10 are of the company Acme",
    ]
    assert tell_concentration(NAMES[:2], nav, types, {}) == [], "two funds are never many"


def test_each_two_funds_of_a_cluster_are_alike():
    """A chain of funds, each like the next only, is no cluster."""
    chain = np.eye(6) + 0.95 * (np.abs(np.subtract.outer(range(6), range(6))) == 1)
    assert len(largest_cluster(chain)) == 2
    block = np.eye(6)
    block[1:4, 1:4] = np.where(np.eye(3) == 1, 1.0, 0.92)
    assert largest_cluster(block).tolist() == [1, 2, 3]
    assert largest_cluster(np.ones((1, 1))).tolist() == [0]


def test_funds_without_returns_are_in_no_cluster():
    nav = make_nav(5)
    nav.iloc[-200:, 0] = np.nan
    assert tell_concentration(NAMES[:10], nav, {}, {})[0].startswith("4 of 10 move together")
    nav.iloc[:, :5] = np.nan
    assert tell_concentration(NAMES[:10], nav, {}, {}) == []


@pytest.mark.parametrize(("beta", "warns"), [(0.59, True), (0.6, False), (1.4, False), (1.41, True)])
def test_a_beta_far_from_one_is_told(beta, warns):
    assert bool(warn_of_beta(beta, "the index")) is warns
    assert warn_of_beta(np.nan, "the index") == ""


def test_page_and_headline_say_first_that_picks_and_index_are_not_alike():
    """The funds move a tenth as much as their index: bond funds against equities."""
    nav = make_nav(20, scale=0.001)
    index = (nav["F00"] ** 10.0).rename("Equities")
    facts = read_facts(pd.DataFrame({"code": NAMES, "type": ["bond"] * 10 + ["mixed"] * 10}))
    study = backtest(Panel(nav), index, "euclidean", facts=facts, top=5)
    sentence = write_headline(study).sentence
    beta = study.against_index["beta"]["both", "euclidean"]
    assert 0.05 < beta < 0.15
    lead = f"Picks and index are not alike: the picks take {beta:.0%} of the moves of Equities"
    assert sentence.startswith(lead)
    assert "It held " in sentence
    assert any(note.startswith("Concentration: of the picks of ") for note in study.notes)
    found = select(Panel(nav), metric="euclidean", index=index, facts=facts, top=5)
    assert found.record_text.startswith("Picks and index are not alike: ")
    assert any("5 of 5 move together" in note for note in found.notes)
    alike = select(Panel(nav), metric="euclidean", index=nav["F00"].rename("Bonds"), facts=facts, top=5)
    assert alike.record.beta == pytest.approx(1.0, abs=0.1)
    assert alike.record_text.startswith("Track record")
