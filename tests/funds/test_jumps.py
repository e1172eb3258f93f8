"""A payment that was not reinvested is found by comparison with similar funds; what all funds do is not."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.panel import Finding
from geodual.funds.sources.reading.quality import inspect_quality

N_DAYS, N_FUNDS = 500, 60
BONDS = range(40, 60)  # the others are mixed funds


def market_table(seed: int = 0) -> pd.DataFrame:
    """Mixed funds share a market and two styles, with a noise of 0.35 % per day; bond funds share rates."""
    rng = np.random.default_rng(seed)
    market, rates = rng.normal(0.0003, 0.012, (N_DAYS, 1)), rng.normal(0.0001, 0.001, (N_DAYS, 1))
    styles = rng.normal(0.0, 0.004, (N_DAYS, 2)) @ rng.normal(0.0, 1.0, (2, N_FUNDS))
    returns = market * rng.uniform(0.6, 1.2, N_FUNDS) + styles + rng.normal(0.0, 0.0035, (N_DAYS, N_FUNDS))
    noise = rng.normal(0.0, 0.0006, (N_DAYS, len(BONDS)))
    returns[:, BONDS] = rates * rng.uniform(0.5, 1.5, len(BONDS)) + 0.05 * market + noise
    days = pd.bdate_range("2012-01-04", periods=N_DAYS, name="date")
    funds = pd.Index([f"{at:06d}" for at in range(N_FUNDS)], name="fund")
    return pd.DataFrame(np.exp(np.cumsum(returns, axis=0)), index=days, columns=funds)


def jumps(nav: pd.DataFrame) -> dict[str, Finding]:
    return {finding.fund: finding for finding in inspect_quality(nav) if finding.kind == "jump"}


def with_payments(
    nav: pd.DataFrame, funds: range, share: float, seed: int = 1
) -> tuple[pd.DataFrame, list[int]]:
    """Let every other of some funds pay a share of its value on a day of its own."""
    rng = np.random.default_rng(seed)
    paid, rows = nav.copy(), []
    for at in funds[::2]:
        rows.append(int(rng.integers(1, N_DAYS)))
        paid.iloc[rows[-1] :, at] *= 1.0 - share
    return paid, rows


@pytest.mark.parametrize(
    ("funds", "share", "least"),
    [(range(40), 0.05, 19), (range(40), 0.03, 13), (BONDS, 0.02, 10), (BONDS, 0.01, 9)],
)
def test_payments_are_found(funds: range, share: float, least: int) -> None:
    """The volatility of the fund alone hides them: 5 % are four standard deviations of a mixed fund."""
    nav = market_table()
    paid, rows = with_payments(nav, funds, share)
    found = jumps(paid)
    hits = [
        found[name]
        for name, row in zip(nav.columns[funds[::2]], rows, strict=True)
        if name in found and found[name].date == f"{nav.index[row]:%Y-%m-%d}"
    ]
    assert len(hits) >= least
    assert all(hit.matters and "points against similar funds" in hit.message for hit in hits)
    assert len(found) <= len(rows) + 1


@pytest.mark.parametrize("seed", range(4))
def test_a_clean_table_has_no_jump(seed: int) -> None:
    assert not jumps(market_table(seed))


@pytest.mark.parametrize("move", [-0.12, 0.14])
def test_a_day_on_which_the_whole_market_jumps_is_no_finding(move: float) -> None:
    """Once all funds by as much, and once each as it moves with the market."""
    nav = market_table()
    together = nav.copy()
    together.iloc[300:] *= 1.0 + move
    assert jumps(together).keys() == jumps(nav).keys()
    sensitive = nav.copy()
    sensitive.iloc[300:, :40] *= 1.0 + move * np.linspace(0.6, 1.2, 40)
    assert not jumps(sensitive)


def test_share_classes_that_pay_on_the_same_day_do_not_hide_each_other() -> None:
    nav = market_table()
    classes = [f"class {letter}" for letter in "ABCDEFGHIJ"]
    for fee, name in enumerate(classes):
        nav[name] = nav["000007"] * np.exp(-0.001 * fee * np.arange(N_DAYS) / 252)
    nav.loc[nav.index[200] :, classes] *= 0.95
    found = jumps(nav)
    assert set(classes) <= found.keys()
    assert {found[name].date for name in classes} == {f"{nav.index[200]:%Y-%m-%d}"}


def test_share_classes_of_a_small_table_do_not_hide_each_other_either() -> None:
    """With twelve funds all are peers, even the fund and its share classes, but those must not count."""
    nav = market_table().iloc[:, :9]
    for name in "ABC":
        nav[name] = nav["000003"]
    nav.iloc[200:, [3, 9, 10, 11]] *= 0.88
    assert {"000003", "A", "B", "C"} <= jumps(nav).keys()


def test_a_wrong_value_is_told_from_a_payment() -> None:
    nav = market_table()
    nav.iloc[250, 3] *= 0.92
    nav.iloc[320, 45] *= 1.04
    found = jumps(nav)
    for name, row in (("000003", 250), ("000045", 320)):
        assert (found[name].date, found[name].count, found[name].matters) == (
            f"{nav.index[row]:%Y-%m-%d}",
            2,
            True,
        )
        assert "looks like a wrong value" in found[name].message


def test_rises_show_how_far_a_fund_may_fall_by_chance() -> None:
    """A fund that rises as much five times may also fall as much."""
    nav = market_table()
    nav.iloc[400:, 5] *= 0.95
    assert "000005" in jumps(nav)
    for row in (100, 150, 200, 250, 300):
        nav.iloc[row:, 5] *= 1.05
    assert "000005" not in jumps(nav)


def test_a_fund_that_is_late_has_no_wrong_value() -> None:
    """On the day on which the market falls it stands still, and it catches up on the next."""
    nav = market_table()
    nav.iloc[300:] *= 0.95
    nav.iloc[300, 3] = nav.iloc[299, 3]
    assert not jumps(nav)


def test_rounding_makes_no_wrong_values() -> None:
    """Rounded NAVs move to and fro all the time, by a third of a percent here."""
    assert not jumps((market_table() * 1.5).round(2))


def test_without_similar_funds_a_fund_is_compared_with_its_past() -> None:
    rng = np.random.default_rng(2)
    returns = rng.normal(0.0, 0.002, (N_DAYS, 4))
    nav = pd.DataFrame(np.exp(np.cumsum(returns, axis=0)), market_table().index, list("abcd"))
    nav.iloc[100:, 0] *= 0.95
    nav.iloc[200:, 1] *= 0.98
    found = jumps(nav)
    assert found.keys() == {"a"}
    assert "similar" not in found["a"].message


def test_a_fund_that_changes_what_it_holds_is_compared_with_its_new_peers() -> None:
    """After half of the time, a bond fund becomes a mixed fund."""
    nav = market_table()
    nav["changed"] = nav["000041"]
    later = nav.index[250:]
    nav.loc[later, "changed"] = nav.loc[later, "000002"] * (nav["000041"].iloc[250] / nav["000002"].iloc[250])
    assert "changed" not in jumps(nav)


def test_funds_that_follow_another_exactly_are_compared_without_a_warning() -> None:
    """Few decimals and copies: many differences are exactly zero, and some funds do not move at all."""
    nav = market_table().iloc[:, :30].round(2)
    copies = nav.iloc[:, [0] * 12].set_axis([f"copy {at}" for at in range(12)], axis=1)
    nav = pd.concat([nav, copies], axis=1).assign(flat=1.0, step=np.where(np.arange(N_DAYS) < 250, 1.0, 1.01))
    nav.iloc[300:, 35] *= 0.95
    found = jumps(nav)
    assert found["copy 5"].date == f"{nav.index[300]:%Y-%m-%d}"
    assert found.keys().isdisjoint({"flat", "step"})


def test_all_blocks_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    paid, _ = with_payments(market_table(), range(40), 0.05)
    expected = jumps(paid)
    monkeypatch.setattr("geodual.funds.sources.reading.jumps.BLOCK", 7)
    assert jumps(paid) == expected
