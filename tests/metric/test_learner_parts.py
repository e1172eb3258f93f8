"""Parts of the learners that no fit shows: budgets, ties of scores, bounds of folds, certificates, checks."""

from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from geodual.cluster import gathered
from geodual.errors import DataError
from geodual.metric import RPDML, LocalPairs, NeighborRPDML, RPDMLRegressor, TripletRPDML
from geodual.metric.base.maps import LowRankPlusDiagonal
from geodual.metric.base.pair_classifier import best_threshold
from geodual.metric.base.scatter import varying
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.pair_list import PairList
from geodual.metric.geometry.sample_blocks import SampleBlocks
from geodual.metric.losses import SquaredHinge
from geodual.metric.program.certificate import Certificate
from geodual.metric.program.logdet_program import LogDetProgram, StraightFrame, lower_bound
from geodual.metric.registry import NamedMetric
from geodual.metric.saved_checks import _is_low_rank_semidefinite, _is_semidefinite
from geodual.metric.saving import _describe
from geodual.metric.terms.term import PairTerm


def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    return rng.standard_normal((40, 3)) + y[:, None], y


@pytest.mark.parametrize(("primal", "noise"), [(np.inf, 0.0), (1.0, np.inf), (np.nan, 0.0), (1.0, np.nan)])
def test_a_program_without_a_value_at_the_start_has_no_certificate(primal: float, noise: float) -> None:
    with pytest.raises(ValueError, match="not finite at the start"):
        Certificate(SimpleNamespace(primal=primal, noise=noise), 1e-6, print)


def test_labels_are_required() -> None:
    assert RPDML().__sklearn_tags__().target_tags.required is True


def test_a_fit_that_needs_no_step_has_taken_one_iteration() -> None:
    X, y = samples()
    assert RPDMLRegressor(C=1e-12, tol=0.5).fit(X, y.astype(float)).n_iter_ == 1


def test_predictions_need_the_features_of_the_fit() -> None:
    X, y = samples()
    learner = RPDMLRegressor().fit(X, y.astype(float))
    with pytest.raises(ValueError, match="3 features"):
        learner.predict(X[:, :2])
    assert learner.n_features_in_ == 3


@pytest.mark.parametrize("learner", [NeighborRPDML(max_iter=8, tol=1e-12), RPDML(max_iter=4, tol=1e-12)])
def test_the_budget_is_for_all_fits_together(learner: RPDML) -> None:
    X, y = samples()
    with pytest.warns(ConvergenceWarning):
        learner.fit(X, y)
    assert learner.n_iter_ == learner.max_iter


@pytest.mark.parametrize("verbose", [0, 1])
def test_iterations_are_printed_if_asked_for(verbose: int, capsys: pytest.CaptureFixture[str]) -> None:
    learner = RPDML(verbose=verbose).fit(*samples())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == verbose * len(learner.history_)


def test_passes_over_the_pairs_are_counted_from_the_first() -> None:
    assert RPDML(pairs="all").fit(*samples()).history_[0].passes == 1


def test_features_that_are_constant_up_to_rounding_are_zero_in_blocks() -> None:
    X, y = samples()
    X = np.column_stack([X, 0.1 + 0.2 + 0.0 * y, np.where(y > 0, -(0.1 + 0.2), -0.3), np.full(40, 1e-9) * y])
    with dask.config.set(scheduler="synchronous"):
        blocks = SampleBlocks.of(da.from_array(X, chunks=(15, 6)), y, None)
        (found,) = gathered(blocks.parts)
    assert (np.abs(found.X).max(axis=0) > 0.0).tolist() == [True, True, True, False, False, True]
    np.testing.assert_allclose(found.X[:, :3], (X - X.mean(axis=0))[np.argsort(y, kind="stable"), :3])


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


