"""Certificates that hold: where the optimum is zero, where digits are lost, where a loss breaks the rules."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from geodual.manifolds import SPD
from geodual.metric import ITML, RPDML, NeighborRPDML, TripletRPDML
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.pair_list import PairList
from geodual.metric.losses import OneSidedBurg, PairLoss
from geodual.metric.program.certificate import Certificate
from geodual.metric.program.logdet_program import LogDetProgram, lower_bound
from geodual.metric.selection.local_pairs import LocalPairs
from geodual.metric.terms.term import PairTerm
from tests.metric.test_pairs import Logistic


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def explicit_bounds(X, y, pairs, W, u, l, C=100.0):  # noqa: E741
    """Primal at W and dual at its multipliers of RPDML with prior I, from difference vectors."""
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    similar = y[pairs[:, 0]] == y[pairs[:, 1]]
    s, b = np.where(similar, 1.0, -1.0), np.where(similar, u, l)
    rho = b**2 * len(pairs) / C
    lam = np.maximum(s * (np.einsum("ki,ij,kj->k", V, W, V) - b), 0.0) / rho
    P = np.eye(len(W)) + 2.0 * (V.T * (lam * s)) @ V
    primal = 0.5 * (np.trace(W) - np.linalg.slogdet(W)[1] - len(W)) + 0.5 * np.sum(rho * lam**2)
    return primal, 0.5 * np.linalg.slogdet(P)[1] - np.sum(lam * s * b) - 0.5 * np.sum(rho * lam**2)


def test_an_optimum_of_zero_is_certified(iris) -> None:
    X, y = iris
    prior = SPD(4).random_point(np.random.default_rng(3))
    learner = RPDML(bounds=(1e6, 2e6), pairs=[[0, 1], [2, 3], [51, 52]], prior=prior).fit(X, y)
    np.testing.assert_allclose(learner.W_, prior, rtol=1e-9)
    assert learner.duality_gap_ == 0.0


def test_one_pair_at_its_bound_is_certified(iris) -> None:
    X, y = iris
    with pytest.warns(UserWarning, match="percentiles of the distances coincide"):
        assert RPDML().fit(X[[0, 60]], y[[0, 60]]).duality_gap_ == 0.0


class PullAndLog(PairLoss):
    """d for similar pairs and −log d for dissimilar ones: convex, but of any sign."""

    def value(self, d, similar):
        return d if similar else -np.log(d)

    def slope(self, d, similar):
        return np.ones_like(d) if similar else -1.0 / d

    def curvature(self, d, similar):
        return np.zeros_like(d) if similar else 1.0 / d**2

    def conjugate(self, a, similar):
        return np.zeros_like(a) if similar else -1.0 - np.log(-a)


def test_a_negative_loss_is_refused() -> None:
    X = np.array([[0.0, 0.0], [0.1, 0.0], [30.0, 9.0], [20.0, 5.0]])
    program = LogDetProgram(X, PairTerm(AllPairs(np.array([0, 0, 1, 2])), PullAndLog()), np.eye(2))
    with pytest.raises(ValueError, match="must not be negative"):
        program.solve(np.eye(2), tol=1e-6, max_iter=10)


def test_a_loss_that_is_positive_at_distance_zero_is_certified(iris) -> None:
    """No sample is paired with itself, so all pairs are the listed pairs; copies are paired."""
    X, y = iris[0][::5], iris[1][::5]
    every = np.column_stack(np.triu_indices(len(X), 1))
    listed = PairList(every, y[every[:, 0]] == y[every[:, 1]])
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    copies, labels = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    for samples, pairs, twin_samples, twin in (
        (X, AllPairs(y), X, listed),
        (X, AllPairs(y, weight.astype(float)), copies, AllPairs(labels)),
    ):
        found, expected = (
            LogDetProgram(data, term, np.eye(4)).solve(np.eye(4), tol=1e-10, max_iter=100)
            for data, term in (
                (samples, PairTerm(pairs, Logistic())),
                (twin_samples, PairTerm(twin, Logistic())),
            )
        )
        assert found.gap <= 1e-10
        assert found.primal == pytest.approx(expected.primal, rel=1e-9)
        assert found.dual == pytest.approx(expected.dual, rel=1e-9)


@pytest.mark.parametrize("outlier", [1e6, 1e9])
def test_listed_pairs_far_from_the_mean_keep_their_digits(iris, outlier: float) -> None:
    X, y = iris[0].copy(), iris[1]
    X[0, 0] = outlier
    pairs = LocalPairs().find(X[1:], y[1:]) + 1
    learner = RPDML(pairs=pairs, bounds=(0.5, 5.0)).fit(X, y)
    primal, dual = explicit_bounds(X, y, pairs, learner.W_, 0.5, 5.0)
    assert learner.objective_ == pytest.approx(primal, rel=1e-8)
    assert learner.dual_objective_ == pytest.approx(dual, rel=1e-8)
    assert learner.duality_gap_ <= 1e-6


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_many_listed_pairs_are_certified(shift: float) -> None:
    """Enough pairs and features to be added up over samples; a common shift costs no digits."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    pairs = LocalPairs().find(X, y)
    bounds = (5.0, 100.0)
    learner = RPDML(pairs=pairs, bounds=bounds).fit(X + shift, y)
    primal, dual = explicit_bounds(X, y, pairs, learner.W_, 5.0, 100.0)
    assert learner.objective_ == pytest.approx(primal, rel=1e-6 if shift else 1e-10)
    assert dual <= learner.dual_objective_ + 1e-6 * primal
    assert learner.duality_gap_ <= 1e-6
    listed = PairList(pairs, y[pairs[:, 0]] == y[pairs[:, 1]])
    assert listed.evaluate(X, OneSidedBurg(*bounds, 1.0)).noise > 0.0  # sums of differences have none


