"""Parts of the learners by themselves: small errors in them that no other test noticed (docs/mutants.md)."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from geodual.metric import RPDML, TripletRPDML
from geodual.metric.base.scatter import distinct_rows
from geodual.metric.geometry import tiles
from geodual.metric.margin.large_margin import LargeMargin
from geodual.metric.saved_checks import _is_low_rank_semidefinite, _is_semidefinite
from geodual.metric.selection.bounds import check_bounds, valid_bounds


def test_zeros_of_both_signs_are_equal() -> None:
    first, place = distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, -0.0], [2.0, 0.0]]))
    assert len(first) == 2
    assert place[0] == place[1] != place[2] == place[3]


@pytest.mark.parametrize("max_iter", [0, -1])
def test_a_budget_of_no_iterations_is_refused(max_iter: int) -> None:
    with pytest.raises(ValueError, match=f"`max_iter` must be at least 1, got {max_iter}"):
        RPDML(max_iter=max_iter).fit(np.eye(4), [0, 0, 1, 1])


def test_fit_transform_of_comparisons_learns_from_their_signs() -> None:
    triplets = np.random.default_rng(0).standard_normal((30, 3, 2)) * [1.0, 3.0]
    signs = np.where(np.arange(30) % 3 == 0, -1, 1)
    both = TripletRPDML().fit_transform(triplets, signs)
    np.testing.assert_array_equal(both, TripletRPDML().fit(triplets, signs).transform(triplets))
    assert not np.allclose(both, TripletRPDML().fit_transform(triplets))


def test_bounds_of_distances_that_are_mostly_zero() -> None:
    with pytest.warns(UserWarning, match="distance zero|coincide"):
        assert valid_bounds(0.0, 0.0, 5.0, lambda: 3.0) == (3.0, 6.0)
    with pytest.warns(UserWarning, match="coincide"):
        assert valid_bounds(2.0, 2.0, 5.0, lambda: 3.0) == (1.0, 2.0)


def test_a_saved_matrix_may_be_unsymmetric_and_singular_by_rounding_alone() -> None:
    assert _is_semidefinite(np.array([[1.0, 1e-14], [0.0, 1.0]]), 2)
    assert _is_semidefinite(1e-200 * np.array([[1.0, 1.0], [1.0, 1.0]]), 2)
    assert not _is_semidefinite(np.array([[1.0, 1e-3], [0.0, 1.0]]), 2)
    assert not _is_semidefinite(1e-200 * np.array([[1.0, 2.0], [2.0, 1.0]]), 2)


def test_a_learner_that_has_not_learnt_says_so() -> None:
    with pytest.raises(NotFittedError):
        RPDML().get_mahalanobis_matrix()
    with pytest.raises(NotFittedError):
        RPDML().transform(np.eye(2))
    with pytest.raises(NotFittedError):
        RPDML().get_metric()


def test_a_saved_sum_of_a_diagonal_and_a_few_columns_is_symmetric_and_has_a_root() -> None:
    d, U, C = np.ones(3), np.eye(3)[:, :2], np.diag([2.0, -0.5])
    other, skew = U.copy(), C.copy()
    other[2, 1] = skew[0, 1] = 1e-3
    assert _is_low_rank_semidefinite(d, U, C, U)
    assert not _is_low_rank_semidefinite(d, U, C, other)
    assert not _is_low_rank_semidefinite(d, U, skew, U)
    assert not _is_low_rank_semidefinite(d, U, np.diag([2.0, -1.5]), U)
    assert not _is_low_rank_semidefinite(np.array([1.0, 1.0, 0.0]), U, C, U)


@pytest.mark.parametrize("huge", [1e200, -1e200])
def test_samples_whose_squares_overflow_are_refused(huge: float) -> None:
    with pytest.raises(ValueError, match=r"values up to 1e\+200, whose squares overflow"):
        RPDML().fit(np.array([[0.0], [1.0], [2.0], [huge]]), [0, 0, 1, 1])


@pytest.mark.parametrize("n_rows", [None, 400])
def test_tiles_hold_each_pair_once_and_know_its_kind(
    n_rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classes are larger than a tile, and the first rows end within one."""
    monkeypatch.setattr(tiles, "_ROWS", 64)
    monkeypatch.setattr(tiles, "_COLUMNS", 96)
    labels = np.repeat([0, 1, 2], [300, 250, 50])
    seen, kinds = np.zeros((600, 600)), np.full((600, 600), -1)
    for tile in tiles.class_tiles(labels, n_rows):
        seen[tile.rows, tile.columns] += tile.share
        kinds[tile.rows, tile.columns] = tile.similar
    above = np.triu(np.ones((600, 600), dtype=bool), 1)
    expected = above.copy()
    if n_rows:
        expected[:, :n_rows] = expected[n_rows:] = False
    np.testing.assert_array_equal((seen + seen.T)[above], expected[above])
    known = above & (kinds >= 0)
    np.testing.assert_array_equal(kinds[known], (labels[:, None] == labels)[known])


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.5, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, np.inf)])
def test_bounds_that_are_not_positive_increasing_and_finite_are_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="`bounds`"):
        check_bounds(bounds)


def test_no_pull_in_some_direction_leaves_zero_as_the_only_safe_lower_bound() -> None:
    """Targets differ in the first feature and classes in the second, so the infimum of the program is 0."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    objective = LargeMargin(X, np.array([0, 0, 1, 1]), np.array([[1], [0], [3], [2]]), 0.5)
    result, bound = objective.certify(np.diag([1.0, 0.5]), 1e-3)
    assert bound == 0.0 < result.objective
    assert objective.certify(np.diag([1e-6, 2.0]), 1e-3)[0].objective < 1e-9


@pytest.mark.parametrize(("setting", "value"), [("C", -1.0), ("alpha", -1.0), ("solver", "other")])
def test_bad_parameters_are_named(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"`{setting}`"):
        RPDML(**{setting: value}).fit(np.random.default_rng(0).standard_normal((8, 2)), np.arange(8) % 2)
