"""The example of docs/add_a_manifold.md works as printed and obeys all laws."""

import numpy as np
import pytest

from geodual.manifolds import NotOnManifoldError
from tests.guides import run_guide
from tests.laws import test_coincident_points, test_curvature, test_manifold_derivatives, test_manifold_laws
from tests.manifold_cases import Case

LAWS = {
    name: test.hypothesis.inner_test
    for module in (test_coincident_points, test_curvature, test_manifold_derivatives, test_manifold_laws)
    for name, test in vars(module).items()
    if hasattr(test, "hypothesis")
}


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    """Follow the guide from top to bottom; its own assertions hold."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield run_guide("add_a_manifold.md", tmp_path_factory.mktemp("manifold"), monkeypatch)


@pytest.fixture(scope="module")
def case(guide):
    return Case(
        guide["Positive"](4),
        point=lambda rng, spread: np.exp(10.0 * spread * rng.standard_normal(4) + rng.uniform()),
        amplification=lambda *points: 1.0,
        ambient_amplification=lambda x: 1.0,
        reach=4.0,
    )


def test_the_guide_solves_its_problem(guide):
    np.testing.assert_allclose(guide["result"].x, 2.0 / guide["a"], rtol=1e-6)


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_example_obeys_the_law(law, case, spread):
    law(case, np.random.default_rng(0), spread)


def test_the_example_names_the_defect_of_a_point(guide):
    with pytest.raises(NotOnManifoldError, match="must have 2 positive entries"):
        guide["Positive"](2).check_point([1.0, -1.0])
