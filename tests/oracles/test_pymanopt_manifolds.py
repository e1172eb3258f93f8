"""Every manifold of pymanopt can be optimized over, with constraints and without, or is refused by name."""

import numpy as np
import pymanopt.manifolds as peers
import pytest

from geodual.manifolds import Euclidean, NotOnManifoldError, Product, PymanoptManifold
from geodual.optimize import Constraint, Problem, check_gradient, minimize

EMBEDDED = {
    "ComplexCircle": peers.ComplexCircle(4),
    "ComplexEuclidean": peers.ComplexEuclidean(3),
    "Euclidean": peers.Euclidean(3, 2),
    "HermitianPositiveDefinite": peers.HermitianPositiveDefinite(3),
    "Oblique": peers.Oblique(3, 4),
    "PoincareBall": peers.PoincareBall(3),
    "Positive": peers.Positive(3, 2),
    "Product": peers.Product([peers.SpecialOrthogonalGroup(3), peers.UnitaryGroup(2), peers.Euclidean(2)]),
    "SkewSymmetric": peers.SkewSymmetric(3),
    "SpecialHermitianPositiveDefinite": peers.SpecialHermitianPositiveDefinite(3),
    "SpecialOrthogonalGroup": peers.SpecialOrthogonalGroup(3),
    "Sphere": peers.Sphere(4),
    "SphereSubspaceComplementIntersection": peers.SphereSubspaceComplementIntersection(np.eye(5)[:, :1]),
    "SphereSubspaceIntersection": peers.SphereSubspaceIntersection(np.eye(5)[:, :3]),
    "Stiefel": peers.Stiefel(4, 2),
    "Symmetric": peers.Symmetric(3, 2),
    "SymmetricPositiveDefinite": peers.SymmetricPositiveDefinite(2, k=3),
    "UnitaryGroup": peers.UnitaryGroup(3),
}
# Points Y and YQ are the same, so costs are functions of Y Yᴴ.
QUOTIENTS = {
    "ComplexGrassmann": peers.ComplexGrassmann(4, 2),
    "Elliptope": peers.Elliptope(5, 2),
    "Grassmann": peers.Grassmann(5, 2),
    "PSDFixedRank": peers.PSDFixedRank(4, 2),
    "PSDFixedRankComplex": peers.PSDFixedRankComplex(4, 2),
}
REFUSED = {"FixedRankEmbedded"}
SOLVED = EMBEDDED | QUOTIENTS


