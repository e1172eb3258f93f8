"""Every manifold names the defect of a point that is not on it, and never writes to its arguments."""

import numpy as np
import pytest

from geodual.manifolds import (
    SPD,
    Euclidean,
    Hyperbolic,
    NotOnManifoldError,
    Oblique,
    Product,
    Rotations,
    Simplex,
    Sphere,
    Stiefel,
)
from tests.manifold_cases import CASES, flat

PAIR = Product(SPD(2), Euclidean(3))
NESTED = Product(Sphere(2), Product(SPD(2), Euclidean(3)))

DEFECTS = {
    "asymmetric": (
        SPD(2),
        [[1.0, 0.2], [0.0, 1.0]],
        "symmetric, but it differs from its transpose by up to 0.2",
    ),
    "indefinite": (
        SPD(2),
        np.diag([3.0, -0.5]),
        "positive definite, but its eigenvalues range from -0.5 to 3",
    ),
    "singular": (SPD(2), np.diag([1.0, 0.0]), "eigenvalues range from 0 to 1"),
    "wrong norm": (Sphere(2), [3.0, 4.0], "must have norm 1, got 5"),
    "not orthonormal": (Stiefel(3, 2), 2.0 * np.eye(3)[:, :2], "differs from the identity by up to 3"),
    "off the hyperboloid": (Hyperbolic(2), [2.0, 1.0, 0.0], "−x₀² .* = −1, got -3"),
    "lower sheet": (Hyperbolic(2), [-1.0, 0.0, 0.0], "positive first coordinate, got -1"),
    "wrong shape": (Euclidean(2, 3), np.zeros(6), r"must have shape \(2, 3\), got \(6,\)"),
    "ragged": (Euclidean(2, 2), [[1.0, 2.0], [3.0]], r"real array of shape \(2, 2\)"),
    "text": (Euclidean(1), ["one"], "could not convert string to float"),
    "NaN": (Sphere(2), [np.nan, 1.0], "must be finite, got 1 NaN or infinite entries"),
    "infinite": (SPD(2), np.diag([np.inf, np.inf]), "must be finite, got 2 NaN or infinite entries"),
    "complex array": (
        Euclidean(2),
        np.array([1.0 + 2.0j, 0.0]),
        "real array of shape .* entries are complex",
    ),
    "complex list": (Hyperbolic(1), [1.0 + 0.0j, 0.0], "real array of shape .* entries are complex"),
    "too few parts": (PAIR, (np.eye(2),), "must be a tuple of 2 points, got 1 parts"),
    "not a tuple": (PAIR, np.eye(2), "must be a tuple of 2 points, got ndarray"),
    "bad part": (PAIR, (np.eye(2), np.zeros(2)), r"Part 1 of the point: A point of Euclidean\(3\)"),
    "bad nested part": (
        NESTED,
        (np.array([1.0, 0.0]), (-np.eye(2), np.zeros(3))),
        "Part 1 of the point: Part 0 of the point: .* positive definite",
    ),
}


@pytest.mark.parametrize(("manifold", "x", "defect"), DEFECTS.values(), ids=DEFECTS)
def test_the_defect_of_a_point_is_named(manifold, x, defect):
    with pytest.raises(NotOnManifoldError, match=defect):
        manifold.check_point(x)


