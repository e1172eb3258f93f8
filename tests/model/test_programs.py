"""Examples on positive vectors and along straight lines, against cvxpy, scipy and closed forms."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import optimize

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, PositiveOrthant, Simplex


def solved(problem: gm.Problem, proved: str, gap: float | None = 1e-6) -> gm.ModelResult:
    """Solve a problem that must be proved to be convex in a geometry."""
    assert problem.proved == proved, problem.explain()
    result = problem.solve()
    assert result.success, result.message
    if gap is not None:
        assert result.gap is not None, result.bound_reason
        assert result.gap <= gap, result
    return result


def test_box_of_largest_volume() -> None:
    """Boyd et al. 2007, section 1: limits on the areas of walls and floor, and on the ratios of the sides."""
    wall, floor, low, high = 200.0, 60.0, 0.5, 2.0
    box = gm.Variable(PositiveOrthant(3), name="box")
    h, w, d = box
    limits = [2.0 * h * w + 2.0 * h * d <= wall, w * d <= floor, low * w <= h, h <= high * w]
    limits += [low * w <= d, d <= high * w]
    result = solved(gm.Problem(gm.Maximize(h * w * d), limits), "geodesic")

    h, w, d = (cp.Variable(pos=True) for _ in range(3))
    rules = [2 * (h * w + h * d) <= wall, w * d <= floor, h / w >= low, h / w <= high, d / w >= low]
    peer = cp.Problem(cp.Maximize(h * w * d), [*rules, d / w <= high])
    peer.solve(gp=True)
    assert float(result.value) == pytest.approx(peer.value, rel=1e-5)


def test_power_control() -> None:
    """Boyd et al. 2007: the least total power with which every receiver reaches a signal-to-noise ratio."""
    rng, n = np.random.default_rng(0), 4
    gains = rng.uniform(0.01, 0.1, (n, n)) + np.eye(n)
    noise, ratio = rng.uniform(0.1, 0.5, n), 1.5
    p = gm.Variable(PositiveOrthant(n), name="p")
    limits = []
    for k in range(n):
        others = np.where(np.arange(n) == k, 0.0, gains[k])
        limits.append(ratio * (noise[k] + others @ p) <= gains[k, k] * p[k])
    result = solved(gm.Problem(gm.Minimize(gm.sum(p)), limits), "geodesic")
    # All constraints are tight, so the powers solve a linear system.
    system = np.diag(np.diag(gains)) - ratio * (gains - np.diag(np.diag(gains)))
    np.testing.assert_allclose(result.x, np.linalg.solve(system, ratio * noise), rtol=1e-6)


def test_floor_planning() -> None:
    """Two rooms beside a third: the least area of the house, given the areas and shapes of the rooms."""
    w, h = gm.Variable(PositiveOrthant(3), name="w"), gm.Variable(PositiveOrthant(3), name="h")
    areas, size = np.array([12.0, 8.0, 15.0]), gm.Variable(PositiveOrthant(2), name="size")
    limits = [w[0] + w[1] <= size[0], w[2] <= size[0]]
    limits += [gm.max([h[0] + h[2], h[1] + h[2]]) <= size[1]]
    limits += [w[k] * h[k] == areas[k] for k in range(3)] + [w <= 2.0 * h, h <= 2.0 * w]
    result = solved(gm.Problem(gm.Minimize(size[0] * size[1]), limits), "geodesic", gap=None)

    W, H, S = (cp.Variable(k, pos=True) for k in (3, 3, 2))
    rules = [W[0] + W[1] <= S[0], W[2] <= S[0], cp.maximum(H[0], H[1]) + H[2] <= S[1], W <= 2 * H, H <= 2 * W]
    peer = cp.Problem(cp.Minimize(S[0] * S[1]), rules + [W[k] * H[k] == areas[k] for k in range(3)])
    peer.solve(gp=True)
    assert result.cost == pytest.approx(peer.value, rel=1e-5)


def test_gate_sizing() -> None:
    """Boyd et al. 2005: the least delay of four gates with a limit on their area; the slower path counts."""
    x = gm.Variable(PositiveOrthant(4), name="x")
    load = [1.0 + x[1] + x[2], 0.5 + x[3], 0.8 + x[3], 4.0]
    delay = [load[k] / x[k] for k in range(4)]
    paths = [delay[0] + delay[1] + delay[3], delay[0] + delay[2] + delay[3]]
    limits = [gm.sum(x) <= 12.0, x >= 1.0]
    result = solved(gm.Problem(gm.Minimize(gm.max(paths)), limits), "geodesic", gap=None)

    X = cp.Variable(4, pos=True)
    loads = [1 + X[1] + X[2], 0.5 + X[3], 0.8 + X[3], 4.0]
    d = [loads[k] / X[k] for k in range(4)]
    worst = cp.maximum(d[0] + d[1] + d[3], d[0] + d[2] + d[3])
    peer = cp.Problem(cp.Minimize(worst), [cp.sum(X) <= 12.0, X >= 1.0])
    peer.solve(gp=True)
    assert result.cost == pytest.approx(peer.value, rel=1e-5)


def test_matrix_scaling() -> None:
    """Sinkhorn's scaling to a doubly stochastic matrix, as a geometric program."""
    A, n = np.random.default_rng(1).random((4, 4)) + 0.1, 4
    x = gm.Variable(PositiveOrthant(n), name="x")
    problem = gm.Problem(gm.Minimize(gm.sum(gm.log(A @ x)) - gm.sum(gm.log(x))), [gm.prod(x) == 1.0])
    result = solved(problem, "geodesic", gap=1e-8)
    row, column = np.ones(n), np.ones(n)
    for _ in range(500):
        row = 1.0 / (A @ column)
        column = 1.0 / (A.T @ row)
    scaled = (A * result.x) / (A @ result.x)[:, None]
    np.testing.assert_allclose(scaled, A * np.outer(row, column), atol=1e-7)


