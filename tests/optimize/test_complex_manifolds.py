"""Problems with known answers on complex manifolds and on flat spaces of matrices, with jax and by hand."""

import jax.numpy as jnp
import numpy as np
import pymanopt.manifolds as peers
import pytest

from geodual.manifolds import (
    ComplexStiefel,
    HermitianPD,
    NoLogarithmError,
    NotOnManifoldError,
    Power,
    Product,
    PymanoptManifold,
    SkewSymmetric,
    Sphere,
    Symmetric,
    UnitCircle,
)
from geodual.optimize import Problem, check_gradient, minimize

WAYS = [("hand", "proximal-lagrangian"), ("hand", "interior-point"), ("jax", "proximal-lagrangian")]


def hermitian_draw(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return a + a.conj().T


def solved(problem, x0, method="proximal-lagrangian"):
    """Check the derivatives and solve; the second-order condition is judged on these manifolds too."""
    check = check_gradient(problem, x0)
    assert check.passed, str(check)
    result = minimize(problem, x0, method)
    assert result.success
    assert result.second_order == "holds"
    problem.manifold.check_point(result.x)
    return result


A = hermitian_draw(6, 0)
WEIGHTS = np.array([2.0, 1.0])


def brockett(manifold):
    """−Re tr(XᴴAX diag(2, 1)): its minimum has the two leading eigenvectors as columns."""
    return Problem(
        manifold,
        lambda x: -float(np.vdot(x, A @ x * WEIGHTS).real),
        lambda x: -2.0 * (A @ x) * WEIGHTS,
        lambda x, u: -2.0 * (A @ u) * WEIGHTS,
    )


@pytest.mark.parametrize(("written", "method"), WAYS)
def test_complex_principal_components(written, method):
    manifold = ComplexStiefel(6, 2)
    problem = brockett(manifold)
    if written == "jax":
        problem = Problem.from_jax(manifold, lambda x: -jnp.real(jnp.sum(x.conj() * (A @ x) * WEIGHTS)))
    result = solved(problem, manifold.random_point(np.random.default_rng(1)), method)
    spectrum, vectors = np.linalg.eigh(A)
    assert result.cost == pytest.approx(-2.0 * spectrum[-1] - spectrum[-2], rel=1e-10)
    overlaps = np.abs(vectors[:, [-1, -2]].conj().T @ result.x)
    np.testing.assert_allclose(overlaps, np.eye(2), atol=1e-5)


def test_a_complex_beam_with_a_bounded_leak():
    """The strongest direction of A with |x₀|² ≤ 0.1."""
    manifold = ComplexStiefel(6, 1)
    problem = Problem.from_jax(
        manifold,
        lambda x: -jnp.real(jnp.sum(x.conj() * (A @ x))),
        inequalities=lambda x: jnp.abs(x[0, 0]) ** 2 - 0.1,
    )
    result = solved(problem, manifold.random_point(np.random.default_rng(2)))
    assert abs(result.x[0, 0]) ** 2 <= 0.1 + 1e-8
    # Stationarity on the sphere: A x − λ e₀e₀ᴴ x is a multiple of x.
    residual = A @ result.x
    residual[0] -= result.multipliers[0] * result.x[0]
    across = residual - result.x * np.vdot(result.x, residual)
    assert np.linalg.norm(across) <= 1e-5 * np.linalg.norm(A)


def test_the_mean_of_commuting_hermitian_matrices():
    """Their Karcher mean has the geometric means of the eigenvalues, in the same eigenbasis."""
    n, count, rng = 3, 4, np.random.default_rng(3)
    q = ComplexStiefel(n, n).random_point(rng)
    spectra = np.exp(rng.standard_normal((count, n)))
    samples = [(q * s) @ q.conj().T for s in spectra]
    manifold = HermitianPD(n)

    def cost(x):
        frame = manifold.frame(x)
        return sum(frame.half_squared_distance(y).value for y in samples)

    def gradient(x):
        # The Riemannian gradient is −Σ log_x(y); x⁻¹ V x⁻¹ is the Euclidean one that belongs to V.
        inverse = np.linalg.inv(x)
        return -inverse @ sum(manifold.log(x, y) for y in samples) @ inverse

    result = minimize(Problem(manifold, cost, gradient), np.eye(n, dtype=complex))
    assert result.success
    expected = (q * np.exp(np.log(spectra).mean(axis=0))) @ q.conj().T
    np.testing.assert_allclose(result.x, expected, atol=1e-6)


def test_the_likelihood_of_a_complex_covariance():
    """log det x + tr(x⁻¹ S) has its minimum at S, and with tr x ≤ t at a smaller matrix."""
    S = hermitian_draw(3, 4)
    S = S @ S
    manifold = HermitianPD(3)

    def cost(x):
        return jnp.linalg.slogdet(x)[1] + jnp.real(jnp.trace(jnp.linalg.solve(x, jnp.asarray(S))))

    free = solved(Problem.from_jax(manifold, cost), np.eye(3, dtype=complex))
    np.testing.assert_allclose(free.x, S, rtol=1e-6, atol=1e-6)
    level = 0.5 * float(np.trace(S).real)
    bounded = Problem.from_jax(manifold, cost, inequalities=lambda x: jnp.real(jnp.trace(x)) - level)
    result = solved(bounded, np.eye(3, dtype=complex))
    # x⁻¹ − x⁻¹Sx⁻¹ + λI = 0 is solved in the eigenbasis of S: λx² + x = s.
    s, basis = np.linalg.eigh(S)
    lam = float(result.multipliers[0])
    roots = (np.sqrt(1.0 + 4.0 * lam * s) - 1.0) / (2.0 * lam)
    np.testing.assert_allclose(result.x, (basis * roots) @ basis.conj().T, rtol=1e-4, atol=1e-5)
    assert roots.sum() == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize(("written", "method"), WAYS)
def test_phases_are_synchronized(written, method):
    """From all products z̄ⱼzₖ of n phases, these are found up to a common turn."""
    n, manifold = 12, UnitCircle(12)
    z = manifold.random_point(np.random.default_rng(5))
    C = np.outer(z, z.conj())
    problem = Problem(
        manifold,
        lambda x: -float(np.vdot(x, C @ x).real),
        lambda x: -2.0 * C @ x,
        lambda x, u: -2.0 * C @ u,
    )
    if written == "jax":
        problem = Problem.from_jax(manifold, lambda x: -(jnp.abs(jnp.sum(x.conj() * z)) ** 2))
    result = solved(problem, manifold.random_point(np.random.default_rng(6)), method)
    assert abs(np.vdot(z, result.x)) == pytest.approx(n, abs=1e-8)


def test_many_phases_in_a_power_and_beside_others():
    both = Product(phases=Power(UnitCircle(3), 2), form=Symmetric(2))
    goal = both.random_point(np.random.default_rng(7))

    def cost(x):
        return jnp.sum(jnp.abs(x["phases"] - goal["phases"]) ** 2) + jnp.sum((x["form"] - goal["form"]) ** 2)

    start = {"phases": np.exp(0.5j) * goal["phases"], "form": np.eye(2)}
    result = solved(Problem.from_jax(both, cost), start)
    np.testing.assert_allclose(result.x["phases"], goal["phases"], atol=1e-7)
    np.testing.assert_allclose(result.x["form"], goal["form"], atol=1e-7)


@pytest.mark.parametrize(("manifold", "sign"), [(Symmetric(4), 1.0), (SkewSymmetric(4), -1.0)], ids=repr)
def test_the_nearest_matrix_within_bounds(manifold, sign):
    B = 3.0 * np.random.default_rng(8).standard_normal((4, 4))
    problem = Problem(
        manifold,
        lambda x: 0.5 * float(np.sum((x - B) ** 2)),
        lambda x: x - B,
        lambda x, u: u,
        lower=-1.0,
        upper=1.0,
    )
    result = solved(problem, np.zeros((4, 4)))
    np.testing.assert_allclose(result.x, np.clip(0.5 * (B + sign * B.T), -1.0, 1.0), atol=1e-7)


def test_operations_are_those_of_pymanopt():
    for ours, theirs in [
        (HermitianPD(3), peers.HermitianPositiveDefinite(3)),
        (UnitCircle(4), peers.ComplexCircle(4)),
        (ComplexStiefel(3, 3), peers.UnitaryGroup(3)),
    ]:
        adapted, rng = PymanoptManifold(theirs), np.random.default_rng(9)
        x = ours.random_point(rng)
        u = 0.3 * ours.random_tangent(x, rng)
        v = ours.random_tangent(x, rng)
        assert ours.dim == adapted.dim
        assert ours.inner(x, u, v) == pytest.approx(adapted.inner(x, u, v), rel=1e-10)
        np.testing.assert_allclose(ours.exp(x, u), adapted.exp(x, u), atol=1e-12)
        egrad, ehess = rng.standard_normal((2, *x.shape)) + 1j * rng.standard_normal((2, *x.shape))
        np.testing.assert_allclose(ours.gradient(x, egrad), adapted.gradient(x, egrad), atol=1e-12)
        expected = adapted.hessian(x, egrad, ehess, u)
        np.testing.assert_allclose(ours.hessian(x, egrad, ehess, u), expected, atol=1e-11)


def test_what_is_wrong_is_named():
    with pytest.raises(NotOnManifoldError, match=r"Hermitian, but it differs from its adjoint by up to 2;"):
        HermitianPD(2).check_point([[1.0, 1.0j], [1.0j, 1.0]])
    with pytest.raises(NotOnManifoldError, match=r"A point of HermitianPD must be positive definite"):
        HermitianPD(2).check_point([[1.0, 2.0j], [-2.0j, 1.0]])
    with pytest.raises(NotOnManifoldError, match=r"absolute value 1, got 2 for entry 1; divide it by abs"):
        UnitCircle(2).check_point([1.0, 2.0j])
    with pytest.raises(NotOnManifoldError, match=r"skew-symmetric, but it differs from -x.T by up to 2;"):
        SkewSymmetric(2).check_point(np.eye(2))
    with pytest.raises(NotOnManifoldError, match=r"A point of Symmetric\(2\) must be symmetric"):
        Symmetric(2).check_point([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match=r"`p` must be at most n = 2, got 3"):
        ComplexStiefel(2, 3)
    with pytest.raises(ValueError, match=r"A vector at a point of Sphere\(2\) must be real, got complex"):
        Sphere(2).exp([1.0, 0.0], [0.0, 1.0j])
    with pytest.raises(NoLogarithmError, match="half a turn in some entry"):
        UnitCircle(2).log(np.array([1.0, 1.0]), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="needs real entries, but those of UnitCircle"):
        Problem(UnitCircle(2), lambda x: 0.0, lambda x: 0.0 * x, lower=0.0)
