"""Problems from users' fields. Each claim of a result is checked by other means: closed forms or solvers."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import null_space, solve_continuous_lyapunov
from scipy.optimize import linear_sum_assignment, linprog

from geodual.manifolds import (
    SPD,
    ComplexStiefel,
    Euclidean,
    Grassmann,
    PositiveOrthant,
    Product,
    Rotations,
    Sphere,
    Symmetric,
    UnitCircle,
)
from geodual.optimize import (
    L1,
    Constraint,
    GroupL2,
    LInf,
    Max,
    PositiveSemidefinite,
    Problem,
    Quantile,
    SecondOrderCone,
    SimplexSet,
    Term,
    minimize,
)

METHODS = ("proximal-lagrangian", "interior-point")


def linear(A: np.ndarray, b: np.ndarray | float = 0.0) -> Constraint:
    """Return the map x → A x + b with its derivatives."""
    return Constraint(
        lambda x: A @ x + b,
        lambda x, w: A.T @ w,
        directional=lambda x, u: A @ u,
        hessian_product=lambda x, w, u: np.zeros_like(u),
    )


def linear_cost(manifold, c: np.ndarray, **parts) -> Problem:
    """Return the problem to minimize ⟨c, x⟩."""
    return Problem(
        manifold, lambda x: float(np.sum(c * x)), lambda x: c, lambda x, u: np.zeros_like(u), **parts
    )


def least_squares(a: np.ndarray, A: np.ndarray | None = None, **parts) -> Problem:
    """Return the problem to minimize ½ ‖A x − a‖², where A is the identity by default."""
    A = np.eye(len(a)) if A is None else A
    return Problem(
        Euclidean(A.shape[1]),
        lambda x: 0.5 * float(np.sum((A @ x - a) ** 2)),
        lambda x: A.T @ (A @ x - a),
        lambda x, u: A.T @ (A @ u),
        **parts,
    )


class TestSignals:
    def test_spectral_unmixing_finds_exact_zeros(self) -> None:
        rng = np.random.default_rng(1)
        A = rng.normal(size=(15, 40))
        a = A[:, :3] @ np.array([3.0, -2.0, 1.5]) + 0.05 * rng.normal(size=15)
        result = minimize(least_squares(a, A, terms=[Term(L1(1.0))]), np.zeros(40))
        x, y = result.terms[0].value, A.T @ (a - A @ result.x)  # y must be a subgradient of the norm at x
        assert result.success
        assert 3 <= np.count_nonzero(x) <= 15
        np.testing.assert_allclose(y[x != 0.0], np.sign(x[x != 0.0]), atol=1e-6)
        assert np.abs(y).max() <= 1.0 + 1e-6

    @pytest.mark.parametrize("size", [1.0, 1e6])
    def test_trends_of_any_amplitude(self, size: float) -> None:
        """A signal of amplitude 1e6 broke down after 40 seconds."""
        t = np.arange(20.0)
        s, D = size * (np.abs(t - 8.0) / 10.0 + 0.1 * np.sin(9.0 * t)), np.diff(np.eye(20), n=2, axis=0)
        result = minimize(least_squares(s, terms=[Term(L1(0.2 * size), linear(D))]), s)
        bends, y = result.terms[0].value / size, result.terms[0].multiplier / (0.2 * size)
        assert result.success
        # The conditions of optimality: Dᵀy = s − x, |y| ≤ 1, and y is the sign of each bend.
        np.testing.assert_allclose(0.2 * size * D.T @ y, s - result.x, atol=1e-6 * size)
        np.testing.assert_allclose(y[bends != 0.0], np.sign(bends[bends != 0.0]), atol=1e-6)
        assert np.abs(y).max() <= 1.0 + 1e-6
        assert 0 < np.count_nonzero(bends) < 18

    def test_a_filter_with_the_least_largest_error(self) -> None:
        w = np.concatenate([np.linspace(0.0, 0.9, 20), np.linspace(1.5, np.pi, 30)])
        A, d, one = np.cos(np.outer(w, np.arange(7))), (w < 1.2).astype(float), np.ones((50, 1))
        program = linprog(
            [0.0] * 7 + [1.0], np.block([[A, -one], [-A, -one]]), np.append(d, -d), bounds=(None, None)
        )
        problem = linear_cost(Euclidean(7), np.zeros(7), terms=[Term(LInf(1.0), linear(A, -d))])
        result = minimize(problem, np.zeros(7))
        assert result.success
        assert np.abs(A @ result.x - d).max() == pytest.approx(program.fun, abs=1e-8)

    def test_phases_are_synchronized_from_a_saddle_point(self) -> None:
        z = np.exp(1j * np.arange(8.0) ** 2)
        C = np.outer(z, z.conj())
        problem = Problem(
            UnitCircle(8),
            lambda x: -np.real(x.conj() @ C @ x),
            lambda x: -2.0 * C @ x,
            lambda x, u: -2.0 * C @ u,
        )
        result = minimize(problem, z * np.repeat([1.0, -1.0], 4))
        assert result.cost == pytest.approx(-64.0)
        assert result.second_order == "holds"

    def test_a_beam_with_a_null(self) -> None:
        rng = np.random.default_rng(4)
        B = rng.normal(size=(5, 5)) + 1j * rng.normal(size=(5, 5))
        R, b = B @ B.conj().T + np.eye(5), np.exp(-1.5j * np.arange(5))[:, None]
        problem = Problem(
            ComplexStiefel(5, 1),
            lambda w: float(np.real(np.vdot(w, R @ w))),
            lambda w: 2.0 * R @ w,
            lambda w, u: 2.0 * R @ u,
            equalities=lambda w: np.array([np.vdot(b, w).real, np.vdot(b, w).imag]),
            equality_jacobian_product=lambda w, m: (m[0] + 1j * m[1]) * b,
        )
        N = null_space(b.conj().T)
        result = minimize(problem, np.eye(5, 1).astype(complex))
        assert result.success
        assert result.cost == pytest.approx(np.linalg.eigvalsh(N.conj().T @ R @ N)[0])
        assert abs(np.vdot(b, result.x)) < 1e-7


class TestStatistics:
    @pytest.mark.parametrize("budget", range(6))
    def test_the_best_feasible_point_costs_what_is_said(self, budget: int) -> None:
        """The terms at their prox points once counted, which cost less than any point before convergence."""
        rng = np.random.default_rng(5)
        X, y, loss = rng.normal(size=(30, 3)), 10.0 * rng.normal(size=30), Quantile(0.8)
        problem = linear_cost(Euclidean(3), np.zeros(3), terms=[Term(loss, linear(-X, y))])
        result = minimize(problem, np.zeros(3), max_iter=budget)
        best = result.best_feasible
        assert best is not None
        assert best.cost == pytest.approx(loss.value(y - X @ best.x), abs=1e-9)
        if budget:
            assert result.best_cost == pytest.approx(loss.value(y - X @ result.best_x), abs=1e-9)

    def test_tylers_scatter_of_heavy_tails(self) -> None:
        X = np.random.default_rng(7).standard_t(1, (30, 3))

        def weighted(W: np.ndarray) -> np.ndarray:
            lengths = np.einsum("ki,ij,kj->k", X, np.linalg.inv(W), X)
            return np.einsum("ki,kj,k->ij", X, X, 1.0 / lengths) / 10.0

        def gradient(W: np.ndarray) -> np.ndarray:
            inverse = np.linalg.inv(W)
            return inverse - inverse @ weighted(W) @ inverse

        def cost(W: np.ndarray) -> float:
            lengths = np.einsum("ki,ij,kj->k", X, np.linalg.inv(W), X)
            return np.linalg.slogdet(W)[1] + np.log(lengths).sum() / 10.0

        result = minimize(Problem(SPD(3), cost, gradient, geodesically_convex=True), np.eye(3))
        assert result.success
        assert result.global_minimum
        np.testing.assert_allclose(weighted(result.x), result.x, rtol=1e-6, atol=1e-8)

    def test_a_subspace_is_recovered_exactly_among_outliers(self) -> None:
        rng = np.random.default_rng(55)
        U = np.linalg.qr(rng.normal(size=(5, 2)))[0]
        X = np.concatenate([rng.normal(size=(25, 2)) @ U.T, 2.0 * rng.normal(size=(8, 5))])

        def along(V: np.ndarray, H: np.ndarray) -> np.ndarray:
            return -X @ (H @ V.T + V @ H.T)

        rest = Constraint(
            lambda V: X - X @ V @ V.T,
            lambda V, w: -(X.T @ w + w.T @ X) @ V,
            directional=along,
            hessian_product=lambda V, w, H: -(X.T @ w + w.T @ X) @ H,
        )
        rows = np.repeat(np.arange(33)[:, None], 5, axis=1)
        problem = linear_cost(Grassmann(5, 2), np.zeros((5, 2)), terms=[Term(GroupL2(1.0, rows), rest)])
        result = minimize(problem, np.linalg.svd(X)[2][:2].T)
        assert result.success
        assert (~result.terms[0].support).all(axis=1).tolist() == [True] * 25 + [False] * 8
        np.testing.assert_allclose(result.x @ result.x.T, U @ U.T, atol=1e-7)


class TestFinanceAndLogistics:
    @pytest.mark.parametrize("limit", [0.4, 0.5])
    def test_a_portfolio_within_a_risk_that_may_be_too_small(self, limit: float) -> None:
        """With independent assets of risk 1, the least risk of x₀ + x₁ + x₂ + x₃ + x₄ = 1 is 5^(−½)."""
        mu, A = np.array([0.1, 0.08, 0.05, 0.02, 0.0]), np.vstack([np.zeros(5), np.eye(5)])
        cone = Term(SecondOrderCone(), linear(A, np.append(limit, np.zeros(5))))
        result = minimize(linear_cost(Euclidean(5), -mu, terms=[cone, Term(SimplexSet())]), np.full(5, 0.2))
        if limit < 5**-0.5:
            assert result.status == "infeasible"
            return
        # No entry is 0: the best point lies on the sphere, from the center along the centered returns.
        centered = mu - mu.mean()
        x = 0.2 + centered * np.sqrt(limit**2 - 0.2) / np.linalg.norm(centered)
        assert result.success
        np.testing.assert_allclose(result.x, x, atol=1e-6)

    @pytest.mark.parametrize("method", METHODS)
    def test_an_assignment_with_a_redundant_equality(self, method: str) -> None:
        C = np.random.default_rng(32).integers(1, 10, (5, 5)).astype(float)
        problem = linear_cost(
            Euclidean(5, 5),
            C,
            equalities=lambda x: np.concatenate([x.sum(axis=0), x.sum(axis=1)]) - 1.0,
            equality_jacobian_product=lambda x, w: w[None, :5] + w[5:, None],
            lower=0.0,
            geodesically_convex=True,
        )
        result = minimize(problem, np.full((5, 5), 0.2), method)
        best = C[linear_sum_assignment(C)].sum()
        assert result.global_minimum
        assert result.cost == pytest.approx(best)
        assert -result.equality_multipliers.sum() == pytest.approx(
            best
        )  # the dual program has the same value

    def test_a_facility_on_top_of_its_largest_customer(self) -> None:
        places, weights = np.array([[0.0, 0.0], [5.0, 1.0], [-2.0, 4.0], [1.0, -6.0]]), [4.0, 1.0, 1.0, 1.0]
        terms = [
            Term(GroupL2(w, np.zeros(2, dtype=int)), linear(np.eye(2), -a))
            for a, w in zip(places, weights, strict=True)
        ]
        result = minimize(linear_cost(Euclidean(2), np.zeros(2), terms=terms), np.array([3.0, 1.0]))
        assert result.success
        assert result.terms[0].value.tolist() == [0.0, 0.0]
        assert result.cost == pytest.approx(np.linalg.norm(places, axis=1).sum())

    @pytest.mark.parametrize("method", METHODS)
    def test_the_box_of_largest_volume_is_a_cube(self, method: str) -> None:
        def log_area(x: np.ndarray) -> float:
            return np.log((x[0] * x[1] + x[1] * x[2] + x[2] * x[0]) / 3.0)

        problem = Problem(
            PositiveOrthant(3),
            lambda x: -np.log(x).sum(),
            lambda x: -1.0 / x,
            inequalities=log_area,
            jacobian_product=lambda x, w: w[0] * (x.sum() - x) / (3.0 * np.exp(log_area(x))),
            geodesically_convex=True,
        )
        result = minimize(problem, np.array([0.01, 1.0, 30.0]), method)
        assert result.global_minimum
        np.testing.assert_allclose(result.x, 1.0, atol=1e-6)
        assert result.multipliers[0] == pytest.approx(1.5)


class TestControlAndDesign:
    @pytest.mark.parametrize("stable", [True, False])
    def test_a_lyapunov_function_exists_for_stable_systems_only(self, stable: bool) -> None:
        A = np.random.default_rng(11).normal(size=(3, 3)) + (-3.0 if stable else 3.0) * np.eye(3)
        map_ = Constraint(
            lambda P: -(A.T @ P + P @ A) - np.eye(3),
            lambda P, w: -(A @ w + w @ A.T),
            directional=lambda P, U: -(A.T @ U + U @ A),
            hessian_product=lambda P, w, U: np.zeros((3, 3)),
        )
        cone = PositiveSemidefinite()
        result = minimize(
            linear_cost(Symmetric(3), np.eye(3), terms=[Term(cone, map_), Term(cone)]), np.eye(3)
        )
        if stable:
            assert result.success
            np.testing.assert_allclose(result.x, solve_continuous_lyapunov(A.T, -np.eye(3)), atol=1e-6)
        else:
            assert result.status == "infeasible"

    def test_the_cut_of_a_pentagon(self) -> None:
        """The semidefinite bound is 5 (5 + √5)/8."""
        C = -0.25 * (2.0 * np.eye(5) - np.roll(np.eye(5), 1, axis=0) - np.roll(np.eye(5), -1, axis=0))
        problem = linear_cost(
            Symmetric(5),
            C,
            equalities=lambda X: np.diag(X) - 1.0,
            equality_jacobian_product=lambda X, w: np.diag(w),
            terms=[Term(PositiveSemidefinite())],
        )
        result = minimize(problem, np.eye(5))
        assert result.success
        assert -result.cost == pytest.approx(0.625 * (5.0 + 5.0**0.5))
        assert result.terms[0].rank == 2

    @pytest.mark.parametrize("height", [-0.1, 0.1])
    def test_a_chain_hangs_also_if_it_starts_as_an_arch(self, height: float) -> None:
        """Four links of length 0.3 hang between (0, 0) and (1, 0); the arch is the highest chain."""
        D = np.diff(np.eye(5), axis=0)[:, 1:-1]
        ends = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
        problem = linear_cost(
            Euclidean(3, 2),
            np.array([[0.0, 1.0]] * 3),
            equalities=lambda x: np.sum((D @ x + ends) ** 2, axis=1) - 0.09,
            equality_jacobian_product=lambda x, w: 2.0 * D.T @ (w[:, None] * (D @ x + ends)),
        )
        result = minimize(problem, np.array([[0.25, height], [0.5, height], [0.75, height]]))
        assert result.success
        assert result.second_order == "holds"
        links = D @ result.x + ends
        assert (result.x[:, 1] < 0.0).all()
        # The horizontal force is the same in all links, and the vertical one changes by the weight, 1.
        forces = 2.0 * result.equality_multipliers[:, None] * links
        np.testing.assert_allclose(np.diff(forces, axis=0), [[0.0, 1.0]] * 3, atol=1e-6)

    def test_an_attitude_away_from_the_sun(self) -> None:
        """The best attitude is forbidden, and the solve starts there."""
        U, s, Vt = np.linalg.svd(np.random.default_rng(27).normal(size=(3, 3)))
        B, best = U @ np.diag(s) @ Vt, U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        free = linear_cost(Rotations(3), -B)
        assert minimize(free, np.eye(3)).cost == pytest.approx(-np.sum(B * best))
        sun = best[:, 0]
        problem = linear_cost(
            Rotations(3),
            -B,
            inequalities=lambda R: R[:, 0] @ sun - np.cos(0.5),
            jacobian_product=lambda R, w: w[0] * np.outer(sun, [1.0, 0.0, 0.0]),
        )
        results = [minimize(problem, start) for start in (best, np.eye(3))]
        assert all(result.success and result.second_order == "holds" for result in results)
        assert results[0].cost == pytest.approx(results[1].cost)
        assert sun @ results[0].x[:, 0] == pytest.approx(np.cos(0.5))

    def test_the_smallest_cap_that_holds_all_stations(self) -> None:
        angles = np.array([0.0, 1.8, 4.0])
        rim = np.column_stack([0.6 * np.cos(angles), 0.6 * np.sin(angles), np.full(3, 0.8)])
        stations = np.vstack([rim, [0.0, 0.28, 0.96]])
        problem = linear_cost(Sphere(3), np.zeros(3), terms=[Term(Max(1.0), linear(-stations))])
        result = minimize(problem, stations[0])
        assert result.success
        np.testing.assert_allclose(result.x, [0.0, 0.0, 1.0], atol=1e-7)

    @pytest.mark.parametrize("start", [(2.0, 1.0), (0.0, 0.0), (0.5, 0.5)])
    def test_either_of_two_variables_must_be_zero(self, start: tuple[float, float]) -> None:
        problem = least_squares(
            np.ones(2),
            equalities=lambda x: x[0] * x[1],
            equality_jacobian_product=lambda x, w: w[0] * x[::-1],
            lower=0.0,
        )
        result = minimize(problem, np.array(start))
        assert result.success
        assert sorted(result.x) == pytest.approx([0.0, 1.0], abs=1e-6)


class TestHonesty:
    @pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
    def test_a_start_at_the_solution(self, size: float) -> None:
        problem = least_squares(
            size * np.array([3.0, -1.0, 2.0]), lower=0.0, upper=2.5 * size, geodesically_convex=True
        )
        result = minimize(problem, size * np.array([2.5, 0.0, 2.0]))
        assert result.global_minimum
        np.testing.assert_allclose(result.lower_multipliers, [0.0, size, 0.0], atol=1e-7 * size)
        np.testing.assert_allclose(result.upper_multipliers, [0.5 * size, 0.0, 0.0], atol=1e-7 * size)

    def test_a_kink_makes_a_minimum_of_a_saddle_point(self) -> None:
        """Without the norm (e₁, e₁) is a saddle point; with it every direction costs more at first."""
        C, e = np.diag([3.0, 2.0, 1.0]), np.eye(3)
        for weight, cost in ((0.05, -1.9), (0.0, -3.0)):
            problem = Problem(
                Product(Sphere(3), Sphere(3)),
                lambda x: -x[0] @ C @ x[1],
                lambda x: (-C @ x[1], -C @ x[0]),
                lambda x, u: (-C @ u[1], -C @ u[0]),
                terms=[Term(L1(weight))],
            )
            result = minimize(problem, (e[1], e[1]))
            assert result.second_order == "holds"
            assert result.cost == pytest.approx(cost)

    @pytest.mark.parametrize("method", METHODS)
    def test_two_caps_that_do_not_meet(self, method: str) -> None:
        up = np.array([0.0, 0.0, 1.0])
        problem = linear_cost(
            Sphere(3),
            np.array([1.0, 0.0, 0.0]),
            inequalities=lambda x: np.array([0.5 - x[2], 0.5 + x[2]]),
            jacobian_product=lambda x, w: (w[1] - w[0]) * up,
        )
        assert minimize(problem, np.array([1.0, 0.0, 0.0]), method).status == "infeasible"

    @pytest.mark.parametrize("method", METHODS)
    def test_a_cost_without_a_bound_is_not_minimized(self, method: str) -> None:
        rows = np.array([[-2.0, 1.0], [-0.5, 1.0]])
        problem = linear_cost(
            Euclidean(2),
            np.array([-1.0, 1.0]),
            inequalities=lambda x: rows @ x,
            jacobian_product=lambda x, w: rows.T @ w,
            lower=0.0,
        )
        assert minimize(problem, np.array([2.0, 0.5]), method).status == "unbounded"

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        "wrong",
        [lambda g, x: -g, lambda g, x: g * [1, 1, -1], lambda g, x: g + 1e-3, lambda g, x: g + x[::-1]],
    )
    def test_a_wrong_gradient_is_named_also_where_the_solve_gets_stuck(
        self, wrong: Callable, method: str
    ) -> None:
        """The message was that a derivative may be wrong, though two values of the cost show which one is."""
        a, A = np.array([1.0, -1.0, 2.0]), np.diag([1.0, 2.0, 3.0])
        right = least_squares(a, A)
        result = minimize(
            Problem(Euclidean(3), right.cost, lambda x: wrong(right.gradient(x), x)), np.full(3, 0.3), method
        )
        assert result.status == "breakdown"
        assert "The gradient of the cost contradicts" in result.message

    @pytest.mark.parametrize("wrong", [-2.0, 0.0, 1.0])
    def test_a_wrong_gradient_of_a_constraint_is_named(self, wrong: float) -> None:
        problem = least_squares(
            np.array([2.0, -1.0, 0.5]),
            inequalities=lambda x: x @ x - 1.0,
            jacobian_product=lambda x, w: wrong * w[0] * x,
        )
        result = minimize(problem, np.full(3, 0.1))
        assert result.status == "breakdown"
        assert "The gradient of inequalities[0] contradicts" in result.message