def test_perron_root() -> None:
    """The spectral radius of a positive matrix is the least λ with A x ≤ λ x, a geometric program."""
    A = np.random.default_rng(2).random((4, 4)) + 0.1
    x, root = gm.Variable(PositiveOrthant(4), name="x"), gm.Variable(PositiveOrthant(1), name="root")
    limits = [A @ x <= root[0] * x, gm.prod(x) == 1.0]
    result = solved(gm.Problem(gm.Minimize(root[0]), limits), "geodesic", gap=None)
    assert result.cost == pytest.approx(max(abs(np.linalg.eigvals(A))), abs=1e-7)


def test_metric_learning_by_log_det() -> None:
    """Davis et al. 2007 (ITML): the nearest metric to the identity under bounds on distances of pairs."""
    rng = np.random.default_rng(3)
    near, far = rng.standard_normal((3, 3)), 3.0 * rng.standard_normal((3, 3))
    X = gm.Variable(SPD(3), name="X")
    limits = [gm.quad_form(near, X) <= 1.0, gm.quad_form(far, X) >= 4.0]
    problem = gm.Problem(gm.Minimize(gm.trace(X) - gm.log_det(X) - 3.0), limits)
    assert not problem.is_dgcp()  # far pairs are convex along straight lines only
    result = solved(problem, "euclidean", gap=1e-6)

    W = cp.Variable((3, 3), PSD=True)
    rules = [v @ W @ v <= 1.0 for v in near] + [v @ W @ v >= 4.0 for v in far]
    peer = cp.Problem(cp.Minimize(cp.trace(W) - cp.log_det(W) - 3.0), rules)
    peer.solve(solver=cp.CLARABEL)
    assert result.cost == pytest.approx(peer.value, abs=1e-5)


def test_sparse_precision_matrix() -> None:
    """The graphical lasso: entries of the precision matrix become exact zeros."""
    factor = np.random.default_rng(4).standard_normal((30, 4))
    S = factor.T @ factor / 30.0
    X = gm.Variable(SPD(4), name="X")
    entries = gm.hstack([X[i, j] for i in range(4) for j in range(i)])
    cost = gm.trace(S @ X) - gm.log_det(X) + 0.4 * gm.norm(entries, 1)
    result = solved(gm.Problem(gm.Minimize(cost)), "euclidean")

    P = cp.Variable((4, 4), PSD=True)
    size = cp.sum(cp.abs(cp.hstack([P[i, j] for i in range(4) for j in range(i)])))
    peer = cp.Problem(cp.Minimize(cp.trace(S @ P) - cp.log_det(P) + 0.4 * size))
    peer.solve(solver=cp.CLARABEL)
    assert result.cost == pytest.approx(peer.value, abs=1e-5)


