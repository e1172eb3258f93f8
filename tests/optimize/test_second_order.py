"""The sign of the least curvature, and a step along a negative one."""

from types import SimpleNamespace

import numpy as np
import pytest

from geodual.optimize.second_order import Curvature, least_eigenpair, would_have_shown


@pytest.mark.parametrize("least", [-0.5, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_the_sign_of_the_least_eigenvalue_is_right(seed: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    A = (Q * np.append(least, np.linspace(1.0, 10.0, 29))) @ Q.T
    value, vector = least_eigenpair(lambda c: A @ c, rng.standard_normal(30))
    assert np.sign(value) == np.sign(least)
    assert vector @ A @ vector == pytest.approx(value)
    assert vector @ vector == pytest.approx(1.0)
    assert value >= least - 1e-12


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_a_single_negative_eigenvalue_is_found_in_many_dimensions(n: int) -> None:
    """The estimate is positive for the first steps, until its eigenvector has grown."""
    values = np.append(-0.2, np.linspace(1.0, 10.0, n - 1))
    value, _ = least_eigenpair(lambda c: values * c, np.random.default_rng(0).standard_normal(n))
    assert value < 0.0


def test_a_positive_definite_operator_takes_few_products() -> None:
    products = []
    values = np.linspace(1.0, 10.0, 1000)
    least_eigenpair(
        lambda c: products.append(1) or values * c, np.random.default_rng(0).standard_normal(1000)
    )
    assert len(products) <= 16


def test_a_rare_negative_curvature_is_not_taken_for_a_positive_one() -> None:
    """The start has little of the negative eigenvector, so early estimates are positive."""
    eigenvalues = np.append(-0.05, np.geomspace(0.2, 100.0, 59))
    for part in (1.0, 0.3, 0.1):
        start = np.append(part, np.ones(59))
        value, _ = least_eigenpair(lambda c: eigenvalues * c, start)
        assert value < 0.0


def test_a_negative_eigenvaluewould_have_shown_among_close_ones_only() -> None:
    assert would_have_shown(np.linspace(1.0, 2.0, 20), 100) is True
    assert would_have_shown(np.linspace(1.0, 2.0, 3), 10**6) is False
    assert would_have_shown(np.geomspace(1e-3, 1e3, 20), 100) is False
    assert would_have_shown(np.linspace(-1.0, 2.0, 20), 100) is False


def test_a_step_beside_a_saddle_tries_both_sides_and_ever_shorter_lengths() -> None:
    asked = []

    def moved(c: np.ndarray) -> SimpleNamespace | None:
        asked.append(float(c[0]))
        return SimpleNamespace(value=-1.0 if c[0] == -0.25 else 1.0, point="there")

    assert Curvature(-2.0, np.ones(1)).lower_point(moved, 0.0, 1.0) == "there"
    assert asked == [1.0, -1.0, 0.5, -0.5, 0.25, -0.25]
