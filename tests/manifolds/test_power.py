"""Powers are products of equal factors, whether they are vectorized or not."""

import numpy as np
import pymanopt.manifolds as peers
import pytest

from geodual import manifolds
from geodual.manifolds import (
    SPD,
    ComplexStiefel,
    Euclidean,
    Grassmann,
    HermitianPD,
    Hyperbolic,
    Manifold,
    NotOnManifoldError,
    Oblique,
    PositiveOrthant,
    Power,
    Product,
    PymanoptManifold,
    Rotations,
    Simplex,
    SkewSymmetric,
    Sphere,
    Stiefel,
    Symmetric,
    UnitCircle,
)
from geodual.manifolds.power import LoopFrame

VECTORizED = [
    ComplexStiefel(4, 2),
    Euclidean(2),
    Grassmann(4, 2),
    Grassmann(5, 3),
    HermitianPD(3),
    Hyperbolic(2),
    Oblique(3, 2),
    PositiveOrthant(3),
    Power(Sphere(3), 2),
    Rotations(2),
    Rotations(3),
    Rotations(5),
    SPD(3),
    Simplex(3),
    SkewSymmetric(3),
    Sphere(3),
    Stiefel(3, 2),
    Stiefel(3, 3),
    Stiefel(7, 2),
    Symmetric(3),
    UnitCircle(3),
]


class UsersSphere(Sphere):
    """A manifold of a user, whose frames may take single points only."""

    def frame(self, x):
        assert x.ndim == 1
        return super().frame(x)


LOOPED = [UsersSphere(3)]
COPIES = 4


@pytest.mark.parametrize("base", VECTORizED + LOOPED, ids=repr)
def test_every_operation_is_that_of_the_product(base):
    power, product, rng = Power(base, COPIES), Product([base] * COPIES), np.random.default_rng(0)
    x = power.random_point(rng)
    u = power.random_tangent(x, rng)
    y = power.exp(x, 0.9 * power.random_tangent(x, rng))
    egrad, ehess = rng.standard_normal((2, *x.shape))

    def same(a, b):
        np.testing.assert_allclose(a, np.stack(b), rtol=1e-12, atol=1e-13)

    same(power.exp(x, u), product.exp(tuple(x), tuple(u)))
    same(power.retract(x, u), product.retract(tuple(x), tuple(u)))
    same(power.log(x, y), product.log(tuple(x), tuple(y)))
    same(power.transport(x, y, u), product.transport(tuple(x), tuple(y), tuple(u)))
    same(power.project(x, egrad), product.project(tuple(x), tuple(egrad)))
    same(power.gradient(x, egrad), product.gradient(tuple(x), tuple(egrad)))
    same(power.hessian(x, egrad, ehess, u), product.hessian(tuple(x), tuple(egrad), tuple(ehess), tuple(u)))
    assert power.dist(x, y) == pytest.approx(product.dist(tuple(x), tuple(y)), rel=1e-12)
    assert power.inner(x, u, u) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("base", VECTORizED, ids=repr)
def test_projections_of_vectorized_powers_do_not_loop(base, monkeypatch):
    """The interior-point method projects in every step of conjugate gradients."""
    power, rng, calls, project = Power(base, COPIES), np.random.default_rng(0), [], type(base).project
    monkeypatch.setattr(type(base), "project", lambda *given: calls.append(1) or project(*given))
    power.project(power.random_point(rng), rng.standard_normal(power.shape))
    assert len(calls) < COPIES


@pytest.mark.parametrize("base", VECTORizED + LOOPED, ids=repr)
def test_distance_terms_and_moves_are_those_of_the_product(base):
    power, product, rng = Power(base, COPIES), Product([base] * COPIES), np.random.default_rng(1)
    x = power.random_point(rng)
    y = power.exp(x, 0.9 * power.random_tangent(x, rng))
    frame, frames = power.frame(x), product.frame(tuple(x))
    c = 0.05 * frame.random(rng)
    np.testing.assert_allclose(frame.move(c), np.stack(frames.move(c.ravel())), rtol=1e-12)
    term, terms = frame.half_squared_distance(y), frames.half_squared_distance(tuple(y))
    assert term.value == pytest.approx(terms.value, rel=1e-12)
    np.testing.assert_allclose(term.gradient.ravel(), terms.gradient, atol=1e-12)
    np.testing.assert_allclose(term.hessian(c).ravel(), terms.hessian(c.ravel()), atol=1e-12)
    assert frame.remoteness(y) == pytest.approx(frames.remoteness(tuple(y)), rel=1e-12)
    assert frame.unit == frames.unit


