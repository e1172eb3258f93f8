"""Both rates of the findings in small tables; ``python -m benchmarks findings`` measures many large ones."""

import pytest

from benchmarks.findings import KINDS, Counts, count_findings, pay


def counted(kind: str) -> Counts:
    counts = Counts()
    count_findings(kind, seed=0, n_funds=160, n_years=3, counts=counts)
    return counts


def test_payments_are_found_without_a_false_alarm() -> None:
    counts = counted("normal")
    assert counts.flagged == 0
    assert (counts.funds, counts.paid) == (160, 32)
    assert counts.found >= 0.9 * counts.paid


def test_heavy_tails_make_no_false_alarms() -> None:
    """One fund in seven falls by as much without a payment, so no payment can be told from chance."""
    counts = counted("Student t, 3")
    assert counts.fall_as_much > 0.1 * counts.funds
    assert (counts.flagged, counts.found, counts.flagged_others) == (0, 0, 0)


def test_a_payment_lowers_a_nav_from_its_day_on() -> None:
    table = KINDS["normal"](1, 40, 1)
    nav, days = pay(table, 1)
    assert len(days) == 8
    for fund, day in days.items():
        amount = {"bond": 0.02, "mixed": 0.05}[table.types[nav.columns.get_loc(fund)]]
        ratio = nav[fund] / table.nav[fund]
        assert (ratio[:day].iloc[:-1] == 1.0).all()
        assert ratio[day:].to_numpy() == pytest.approx(1.0 - amount)
