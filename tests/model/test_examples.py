"""Examples from papers on manifolds, proved and solved, against fixed points, closed forms and other solvers.

Those of Cheng, Dixit and Weber, "Disciplined geodesically convex programming" (arXiv:2407.05261), come first.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import linalg, optimize

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, Hyperbolic, Sphere


def spd_matrices(n: int, m: int, seed: int) -> np.ndarray:
    factors = np.random.default_rng(seed).standard_normal((m, n, 2 * n))
    return factors @ np.swapaxes(factors, 1, 2) / (2.0 * n)


def function_of(matrix: np.ndarray, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return a function of a symmetric matrix, by its eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * of(eigenvalues)) @ vectors.T


def iterate(step: Callable[[np.ndarray], np.ndarray], start: np.ndarray, n: int = 400) -> np.ndarray:
    for _ in range(n):
        start = step(start)
    return start


def solved(problem: gm.Problem, gap: float | None = None) -> gm.ModelResult:
    """Solve a problem that must be proved to be geodesically convex."""
    assert problem.is_dgcp(), problem.explain()
    result = problem.solve()
    assert result.success, result.message
    if gap is not None:
        assert result.gap is not None, result.bound_reason
        assert result.gap <= gap, result
    return result


def karcher_step(x: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the exponential map of the mean of the logarithms, written with scipy."""
    root = function_of(x, np.sqrt)
    back = np.linalg.inv(root)
    mean = np.mean([function_of(back @ p @ back, np.log) for p in points], axis=0)
    return root @ function_of(mean, np.exp) @ root


def test_karcher_mean() -> None:
    points = spd_matrices(4, 6, seed=1)
    X = gm.Variable(SPD(4), name="X")
    result = solved(gm.Problem(gm.Minimize(gm.sum(gm.distance2(X, points)) / 6.0)), gap=1e-9)
    mean = iterate(lambda x: karcher_step(x, points), points.mean(0), 60)
    np.testing.assert_allclose(result.x, mean, atol=1e-8)


def test_karcher_mean_with_a_bounded_trace() -> None:
    points = spd_matrices(3, 5, seed=2)
    X = gm.Variable(SPD(3), name="X")
    problem = gm.Problem(gm.Minimize(gm.sum(gm.distance2(X, points))), [gm.trace(X) <= 1.5])
    result = solved(problem, gap=1e-6)

    def cost(entries: np.ndarray) -> float:
        """Return the cost of a scaled Cholesky factor, whose trace is the bound."""
        L = np.zeros((3, 3))
        L[np.tril_indices(3)] = entries
        x = L @ L.T * 1.5 / np.sum(L**2)
        return sum(np.sum(np.log(linalg.eigh(p, x, eigvals_only=True)) ** 2) for p in points)

    oracle = optimize.minimize(cost, np.eye(3)[np.tril_indices(3)], tol=1e-10)
    assert np.trace(points.mean(0)) > 1.5
    assert result.cost == pytest.approx(oracle.fun, abs=1e-7)


def test_median_of_matrices() -> None:
    points = spd_matrices(3, 5, seed=3)
    X = gm.Variable(SPD(3), name="X")
    result = solved(gm.Problem(gm.Minimize(gm.sum(gm.distance(X, points)))))

    def weiszfeld(x: np.ndarray) -> np.ndarray:
        root = function_of(x, np.sqrt)
        back = np.linalg.inv(root)
        logs = np.array([function_of(back @ p @ back, np.log) for p in points])
        weights = 1.0 / np.linalg.norm(logs, axis=(1, 2))
        return root @ function_of(np.tensordot(weights / weights.sum(), logs, 1), np.exp) @ root

    np.testing.assert_allclose(result.x, iterate(weiszfeld, points.mean(0), 200), atol=1e-6)


