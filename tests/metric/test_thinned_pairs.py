"""Part of the pairs that stands for all: it saves passes, and never decides the answer."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from geodual.metric import RPDML
from geodual.metric.geometry import pair_set as thinned_module
from geodual.metric.geometry import tiles as tiles_module
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.pair_set import ThinnedPairs, thinned_rows
from geodual.metric.losses import SquaredHinge
from geodual.metric.program import logdet_program as program_module

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


@pytest.mark.parametrize(("n_samples", "n_features"), [(1000, 5), (4000, 100)])
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
    given_up = []
    serves = program_module._serves
    monkeypatch.setattr(program_module, "_serves", lambda gaps: given_up.append(serves(gaps)) or given_up[-1])
    found = RPDML(C=100.0, pairs="all").fit(X, y)
    assert not all(given_up)
    assert found.duality_gap_ <= 1e-6
    assert found.objective_ == pytest.approx(expected.objective_, rel=2e-6)


def test_threads_give_the_same_metric(thin_early, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles_module, "_CHUNK", 20_000)
    X, y = samples()
    assert len(AllPairs(y)._chunks) > 3
    one, two = (RPDML(C=100.0, pairs="all", n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.W_, two.W_)
