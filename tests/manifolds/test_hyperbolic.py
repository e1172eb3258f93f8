"""Far hyperbolic points: their coordinates grow like eᵈ, but errors of distances must not."""

import numpy as np
import pytest

from geodual.manifolds import Hyperbolic


def at(distance, angle):
    """Return the point of the hyperbolic plane with these polar coordinates."""
    return Hyperbolic(2).lift(np.sinh(distance) * np.array([np.cos(angle), np.sin(angle)]))


@pytest.mark.parametrize("far", [5.0, 10.0, 15.0])
@pytest.mark.parametrize("gap", [1e-3, 1.0, 15.0])
def test_distance_along_a_ray(far, gap):
    assert Hyperbolic(2).dist(at(far, 1.0), at(far + gap, 1.0)) == pytest.approx(gap, rel=1e-11)
    assert Hyperbolic(2).dist(at(far, 1.0), at(gap, 1.0 + np.pi)) == pytest.approx(far + gap, rel=1e-14)


@pytest.mark.parametrize("far", [1.0, 5.0, 10.0, 15.0])
@pytest.mark.parametrize("angle", [1e-6, 1e-2, 1.0])
def test_distance_across_rays_obeys_the_law_of_cosines(far, angle):
    half = np.sinh(far) * np.sin(angle / 2)
    expected = 2.0 * np.arcsinh(half)
    rounding = 1e-15 * np.exp(far)  # of the coordinates themselves
    assert Hyperbolic(2).dist(at(far, 0.3), at(far, 0.3 + angle)) == pytest.approx(expected, abs=rounding)


@pytest.mark.parametrize("far", [5.0, 10.0, 15.0])
@pytest.mark.parametrize("length", [1e-6, 1e-3, 1.0, 15.0])
def test_steps_from_far_points(far, length):
    manifold, x = Hyperbolic(2), at(far, 2.0)
    frame = manifold.frame(x)
    c = length * np.array([np.cos(1.0), np.sin(1.0)])
    rounding = 1e-15 * np.exp(far)
    assert np.linalg.norm(frame.log(frame.exp(c)) - c) <= rounding * (1.0 + length)
    assert manifold.dist(x, x) == 0.0


@pytest.mark.parametrize("far", [5.0, 10.0, 15.0])
def test_one_step_leads_from_far_away_to_the_origin(far):
    manifold, x = Hyperbolic(2), at(far, 2.0)
    origin = manifold.lift(np.zeros(2))
    frame = manifold.frame(x)
    rounding = 1e-15 * np.exp(far)
    np.testing.assert_allclose(frame.exp(frame.log(origin)), origin, atol=rounding)


def test_the_points_over_given_space_coordinates():
    manifold = Hyperbolic(3)
    x = manifold.lift([2.0, -1.0, 2.0])
    np.testing.assert_allclose(x, [np.sqrt(10.0), 2.0, -1.0, 2.0], rtol=1e-15)
    with pytest.raises(ValueError, match=r"must have shape \(3,\)"):
        manifold.lift(x)