@pytest.mark.parametrize("name", ["n_similar", "n_dissimilar"])
def test_a_sample_has_a_neighbour_of_each_kind_at_least(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}`"):
        LocalPairs(**{name: 0})


def test_a_feature_that_hardly_varies_has_no_inverse_covariance() -> None:
    X, y = np.random.default_rng(0).standard_normal((6, 20)), np.arange(6) % 2
    X[:, 7] *= 1e-160
    with pytest.raises(ValueError, match="vary too little"):
        RPDML(prior="covariance").fit(X, y)


def test_an_array_of_texts_and_others_cannot_be_saved_as_names() -> None:
    assert _describe(np.array(["a", "b"], dtype=object))[0] == "names"
    with pytest.raises(TypeError, match="ndarray"):
        _describe(np.array(["a", 1], dtype=object))


def test_equal_distances_are_no_comparison_that_holds() -> None:
    triplets = np.random.default_rng(0).standard_normal((30, 3, 2))
    learner = TripletRPDML().fit(triplets)
    x, other = np.zeros(2), np.ones(2)
    assert learner.predict(np.array([[x, other, other], [x, other, 2.0 * other]])).tolist() == [-1, 1]


@pytest.mark.parametrize(("gap", "proved"), [(1e-6, True), (1.1e-6, False)])
def test_a_gap_of_the_tolerance_is_a_proof(gap: float, proved: bool) -> None:
    start = SimpleNamespace(primal=1.0, W=np.eye(2), noise=0.0, distance_noise=0.0)
    certificate = Certificate(start, 1e-6, print)
    assert not certificate.proved
    certificate.rows.append(SimpleNamespace(gap=gap))
    assert certificate.proved is proved


def test_a_part_of_the_pairs_whose_optimum_is_far_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    X, labels = samples()
    order = np.argsort(labels, kind="stable")
    X, labels = X[order], labels[order]
    loss = SquaredHinge(1.0, 4.0, 0.05, 0.05)

    def solved(part: PairList | None) -> tuple[LogDetProgram, float]:
        pairs = AllPairs(labels)
        monkeypatch.setattr(pairs, "thinned", lambda n_features: part)
        program = LogDetProgram(X, PairTerm(pairs, loss), np.eye(3))
        return program, program.solve(np.eye(3), 1e-8, 200).primal

    _, expected = solved(None)
    unlike = PairList(np.array([[0, 39]]), np.array([True]), np.array([1e4]))
    other, found = solved(unlike)
    assert found == pytest.approx(expected, rel=1e-7)
    assert other.hessian_term is other.term


@pytest.mark.parametrize("n_features", [1, 3])
def test_the_loss_of_a_light_fit_is_at_most_the_number_of_features(n_features: int) -> None:
    X, labels = samples()
    order = np.argsort(labels, kind="stable")
    term = PairTerm(AllPairs(labels[order]), SquaredHinge(0.1, 9.0, 0.01, 0.01))
    program = LogDetProgram(X[order, :n_features], term, np.eye(n_features))
    model = program(np.eye(n_features))
    loss = model.primal  # at the prior the divergence is 0
    assert loss > n_features
    assert model.light_weight() * loss == pytest.approx(n_features)


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
@pytest.mark.parametrize("farthest", [False, True])
def test_no_other_threshold_scores_better(strategy: str, farthest: bool) -> None:
    rng = np.random.default_rng(3)
    distance = rng.permutation(np.arange(1.0, 31.0))
    similar = rng.uniform(0.0, 30.0, 30) > distance
    similar[np.argmax(distance)] = farthest
    rate = 0.7 if strategy.startswith("max") else None

    def score(threshold: float) -> float:
        called = distance <= threshold
        hits, tpr = (called & similar).sum(), (called & similar).sum() / similar.sum()
        tnr = (~called & ~similar).sum() / (~similar).sum()
        if strategy == "accuracy":
            return float((called == similar).mean())
        if strategy == "f_beta":
            return float(5.0 * hits / (4.0 * similar.sum() + max(called.sum(), 1)))
        wanted, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
        return float(wanted) if other >= rate else -1.0

    found = best_threshold(distance, similar, strategy, rate, 2.0)
    assert score(found) == pytest.approx(max(map(score, np.arange(0.5, 32.0))))


def test_one_tiny_feature_among_others_is_no_obstacle() -> None:
    size = np.array([1.0, 1.0, 1.0])
    assert varying(np.array([1.0, 1e-12, 0.0]), size).tolist() == [True, True, False]
    assert varying(np.array([1.0, 1e-200]), np.array([1.0, 1e-199])).tolist() == [True, True]
    with pytest.raises(ValueError, match="too small or too large"):
        varying(np.array([1e-200]), np.array([1e-199]))


@pytest.mark.parametrize("as_sparse", [np.asarray, csr_array])
@pytest.mark.parametrize(("shift", "valid"), [(-3.0, True), (-5.0, False)])
def test_a_saved_sum_is_judged_in_units_of_its_diagonal(as_sparse: Any, shift: float, valid: bool) -> None:
    """4 I + c e₁e₁ᵀ has the eigenvalue 4 + c."""
    d, U = np.full(3, 4.0), as_sparse(np.eye(3)[:, :1])
    assert _is_low_rank_semidefinite(d, U, np.array([[shift]]), U) is valid


@pytest.mark.parametrize("missing", ["fit", "transform"])
def test_a_metric_needs_both_methods(missing: str) -> None:
    methods = {"fit": None, "transform": None}
    del methods[missing]
    with pytest.raises(DataError, match="`fit` and `transform`"):
        NamedMetric("half", lambda: SimpleNamespace(**methods), "Half").make()


def test_a_saved_sum_has_the_number_of_features() -> None:
    ones, columns = np.ones(3), np.eye(3)[:, :1]
    value = LowRankPlusDiagonal(ones, columns, np.ones((1, 1)), columns)
    assert _is_semidefinite(value, 3)
    assert not _is_semidefinite(value, 4)


def test_a_step_that_overflows_leads_nowhere() -> None:
    frame = StraightFrame(np.eye(2))
    for wrong in ([[np.nan, 1.0], [1.0, 0.0]], [[-np.inf, 0.0], [0.0, 1.0]]):
        assert np.isnan(frame.move(np.array(wrong))).all()
