"""A band of the Hessian makes sequences fast, and is left alone where it is not all of the Hessian."""

import numpy as np
import pytest

from geodual.arrays import Array
from geodual.manifolds import Euclidean, Manifold, PositiveOrthant, Power, Product, Sphere
from geodual.optimize import ConstraintVector, Lagrangian, Problem, minimize
from geodual.optimize.banded_hessian import BandedHessian, blocks, sequence_length
from geodual.optimize.lagrangian import LocalLagrangian


def differences(n: int, order: int) -> Array:
    return np.diff(np.eye(n), order, axis=0)


def quadratic(H: Array) -> Problem:
    """Return ½ xᵀHx − x₁ on a flat space."""
    b = np.eye(len(H))[0]
    return Problem(
        Euclidean(len(H)), lambda x: 0.5 * x @ H @ x - b @ x, lambda x: H @ x - b, lambda x, u: H @ u
    )


def model_of(problem: Problem, x: object) -> LocalLagrangian:
    cost = Lagrangian(ConstraintVector(problem, x), np.zeros(0))
    return cost(x)


def after_long_system(model: LocalLagrangian) -> BandedHessian:
    """Return a helper that has seen 100 steps, and has prepared the next system."""
    helper = BandedHessian(model.function.constraints.problem.manifold)
    helper.prepare(model)
    for _ in range(100):
        model.precondition(model.gradient)
    helper.prepare(model)
    return helper


@pytest.mark.parametrize(("order", "products"), [(1, 4), (2, 4 + 6)])
def test_bands_are_found_and_inverted(order: int, products: int) -> None:
    """First differences couple one neighbor: 3 products and a check. Second ones need 5 more and a check."""
    D = differences(30, order)
    H = np.eye(30) + 10.0 * D.T @ D
    model = model_of(quadratic(H), np.zeros(30))
    helper = after_long_system(model)
    assert helper.n_products == products
    c = np.random.default_rng(0).standard_normal(30)
    np.testing.assert_allclose(model.precondition(c), np.linalg.solve(H, c), atol=1e-6)


def test_short_systems_are_left_alone() -> None:
    model = model_of(quadratic(np.eye(30)), np.zeros(30))
    helper = BandedHessian(Euclidean(30))
    for _ in range(5):
        helper.prepare(model)
        for _ in range(16):  # four times the products of a band
            model.precondition(model.gradient)
    assert helper.n_products == 0


def test_a_hessian_that_is_not_banded_is_tried_once_per_width() -> None:
    H = np.eye(600) + np.ones((600, 600)) / 600.0
    model = model_of(quadratic(H), np.zeros(600))
    helper = after_long_system(model)
    assert helper.n_products == 4 + 6
    c = np.arange(600.0)
    for _ in range(100):
        np.testing.assert_array_equal(model.precondition(c), c)
    helper.prepare(model)
    assert helper.n_products == 4 + 6


def test_a_band_that_leaves_many_steps_is_given_up() -> None:
    """The check does not see small parts far from the diagonal; many steps with the band do."""
    model = model_of(quadratic(np.eye(600)), np.zeros(600))
    helper = after_long_system(model)
    for _ in range(5):
        model.precondition(model.gradient)
    helper.prepare(model)
    assert helper.n_products == 4


def test_an_indefinite_band_is_shifted_until_it_is_positive() -> None:
    D = differences(30, 1)
    model = model_of(quadratic(D.T @ D - 0.1 * np.eye(30)), np.zeros(30))
    after_long_system(model)
    inverse = np.array([model.precondition(row) for row in np.eye(30)])
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-9 * np.abs(inverse).max())
    assert np.linalg.eigvalsh(inverse)[0] > 0.0


def test_tangent_spaces_with_fewer_dimensions_than_coordinates() -> None:
    """On a power of spheres each tangent space has two dimensions, and coordinates have three."""
    n, rng = 20, np.random.default_rng(3)
    x = rng.standard_normal((n, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    D, a = differences(n, 1), rng.standard_normal((n, 3))
    H = 5.0 * D.T @ D
    problem = Problem(
        Power(Sphere(3), n),
        lambda x: 0.5 * np.sum(x * (H @ x)) - 40.0 * np.sum(a * x),
        lambda x: H @ x - 40.0 * a,
        lambda x, u: H @ u,
    )
    x = minimize(problem, a / np.linalg.norm(a, axis=1, keepdims=True)).x
    model = model_of(problem, x)
    helper = after_long_system(model)
    assert helper.n_products == 3 * 2 + 1
    c = model.frame.random(rng)
    np.testing.assert_allclose(model.precondition(model.hessian_product(c)), c, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("manifold", "length"),
    [
        (Power(Sphere(3), 7), 7),
        (Euclidean(7, 2), 7),
        (PositiveOrthant(7), 7),
        (Product(Power(Sphere(3), 7), Euclidean(7, 2)), 7),
        (Product(Euclidean(7), Euclidean(6)), 0),
        (Sphere(7), 0),
    ],
    ids=str,
)
def test_lengths_of_sequences(manifold: Manifold, length: int) -> None:
    assert sequence_length(manifold) == length


def test_parts_of_a_product_at_the_same_place_belong_together() -> None:
    manifold = Product(Euclidean(3, 2), Euclidean(3))
    frame = manifold.frame((np.zeros((3, 2)), np.zeros(3)))
    assert blocks(manifold, frame).tolist() == [[0, 1, 6], [2, 3, 7], [4, 5, 8]]


def test_a_long_chain_takes_few_products() -> None:
    """Conjugate gradients alone need 300 products per system, one per point of the chain."""
    n = 300
    D = differences(n, 1)

    def gradient(x: Array) -> Array:
        strain = D @ x
        return D.T @ (strain + strain**3) + np.eye(n)[0] * (x[0] - 1.0) - np.eye(n)[-1]

    problem = Problem(
        Euclidean(n),
        lambda x: np.sum((D @ x) ** 2 / 2.0 + (D @ x) ** 4 / 4.0) + 0.5 * (x[0] - 1.0) ** 2 - x[-1],
        gradient,
        lambda x, u: D.T @ ((1.0 + 3.0 * (D @ x) ** 2) * (D @ u)) + np.eye(n)[0] * u[0],
    )
    result = minimize(problem, np.zeros(n))
    assert result.success
    # All strains carry the same load: s + s³ = 1.
    strain = np.roots([1.0, 0.0, 1.0, -1.0])
    wanted = float(strain[np.abs(strain.imag) < 1e-12].real[0])
    np.testing.assert_allclose(result.x, 2.0 + wanted * np.arange(n), rtol=1e-6)
    assert sum(row.hessian_products for row in result.history) < 1000