@pytest.mark.parametrize("name", ["asymmetric", "indefinite", "wrong norm", "not orthonormal", "bad part"])
@pytest.mark.parametrize("operation", ["dist", "log", "exp"])
def test_public_operations_check_their_points(name, operation):
    manifold, x, defect = DEFECTS[name]
    good = manifold.random_point(np.random.default_rng(0))
    for points in [(x, good)] if operation == "exp" else [(x, good), (good, x)]:
        with pytest.raises(NotOnManifoldError, match=defect):
            getattr(manifold, operation)(*points)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SPD(0), "`n` must be an integer of at least 1, got 0"),
        (lambda: SPD(2.0), "`n` must be an integer of at least 1, got 2.0"),
        (lambda: SPD(True), "`n` must be an integer"),
        (lambda: Sphere(1), "`n` must be an integer of at least 2, got 1"),
        (lambda: Oblique(1, 3), "`n` must be an integer of at least 2, got 1"),
        (lambda: Oblique(3, 0), "`m` must be an integer of at least 1, got 0"),
        (lambda: Rotations(1), "`n` must be an integer of at least 2, got 1"),
        (lambda: Simplex(1), "`n` must be an integer of at least 2, got 1"),
        (lambda: Hyperbolic(-1), "`n` must be an integer of at least 1, got -1"),
        (lambda: Stiefel(2, 3), "`p` must be at most n = 2, got 3"),
        (lambda: Stiefel(2, 0), "`p` must be an integer of at least 1, got 0"),
        (lambda: Euclidean(), "`Euclidean` needs a shape"),
        (lambda: Euclidean(3, 0), "`shape` must be an integer of at least 1, got 0"),
        (lambda: Product(), "`Product` needs at least one manifold"),
        (lambda: Product(3), "`Product` takes manifolds, got int"),
        (lambda: Product(SPD(2), "SPD(2)"), "`Product` takes manifolds, got str"),
    ],
)
def test_bad_sizes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_integers_lists_and_numpy_sizes_are_accepted():
    x = SPD(np.int64(2)).check_point([[2, 0], [0, 1]])
    assert x.dtype == float
    assert Product([SPD(2), Sphere(2)]).check_point([x, [1, 0]])[0] is x


@pytest.mark.parametrize("case", CASES, ids=str)
def test_inputs_are_never_written_to(case):
    rng = np.random.default_rng(5)
    manifold = case.manifold
    x, y = case.points(rng, 0.2, 2)
    u, egrad, ehess = (manifold.random_tangent(x, rng) for _ in range(3))
    for array in arrays_in((x, y, u, egrad, ehess)):
        array.flags.writeable = False
    frame = manifold.frame(x)
    c = frame.coordinates(u)
    c.flags.writeable = False
    frame.half_squared_distance(y).hessian(c)
    results = [
        manifold.exp(x, u),
        manifold.retract(x, u),
        frame.move(c),
        manifold.log(x, y),
        manifold.transport(x, y, u),
        manifold.project(x, u),
        manifold.gradient(x, egrad),
        manifold.hessian(x, egrad, ehess, u),
    ]
    assert manifold.inner(x, u, u) > 0.0 < manifold.dist(x, y)
    assert all(np.isfinite(flat(result)).all() for result in results)


def arrays_in(v):
    return [array for part in v for array in arrays_in(part)] if isinstance(v, tuple) else [v]


@pytest.mark.parametrize("operation", ["exp", "retract", "norm", "gradient"])
@pytest.mark.parametrize(
    ("manifold", "vector", "message"),
    [
        (Sphere(3), 1.0, r"must have the shape of the point, \(3,\), got \(\)"),
        (Euclidean(3), np.ones(1), r"shape of the point, \(3,\), got \(1,\)"),
        (SPD(2), np.eye(3), r"SPD\(2\) must have the shape of the point, \(2, 2\), got \(3, 3\)"),
        (PAIR, np.eye(2), "must be a tuple of 2 vectors"),
        (PAIR, (np.eye(2), np.ones(2)), r"shape of the point, \(3,\), got \(2,\)"),
    ],
)
def test_vectors_of_the_wrong_shape_are_refused(manifold, vector, message, operation):
    """Numpy would make the first two longer, without a word."""
    x = manifold.random_point(np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        getattr(manifold, operation)(x, vector)


def test_vectors_may_be_lists():
    np.testing.assert_allclose(Sphere(2).exp([1.0, 0.0], [0.0, np.pi / 2]), [0.0, 1.0], atol=1e-15)
