"""`Problem.from_torch`; `tests/oracles/test_autodiff.py` compares its derivatives with others."""

import pickle
import sys

import numpy as np
import pymanopt.manifolds as peers
import pytest
from joblib.externals.loky.backend.reduction import dumps

from geodual.manifolds import SPD, Euclidean, Product, Sphere
from geodual.optimize import L1, Box, Problem, Term, check_gradient, minimize


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "geodual.optimize.torch_autodiff", None)
    del sys.modules["geodual.optimize.torch_autodiff"]  # imported anew, and put back at the end
    with pytest.raises(ImportError, match=r"Problem.from_torch needs torch: pip install 'geodual\[torch\]'"):
        Problem.from_torch(SPD(2), lambda x: x.sum())


@pytest.fixture(name="torch")
def _torch():
    return pytest.importorskip("torch")


def test_problems_reach_high_accuracy_and_leave_the_default_type_alone(torch) -> None:
    problem = Problem.from_torch(
        SPD(3),
        lambda x: -torch.linalg.slogdet(x)[1] + 0.1 * torch.sum(x**2),
        inequalities=[lambda x: torch.trace(x) - 2.0, lambda x: torch.diagonal(x) - 0.6],
        equalities=lambda x: x[0, 1] - 0.1,
    )
    check = check_gradient(problem, SPD(3).random_point(np.random.default_rng(2)))
    assert check, f"\n{check}"
    # Two of the cost; product, derivative, Hessian and separate gradients of each of three constraints.
    assert len(check.checks) == 2 + 3 * 4
    result = minimize(problem, np.eye(3), tol=1e-10)
    assert result.success, result.message
    assert result.x[0, 1] == pytest.approx(0.1, abs=1e-10)
    assert torch.ones(1).dtype == torch.float32


def test_multipliers_of_a_list_keep_their_order(torch) -> None:
    """min ‖x‖² s.t. xₖ ≥ k + 1 and x₃ = 4: λₖ = 2 (k + 1)."""
    problem = Problem.from_torch(
        Euclidean(4),
        lambda x, least: x @ x,
        inequalities=[lambda x, least: least[0] - x[0], lambda x, least: least[1:] - x[1:3]],
        equalities=lambda x, least: x[3] - 4.0,
        data=[1.0, 2.0, 3.0] @ np.eye(3),
    )
    result = minimize(problem, np.zeros(4))
    assert result.success, result.message
    np.testing.assert_allclose(result.x, [1.0, 2.0, 3.0, 4.0], atol=1e-8)
    np.testing.assert_allclose(result.multipliers, [2.0, 4.0, 6.0], rtol=1e-7)
    np.testing.assert_allclose(result.equality_multipliers, [-8.0], rtol=1e-7)
    other = minimize(problem.with_data(torch.tensor([2.0, 2.0, 2.0])), np.zeros(4))
    np.testing.assert_allclose(other.x, [2.0, 2.0, 2.0, 4.0], atol=1e-8)


@pytest.mark.parametrize("ours", [True, False], ids=["geodual", "pymanopt"])
def test_products(ours: bool, torch) -> None:
    """min y₂ + ‖z‖² s.t. y ≥ 0.5, z₀ ≥ 1 on Sphere(3) × R²: y₂ = 0.5 and z = (1, 0)."""
    manifold = (
        Product(Sphere(3), Euclidean(2)) if ours else peers.Product([peers.Sphere(3), peers.Euclidean(2)])
    )
    problem = Problem.from_torch(
        manifold,
        lambda x: x[0][2] + x[1] @ x[1],
        inequalities=[lambda x: 0.5 - x[0], lambda x: 1.0 - x[1][0]],
    )
    result = minimize(problem, (np.full(3, 3**-0.5), np.zeros(2)))
    assert result.success, result.message
    assert result.cost == pytest.approx(1.5, abs=1e-7)


