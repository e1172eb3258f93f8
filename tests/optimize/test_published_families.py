"""The published families: right derivatives, known answers, published starts, and the runs that compare."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks import family_runs
from benchmarks.family_runs import read_rows, run_families
from benchmarks.family_tables import FamilyRun, detail_table, family_report, summary_table
from benchmarks.pymanopt_charts import chart_of
from benchmarks.pymanopt_lagrangian import PUBLISHED, solve_with_pymanopt
from geodual.manifolds import Hyperbolic, Product, Sphere
from geodual.optimize import check_gradient
from geodual.optimize.trees import pairing
from testing.families import (
    PublishedProblem,
    balanced_cut,
    clustering_data,
    interior_pca,
    k_means,
    nonnegative_low_rank,
    nonnegative_pca,
    oblique_projection,
    rosenbrock,
    stable_identification,
    stiefel_projection,
)
from testing.families.graphs import power_law_laplacian
from testing.families.instances import family_instances
from testing.families.liu_boumal import clustering_problem
from testing.optimality import kkt_residual

SAMPLES = np.random.default_rng(3).standard_normal((12, 2))
SAMPLES -= SAMPLES.mean(axis=0)
SMALL = {
    "PCA": nonnegative_pca(12),
    "interior PCA": interior_pca(12),
    "k-means": clustering_problem(SAMPLES, 3),
    "cut": balanced_cut(20),
    "squared cut": balanced_cut(20, squared=True),
    "low rank": nonnegative_low_rank(10),
    "completion": nonnegative_low_rank(20, observed=0.5),
    "Stiefel": stiefel_projection(10),
    "oblique": oblique_projection(10),
    "identification": stable_identification(4, n_starts=3),
    "Rosenbrock": rosenbrock(),
    "Rosenbrock frames": rosenbrock(subspaces=False),
}


def first_start(case: PublishedProblem):
    return next(iter(case.starts.values()))


def violation(case: PublishedProblem, x) -> float:
    return max(float(np.max(block(x))) for block in case.problem.inequalities)


@pytest.mark.parametrize("name", SMALL)
def test_derivatives_are_right(name: str) -> None:
    case = SMALL[name]
    x = case.manifold.random_point(np.random.default_rng(1))
    check = check_gradient(case.problem, x)
    assert check, f"\n{check}"


@pytest.mark.parametrize("name", SMALL)
def test_single_gradients_agree_with_the_directional_derivative(name: str) -> None:
    case, rng = SMALL[name], np.random.default_rng(2)
    x = case.manifold.random_point(rng)
    u = case.manifold.random_tangent(x, rng)
    for block in case.problem.blocks:
        rows = block.rows(x, np.arange(len(block(x)))[::3])
        np.testing.assert_allclose([pairing(row, u) for row in rows], block.derivative(x, u)[::3], atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_starts_lie_on_the_manifold(name: str) -> None:
    case = SMALL[name]
    assert case.starts
    for x in case.starts.values():
        case.manifold.check_point(x)


@pytest.mark.parametrize("name", ["interior PCA", "identification", "Rosenbrock"])
def test_interior_starts_are_strictly_feasible(name: str) -> None:
    case = SMALL[name]
    assert all(violation(case, x) < -1e-4 for x in case.starts.values())


@pytest.mark.parametrize("build", [stiefel_projection, oblique_projection])
@pytest.mark.parametrize("n", [10, 40])
def test_projections_have_the_known_solution(build, n: int) -> None:
    case = build(n, seed=1)
    y = np.zeros(0) if case.equality_multipliers is None else case.equality_multipliers
    assert kkt_residual(case, case.x, case.multipliers, y).worst < 1e-12
    assert case.objective.value(case.x) == pytest.approx(case.cost, rel=1e-12)
    np.testing.assert_allclose(case.x.T @ case.x, np.eye(n // 5), atol=1e-12)
    assert case.objective.value(first_start(case)) < case.cost  # the start is the optimum without X ≥ 0


def test_k_means_cost_is_the_share_of_variance_within_clusters() -> None:
    case, labels = SMALL["k-means"], np.arange(len(SAMPLES)) % 3
    within = sum(np.sum((SAMPLES[labels == j] - SAMPLES[labels == j].mean(axis=0)) ** 2) for j in range(3))
    y = (labels[:, None] == np.arange(3)) / np.sqrt(np.bincount(labels))
    assert case.objective.value(y) == pytest.approx(within / np.sum(SAMPLES**2), rel=1e-12)
    np.testing.assert_allclose(case.problem.equalities[0](y), 0.0, atol=1e-12)


def test_k_means_data_are_standardized() -> None:
    raw = load_iris().data
    case = k_means("iris", n_starts=2)
    assert list(case.starts) == ["random 1", "random 2"]
    # Two samples alone and all others together, against a sum over columns of unit variance.
    y = np.zeros((150, 3))
    y[0, 0] = y[1, 1] = 1.0
    y[2:, 2] = 1.0 / np.sqrt(148)
    within = 147.0 * raw[2:].var(axis=0, ddof=1) / raw.var(axis=0, ddof=1)
    assert case.objective.value(y) == pytest.approx(within.sum() / (149.0 * 4.0), rel=1e-12)


def test_missing_data_are_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(clustering_data.FOLDER, raising=False)
    with pytest.raises(FileNotFoundError, match=r"GEODUAL_CLASSIFICATION.*sonar\.csv"):
        k_means("sonar")
    monkeypatch.setenv(clustering_data.FOLDER, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"There is no .*ecoli\.csv"):
        k_means("ecoli")
    (tmp_path / "sonar.csv").write_text("1,2,R\n3,4,M\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"must have \(208, 60\)"):
        k_means("sonar")


def test_cut_cost_sums_the_squared_lengths_of_the_edges() -> None:
    rng = np.random.default_rng([0, 20])  # as in the builder
    L = power_law_laplacian(20, 0.02, rng).toarray()
    np.testing.assert_array_equal(L.sum(axis=0), 0.0)
    np.testing.assert_array_equal(L, L.T)
    assert (
        np.count_nonzero(np.triu(L, 1)[:, 10:], axis=0) == 1
    ).all()  # one edge per node after the first 10
    case, squared = SMALL["cut"], SMALL["squared cut"]
    x = first_start(case)
    edges = np.argwhere(np.triu(L, 1))
    expected = sum(np.sum((x[:, i] - x[:, j]) ** 2) for i, j in edges)
    assert case.objective.value(x) == pytest.approx(expected, rel=1e-12)
    sums = case.problem.equalities[0](x)
    assert squared.problem.equalities[0](first_start(squared)) == pytest.approx(np.sum(sums**2), rel=1e-12)


def test_low_rank_start_and_data_are_those_of_the_paper() -> None:
    case = nonnegative_low_rank(20, noise=0.0)
    assert (case.manifold.m, case.manifold.n, case.manifold.r, case.tol) == (20, 16, 2, 1e-8)
    start = first_start(case)
    assert violation(case, start) < 0.0
    # Without noise A itself is feasible and has cost zero. The gradient is X − A.
    A = case.manifold.nearest(start - case.objective.gradient(start))
    assert case.objective.value(A) < 1e-25
    assert violation(case, A) < 0.0


def test_identification_fits_the_next_states() -> None:
    case = stable_identification(4, n_starts=2, seed=5)
    j, R, Q = first_start(case)
    J = np.zeros((4, 4))
    J[np.triu_indices(4, 1)] = j / np.sqrt(2.0)
    J -= J.T
    assert np.linalg.norm(J) == pytest.approx(np.linalg.norm(j))  # the coordinates change no length
    assert np.linalg.eigvals((J - R) @ Q).real.max() < 0.0
    # The cost depends on A only, so (J/t, R/t, tQ) has the same cost and constraints.
    other = (j / 3.0, R / 3.0, 3.0 * Q)
    assert case.objective.value(other) == pytest.approx(case.objective.value((j, R, Q)), rel=1e-12)
    block = case.problem.inequalities[0]
    np.testing.assert_allclose(block(other), block((j, R, Q)), atol=1e-12)
    assert len(block(other)) == 2 * 3 + 3 * 1  # three intervals, and one with a gap


def test_rosenbrock_as_a_sum_over_the_entries() -> None:
    x = rosenbrock().manifold.random_point(np.random.default_rng(0))
    v = x.ravel()
    expected = sum(1e7 * (v[i + 1] - v[i]) ** 2 + (1.0 - v[i]) ** 2 for i in range(14))
    assert rosenbrock().objective.value(x) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(rosenbrock().problem.inequalities[0](x), -v - 0.01)


@pytest.mark.parametrize("name", [name for name in SMALL if name != "Rosenbrock"])
def test_charts_give_pymanopt_the_same_derivatives(name: str) -> None:
    case = SMALL[name]
    chart = chart_of(case.manifold)
    manifold, problem = chart.manifold, chart.problem(case.objective)
    np.random.seed(0)  # noqa: NPY002 - pymanopt draws from the global generator
    x = chart.to_peer(first_start(case))
    g, u = problem.riemannian_gradient(x), manifold.random_tangent_vector(x)
    bend = manifold.inner_product(x, u, problem.riemannian_hessian(x, u))
    slope = manifold.inner_product(x, g, u)

    def remainder(t: float) -> float:
        moved = problem.cost(manifold.retraction(x, t * u))
        return abs(moved - problem.cost(x) - t * slope - 0.5 * t**2 * bend)

    # Third order: a tenth of the step leaves a thousandth of the remainder, up to rounding.
    size = abs(problem.cost(x)) + abs(slope) + abs(bend)
    assert remainder(1e-3) <= 2e-3 * remainder(1e-2) + 1e-14 * size


def test_charts_exist_only_where_pymanopt_has_the_manifold() -> None:
    assert chart_of(Hyperbolic(2)) is None
    assert chart_of(Product(Sphere(3), Hyperbolic(2))) is None


@pytest.mark.parametrize("name", ["low rank", "PCA"])
def test_the_peer_solves_small_instances(name: str) -> None:
    case = SMALL[name]
    result = solve_with_pymanopt(case, first_start(case), PUBLISHED, case.tol)
    assert result.kkt.worst <= case.tol


def test_instances_have_distinct_names() -> None:
    instances = family_instances()
    for family in ("stiefel", "oblique", "low-rank", "interior-pca", "rosenbrock"):
        names = [build().name for build in instances[family]]
        assert len(set(names)) == len(names)
    cuts = [build.args for build in instances["cut"]]
    assert len({(n, int(np.ceil(density * n))) for n, density in cuts}) == len(cuts) == 12
    pca = [build.args for build in instances["pca"]]
    assert len({(snr, sparsity) for _, snr, sparsity in pca}) == 24
    assert len({(d, sparsity) for d, _, sparsity in pca}) == 24


def test_runs_resume_and_repeat(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []

    def counted(name):
        solve = family_runs.SOLVERS[name]
        return lambda *arguments: (calls.append(name), solve(*arguments))[1]

    monkeypatch.setattr(family_runs, "REPEATS", 1)
    monkeypatch.setattr(family_runs, "SOLVERS", {name: counted(name) for name in family_runs.SOLVERS})
    monkeypatch.setattr(family_runs, "family_instances", lambda: {"pca": [lambda: SMALL["PCA"]]})
    out = tmp_path / "runs.csv"
    rows = run_families(out=out, report=str)
    assert calls == ["geodual", "published", "tuned"]
    assert all(row.solved and row.residual <= 1e-6 for row in rows)
    assert read_rows(out) == rows
    assert run_families(out=out, report=str) == rows
    assert len(calls) == 3
    run_families(again=["geodual"], out=out, report=str)
    assert calls[3:] == ["geodual"]
    assert len(read_rows(out)) == 3


def test_a_solver_that_breaks_down_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(case, x0, limit):
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setitem(family_runs.SOLVERS, "tuned", broken)
    row = family_runs.measure(SMALL["PCA"], "random", "tuned", 1.0)
    assert not row.solved
    assert row.status == "LinAlgError: no convergence"


def test_costs_are_corrected_for_the_violation() -> None:
    # On the cut, move along the constraint s = Σ xᵢ: the Lagrangian is stationary, so the correction removes
    # the gain to first order, in both forms.
    for name in ("cut", "squared cut"):
        case = SMALL[name]
        solved = solve_with_pymanopt(case, first_start(case), PUBLISHED, 1e-6)
        exact = solve_with_pymanopt(SMALL["cut"], solved.x, PUBLISHED, 1e-9)
        answer = family_runs.Answer(solved.x, solved.multipliers, solved.equality_multipliers, "")
        assert family_runs._corrected_cost(case, answer) == pytest.approx(
            SMALL["cut"].objective.value(exact.x), rel=1e-6
        )


def run(solver: str, solved: bool, seconds: float, cost: float, instance: str) -> FamilyRun:
    residual = 1e-7 if solved else 0.5
    return FamilyRun("f", instance, "s", solver, solved, seconds, cost, cost, residual, 0.0, "")


def test_summary_counts_what_the_peer_wins() -> None:
    rows = [
        *(run("geodual", True, 1.0, 2.0, "a"), run("published", True, 4.0, 2.0 + 1e-9, "a")),
        *(run("geodual", True, 9.0, 3.0, "b"), run("published", True, 1.0, 2.5, "b")),
        *(run("geodual", False, 1.0, 0.0, "c"), run("published", True, 1.0, 2.0, "c")),
        *(run("geodual", True, 1.0, 0.0, "d"), run("published", False, 1.0, 2.0, "d")),
    ]
    lines = summary_table(rows).splitlines()
    # Solved by us and by the peer, lost, cost no higher, mean costs, √(¼ · 9) and 9/1.
    assert lines[2] == "| f | published | 3/4 | 3/4 | 1 | 1/2 | 2.5 | 2.25 | 1.50 | 9.00 |"
    assert lines[3].startswith("| f | tuned | 3/4 | 0/0 | 0 | – |")
    assert "— (5e-01, 1 s)" in detail_table(rows)
    assert "**f**" in family_report(rows)
