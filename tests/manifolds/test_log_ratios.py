"""The simplex and the positive orthant: closed forms in logarithms, and problems with interior solutions."""

import numpy as np
import pytest

from geodual.manifolds import SPD, NotOnManifoldError, PositiveOrthant, Simplex
from geodual.optimize import Problem, minimize


def centered_logarithm(x):
    return np.log(x) - np.log(x).mean()


@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_simplex_is_the_space_of_centered_logarithms(n):
    manifold, rng = Simplex(n), np.random.default_rng(n)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    difference = centered_logarithm(y) - centered_logarithm(x)
    assert manifold.dist(x, y) == pytest.approx(np.linalg.norm(difference), rel=1e-14)
    middle = np.sqrt(x * y)
    np.testing.assert_allclose(manifold.exp(x, 0.5 * manifold.log(x, y)), middle / middle.sum(), rtol=1e-14)


def test_the_metric_of_the_simplex_is_the_one_in_the_docstring():
    manifold, rng = Simplex(4), np.random.default_rng(0)
    x = manifold.random_point(rng)
    u, v = manifold.random_tangent(x, rng), manifold.random_tangent(x, rng)
    a, b = u / x, v / x
    expected = np.sum((a - a.mean()) * (b - b.mean()))
    assert manifold.inner(x, u, v) == pytest.approx(expected, rel=1e-13)


def test_the_order_and_a_common_factor_do_not_matter_for_ratios():
    manifold, rng = Simplex(5), np.random.default_rng(1)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    factors = rng.uniform(0.1, 10.0, 5)
    moved = [(z * factors) / np.sum(z * factors) for z in (x, y)]
    assert manifold.dist(*moved) == pytest.approx(manifold.dist(x, y), rel=1e-13)


def test_no_step_leaves_the_simplex():
    manifold, rng = Simplex(3), np.random.default_rng(2)
    x = manifold.random_point(rng)
    for length in (1.0, 30.0, 300.0):
        manifold.check_point(manifold.exp(x, length * manifold.random_tangent(x, rng)))


def test_mixture_weights_of_greatest_likelihood():
    """Counts are matched by their shares, which minimize −Σ counts log x."""
    counts = np.array([5.0, 1.0, 14.0])
    problem = Problem(Simplex(3), lambda x: -counts @ np.log(x), gradient=lambda x: -counts / x)
    result = minimize(problem, np.full(3, 1.0 / 3.0))
    assert result.success
    np.testing.assert_allclose(result.x, counts / counts.sum(), rtol=1e-6)


def test_an_entropy_problem_with_a_constraint():
    """The distribution of largest entropy with a bounded mean has the weights e^(−λk)."""
    values = np.arange(4.0)
    problem = Problem(
        Simplex(4),
        cost=lambda x: x @ np.log(x),
        gradient=lambda x: np.log(x) + 1.0,
        inequalities=lambda x: values @ x - 1.0,
        jacobian_product=lambda x, w: w[0] * values,
    )
    result = minimize(problem, np.full(4, 0.25))
    assert result.success
    np.testing.assert_allclose(np.diff(np.log(result.x)), -result.multipliers[0], rtol=1e-5)


def test_the_orthant_is_the_diagonal_of_spd():
    orthant, spd, rng = PositiveOrthant(3), SPD(3), np.random.default_rng(3)
    x, y = orthant.random_point(rng), orthant.random_point(rng)
    u = orthant.random_tangent(x, rng)
    assert orthant.dist(x, y) == pytest.approx(spd.dist(np.diag(x), np.diag(y)), rel=1e-13)
    np.testing.assert_allclose(np.diag(orthant.exp(x, u)), spd.exp(np.diag(x), np.diag(u)), rtol=1e-12)
    assert orthant.step_limit == spd.step_limit


@pytest.mark.parametrize(
    ("manifold", "x", "message"),
    [
        (Simplex(2), [0.5, 0.6], "must have the sum 1, got 1.1; divide"),
        (Simplex(2), [1.0, 0.0], "positive entries, got 0 as the smallest; mix it with the uniform"),
        (PositiveOrthant(2), [1.0, -2.0], "positive entries, got -2 as the smallest"),
    ],
)
def test_the_defect_of_a_point_is_named(manifold, x, message):
    with pytest.raises(NotOnManifoldError, match=message):
        manifold.check_point(x)


def test_a_shape_is_needed():
    with pytest.raises(ValueError, match="`PositiveOrthant` needs a shape"):
        PositiveOrthant()
    assert PositiveOrthant(2, 3).dim == 6


def test_ratios_beyond_the_range_of_numbers_have_a_logarithm():
    small, large = np.array([1e-200, 1.0]), np.array([1e200, 1.0])
    assert PositiveOrthant(2).dist(small, large) == pytest.approx(400.0 * np.log(10.0), rel=1e-15)
    np.testing.assert_allclose(PositiveOrthant(2).log(large, small), [-400.0 * np.log(10.0) * 1e200, 0.0])
    x, y = np.array([1.0, 1e-310]), np.array([1e-310, 1.0])  # odds of 1e310 and of 1e-310
    assert Simplex(2).dist(x, y) == pytest.approx(np.sqrt(2.0) * 310.0 * np.log(10.0), rel=1e-12)


def test_the_logarithm_of_near_numbers_keeps_its_digits():
    x = np.array([1e100])
    assert PositiveOrthant(1).dist(x, x * (1.0 + 2.0**-40)) == pytest.approx(2.0**-40, rel=1e-3)