def parts(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def like(x, values):
    return tuple(values) if isinstance(x, (tuple, list)) else values[0]


def product(a, b):
    """Return Re ⟨a, b⟩."""
    return float(sum(np.vdot(p, q).real for p, q in zip(parts(a), parts(b), strict=True)))


def combined(a, x, b, y):
    return like(x, [a * p + b * q for p, q in zip(parts(x), parts(y), strict=True)])


class EmbeddedModel:
    """½ ‖x − target‖² as cost and Re ⟨normal, x⟩ − level as constraint."""

    def __init__(self, target, rng):
        self.target = target
        self.normal = like(target, [ambient_draw(part, rng) for part in parts(target)])

    def cost(self, x):
        return 0.5 * product(self.gradient(x), self.gradient(x))

    def gradient(self, x):
        return combined(1.0, x, -1.0, self.target)

    def hessian(self, x, u):
        return u

    def measure(self, x):
        return product(self.normal, x)

    def measure_gradient(self, x):
        return self.normal

    def measure_hessian(self, x, u):
        return combined(0.0, u, 0.0, u)


class QuotientModel:
    """¼ ‖YYᴴ − TTᴴ‖² as cost and tr(YᴴNY) − level as constraint."""

    def __init__(self, target, rng):
        self.gram = target @ target.conj().T
        draw = ambient_draw(self.gram, rng)
        self.normal = draw + draw.conj().T

    def excess(self, y):
        return y @ y.conj().T - self.gram

    def cost(self, y):
        return 0.25 * float(np.linalg.norm(self.excess(y)) ** 2)

    def gradient(self, y):
        return self.excess(y) @ y

    def hessian(self, y, u):
        return (u @ y.conj().T + y @ u.conj().T) @ y + self.excess(y) @ u

    def measure(self, y):
        return float(np.vdot(y, self.normal @ y).real)

    def measure_gradient(self, y):
        return 2.0 * self.normal @ y

    def measure_hessian(self, y, u):
        return 2.0 * self.normal @ u


def ambient_draw(x, rng):
    draw = rng.standard_normal(np.shape(x))
    return draw + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else draw


def setting(name, seed=0):
    """Return the adapter, a model of cost and constraint, a start, and a level between start and target."""
    manifold, rng = PymanoptManifold(SOLVED[name]), np.random.default_rng(seed)
    target = manifold.random_point(rng)
    frame = manifold.frame(target)
    start = frame.retract(0.3 * frame.random(rng))
    model = (QuotientModel if name in QUOTIENTS else EmbeddedModel)(target, rng)
    sign = 1.0 if model.measure(target) > model.measure(start) else -1.0
    model.normal = combined(sign, model.normal, 0.0, model.normal)
    level = 0.5 * (model.measure(target) + model.measure(start))
    return manifold, model, start, level


def constraint(model, level, second):
    return Constraint(
        lambda x: model.measure(x) - level,
        lambda x, w: combined(float(w[0]), model.measure_gradient(x), 0.0, model.measure_gradient(x)),
        directional=lambda x, u: product(model.measure_gradient(x), u),
        hessian_product=(lambda x, w, u: combined(float(w[0]), model.measure_hessian(x, u), 0.0, u))
        if second
        else None,
    )


def make_problem(manifold, model, level, second, constrained):
    return Problem(
        manifold.wrapped,
        model.cost,
        model.gradient,
        model.hessian if second else None,
        inequalities=constraint(model, level, second) if constrained else None,
    )


def test_the_table_lists_every_manifold_of_pymanopt():
    assert set(SOLVED) | REFUSED == set(peers.__all__)


@pytest.mark.parametrize("second", [True, False], ids=["hessian", "gradient"])
@pytest.mark.parametrize("name", SOLVED)
def test_the_nearest_point_to_a_point_is_found(name, second):
    manifold, model, start, level = setting(name)
    result = minimize(make_problem(manifold, model, level, second, constrained=False), start)
    assert result.success
    assert result.second_order == "holds"
    assert model.cost(result.x) <= 1e-10


@pytest.mark.parametrize("name", SOLVED)
def test_it_is_a_factor_of_our_products(name):
    """Beside a flat variable t, half the squared distance of both and a constraint that couples them."""
    manifold, model, start, level = setting(name)
    both, goal = Product(SOLVED[name], Euclidean(2)), np.array([0.1, -1.0])
    coupling = Constraint(
        lambda z: model.measure(z[0]) - level + z[1][0],
        lambda z, w: (combined(float(w[0]), model.measure_gradient(z[0]), 0.0, z[0]), w[0] * np.eye(2)[0]),
        directional=lambda z, u: product(model.measure_gradient(z[0]), u[0]) + u[1][0],
        hessian_product=lambda z, w, u: (
            combined(float(w[0]), model.measure_hessian(z[0], u[0]), 0.0, u[0]),
            np.zeros(2),
        ),
    )
    problem = Problem(
        both,
        lambda z: model.cost(z[0]) + 0.5 * float(np.sum((z[1] - goal) ** 2)),
        lambda z: (model.gradient(z[0]), z[1] - goal),
        lambda z, u: (model.hessian(z[0], u[0]), u[1]),
        inequalities=coupling,
    )
    assert both.dim == manifold.dim + 2
    assert check_gradient(problem, (start, np.zeros(2))).passed
    result = minimize(problem, (start, np.zeros(2)))
    assert result.success
    assert result.second_order == "holds"
    x, t = result.x
    both.check_point(result.x)
    assert model.measure(x) + t[0] == pytest.approx(level, abs=1e-5)
    assert t[1] == pytest.approx(-1.0, abs=1e-5)
    assert result.multipliers[0] == pytest.approx(0.1 - t[0], abs=1e-5)


def test_large_tangent_spaces_are_not_judged():
    """An orthonormal basis of them would take too long."""
    sphere = peers.Sphere(150)
    a = np.arange(1.0, 151.0)
    problem = Problem(sphere, lambda x: x @ (a * x), lambda x: 2.0 * a * x, lambda x, u: 2.0 * a * u)
    result = minimize(problem, np.full(150, 150**-0.5))
    assert result.success
    assert result.second_order == "unknown"


@pytest.mark.parametrize("second", [True, False], ids=["hessian", "gradient"])
@pytest.mark.parametrize("name", SOLVED)
def test_a_constraint_is_kept_and_the_lagrangian_is_stationary(name, second):
    manifold, model, start, level = setting(name)
    result = minimize(make_problem(manifold, model, level, second, constrained=True), start)
    assert result.success
    assert model.measure(result.x) == pytest.approx(level, abs=1e-5)  # the target is on the other side
    (multiplier,) = result.multipliers
    assert multiplier > 0.0
    frame = manifold.frame(result.x)

    def lagrangian(c, t):
        x = frame.retract(t * c)
        return model.cost(x) + multiplier * model.measure(x)

    for seed in range(3):
        c = frame.random(np.random.default_rng(seed))
        slope = (lagrangian(c, 1e-4) - lagrangian(c, -1e-4)) / 2e-4
        assert abs(slope) <= 1e-5 * (1.0 + multiplier)


@pytest.mark.parametrize("name", SOLVED)
def test_derivatives_are_converted_rightly(name):
    manifold, model, start, level = setting(name)
    check = check_gradient(make_problem(manifold, model, level, True, constrained=True), start)
    assert check.passed, str(check)


def test_what_cannot_be_used_is_refused_with_the_reason_and_the_remedy():
    fixed_rank = peers.FixedRankEmbedded(4, 3, 2)
    for peer in (fixed_rank, peers.Product([peers.Sphere(3), fixed_rank])):
        with pytest.raises(ValueError, match=r"no second derivatives.* use geodual.manifolds.FixedRank"):
            PymanoptManifold(peer)


OFF = {
    "ComplexCircle": np.array([2.0, 1.0, 1.0, 1.0j]),
    "ComplexGrassmann": np.ones((4, 2)),
    "Elliptope": np.ones((5, 2)),
    "Grassmann": np.ones((5, 2)),
    "HermitianPositiveDefinite": np.diag([1.0, 1.0, -1.0]),
    "Oblique": np.ones((3, 4)),
    "PoincareBall": np.ones(3),
    "Positive": -np.ones((3, 2)),
    "Product": (np.eye(3), np.eye(2), np.ones(3)),
    "SkewSymmetric": np.ones((3, 3)),
    "SpecialHermitianPositiveDefinite": 2.0 * np.eye(3),
    "SpecialOrthogonalGroup": np.diag([1.0, 1.0, -1.0]),
    "Sphere": np.ones(4),
    "SphereSubspaceComplementIntersection": np.eye(5)[0],
    "SphereSubspaceIntersection": np.eye(5)[4],
    "Stiefel": np.ones((4, 2)),
    "Symmetric": np.stack([np.eye(3), np.triu(np.ones((3, 3)))]),
    "SymmetricPositiveDefinite": np.stack([np.eye(2), np.eye(2), -np.eye(2)]),
    "UnitaryGroup": 2.0 * np.eye(3),
}


@pytest.mark.parametrize("name", OFF)
def test_points_off_the_manifold_are_refused(name):
    manifold = PymanoptManifold(SOLVED[name])
    manifold.check_point(manifold.random_point(np.random.default_rng(0)))
    with pytest.raises(NotOnManifoldError, match=r"must be|must have|off by"):
        manifold.check_point(OFF[name])


@pytest.mark.parametrize("name", SOLVED)
def test_single_precision_is_accepted_and_refined(name):
    manifold = PymanoptManifold(SOLVED[name])
    x = manifold.random_point(np.random.default_rng(0))
    single = like(
        x, [part.astype(np.complex64 if np.iscomplexobj(part) else np.float32) for part in parts(x)]
    )
    checked = manifold.check_point(single)
    assert all(part.dtype in (float, complex) for part in parts(checked))
    manifold.check_point(checked)


def test_a_point_of_a_product_has_one_part_per_factor():
    manifold = PymanoptManifold(SOLVED["Product"])
    for broken, found in (((np.eye(3),), "1 parts"), (np.eye(3), "ndarray")):
        with pytest.raises(NotOnManifoldError, match=f"tuple of 3 points, got {found}"):
            manifold.check_point(broken)


def test_long_products_have_short_names():
    name = repr(PymanoptManifold(peers.Product([peers.Sphere(3)] * 200)))
    assert name == "PymanoptManifold(Sphere manifold of 3-vectors × 200)"