def test_pairs_beside_a_sample_far_away_keep_their_digits() -> None:
    """Each sample is a class of its own, and bounds are tiny: no pair may look as if its distance were 0."""
    X = np.vstack([np.random.default_rng(0).standard_normal((12, 2)), [[1e8, 1e8]]])
    X[1] = X[0] + 1e-3
    learner = ITML(gamma=10.0, pairs="all", bounds=(1e-90, 2e-90)).fit(X, np.arange(13))
    assert learner.objective_ <= 1e-6  # all are far enough apart under the prior
    np.testing.assert_allclose(learner.W_, np.eye(2), atol=1e-6)


def test_a_rounding_error_that_overflows_is_refused() -> None:
    triplets = np.random.default_rng(0).standard_normal((13, 3, 3)) * [1e-12, 1e43, 1e-43]
    with pytest.raises(ValueError, match="rounding error is not finite"):
        TripletRPDML(C=1e4, margin=1.0).fit(triplets, sample_weight=np.full(13, 1e-150))


@pytest.mark.parametrize("apart", [1e5, 1e7])
def test_the_gap_of_all_pairs_covers_lost_digits(apart: float) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) // 30
    X = rng.standard_normal((60, 3)) + apart * np.outer(y, [1.0, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner = RPDML(pairs="all", bounds=(0.5, 5.0)).fit(X, y)
    primal, _ = explicit_bounds(X, y, np.column_stack(np.triu_indices(60, 1)), learner.W_, 0.5, 5.0)
    assert abs(learner.objective_ / primal - 1.0) <= learner.duality_gap_
    assert (learner.duality_gap_ <= 1e-6) == (apart < 1e6)


def hard_program(seed: int):
    """Programs on which Newton's method along geodesics, at full weight from the start, did not end."""
    rng = np.random.default_rng(seed)
    n_samples, n = int(rng.integers(4, 25)), int(rng.integers(1, 7))
    X = rng.standard_normal((n_samples, n)) @ rng.standard_normal((n, n))
    y = rng.integers(0, 3, n_samples)
    y[:2] = 0, 1
    C = 10.0 ** rng.uniform(-6, 6)
    prior = SPD(n).random_point(rng) if seed % 2 else np.eye(n)
    pairs, weight = "all", None
    if seed % 5 == 1:
        chosen = rng.integers(0, n_samples * (n_samples - 1) // 2, 40)
        pairs = np.column_stack(np.triu_indices(n_samples, 1))[chosen]
    else:
        weight = rng.integers(1, 4, n_samples).astype(float)
    u = float(np.exp(rng.normal()))
    bounds = u, u * float(1.0 + np.exp(2.0 * rng.normal()))
    learner = RPDML(C=C, alpha=(0.0, 0.01, 10.0)[seed % 3], prior=prior, pairs=pairs, bounds=bounds)
    return learner, X, y, weight


@pytest.mark.parametrize("seed", [57, 66, 81])
def test_hard_programs_are_solved(seed: int) -> None:
    learner, X, y, weight = hard_program(seed)
    assert learner.C > 5e4
    assert learner.fit(X, y, sample_weight=weight).duality_gap_ <= 1e-6
    assert learner.n_iter_ <= 500


@pytest.mark.parametrize(("load", "passes"), [(load_breast_cancer, 100), (load_wine, 60)])
def test_raw_features_take_few_passes(load, passes: int) -> None:
    learner = RPDML(pairs="all").fit(*load(return_X_y=True))
    assert learner.duality_gap_ <= 1e-6
    assert learner.history_[-1].passes <= passes


@pytest.mark.parametrize("learner", [RPDML(C=1e4, pairs="all"), ITML(gamma=100.0, pairs="all")])
def test_all_stages_count_against_the_budget(iris, learner) -> None:
    needed = learner.fit(*iris).n_iter_
    assert needed == len(learner.history_) - 1
    learner.set_params(max_iter=needed - 1)
    with pytest.warns(ConvergenceWarning, match="raise `max_iter`"):
        learner.fit(*iris)
    assert learner.n_iter_ == len(learner.history_) - 1 == needed - 1
    primal, gaps = zip(*((row.primal, row.gap) for row in learner.history_), strict=True)
    assert np.isfinite(gaps).all()
    assert (np.diff(primal) <= 0.0).all()
    assert learner.objective_ == primal[-1]


def test_both_fits_to_local_pairs_count_and_warn(iris) -> None:
    first = RPDML(C=1000.0, pairs="local").fit(*iris)
    assert first.n_iter_ > len(first.history_) - 1
    with pytest.warns(ConvergenceWarning) as caught:
        RPDML(C=1000.0, pairs="local", max_iter=3).fit(*iris)
    assert "after 3 iterations" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_rounding_errors_are_told_from_a_short_budget(iris) -> None:
    with pytest.warns(ConvergenceWarning, match="rounding errors allow no better"):
        learner = RPDML(pairs="all", tol=1e-17).fit(*iris)
    assert learner.n_iter_ < 500


def test_the_paper_updates_count_from_their_start(iris) -> None:
    with pytest.warns(ConvergenceWarning, match="raise `max_iter`"):
        learner = RPDML(solver="paper", pairs=200, step=1e-6, max_iter=3, random_state=0).fit(*iris)
    assert learner.n_iter_ == 3
    assert len(learner.history_) == 4
    with pytest.warns(ConvergenceWarning, match="choose a smaller `step`"):
        RPDML(solver="paper", pairs=200, errata="printed", random_state=0).fit(*iris)


@pytest.mark.parametrize(
    ("primal", "dual", "noise", "certified"),
    [
        (1e-17, 0.0, 1e-14, True),  # nothing to learn
        (-1e-17, 0.0, 1e-14, True),
        (1e12, 0.05, 4e16, False),
        (-1e12, 0.05, 4e16, False),
        (1.0, np.inf, 1e-14, False),
        (1.0, np.nan, 1e-14, False),
    ],
)
def test_an_objective_below_its_noise_is_certified_only_if_the_noise_is_negligible(
    primal: float, dual: float, noise: float, certified: bool
) -> None:
    model = SimpleNamespace(W=np.eye(1), primal=primal, dual=dual, noise=noise, distance_noise=noise)
    certificate = Certificate(model, 1e-6, lambda row: None)
    certificate.record(model, 1)
    found = certificate.metric("stalled")
    assert found.converged is certified
    assert found.gap == 0.0 if certified else 1.0 - 1e-12 <= found.gap < np.inf


@pytest.mark.parametrize("seed", [8, 9])
def test_triplets_with_one_sample_far_away_are_not_certified_by_noise(seed: int) -> None:
    """Found by `make fuzz`: the noise of the far sample was taken for an optimum of zero."""
    rng = np.random.default_rng(seed)
    samples = np.vstack([rng.standard_normal((11, 3)), np.full((1, 3), 1e8)])
    triplets = samples[rng.integers(12, size=(9, 3))]
    with pytest.warns(ConvergenceWarning, match="rounding errors allow no better result"):
        learner = TripletRPDML(C=1e4, margin=1e-3).fit(triplets)
    assert learner.duality_gap_ > learner.tol


def test_a_bound_from_slopes_of_any_size_is_a_bound() -> None:
    """The matrix I + 2 S is positive definite, but a Cholesky factorization loses the 1 to rounding."""
    S = np.full((2, 2), 1e200)
    best = 0.5 * np.log1p(4e200)  # ½ log det(I + 2 S)
    assert 0.0 <= lower_bound(np.eye(2), S, 0.0, 1.0, 0.0) <= best * (1.0 + 1e-12)
    assert lower_bound(np.diag([1.0, -1.0]), S, 0.0, 1.0, 0.0) == -np.inf  # no prior: nothing is proved


def test_the_conjugate_of_a_far_pair_keeps_its_digits() -> None:
    """φ*(φ′(d)) = d φ′(d) − φ(d) = γ log(d/b) for the loss of ITML."""
    terms = OneSidedBurg(2.0, 5.0, 0.5).terms(np.array([2e12]), similar=True)
    assert terms.conjugate == pytest.approx(0.5 * 12.0 * np.log(10.0), rel=1e-14)


def test_a_bound_that_a_later_objective_refutes_is_dropped() -> None:
    def model(primal: float, dual: float) -> SimpleNamespace:
        return SimpleNamespace(W=np.eye(1), primal=primal, dual=dual, noise=1e-9, distance_noise=1e-9)

    certificate = Certificate(model(3.0, 2.0), 1e-3, lambda row: None)
    certificate.record(model(3.0, 2.0), 1)
    assert certificate.dual == 2.0
    certificate.record(model(1.5, 1.0), 2)
    assert (certificate.dual, certificate.rows[-1].gap) == (0.0, pytest.approx(1.0))
    certificate.record(model(1.4, 1.4 + 1e-10), 3)
    assert (certificate.dual, certificate.proved) == (1.4, True)


@pytest.mark.parametrize(("primal", "noise"), [(np.inf, 0.0), (1.0, np.inf), (np.nan, 0.0), (1.0, np.nan)])
def test_a_program_without_a_value_at_the_start_has_no_certificate(primal: float, noise: float) -> None:
    with pytest.raises(ValueError, match="not finite at the start"):
        Certificate(SimpleNamespace(primal=primal, noise=noise), 1e-6, print)


@pytest.mark.parametrize("learner", [NeighborRPDML(max_iter=8, tol=1e-12), RPDML(max_iter=4, tol=1e-12)])
def test_the_budget_is_for_all_fits_together(iris, learner: RPDML) -> None:
    with pytest.warns(ConvergenceWarning):
        learner.fit(*iris)
    assert learner.n_iter_ == learner.max_iter


def test_passes_over_the_pairs_are_counted_from_the_first(iris) -> None:
    assert RPDML(pairs="all").fit(*iris).history_[0].passes == 1


def test_a_bound_outside_the_dual_domain_shrinks_the_multipliers() -> None:
    """The best s is compared with a fine grid; at the full weight the matrix is not positive definite."""
    prior, slope, conjugate, weight, log_ratio = np.eye(2), np.diag([-1.0, 0.3]), -2.0, 0.9, 0.2

    def dual(s: float) -> float:
        return 0.5 * (np.linalg.slogdet(prior + 2.0 * s * slope)[1] - log_ratio) - s * conjugate

    grid = np.linspace(1e-4, 0.499, 2000)
    found = lower_bound(prior, slope, conjugate, weight, log_ratio)
    best = max(map(dual, grid))
    assert best - 0.1 <= found <= best + 1e-6
    assert found > dual(1e-6) + 0.005


@pytest.mark.parametrize(("gap", "proved"), [(1e-6, True), (1.1e-6, False)])
def test_a_gap_of_the_tolerance_is_a_proof(gap: float, proved: bool) -> None:
    start = SimpleNamespace(primal=1.0, W=np.eye(2), noise=0.0, distance_noise=0.0)
    certificate = Certificate(start, 1e-6, print)
    assert not certificate.proved
    certificate.rows.append(SimpleNamespace(gap=gap))
    assert certificate.proved is proved
