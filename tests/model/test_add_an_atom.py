"""The atom of docs/add_an_atom.md works as printed, and in formulas that the guide does not show."""

from typing import Any

import numpy as np
import pytest

import geodual.model as gm
from geodual.manifolds import PositiveOrthant
from geodual.optimize import check_gradient
from tests.guides import run_guide


@pytest.fixture(scope="module")
def guide(tmp_path_factory: pytest.TempPathFactory):
    """Follow the guide from top to bottom; its own assertions hold."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield run_guide("add_an_atom.md", tmp_path_factory.mktemp("atom"), monkeypatch)


def test_the_guide_solves_its_problem(guide: dict[str, Any]) -> None:
    assert guide["result"].success
    assert guide["result"].value == pytest.approx(1.0 / 36.0)  # 1/(Σ √price)²


def test_the_proof_names_the_rule_and_its_source(guide: dict[str, Any]) -> None:
    proof = guide["problem"].explain("euclidean")
    assert "parallel(x): concave, a harmonic mean [Boyd and Vandenberghe 2004, 3.1.5]" in proof


def test_it_works_inside_other_atoms(guide: dict[str, Any]) -> None:
    x = gm.Variable(PositiveOrthant(3), name="x")
    cost = gm.sum(x) - 4.0 * gm.log(guide["parallel"](x**0.5))
    problem = gm.Problem(gm.Minimize(cost))
    assert problem.is_dgcp()
    assert check_gradient(problem.to_problem(), np.array([0.3, 1.0, 4.0])).passed
    # By symmetry all entries are s, with 3 s - 4 log(√s / 3) least at s = 2/3.
    np.testing.assert_allclose(problem.solve().x, 2.0 / 3.0, atol=1e-7)