@pytest.mark.parametrize("base", VECTORizED + LOOPED, ids=repr)
def test_only_powers_of_users_manifolds_loop(base, monkeypatch):
    power, rng, frames = Power(base, COPIES), np.random.default_rng(0), []
    x = power.random_point(rng)
    make, check = type(base).frame, type(base).check_point
    monkeypatch.setattr(type(base), "frame", lambda *given: frames.append(1) or make(*given))
    monkeypatch.setattr(type(base), "check_point", lambda *given: frames.append(1) or check(*given))
    power.check_point(x)
    frame = power.frame(x)
    looped = base in LOOPED
    assert isinstance(frame, LoopFrame) == looped
    assert len(frames) >= 2 * COPIES if looped else len(frames) < COPIES


def test_every_manifold_of_ours_is_vectorized_as_the_docstring_says():
    arrays = {cls for cls in vars(manifolds).values() if isinstance(cls, type) and issubclass(cls, Manifold)}
    looped = {cls.__name__ for cls in arrays if not cls.vectorized}
    # The last three have no powers, or inherit it from their manifold.
    assert looped == {"FixedRank", "Manifold", "Power", "Product", "PymanoptManifold"}
    assert "all manifolds of geodual except `FixedRank`" in " ".join(Power.__doc__.split())


@pytest.mark.parametrize("base", VECTORizED + LOOPED, ids=repr)
def test_what_a_power_inherits(base):
    power, product = Power(base, COPIES), Product([base] * COPIES)
    assert (power.dim, power.hadamard, power.has_log) == (product.dim, product.hadamard, product.has_log)
    assert power.closed_form_log == product.closed_form_log
    assert power.step_limit == pytest.approx(product.step_limit)


def test_a_long_step_of_one_matrix_does_not_harm_the_others():
    power = Power(SPD(2), 2)
    frame = power.frame(np.stack([np.eye(2), np.eye(2)]))
    c = np.stack([20.0 * np.eye(2), 0.01 * np.eye(2)])
    moved = power.check_point(frame.move(c))
    assert moved[0, 0, 0] == pytest.approx(np.exp(20.0), rel=0.2)
    assert moved[1, 0, 0] == pytest.approx(np.exp(0.01), rel=1e-6)
    assert np.isinf(frame.move(1e6 * c)).all()


def test_a_bad_entry_is_named():
    x = np.stack([np.eye(2), np.diag([1.0, -1.0]), np.eye(2)])
    for operation in (Power(SPD(2), 3).check_point, lambda y: Power(SPD(2), 3).dist(y, y)):
        with pytest.raises(NotOnManifoldError, match=r"Entry 1 of the point: .* range from -1 to 1"):
            operation(x)
    with pytest.raises(NotOnManifoldError, match=r"must have shape \(3, 2, 2\), got \(2, 2\)"):
        Power(SPD(2), 3).check_point(np.eye(2))


def test_unchecked_matrices_that_are_indefinite_are_named_by_their_eigenvalues():
    frame = Power(SPD(2), 2).frame(np.stack([np.eye(2)] * 2))
    bad = np.stack([np.eye(2), np.diag([3.0, -2.0])])
    for operation in (frame.log, frame.dist, Power(SPD(2), 2).frame):
        with pytest.raises(NotOnManifoldError, match="range from -2 to 3"):
            operation(bad)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Power(SPD(2), 0), "`n` must be an integer of at least 1, got 0"),
        (lambda: Power(3, 3), "`Power` takes a manifold, got int"),
        (lambda: Power(Product(SPD(2), Sphere(2)), 3), "points are arrays.* a product of powers"),
        (lambda: Power(PymanoptManifold(peers.Sphere(3)), 3), "pymanopt manifold has no powers"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
