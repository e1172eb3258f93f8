"""Constraints, parameters and wrong input: a right answer, or one clear error."""

import numpy as np
import pytest

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, PositiveOrthant

SYMMETRIC = "Compare symmetric matrices"


def test_a_maximum_is_at_most_every_entry_of_a_vector() -> None:
    z = gm.Variable(Euclidean(3), name="z")
    problem = gm.Problem(gm.Minimize(gm.sum_squares(z - 5.0)), [gm.max(z) <= np.array([1.0, 2.0, 3.0])])
    assert np.allclose(problem.solve().x, 1.0, atol=1e-6)


def test_a_product_at_least_zero_needs_no_logarithm_of_zero() -> None:
    x = gm.Variable(PositiveOrthant(2), name="x")
    result = gm.Problem(gm.Minimize(gm.sum(x) + 1.0 / x[0] + 1.0 / x[1]), [x[0] * x[1] >= 0.0]).solve()
    assert np.allclose(result.x, 1.0, atol=1e-5)


def test_equal_matrices_are_no_error() -> None:
    X = gm.Variable(SPD(2), name="X")
    problem = gm.Problem(gm.Minimize(gm.trace(X)), [2.0 * np.eye(2) == X])
    assert problem.is_dcp()
    assert problem.explain("geodesic")


def test_a_plain_problem_keeps_the_values_of_its_parameters() -> None:
    z, w = gm.Variable(Euclidean(2), name="z"), gm.Parameter(name="w", nonneg=True, value=1.0)
    problem = gm.Problem(gm.Minimize(gm.sum_squares(z - 1.0) + w * gm.sum_squares(z)))
    plain = problem.to_problem()
    assert plain.cost(np.ones(2)) == 2.0
    assert np.allclose(problem.solve().x, 0.5)
    w.value = 3.0
    assert plain.cost(np.ones(2)) == 2.0
    assert problem.to_problem().cost(np.ones(2)) == 6.0
    result = problem.solve()
    assert np.allclose(result.x, 0.25)
    assert result.lower_bound is None or result.lower_bound <= 1.5 + 1e-9


def test_wrong_input_is_one_clear_error() -> None:
    X, z = gm.Variable(SPD(2), name="X"), gm.Variable(Euclidean(2), name="z")
    w = gm.Parameter(name="w")
    with pytest.raises(TypeError, match=SYMMETRIC):
        _ = X <= 1.0
    with pytest.raises(TypeError, match=SYMMETRIC):
        _ = np.eye(2) >= X
    with pytest.raises(TypeError, match="no truth value"):
        _ = 0.0 <= z[0] <= 1.0
    with pytest.raises(ValueError, match=r"numpy\.eye"):
        _ = X + 1.0
    with pytest.raises(ValueError, match="square matrix"):
        gm.diag(np.ones((3, 2)) @ X)
    with pytest.raises(ValueError, match="finite"):
        _ = z + np.nan
    with pytest.raises(ValueError, match="Powers act on entries"):
        _ = X**2
    with pytest.raises(ValueError, match="must be a number"):
        gm.Minimize(z)
    with pytest.raises(ValueError, match="at least one variable"):
        gm.Problem(gm.Minimize(1.0))
    with pytest.raises(ValueError, match="different names"):
        gm.Problem(gm.Minimize(gm.sum(z) + gm.sum(gm.Variable(Euclidean(2), name="z"))))
    with pytest.raises(ValueError, match="The parameter w has no value"):
        gm.Problem(gm.Minimize(w * gm.sum_squares(z))).solve()
    with pytest.raises(IndexError):
        _ = z[5]
    with pytest.raises(ValueError, match="matching sizes"):
        _ = np.ones((2, 3)) @ z


def test_what_is_not_proved_is_explained() -> None:
    X, z = gm.Variable(SPD(2), name="X"), gm.Variable(Euclidean(2), name="z")
    for cost in (gm.sum(z**3), z[0] * z[1], X[0, 1] ** 2, gm.log(z[0]), gm.sum(X + np.ones((2, 2)) @ X)):
        assert "The proof stops here: `" in gm.Problem(gm.Minimize(cost)).explain("geodesic")


def test_a_sum_of_many_terms_has_a_proof() -> None:
    z = gm.Variable(Euclidean(2), name="z")
    total = gm.sum([gm.square(z[k % 2] - k) for k in range(2000)])
    assert "and 1996 more" in gm.Problem(gm.Minimize(total)).explain()
