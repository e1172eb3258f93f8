"""Part of the pairs that stands for all: it saves passes, and never decides the answer."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from geodual.metric import RPDML
from geodual.metric.geometry import pair_set as thinned_module
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.pair_list import PairList
from geodual.metric.geometry.pair_set import ThinnedPairs, thinned_rows
from geodual.metric.geometry.tiles import chunks_of, class_tiles
from geodual.metric.losses import SquaredHinge
from geodual.metric.program.logdet_program import LogDetProgram
from geodual.metric.terms.term import PairTerm

LOSS = SquaredHinge(1.5, 4.0, 0.7, 1.3)


@pytest.fixture
def thin_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small sets be thinned too."""
    monkeypatch.setattr(thinned_module, "_FEW", 0)


def samples() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(600, 8, n_informative=5, n_redundant=2, n_classes=3, random_state=0)
    order = np.argsort(y, kind="stable")
    return StandardScaler().fit_transform(X)[order], y[order].astype(np.intp)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_the_chosen_samples_scaled_to_all(weighted: bool, thin_early) -> None:
    X, y = samples()
    weight = np.random.default_rng(0).uniform(0.5, 3.0, len(X)) if weighted else None
    whole = AllPairs(y, weight)
    thin, rows = whole.thinned(8), thinned_rows(y, 8)
    part = AllPairs(y[rows], None if weight is None else weight[rows])
    scale = whole.total_weight / part.total_weight
    found, expected = thin.evaluate(X, LOSS), part.evaluate(X[rows], LOSS)
    S = np.diag(np.arange(1.0, 9.0))
    assert thin.total_weight == whole.total_weight
    for name in ("value", "conjugate", "slope_sum", "curvature_total", "noise"):
        np.testing.assert_allclose(getattr(found, name), scale * getattr(expected, name))
    np.testing.assert_allclose(
        thin.curvature_product(X, S, LOSS, found.curvatures),
        scale * part.curvature_product(X[rows], S, LOSS, expected.curvatures),
    )
    np.testing.assert_allclose(
        thin.curvature_moment(X, LOSS, found), scale * part.curvature_moment(X[rows], LOSS, expected)
    )
    assert thin.index_list(10**6).i.size == part.n_pairs


def test_every_class_is_there_by_its_share(thin_early) -> None:
    labels = np.repeat([0, 1, 2], [900, 80, 20])
    rows = thinned_rows(labels, 2)
    np.testing.assert_allclose(np.bincount(labels[rows]), [270, 24, 6], atol=1)
    assert len(np.unique(rows)) == len(rows)


@pytest.mark.parametrize(("n_samples", "n_features"), [(1000, 5), (2000, 3), (4000, 100)])
def test_too_few_pairs_or_samples_per_feature_are_not_thinned(n_samples: int, n_features: int) -> None:
    assert thinned_rows(np.zeros(n_samples, dtype=np.intp), n_features) is None


@pytest.mark.parametrize("C", [10.0, 100.0])
def test_the_metric_is_the_same_and_takes_fewer_passes(C: float, thin_early, monkeypatch) -> None:
    X, y = samples()
    thin = RPDML(C=C, pairs="all", tol=1e-6).fit(X, y)
    monkeypatch.setattr(AllPairs, "thinned", lambda pairs, n_features: None)
    whole = RPDML(C=C, pairs="all", tol=1e-6).fit(X, y)
    assert max(thin.duality_gap_, whole.duality_gap_) <= 1e-6
    assert thin.objective_ == pytest.approx(whole.objective_, rel=2e-6)
    assert thin.history_[-1].passes < whole.history_[-1].passes


def test_a_part_that_misleads_is_given_up(thin_early, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hessian products from a part with far too little curvature: the answer is still proved."""
    X, y = samples()
    expected = RPDML(C=100.0, pairs="all").fit(X, y)
    true_product = ThinnedPairs.curvature_product
    monkeypatch.setattr(ThinnedPairs, "curvature_product", lambda *args: 0.05 * true_product(*args))
    sizes, product = [], AllPairs.curvature_product
    monkeypatch.setattr(
        AllPairs,
        "curvature_product",
        lambda pairs, *args: sizes.append(pairs.n_pairs) or product(pairs, *args),
    )
    found = RPDML(C=100.0, pairs="all").fit(X, y)
    assert sizes[0] < max(sizes) == found.n_pairs_  # from a part first, and later from all pairs
    assert found.duality_gap_ <= 1e-6
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-6)


def test_threads_give_the_same_metric() -> None:
    X, y = (np.repeat(part, 4, axis=0) for part in samples())
    X = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    assert len(chunks_of(list(class_tiles(y)))) > 1
    one, two = (RPDML(pairs="all", tol=1e-2, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.W_, two.W_)


@pytest.mark.parametrize(("n", "n_features", "expected"), [(2500, 3, 750), (2500, 55, 825), (2500, 60, None)])
def test_a_third_of_many_samples_stands_for_all_unless_there_are_many_features(
    n: int, n_features: int, expected: int | None
) -> None:
    labels = np.repeat([0, 1, 2], [n - 600, 400, 200])
    rows = thinned_rows(labels, n_features)
    assert (None if rows is None else len(rows)) == expected
    if rows is not None:
        share = np.bincount(labels[rows]) / np.bincount(labels)
        np.testing.assert_allclose(share, expected / n, rtol=0.02)
        assert rows[0] >= 0
        assert (np.diff(rows) > 0).all()


def test_a_part_of_the_pairs_whose_optimum_is_far_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).standard_normal((40, 3)) + labels[:, None]
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
