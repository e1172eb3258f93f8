"""Points and manifolds that are none: found by `make fuzz`."""

import numpy as np
import pymanopt
import pytest

from geodual.manifolds import (
    SPD,
    NotOnManifoldError,
    Oblique,
    Power,
    PymanoptManifold,
    Rotations,
    Simplex,
    Sphere,
)


def test_zero_is_no_point_of_an_adapted_manifold() -> None:
    manifold = PymanoptManifold(pymanopt.manifolds.Oblique(3, 2))
    with pytest.raises(NotOnManifoldError, match="project it onto the manifold"):
        manifold.check_point(np.zeros((3, 2)))


@pytest.mark.parametrize("given", [3, None, [1.0], SPD(2)])
def test_only_manifolds_of_pymanopt_are_adapted(given: object) -> None:
    with pytest.raises(TypeError, match="must be a geodual or pymanopt manifold"):
        PymanoptManifold(given)


@pytest.mark.parametrize(
    "manifold", [Sphere(3), SPD(2), Rotations(3), PymanoptManifold(pymanopt.manifolds.Sphere(3))]
)
def test_a_tangent_vector_is_drawn_at_points_only(manifold) -> None:
    with pytest.raises(NotOnManifoldError):
        manifold.random_tangent(
            np.nan * manifold.random_point(np.random.default_rng(0)), np.random.default_rng(0)
        )


def test_complex_entries_inside_a_list_are_not_dropped() -> None:
    half = np.full(2, 0.5)
    with pytest.raises(NotOnManifoldError, match="complex"):
        Power(Simplex(2), 2).check_point([half, half.astype(complex)])


def test_the_logarithm_of_equal_and_near_columns_is_defined() -> None:
    """That of pymanopt takes arccos of what may exceed 1 by rounding."""
    adapted, own, rng = (
        PymanoptManifold(pymanopt.manifolds.Oblique(6, 3)),
        Oblique(6, 3),
        np.random.default_rng,
    )
    for seed in range(20):
        x, y = own.random_point(rng(seed)), own.random_point(rng(seed + 100))
        np.testing.assert_array_equal(adapted.log(x, x), 0.0)
        y[:, :2] = own.exp(x, 1e-9 * own.random_tangent(x, rng(seed)))[:, :2]
        np.testing.assert_allclose(adapted.log(x, y), own.log(x, y), rtol=1e-6, atol=1e-16)