def test_tyler_m_estimator() -> None:
    """Tyler's estimator has no scale; the determinant fixes it."""
    y = np.random.default_rng(4).standard_t(2.0, (30, 4))
    X = gm.Variable(SPD(4), name="X")
    cost = gm.sum(gm.log(gm.quad_form(y, gm.inv(X)))) / 30.0 + 0.25 * gm.log_det(X)
    result = solved(gm.Problem(gm.Minimize(cost), [gm.log_det(X) == 0.0]), gap=1e-8)

    def tyler(x: np.ndarray) -> np.ndarray:
        x = (y / np.einsum("ki,ij,kj->k", y, np.linalg.inv(x), y)[:, None]).T @ y * 4.0 / 30.0
        return x / np.linalg.det(x) ** 0.25

    np.testing.assert_allclose(result.x, iterate(tyler, np.eye(4)), atol=1e-7)


def test_matrix_square_root_by_s_divergences() -> None:
    A = spd_matrices(5, 1, seed=5)[0]
    X = gm.Variable(SPD(5), name="X")
    result = solved(gm.Problem(gm.Minimize(gm.s_divergence(X, A) + gm.s_divergence(X, np.eye(5)))))
    np.testing.assert_allclose(result.x, linalg.sqrtm(A), atol=1e-7)


def test_brascamp_lieb_constant_of_young_type() -> None:
    """Data of rank one: the supremum is a geometric program, which scipy solves in logarithms."""
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    X = gm.Variable(SPD(2), name="X")
    parts = [gm.log_det(v[None, :] @ X @ v[:, None]) for v in vectors]
    cost = 2.0 / 3.0 * gm.sum(parts) - gm.log_det(X)
    result = solved(gm.Problem(gm.Minimize(cost)))

    def dual(s: np.ndarray) -> float:
        """Return the cost of X = (Σ cᵢ eˢⁱ vᵢ vᵢᵀ)⁻¹ in the dual form of Ball."""
        weights = np.exp(s)
        M = (vectors * weights[:, None]).T @ vectors * 2.0 / 3.0
        return float(np.linalg.slogdet(M)[1] - 2.0 / 3.0 * s.sum())

    oracle = optimize.minimize(dual, np.zeros(3), tol=1e-12)
    assert result.cost == pytest.approx(oracle.fun, abs=1e-9)


def test_operator_scaling() -> None:
    """Gurvits: the capacity inf det(Σ Aₖ X Aₖᵀ)/det X; scaled operators are doubly stochastic there."""
    A = np.random.default_rng(6).standard_normal((4, 3, 3))
    X = gm.Variable(SPD(3), name="X")
    image = gm.sum([a @ X @ a.T for a in A])
    problem = gm.Problem(gm.Minimize(gm.log_det(image) - gm.log_det(X)), [gm.log_det(X) == 0.0])
    result = solved(problem, gap=1e-8)

    def sinkhorn(x: np.ndarray) -> np.ndarray:
        left = np.linalg.inv(np.sum(A @ x @ np.swapaxes(A, 1, 2), axis=0))
        x = np.linalg.inv(np.sum(np.swapaxes(A, 1, 2) @ left @ A, axis=0))
        return x / np.linalg.det(x) ** (1.0 / 3.0)

    np.testing.assert_allclose(result.x, iterate(sinkhorn, np.eye(3)), atol=1e-7)


def test_diagonal_loading() -> None:
    """The paper's tr X⁻¹ + log det X is least at the identity; loaded, at a multiple of it."""
    X = gm.Variable(SPD(5), name="X")
    plain = solved(gm.Problem(gm.Minimize(gm.trace(gm.inv(X)) + gm.log_det(X))))
    np.testing.assert_allclose(plain.x, np.eye(5), atol=1e-6)
    loaded = gm.trace(gm.inv(X)) + gm.log_det(X) + gm.trace(X + 0.5 * np.eye(5)) ** 2
    x = optimize.brentq(lambda x: -1.0 / x**2 + 1.0 / x + 2.0 * (5.0 * x + 2.5), 0.01, 1.0)
    np.testing.assert_allclose(solved(gm.Problem(gm.Minimize(loaded))).x, x * np.eye(5), atol=1e-7)


