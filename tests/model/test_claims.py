"""What is claimed about expressions, against their values along random curves."""

import numpy as np
import pytest

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, Hyperbolic, PositiveOrthant
from testing.model_curves import is_refuted, refute
from testing.random_expressions import Draw

NEGATIVE_ENTRIES = np.array([[2.0, -1.0], [-1.0, 2.0]])  # positive definite


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_no_curve_refutes_a_claim_about_random_expressions(first: int) -> None:
    for seed in range(first, first + 30):
        with np.errstate(all="ignore"):
            expression = Draw(seed).number(1 + seed % 5)
        assert refute(expression, np.random.default_rng(seed), curves=3)[0] == [], str(expression)


def test_what_a_geodesic_refutes_is_not_proved() -> None:
    refuted = 0
    for seed in range(10_000, 11_000):
        with np.errstate(all="ignore"):
            expression = Draw(seed).number(1 + seed % 3)
        if expression.shape == () and is_refuted(expression, np.random.default_rng(seed), curves=4):
            refuted += 1
            assert not expression.is_convex(), str(expression)
        if refuted == 200:
            break
    assert refuted == 200


def test_a_matrix_in_a_sum_that_is_not_symmetric_is_read_by_its_entries() -> None:
    X = gm.Variable(SPD(2), name="X")
    mixed = X + np.array([[1.0, 2.0], [3.0, 1.0]])
    assert not mixed.symmetric
    assert not mixed.is_convex()  # X[0, 1] is not
    assert mixed.is_affine("euclidean")
    assert mixed.facts().sign is gm.Sign.UNKNOWN
    z = gm.Variable(Euclidean(2, 2), name="z")
    assert (gm.exp(z) + NEGATIVE_ENTRIES).facts().sign is gm.Sign.UNKNOWN


def test_numbers_below_zero_have_no_rate() -> None:
    x = gm.Variable(PositiveOrthant(2), name="x")
    assert gm.hstack([x, NEGATIVE_ENTRIES]).facts().rate is None
    assert gm.hstack([x, np.ones((2, 2))]).facts().rate == 1.0


def test_a_trace_that_may_vanish_is_not_called_positive() -> None:
    X, P = gm.Variable(SPD(2), name="X"), gm.Parameter(2, 2, name="P", value=np.zeros((2, 2)))
    assert gm.trace(np.eye(2) @ gm.congruence(X, P)).facts().sign is gm.Sign.NONNEGATIVE


def test_points_of_hyperbolic_space_are_points() -> None:
    h, z = gm.Variable(Hyperbolic(2), name="h"), gm.Variable(Euclidean(3), name="z")
    for function in (gm.distance, gm.distance2, gm.lorentz):
        with pytest.raises(ValueError, match="must be a point or a variable there"):
            function(h, z)
        with pytest.raises(ValueError, match="must be a point or a variable there"):
            function(h, gm.Variable(Hyperbolic(3)))
        with pytest.raises(ValueError, match="must be a point or a variable there"):
            function(h, 2.0 * h)
    # Nothing says that a parameter is a point.
    assert not gm.distance(h, gm.Parameter(3, value=np.array([1.0, 5.0, 0.0]))).is_convex()
    assert not gm.lorentz(h, gm.Parameter(3, value=np.array([1.0, 5.0, 0.0]))).is_convex()
