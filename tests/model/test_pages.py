"""The table of atoms names every atom, and bounds of geometric programs with quotients exist."""

import re
from pathlib import Path

import numpy as np
import pytest

import geodual.model as gm
from geodual.manifolds import PositiveOrthant
from geodual.model import atoms

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_table_has_every_atom() -> None:
    text = (DOCS / "reference" / "atoms.md").read_text("utf-8")
    table = text.split("```text")[1]
    assert [name for name in atoms.__all__ if not re.search(rf"^(log\()?{name}\(", table, flags=re.M)] == []


def test_a_program_with_quotients_has_a_lower_bound() -> None:
    """A sum of monomials with negative powers is a sum of exponentials along geodesics."""
    x = gm.Variable(PositiveOrthant(2), name="x")
    cost = x[0] * x[1] + 1.0 / (x[0] * x[1]) + x[1] / x[0] + x[0] / x[1]
    result = gm.Problem(gm.Minimize(cost)).solve()
    assert result.cost == pytest.approx(4.0)  # by the inequality of the means, at (1, 1)
    assert result.lower_bound is not None
    assert 4.0 - 1e-8 <= result.lower_bound <= 4.0
    np.testing.assert_allclose(result.x, 1.0, atol=1e-6)


@pytest.mark.parametrize("p", [-2.0, -0.5, 0.5, 1.2, 3.0])
def test_the_rate_of_a_power_bounds_third_derivatives(p: float) -> None:
    """Along x(t) = exp(t v) of unit speed, |f'''| <= rate f'' for a monomial f, by its closed form."""
    x = gm.Variable(PositiveOrthant(2), name="x")
    rate = gm.power(x[0], p).facts().rate
    assert rate is not None
    for v in np.random.default_rng(0).standard_normal((50, 2)):
        speed = p * v[0] / np.linalg.norm(v)
        assert abs(speed) ** 3 <= rate * speed**2 * (1.0 + 1e-12)
    assert gm.power(x[0] + x[1], 0.5).facts().rate is None  # no sum of exponentials