def test_every_expression_of_the_published_package_is_proved() -> None:
    """The expressions that SymbolicAnalysis.jl tests, but for those that the documentation corrects."""
    X, y = gm.Variable(SPD(5), name="X"), np.random.default_rng(7).random((5, 5))
    A, B = spd_matrices(5, 2, seed=8)
    expressions = [
        gm.log_det(gm.congruence(gm.inv(X), A)),
        gm.log(gm.trace(gm.inv(X))),
        gm.log_det(gm.congruence(X, A)) - gm.log_det(X),
        gm.trace(gm.congruence(X, A)),
        gm.sum([gm.s_divergence(X, point) for point in (A, B)]),
        gm.log(gm.sum(gm.quad_form(y, X))),
        gm.log(gm.sum(gm.quad_form(y, gm.inv(X)))),
        gm.sum_log_largest(X, 2),
        gm.lambda_sum_largest(X, 2),
        gm.trace(gm.congruence(X, A) + B),
        gm.log_det(gm.hadamard(X, A) + B),
        gm.quad_form(np.ones(5), gm.hadamard(X, B)),
        gm.schatten_norm(X, 3.0),
        gm.log_norm(X, 3.0),
        gm.distance(X, np.eye(5)),  # the Frobenius norm of log X
        gm.lambda_max(X),
        gm.sum(gm.diag(X)),
    ]
    assert [str(e) for e in expressions if not e.is_convex()] == []


def test_student_t_estimator() -> None:
    """The maximum likelihood of a multivariate t distribution, by its EM iteration."""
    y, nu = np.random.default_rng(9).standard_t(3.0, (40, 3)), 3.0
    X = gm.Variable(SPD(3), name="X")
    tails = gm.sum(gm.log(nu + gm.quad_form(y, gm.inv(X))))
    result = solved(gm.Problem(gm.Minimize(0.5 * (nu + 3.0) * tails / 40.0 + 0.5 * gm.log_det(X))))

    def em(x: np.ndarray) -> np.ndarray:
        weights = (nu + 3.0) / (nu + np.einsum("ki,ij,kj->k", y, np.linalg.inv(x), y))
        return (y * weights[:, None]).T @ y / 40.0

    np.testing.assert_allclose(result.x, iterate(em, np.eye(3)), atol=1e-7)


def test_kotz_type_estimator() -> None:
    """Sra and Hosseini: Kotz-type likelihoods are convex along geodesics, here with shape β = 1/2."""
    y, alpha, beta = np.random.default_rng(10).standard_normal((40, 3)), 2.0, 0.5
    X = gm.Variable(SPD(3), name="X")
    t = gm.quad_form(y, gm.inv(X))
    cost = gm.sum((1.5 - alpha) * gm.log(t) + gm.power(t, beta)) / 40.0 + 0.5 * gm.log_det(X)
    assert not gm.Problem(gm.Minimize(cost)).is_dgcp()  # α above n/2: a concave logarithm remains
    cost = gm.sum(0.5 * gm.log(t) + gm.power(t, beta)) / 40.0 + 0.5 * gm.log_det(X)  # α = 1
    result = solved(gm.Problem(gm.Minimize(cost)))

    def fixed_point(x: np.ndarray) -> np.ndarray:
        t = np.einsum("ki,ij,kj->k", y, np.linalg.inv(x), y)
        weights = 2.0 * (0.5 / t + beta * t ** (beta - 1.0))
        return (y * weights[:, None]).T @ y / 40.0

    np.testing.assert_allclose(result.x, iterate(fixed_point, np.eye(3)), atol=1e-6)


def test_gaussian_and_wishart_likelihoods() -> None:
    """Both are least at closed forms: the sample covariance, and S/m of an inverse Wishart prior's mode."""
    S = spd_matrices(4, 1, seed=11)[0]
    X = gm.Variable(SPD(4), name="X")
    gaussian = solved(gm.Problem(gm.Minimize(gm.trace(S @ gm.inv(X)) + gm.log_det(X))), gap=1e-8)
    np.testing.assert_allclose(gaussian.x, S, atol=1e-7)
    wishart = gm.trace(np.linalg.inv(S) @ X) - (9.0 - 5.0) * gm.log_det(X)  # 9 degrees of freedom
    np.testing.assert_allclose(solved(gm.Problem(gm.Minimize(wishart)), gap=1e-8).x, 4.0 * S, atol=1e-6)


