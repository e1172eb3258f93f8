"""What is learned of each training row, against slow loops; the level of an interval changes nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Training
from geodual.funds.forecasters.learning import (
    age_weights,
    centered_ranks,
    check_lesson,
    make_target,
    safe_target,
)
from tests.funds.forecasters.cases import make_training, names


def slow_rank(values, i):
    """(number below + half the ties − half of the others) / n, counted one by one."""
    below = sum(v < values[i] for v in values)
    ties = sum(v == values[i] for v in values) - 1
    return (below + ties / 2 - (len(values) - 1) / 2) / len(values)


def test_ranks_are_counted_within_interval_and_group():
    training = make_training(n=12)
    returns = np.round(training.returns, 2)  # with ties
    groups = np.array(["bond", "mixed", "bond"] * 12)
    training = replace(training, returns=returns, groups=groups)
    found = make_target(training, "rank")
    for i in range(36):
        same = [j for j in range(36) if training.age[j] == training.age[i] and groups[j] == groups[i]]
        assert found[i] == pytest.approx(slow_rank(returns[same], same.index(i)))
    assert np.abs(found).max() < 0.5


def test_excess_is_over_the_mean_of_the_interval():
    training = make_training()
    found = make_target(training, "excess")
    for age in range(3):
        own = training.returns[training.age == age]
        assert found[training.age == age] == pytest.approx([r - sum(own) / len(own) for r in own])
    assert np.array_equal(make_target(training, "return"), training.returns)


@pytest.mark.parametrize("target", ["excess", "rank"])
def test_a_level_added_to_an_interval_changes_nothing(target):
    training = make_training()
    lifted = replace(training, returns=training.returns + np.where(training.age == 1, 0.25, 0.0))
    assert np.allclose(make_target(lifted, target), make_target(training, target), atol=1e-15)


def test_several_intervals_are_never_pooled_as_plain_returns():
    assert safe_target("return", 1) == "return"
    assert safe_target("return", 2) == safe_target("return", "all") == "excess"
    assert safe_target("rank", "all") == "rank"


def test_edge_cases_of_ranks():
    assert centered_ranks(np.array([7.0])).tolist() == [0.0]
    assert centered_ranks(np.array([])).tolist() == []
    assert centered_ranks(np.array([np.nan, 2.0, 1.0])).tolist() == [0.0, 0.25, -0.25]
    assert centered_ranks(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    empty = Training(np.empty((0, 2)), np.empty(0), np.empty(0, dtype=int), pd.Index([], dtype=str))
    assert make_target(empty, "rank").shape == (0,)


def test_weights_halve_with_each_half_life():
    training = make_training(n_intervals=5, n=1)
    assert age_weights(training, None) is None
    assert age_weights(training, 2.0) == pytest.approx([0.25, 2**-1.5, 0.5, 2**-0.5, 1.0])


def test_the_last_intervals_are_kept():
    training = replace(make_training(n=10), groups=np.array(["a", "b"] * 15))
    last = training.last(2)
    assert last.age.tolist() == [1] * 10 + [0] * 10
    assert np.array_equal(last.features, training.features[10:])
    assert last.funds.tolist() == [*names(10), *names(10)]
    assert last.groups.tolist() == ["a", "b"] * 10
    assert training.last("all") is training


@pytest.mark.parametrize(
    ("lesson", "message"),
    [
        (("profit", 1, None), "`target` must be one of return, excess, rank, got 'profit'"),
        (("rank", 0, None), "`window` must be a number of past intervals or 'all', got 0"),
        (("rank", True, None), "`window` must"),
        (("rank", "ever", None), "`window` must"),
        (("rank", 1, 0.0), "`half_life` must be a positive number of intervals, got 0.0"),
        (("rank", 1, float("nan")), "`half_life` must"),
        (("rank", 1, "long"), "`half_life` must"),
    ],
)
def test_wrong_lessons_are_refused(lesson, message):
    with pytest.raises(DataError, match=message):
        check_lesson(*lesson)
