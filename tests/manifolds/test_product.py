"""Operations on a product are those of its factors."""

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Hyperbolic, Product, Sphere, Stiefel
from tests.manifold_cases import flat

FACTORS = (SPD(2), Euclidean(2, 3), Hyperbolic(2), Sphere(3))


@pytest.fixture
def drawn():
    manifold, rng = Product(*FACTORS), np.random.default_rng(0)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    return manifold, x, y, manifold.random_tangent(x, rng)


def test_operations_are_those_of_the_factors(drawn):
    manifold, x, y, u = drawn
    parts = list(zip(FACTORS, x, y, u, strict=True))
    same = np.testing.assert_allclose
    same(flat(manifold.exp(x, u)), flat(tuple(m.exp(a, d) for m, a, _, d in parts)))
    same(flat(manifold.retract(x, u)), flat(tuple(m.retract(a, d) for m, a, _, d in parts)))
    same(flat(manifold.log(x, y)), flat(tuple(m.log(a, b) for m, a, b, _ in parts)))
    same(flat(manifold.transport(x, y, u)), flat(tuple(m.transport(a, b, d) for m, a, b, d in parts)))


def test_inner_products_and_squared_distances_add_up(drawn):
    manifold, x, y, u = drawn
    parts = list(zip(FACTORS, x, y, u, strict=True))
    assert manifold.inner(x, u, u) == pytest.approx(sum(m.inner(a, d, d) for m, a, _, d in parts))
    assert manifold.dist(x, y) ** 2 == pytest.approx(sum(m.dist(a, b) ** 2 for m, a, b, _ in parts))


def test_what_a_product_inherits():
    assert Product(*FACTORS).dim == 3 + 6 + 2 + 2
    assert Product(SPD(2), Hyperbolic(2)).hadamard
    assert not Product(*FACTORS).hadamard
    assert Product(*FACTORS).closed_form_log
    assert not Product(SPD(2), Stiefel(3, 2)).closed_form_log
    assert Product(SPD(4), Sphere(2)).step_limit == pytest.approx(np.hypot(4.0, np.pi / 2))
    assert repr(Product(SPD(2), Product(Sphere(3)))) == "Product(SPD(2), Product(Sphere(3)))"


def test_names_of_long_products_are_short():
    assert repr(Product([Sphere(3)] * 200)) == "Product(Sphere(3) × 200)"
    assert repr(Product(SPD(2), SPD(2), Sphere(3), SPD(2))) == "Product(SPD(2) × 2, Sphere(3), SPD(2))"
    varied = [SPD(n) for n in range(1, 101)]
    assert repr(Product(varied)) == "Product(SPD(1), SPD(2), SPD(3), SPD(4), SPD(5), … (95 more))"
    with pytest.raises(ValueError, match="tuple of 200 points") as caught:
        Product([Sphere(3)] * 200).check_point(np.eye(3))
    assert len(str(caught.value)) < 150