def test_optimistic_likelihood() -> None:
    """Nguyen et al. 2019: a likelihood within a Fisher-Rao ball; the data commute, so scipy can solve it."""
    Q = linalg.qr(np.random.default_rng(12).standard_normal((3, 3)))[0]
    center, sample, radius = np.array([1.0, 2.0, 0.5]), np.array([4.0, 0.3, 1.5]), 0.8
    X = gm.Variable(SPD(3), name="X")
    S = Q @ np.diag(sample) @ Q.T
    ball = gm.distance(X, Q @ np.diag(center) @ Q.T) <= radius
    result = solved(gm.Problem(gm.Minimize(gm.trace(S @ gm.inv(X)) + gm.log_det(X)), [ball]), gap=1e-6)

    def cost(u: np.ndarray) -> float:
        return float(np.sum(sample * np.exp(-u) + u))

    inside = {"type": "ineq", "fun": lambda u: radius**2 - np.sum((u - np.log(center)) ** 2)}
    oracle = optimize.minimize(cost, np.log(center), constraints=inside, tol=1e-13)
    assert result.cost == pytest.approx(oracle.fun, abs=1e-7)
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(result.x)), np.sort(np.exp(oracle.x)), atol=1e-5)


def test_smallest_condition_number() -> None:
    """The logarithm of the condition number falls by √2 times the radius of a ball."""
    X = gm.Variable(SPD(2), name="X")
    cost = gm.log(gm.lambda_max(X)) + gm.log(gm.lambda_max(gm.inv(X)))
    problem = gm.Problem(gm.Minimize(cost), [gm.distance2(X, np.diag([1.0, 50.0])) <= 1.0])
    assert solved(problem).cost == pytest.approx(np.log(50.0) - np.sqrt(2.0), abs=1e-7)


def test_bounds_in_the_loewner_order() -> None:
    """The Gaussian likelihood with a floor: eigenvalues below the floor are raised to it."""
    S = np.diag([0.2, 1.0, 3.0])
    X = gm.Variable(SPD(3), name="X")
    problem = gm.Problem(gm.Minimize(gm.trace(gm.inv(X) @ S) + gm.log_det(X)), [gm.inv(X) << 2.0 * np.eye(3)])
    np.testing.assert_allclose(solved(problem).x, np.diag([0.5, 1.0, 3.0]), atol=1e-6)


def lift(points: np.ndarray) -> np.ndarray:
    return np.hstack([np.sqrt(1.0 + np.sum(points**2, axis=1))[:, None], points])


def test_hyperbolic_mean_and_median() -> None:
    """The median is not one of the points, where distances have a kink."""
    points = lift(np.random.default_rng(17).standard_normal((6, 2)))
    x = gm.Variable(Hyperbolic(2), name="x")

    def distances(y: np.ndarray) -> np.ndarray:
        z = lift(y[None, :])[0]
        return np.arccosh(np.maximum(points[:, 0] * z[0] - points[:, 1:] @ z[1:], 1.0))

    for power in (2, 1):
        cost = gm.sum([gm.distance(x, p) ** power for p in points])
        result = solved(gm.Problem(gm.Minimize(cost)), gap=1e-8 if power == 2 else None)
        oracle = optimize.minimize(lambda y, p=power: np.sum(distances(y) ** p), np.zeros(2), tol=1e-10)
        assert result.cost == pytest.approx(oracle.fun, abs=1e-7)


def test_hyperbolic_center_of_mass_is_a_lorentz_mean() -> None:
    """Σ cosh d(x, pᵢ) is least at the normalized sum of the points, a closed form."""
    points = lift(np.random.default_rng(14).standard_normal((5, 3)))
    x = gm.Variable(Hyperbolic(3), name="x")
    result = solved(gm.Problem(gm.Minimize(gm.sum([gm.lorentz(x, p) for p in points]))))
    total = points.sum(0)
    length = np.sqrt(total[0] ** 2 - np.sum(total[1:] ** 2))
    np.testing.assert_allclose(result.x, total / length, atol=1e-7)
    assert result.cost == pytest.approx(length, abs=1e-10)


