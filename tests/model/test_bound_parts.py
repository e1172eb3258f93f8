"""What each lower bound rests on: points in balls, convex Lagrangians, and distances that are bounded."""

from types import SimpleNamespace

import numpy as np

import geodual.model as gm
from geodual.manifolds import Euclidean, Hyperbolic, Sphere
from geodual.model.bounds import LagrangianAt, _is_nonnegative, _radius

NONE = np.zeros(0)


def test_multipliers_of_a_convex_map_are_not_negative() -> None:
    h = gm.Variable(Hyperbolic(2), name="h")
    base = h.manifold.lift(np.zeros(2))
    problem = gm.Problem(
        gm.Minimize(gm.distance2(h, base) + gm.abs(gm.distance(h, h.manifold.lift(np.ones(2)))))
    )
    compiled, _ = problem._compiled()
    made = SimpleNamespace(
        x=base,
        multipliers=NONE,
        equality_multipliers=NONE,
        terms=[SimpleNamespace(multiplier=np.array([-0.7]))],
    )
    weights = [weight for _, weight in LagrangianAt(compiled, made, "geodesic").parts]  # type: ignore[arg-type]
    assert weights[-1] == 0.0


def test_the_lagrangian_is_taken_in_the_ball() -> None:
    north = np.array([0.0, 0.0, 1.0])
    s = gm.Variable(Sphere(3), name="s", center=north, radius=0.5)
    compiled, _ = gm.Problem(gm.Minimize(gm.distance2(s, north)))._compiled()
    made = SimpleNamespace(
        x=np.array([1.0, 0.0, 0.0]), multipliers=np.zeros(1), equality_multipliers=NONE, terms=[]
    )
    x = LagrangianAt(compiled, made, "geodesic").x  # type: ignore[arg-type]
    assert np.allclose(x, [np.sin(0.5), 0.0, np.cos(0.5)], atol=1e-12)


def test_a_distance_from_another_variable_bounds_nothing() -> None:
    h, k = gm.Variable(Hyperbolic(2), name="h"), gm.Variable(Hyperbolic(2), name="k")
    k.value = h.manifold.lift(np.zeros(2))
    assert _radius(gm.distance2(h, k), 1.0, h, k.value) is None
    assert _radius(gm.distance2(h, k.value), 1.0, h, k.value) == 1.0


def test_a_maximum_may_be_negative() -> None:
    z = gm.Variable(Euclidean(2), name="z")
    form = gm.Problem(gm.Minimize(gm.max(z)))._form("geodesic")
    assert not _is_nonnegative(*form.terms[0])
