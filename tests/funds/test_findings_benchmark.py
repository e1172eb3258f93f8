"""Both rates of the findings in two small tables; ``python -m benchmarks findings`` measures many large ones."""

import pytest

from benchmarks.findings import KINDS, Counts, count_findings, pay


@pytest.mark.parametrize(("kind", "share"), [("normal", 0.9), ("Student t, 3", 0.0)])
def test_a_clean_table_has_no_false_alarm_and_payments_are_found_where_chance_allows(
    kind: str, share: float
) -> None:
    """With three degrees of freedom, one fund in six falls by as much without a payment."""
    counts = Counts()
    count_findings(kind, seed=0, n_funds=160, n_years=3, counts=counts)
    assert counts.flagged == 0
    assert counts.found >= share * counts.paid > 0.1 * share * counts.funds
    assert (counts.fall_as_much < 0.01 * counts.funds) == (kind == "normal")


def test_a_payment_lowers_a_nav_from_its_day_on() -> None:
    table = KINDS["normal"](1, 40, 1)
    nav, days = pay(table, 1)
    assert len(days) == 8
    for fund, day in days.items():
        amount = {"bond": 0.02, "mixed": 0.05}[table.types[nav.columns.get_loc(fund)]]
        ratio = nav[fund] / table.nav[fund]
        assert (ratio[:day].iloc[:-1] == 1.0).all()
        assert ratio[day:].to_numpy() == pytest.approx(1.0 - amount)
