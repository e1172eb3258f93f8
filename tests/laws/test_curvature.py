"""Laws of distances that follow from the sign of the curvature and from symmetries."""

import numpy as np
import pytest

from geodual.manifolds import SPD, Sphere
from tests.manifold_cases import CASES, HADAMARD_CASES, for_all, spd_with_condition


def comparison_gap(manifold, x, x_t, x_next):
    """Return the left minus the right side of the paper's eq. (12)."""
    frame = manifold.frame(x_next)
    sides = manifold.dist(x, x_next) ** 2 + manifold.dist(x_next, x_t) ** 2
    return manifold.dist(x, x_t) ** 2 - sides + 2.0 * frame.inner(frame.log(x_t), frame.log(x))


@for_all(HADAMARD_CASES)
def test_hadamard_triangles_are_no_fatter_than_flat_ones(case, rng, spread):
    x, x_t, x_next = case.points(rng, spread, 3)
    longest = max(case.manifold.dist(x, x_t), case.manifold.dist(x_t, x_next), case.manifold.dist(x, x_next))
    tolerance = case.tolerance(x, x_t) + case.tolerance(x, x_next) + case.tolerance(x_t, x_next)
    assert comparison_gap(case.manifold, x, x_t, x_next) >= -tolerance * (1.0 + longest)


def test_an_octant_of_the_sphere_is_fatter_than_a_flat_triangle():
    octant = np.eye(3)
    assert comparison_gap(Sphere(3), *octant) == pytest.approx(-((np.pi / 2) ** 2))


def test_only_nowhere_positively_curved_manifolds_are_hadamard():
    assert [case for case in CASES if case.manifold.hadamard] == HADAMARD_CASES


@pytest.mark.parametrize("condition", [1e0, 1e3])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_spd_distance_is_invariant_under_congruence_and_inversion(n, condition):
    rng = np.random.default_rng(n)
    manifold, a = SPD(n), rng.standard_normal((n, n)) + 2.0 * np.eye(n)
    x, y = 3.0 * spd_with_condition(rng, n, condition), spd_with_condition(rng, n, condition)
    tolerance = 1e-14 * condition**2 * np.linalg.cond(a) ** 2
    moved = [(m + m.T) / 2 for m in (a @ x @ a.T, a @ y @ a.T)]
    inverse = [(m + m.T) / 2 for m in (np.linalg.inv(x), np.linalg.inv(y))]
    assert abs(manifold.dist(*moved) - manifold.dist(x, y)) <= tolerance
    assert abs(manifold.dist(*inverse) - manifold.dist(x, y)) <= tolerance


def test_spd_distance_of_commuting_matrices_is_that_of_their_logarithms():
    x, y = np.diag([1.0, 4.0, 0.5]), np.diag([np.e, 4.0, 0.5 * np.e**2])
    assert SPD(3).dist(x, y) == pytest.approx(np.sqrt(5.0), rel=1e-15)