def test_busemann_functions_and_a_horoball() -> None:
    """The point of the horoball b ≤ -1 nearest to the origin lies at a distance of 1."""
    x = gm.Variable(Hyperbolic(2), name="x")
    busemann = gm.log(gm.lorentz(x, np.array([1.0, 0.6, 0.8])))
    problem = gm.Problem(gm.Minimize(gm.distance2(x, np.array([1.0, 0.0, 0.0]))), [busemann <= -1.0])
    result = solved(problem, gap=1e-7)
    np.testing.assert_allclose(result.x, [np.cosh(1.0), 0.6 * np.sinh(1.0), 0.8 * np.sinh(1.0)], atol=1e-6)


def test_least_squares_in_hyperbolic_space() -> None:
    """Ferreira et al., with the data of SymbolicAnalysis.jl, whose last coordinate is our first."""
    A, y = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0], [2.0, 2.0, 10.0]]), np.array([1.0, 2.0, -5.0])
    A = A[:, [2, 0, 1]]
    x, slope = gm.Variable(Hyperbolic(2), name="x"), -2.0 * A.T @ y
    linear = gm.lorentz(x, slope * np.array([1.0, -1.0, -1.0]))
    result = solved(gm.Problem(gm.Minimize(gm.lorentz_quadratic(A.T @ A, x) + linear + y @ y)))
    oracle = optimize.minimize(lambda u: np.sum((A @ lift(u[None, :])[0] - y) ** 2), np.zeros(2), tol=1e-10)
    assert result.cost == pytest.approx(oracle.fun, abs=1e-7)


def test_mean_and_median_on_a_sphere_within_a_ball() -> None:
    rng, north = np.random.default_rng(16), np.array([0.0, 0.0, 1.0])
    points = north + 0.25 * rng.standard_normal((5, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    x = gm.Variable(Sphere(3), name="x", center=north, radius=0.75)
    mean = solved(gm.Problem(gm.Minimize(gm.sum([gm.distance2(x, p) for p in points]))))
    median = solved(gm.Problem(gm.Minimize(gm.sum([gm.distance(x, p) for p in points]))))

    def distances(u: np.ndarray) -> np.ndarray:
        point = np.array([u[0], u[1], 1.0]) / np.sqrt(1.0 + u @ u)
        return np.arccos(np.clip(points @ point, -1.0, 1.0))

    for result, power in ((mean, 2), (median, 1)):
        oracle = optimize.minimize(lambda u, p=power: np.sum(distances(u) ** p), np.zeros(2), tol=1e-10)
        assert result.cost == pytest.approx(oracle.fun, abs=1e-7)


def test_two_matrices_near_their_data_and_each_other() -> None:
    """They cut the geodesic from one datum to the other into thirds."""
    A, B = spd_matrices(3, 2, seed=16)
    X, Y = gm.Variable(SPD(3), name="X"), gm.Variable(SPD(3), name="Y")
    cost = gm.distance2(X, A) + gm.distance2(Y, B) + gm.distance2(X, Y)
    result = solved(gm.Problem(gm.Minimize(cost)))
    root = function_of(A, np.sqrt)
    back = np.linalg.inv(root)
    for name, t in (("X", 1.0 / 3.0), ("Y", 2.0 / 3.0)):
        point = root @ function_of(back @ B @ back, lambda e, t=t: e**t) @ root
        np.testing.assert_allclose(result.x[name], point, atol=1e-7)


def test_a_model_with_straight_and_curved_variables() -> None:
    """A problem may have variables on several manifolds."""
    x, X = gm.Variable(Euclidean(2), name="x"), gm.Variable(SPD(2), name="X")
    problem = gm.Problem(
        gm.Minimize(gm.sum_squares(x - 1.0) + gm.distance2(X, np.eye(2))), [gm.sum(x) <= 1.0]
    )
    result = solved(problem, gap=1e-7)
    np.testing.assert_allclose(result.x["x"], [0.5, 0.5], atol=1e-7)
    np.testing.assert_allclose(result.x["X"], np.eye(2), atol=1e-7)