def test_d_optimal_design() -> None:
    """The design of most information, by the multiplicative algorithm of Silvey, Titterington and Torsney."""
    V = np.random.default_rng(5).standard_normal((10, 3))
    x = gm.Variable(Simplex(10), name="x")
    information = gm.sum([x[k] * np.outer(v, v) for k, v in enumerate(V)])
    result = solved(gm.Problem(gm.Maximize(gm.log_det(information))), "euclidean")
    w = np.full(10, 0.1)
    for _ in range(20000):
        inverse = np.linalg.inv((V * w[:, None]).T @ V)
        w = w * np.einsum("ki,ij,kj->k", V, inverse, V) / 3.0
    assert float(result.value) == pytest.approx(np.linalg.slogdet((V * w[:, None]).T @ V)[1], abs=1e-6)


def test_lasso() -> None:
    rng = np.random.default_rng(6)
    A, b = rng.standard_normal((20, 6)), rng.standard_normal(20)
    x = gm.Variable(Euclidean(6), name="x")
    result = solved(
        gm.Problem(gm.Minimize(0.5 * gm.sum_squares(A @ x - b) + 2.0 * gm.norm(x, 1))), "geodesic"
    )

    def shrink(z: np.ndarray, t: float = 1.0 / np.linalg.norm(A, 2) ** 2) -> np.ndarray:
        z = z - t * A.T @ (A @ z - b)
        return np.sign(z) * np.maximum(np.abs(z) - 2.0 * t, 0.0)

    peer = np.zeros(6)
    for _ in range(3000):
        peer = shrink(peer)
    np.testing.assert_allclose(result.x, peer, atol=1e-6)
    assert (peer == 0.0).any()


def test_minimax_facility() -> None:
    """The center of the smallest disk around an equilateral triangle is its centroid."""
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, np.sqrt(3.0)]])
    x = gm.Variable(Euclidean(2), name="x")
    problem = gm.Problem(gm.Minimize(gm.max([gm.distance2(x, c) for c in corners])))
    result = solved(problem, "geodesic", gap=None)
    np.testing.assert_allclose(result.x, corners.mean(0), atol=1e-6)
    assert result.cost == pytest.approx(4.0 / 3.0, abs=1e-7)


def test_entropy_on_the_simplex() -> None:
    """Maximum entropy with a given mean: an exponential family, whose one parameter scipy finds."""
    values = np.arange(1.0, 7.0)
    x = gm.Variable(Simplex(6), name="x")
    problem = gm.Problem(gm.Maximize(gm.sum(gm.entr(x))), [values @ x == 4.5])
    result = solved(problem, "euclidean")

    def mean(t: float) -> float:
        weights = np.exp(t * values)
        return float(weights @ values / weights.sum() - 4.5)

    weights = np.exp(optimize.brentq(mean, -1.0, 1.0, xtol=1e-14) * values)
    np.testing.assert_allclose(result.x, weights / weights.sum(), atol=1e-6)


def test_robust_and_logistic_regression() -> None:
    rng = np.random.default_rng(7)
    A, b = rng.standard_normal((30, 3)), rng.standard_t(1.0, 30)
    x, X = gm.Variable(Euclidean(3), name="x"), cp.Variable(3)
    huber = solved(gm.Problem(gm.Minimize(gm.sum(gm.huber(A @ x - b)))), "geodesic", gap=None)
    peer = cp.Problem(cp.Minimize(0.5 * cp.sum(cp.huber(A @ X - b))))
    peer.solve(solver=cp.CLARABEL)
    assert huber.cost == pytest.approx(peer.value, abs=1e-5)
    signs = np.sign(b)
    margins = gm.sum(gm.logistic((-signs[:, None] * A) @ x)) + gm.sum_squares(x)
    logistic = solved(gm.Problem(gm.Minimize(margins)), "geodesic", gap=1e-7)
    peer = cp.Problem(cp.Minimize(cp.sum(cp.logistic(-signs[:, None] * A @ X)) + cp.sum_squares(X)))
    peer.solve(solver=cp.CLARABEL)
    assert logistic.cost == pytest.approx(peer.value, abs=1e-5)
