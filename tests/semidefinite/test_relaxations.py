"""Cuts, rotations and sensors with known answers."""

import itertools
import math

import numpy as np
import pytest

from geodual.semidefinite import (
    balanced_cut,
    max_cut,
    round_cut,
    round_rotations,
    sensor_localization,
    sensor_positions,
    synchronization,
)
from testing.problems.semidefinite import measured_rotations, random_graph, torus, torus_bound


def petersen() -> np.ndarray:
    """Return the graph of pairs of five things, joined if they have nothing in common."""
    pairs = [set(pair) for pair in itertools.combinations(range(5), 2)]
    return np.array([[float(not a & b) for b in pairs] for a in pairs])


@pytest.mark.parametrize(
    ("weights", "value"),
    [
        (torus(3, 4).toarray(), torus_bound(3, 4)),
        (np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0), 2.5 * (1.0 + math.cos(math.pi / 5))),
        (1.0 - np.eye(7), 49.0 / 4.0),
        (petersen(), 12.5),  # a quarter of n times the largest eigenvalue 5 of the Laplacian
        (torus(25, 12), torus_bound(25, 12)),
    ],
    ids=["torus 3 × 4", "cycle of 5", "complete graph of 7", "Petersen", "torus 25 × 12"],
)
def test_largest_cuts_with_closed_forms(weights: np.ndarray, value: float) -> None:
    result = max_cut(weights).solve()
    assert result.success
    assert result.bound_is_proved
    assert -result.cost == pytest.approx(value, rel=1e-7)
    assert -result.lower_bound >= value - 1e-9
    signs, weight = round_cut(result, weights)
    assert set(signs) <= {-1.0, 1.0}
    assert 0.878 * value <= weight <= -result.lower_bound + 1e-9


def test_a_cut_counts_the_edges_between_its_sides() -> None:
    weights = random_graph(30, 0.3, 0, signed=True)
    signs, weight = round_cut(max_cut(weights).solve(), weights)
    W = weights.toarray()
    assert weight == pytest.approx(sum(W[i, j] for i in range(30) for j in range(i) if signs[i] != signs[j]))


@pytest.mark.parametrize("n", [8, 9])
def test_no_balanced_cut_is_below_the_bound(n: int) -> None:
    weights = random_graph(n, 0.5, n).toarray()
    result = balanced_cut(weights).solve()
    assert result.success
    halves = [s for s in itertools.product([-1.0, 1.0], repeat=n) if abs(sum(s)) <= 1.0]
    L = np.diag(weights.sum(axis=1)) - weights
    best = min(0.25 * np.array(s) @ L @ np.array(s) for s in halves)
    assert result.lower_bound <= best + 1e-9
    signs, weight = round_cut(result, weights, balanced=True)
    assert abs(signs.sum()) <= 1.0
    assert weight == pytest.approx(best)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_rotations_are_recovered(noise: float) -> None:
    case = measured_rotations(20, 30, noise, 0)
    result = synchronization(case.pairs, case.measured).solve()
    assert result.success
    assert result.rank == 3
    R = round_rotations(result, 3)
    assert np.allclose(np.linalg.det(R), 1.0)
    i, j = case.pairs.T
    cost = -float(np.sum(case.measured * (R[i] @ R[j].transpose(0, 2, 1))))
    assert cost == pytest.approx(result.lower_bound, rel=1e-6)  # so no rotations are better
    turn = R[0].T @ case.rotations[0]
    assert np.abs(R @ turn - case.rotations).max() < 5.0 * noise + 1e-5


def test_a_weight_of_zero_removes_a_measurement() -> None:
    case = measured_rotations(6, 8, 0.0, 1)
    wrong = case.measured.copy()
    wrong[-1] = wrong[-1] @ np.diag([1.0, -1.0, -1.0])
    weights = np.ones(len(wrong))
    weights[-1] = 0.0
    result = synchronization(case.pairs, wrong, weights).solve()
    assert result.cost == pytest.approx(-3.0 * (len(wrong) - 1), rel=1e-7)


def network(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return places of sensors and anchors, and all pairs at most 0.7 apart with their distances."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-0.5, 0.5, (n, 2))
    anchors = np.array([[-0.4, -0.4], [0.4, -0.4], [-0.4, 0.4], [0.4, 0.4]])
    everywhere = np.vstack([places, anchors])
    apart = np.linalg.norm(everywhere[:, None] - everywhere, axis=2)
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n + 4) if apart[i, j] < 0.7])
    return places, anchors, pairs, apart[tuple(pairs.T)]


def test_sensors_are_found() -> None:
    places, anchors, pairs, distances = network(8, 1)
    result = sensor_localization(pairs, distances, anchors, 8).solve()
    assert result.success
    found, spread = sensor_positions(result, 2)
    assert np.abs(found - places).max() < 1e-4
    assert spread.max() < 1e-3


def test_sensors_with_errors_keep_the_intervals() -> None:
    _, anchors, pairs, distances = network(3, 2)
    result = sensor_localization(pairs, 1.02 * distances, anchors, 3, error=0.05).solve()
    assert result.success
    _, spread = sensor_positions(result, 2)
    full = np.vstack([result.Y[2:], anchors @ result.Y[:2]])
    apart = np.linalg.norm(full[pairs[:, 0]] - full[pairs[:, 1]], axis=1)
    assert (apart <= 1.02 * 1.05 * distances + 1e-5).all()
    assert (apart >= 1.02 * 0.95 * distances - 1e-5).all()
    assert len(spread) == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: max_cut(np.eye(3)), "diagonal of 0"),
        (lambda: max_cut(np.triu(np.ones((3, 3)), 1)), "symmetric"),
        (lambda: balanced_cut(np.zeros((2, 2)), imbalance=0.0), "`imbalance`"),
        (lambda: synchronization([(0, 0)], [np.eye(3)]), "different numbers"),
        (lambda: synchronization([(0, 1)], np.eye(3)), "`rotations`"),
        (lambda: synchronization([(0, 1)], [np.eye(3)], [-1.0]), "`weights`"),
        (lambda: synchronization([], []), "`pairs`"),
        (lambda: sensor_localization([(0, 3)], [1.0], np.zeros((1, 2)), 1), "`pairs` has 3"),
        (lambda: sensor_localization([(0, 2)], [1.0], np.zeros((1, 2)), 2), "Sensor 1 has no path"),
        (lambda: sensor_localization([(0, 1)], [-1.0], np.zeros((1, 2)), 1), "`distances`"),
        (lambda: sensor_localization([(0, 1)], [1.0], np.zeros((1, 2)), 1, error=1.0), "`error`"),
        (lambda: sensor_localization([(0, 1)], [1.0], np.zeros(2), 1), "`anchors`"),
    ],
)
def test_wrong_data_are_named(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