def test_terms_take_torch_maps_and_have_exact_zeros(torch) -> None:
    """min ½‖x − a‖² + ‖x‖₁ s.t. −1 ≤ Bx ≤ 1: without the box active, a is thresholded by 1."""
    a, B = np.array([3.0, -0.5, 0.2, -2.0]), np.diag([0.1, 1.0, 1.0, 0.1])
    problem = Problem.from_torch(
        Euclidean(4),
        lambda x, data: 0.5 * torch.sum((x - data[0]) ** 2),
        terms=[Term(L1(1.0)), Term(Box(-1.0, 1.0), lambda x, data: data[1] @ x)],
        data=(a, B),
    )
    assert check_gradient(problem, np.ones(4))
    result = minimize(problem, np.ones(4))
    assert result.success, result.message
    np.testing.assert_allclose(result.x, [2.0, 0.0, 0.0, -1.0], atol=1e-8)
    assert result.terms[0].value[[1, 2]].tolist() == [0.0, 0.0]


def test_constant_functions_and_functions_of_one_part_have_derivatives(torch) -> None:
    problem = Problem.from_torch(
        Product(Euclidean(2), Euclidean(1)),
        lambda x: torch.zeros(()),
        inequalities=[lambda x: -torch.ones(2), lambda x: x[1]],
    )
    x, w = (np.ones(2), np.ones(1)), np.array([1.0, 2.0, 3.0])
    (block,) = problem.blocks
    for found in (problem.gradient(x), problem.hessian_product(x, x), block.hessian_product(x, w, x)):
        assert [part.tolist() for part in found] == [[0.0, 0.0], [0.0]]
    assert [part.tolist() for part in block.jacobian_product(x, w)] == [[0.0, 0.0], [3.0]]
    assert block.derivative(x, x).tolist() == [0.0, 0.0, 1.0]


def test_a_function_without_derivative_does_not_spoil_the_others(torch) -> None:
    problem = Problem.from_torch(
        Euclidean(2), lambda x: x @ x, inequalities=[lambda x: torch.sqrt(x[0]), lambda x: x[1] ** 2]
    )
    (block,), x, w = problem.blocks, np.array([0.0, 3.0]), np.array([0.0, 2.0])
    np.testing.assert_array_equal(block.jacobian_product(x, w), [0.0, 12.0])
    np.testing.assert_array_equal(block.hessian_product(x, w, np.ones(2)), [0.0, 4.0])
    np.testing.assert_array_equal(block.rows(x, np.array([1]))[0], [0.0, 6.0])


def test_points_may_be_read_only_and_are_not_changed(torch) -> None:
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    problem = Problem.from_torch(
        Euclidean(2), lambda x: (x if not x.requires_grad else x.clone()).mul_(x).sum()
    )
    assert float(problem.cost(x)) == 5.0
    assert x.tolist() == [1.0, 2.0]
    assert problem.gradient(x[::-1]).tolist() == [4.0, 2.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: float(x.sum()), r"`inequalities\[1\]` must return a tensor, got float"),
        (lambda x: [x[0], x[1]], r"`inequalities\[1\]` must return a tensor, got list.*torch.stack"),
        (lambda x: x.float() @ x, r"`inequalities\[1\]` was called as .*in double precision"),
    ],
)
def test_errors_name_the_function(function, message: str, torch) -> None:
    problem = Problem.from_torch(Euclidean(2), lambda x: x @ x, inequalities=[lambda x: x - 1.0, function])
    with pytest.raises((TypeError, RuntimeError), match=message):
        minimize(problem, np.zeros(2))


def test_a_cost_that_is_not_a_number_is_refused(torch) -> None:
    with pytest.raises(ValueError, match="cost must be a number"):
        minimize(Problem.from_torch(Euclidean(2), lambda x: x), np.zeros(2))


def test_problems_travel_to_other_processes(torch) -> None:
    problem = Problem.from_torch(Euclidean(2), lambda x, d: ((x - d) ** 2).sum(), data=np.full(2, 1.0 / 3.0))
    copy = pickle.loads(dumps(problem))  # as joblib does
    np.testing.assert_array_equal(minimize(copy, np.zeros(2)).x, minimize(problem, np.zeros(2)).x)
