"""Points in single precision are accepted and refined; in double precision their defect is shown in full."""

import numpy as np
import pytest

from geodual.manifolds import SPD, FixedRank, NotOnManifoldError, Oblique, Simplex, Sphere
from geodual.optimize import Problem, minimize
from tests.manifold_cases import ALL_CASES, flat


def single(x):
    if isinstance(x, tuple):
        return tuple(map(single, x))
    return np.asarray(x, dtype=np.complex64 if np.iscomplexobj(x) else np.float32)


def double(x):
    if isinstance(x, tuple):
        return tuple(map(double, x))
    return np.asarray(x, dtype=complex if np.iscomplexobj(x) else float)


@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_rounding_to_single_precision_is_removed(case):
    x = case.point(np.random.default_rng(0), 0.1)
    checked = case.manifold.check_point(single(x))
    assert flat(checked).dtype == float
    np.testing.assert_allclose(flat(checked), flat(x), rtol=1e-4, atol=1e-5)
    # The result is accurate to double precision: it is accepted as such, and nothing changes any more.
    np.testing.assert_array_equal(flat(case.manifold.check_point(double(checked))), flat(checked))


@pytest.mark.parametrize(
    ("manifold", "x", "message"),
    [
        (Sphere(2), [1.0 + 3e-8, 0.0], "must have norm 1, got 1.00000003;"),
        (Oblique(2, 2), [[1.0, 1.0 - 3e-8], [0.0, 0.0]], "norm 1, got 0.99999997 for column 1"),
        (Simplex(2), [0.5, 0.5 + 3e-8], "sum 1, got 1.00000003;"),
    ],
)
def test_in_double_precision_the_defect_is_visible(manifold, x, message):
    with pytest.raises(NotOnManifoldError, match=message):
        manifold.check_point(x)


@pytest.mark.parametrize(
    ("manifold", "x"),
    [
        (Sphere(2), [1.001, 0.0]),
        (SPD(2), [[1.0, 0.1], [0.101, 1.0]]),
        (FixedRank(2, 2, 1), [[1.0, 0.0], [0.0, 0.001]]),
    ],
)
def test_single_precision_is_no_excuse_for_larger_defects(manifold, x):
    with pytest.raises(NotOnManifoldError):
        manifold.check_point(np.asarray(x, dtype=np.float32))


def test_a_solve_may_start_in_single_precision():
    start = np.random.default_rng(0).standard_normal(5).astype(np.float32)
    start /= np.linalg.norm(start)
    a = np.diag(np.arange(5.0))
    problem = Problem(Sphere(5), lambda x: x @ a @ x, gradient=lambda x: 2.0 * a @ x)
    result = minimize(problem, start)
    assert result.success
    assert result.x.dtype == float
    assert abs(result.x[0]) == pytest.approx(1.0, abs=1e-9)
