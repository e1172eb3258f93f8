"""Must-links and cannot-links beside labels: they count as pairs do."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from geodual.metric import ITML, RPDML, LocalPairs, PairRPDML
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.pair_list import PairList
from geodual.metric.geometry.pair_set import JointPairs
from geodual.metric.losses import OneSidedBurg
from geodual.metric.selection.samples import Links

BOUNDS = {"bounds": (1.0, 9.0), "tol": 1e-12}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, -1], [8, 7, 6, 5])
    return rng.standard_normal((26, 3)) + y[:, None], y


def all_signed(y):
    i, j = np.triu_indices(len(y), 1)
    known = (y[i] >= 0) & (y[j] >= 0)
    i, j = i[known], j[known]
    return np.column_stack([i, j]), np.where(y[i] == y[j], 1, -1)


@pytest.mark.filterwarnings("ignore:.*which means unknown:UserWarning")
def test_they_are_further_pairs_also_without_labels(data) -> None:
    """Against the learner of pairs, given the pairs of the labels and the links."""
    X, y = data
    must, cannot = [[22, 23], [3, 24]], [[25, 1]]
    pairs, signs = all_signed(y)
    pairs, signs = np.vstack([pairs, must, cannot]), np.concatenate([signs, [1, 1, -1]])
    expected = PairRPDML(**BOUNDS).fit(X[pairs], signs)
    found = RPDML(pairs="all", **BOUNDS).fit(X, y, must_link=must, cannot_link=cannot)
    np.testing.assert_allclose(found.W_, expected.W_, rtol=1e-5, atol=1e-6)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    assert found.n_pairs_ == len(pairs)
    assert found.duality_gap_ <= 1e-12


@pytest.mark.parametrize("kind", [RPDML, ITML])
def test_a_link_may_contradict_the_labels(data, kind) -> None:
    X, y = data[0][:21], data[1][:21]
    pairs, links = np.array([[0, 1], [0, 9], [2, 16], [17, 18]]), [[0, 9]] * 40
    learner = kind(pairs=pairs, **BOUNDS)
    plain = learner.fit(X, y).pair_distance(X[None, [0, 9]])
    assert learner.fit(X, y, must_link=links).pair_distance(X[None, [0, 9]]) < plain
    same = learner.fit(X, y, cannot_link=links).W_
    given = kind(pairs=np.vstack([pairs, links]), **BOUNDS).fit(X, y).W_
    np.testing.assert_allclose(same, given, rtol=1e-5, atol=1e-6)


def test_weights_count_as_repetitions(data) -> None:
    X, y = data[0][:21], data[1][:21]
    weight = np.ones(21)
    weight[[2, 5]] = 3.0, 0.0
    learner = RPDML(pairs=LocalPairs(2, 3), **BOUNDS)
    weighted = learner.fit(X, y, weight, must_link=[[2, 9], [5, 8]]).W_
    rows = np.repeat(np.arange(21), weight.astype(int))
    twins = np.flatnonzero(rows == 2)
    links = [[twin, int(np.flatnonzero(rows == 9)[0])] for twin in twins]
    repeated = learner.fit(X[rows], y[rows], must_link=links).W_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kept", [True, False])
def test_sums_are_those_of_both_sets(kept: bool) -> None:
    rng = np.random.default_rng(1)
    labels, Z = np.repeat([0, 1], [5, 6]), rng.standard_normal((11, 3))
    links = Links(np.array([[0, 7], [2, 3]]), np.array([True, False]), np.array([2.0, 1.0]))
    own = PairList(np.arange(4).reshape(-1, 2), links.similar, links.weight)
    labeled = AllPairs(labels)
    if not kept:
        labeled.n_pairs = 10**10  # second derivatives of so many pairs are not kept
    joint = JointPairs(labeled, 11, own)
    i, j = np.triu_indices(11, 1)
    plain = PairList(
        np.vstack([np.column_stack([i, j]), links.indices]),
        np.concatenate([labels[i] == labels[j], links.similar]),
        np.concatenate([np.ones(len(i)), links.weight]),
    )
    loss, S = OneSidedBurg(1.5, 4.0, 0.7), np.diag([1.0, 2.0, 3.0])
    doubled = np.vstack([Z, Z[links.indices.ravel()]])
    one, two = joint.evaluate(doubled, loss), plain.evaluate(Z, loss)
    for name in ("value", "conjugate", "slope_sum", "curvature_total"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10)
    np.testing.assert_allclose(
        joint.curvature_product(doubled, S, loss, one.curvatures),
        plain.curvature_product(Z, S, loss, two.curvatures),
        atol=1e-10 if kept else 1e-3,  # products over so many pairs are in single precision
    )
    if kept:
        np.testing.assert_allclose(
            joint.curvature_moment(doubled, loss, one), plain.curvature_moment(Z, loss, two), atol=1e-10
        )
        table, expected = joint.index_list(100), plain.index_list(100)
        np.testing.assert_allclose(
            np.sort(((doubled[table.i] - doubled[table.j]) ** 2).sum(axis=1)),
            np.sort(((Z[expected.i] - Z[expected.j]) ** 2).sum(axis=1)),
        )


def test_the_updates_of_the_paper_take_them_too(data) -> None:
    X, y = data[0][:21], data[1][:21]
    with pytest.warns(ConvergenceWarning):
        learner = RPDML(solver="paper", pairs="all", max_iter=5).fit(X, y, must_link=[[0, 9]])
    assert learner.n_pairs_ == 211


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ({"must_link": [[0, 99]]}, "`must_link` must hold row numbers from 0 to 20, got 0 to 99"),
        ({"cannot_link": [[0.5, 1.0]]}, "`cannot_link` must be whole numbers"),
        ({"cannot_link": [0, 1]}, r"`cannot_link` must have shape \(n_links, 2\), got \(2,\)"),
        ({"must_link": [[4, 4]]}, "`must_link` joins sample 4 with itself; remove link 0"),
        ({"must_link": [[1, 2]], "cannot_link": [[2, 1]]}, "Samples 1 and 2 are both in `must_link` and"),
    ],
)
def test_wrong_links_are_named(data, links, message) -> None:
    with pytest.raises(ValueError, match=message):
        RPDML().fit(data[0][:21], data[1][:21], **links)


def test_no_links_are_no_links(data) -> None:
    X, y = data[0][:21], data[1][:21]
    np.testing.assert_array_equal(RPDML().fit(X, y, must_link=[], cannot_link=[]).W_, RPDML().fit(X, y).W_)
