"""The accuracy study of the benchmarks: its data sets, its cache, its statistics."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from statsmodels.stats.multitest import multipletests

from benchmarks.accuracy import runs
from benchmarks.accuracy.data_sets import DEVELOPMENT, FOLDER, HELD_OUT, SOURCES, load
from benchmarks.accuracy.diagram import groups
from benchmarks.accuracy.methods import CLASSIFIERS, METRICS, OURS
from benchmarks.accuracy.summary import Half, critical_difference, holm, summary


def test_the_halves_are_a_fixed_split() -> None:
    assert sorted(SOURCES) == list(SOURCES)
    assert sorted(DEVELOPMENT + HELD_OUT) == sorted(SOURCES)
    assert DEVELOPMENT[:2] == ("alzheimer", "athletes")
    assert len(METRICS) == 11
    assert len(SOURCES) >= 40


def test_a_set_is_read_and_an_absent_one_is_named(monkeypatch, tmp_path) -> None:
    X, y = load_iris(return_X_y=True)
    np.testing.assert_array_equal(load("iris").X, X)
    np.testing.assert_array_equal(load("iris").y, y)
    monkeypatch.delenv(FOLDER, raising=False)
    with pytest.raises(FileNotFoundError, match=f"the variable {FOLDER} names no folder"):
        load("ecoli")
    rows = [f"{k % 7},{k * k},{'even' if k % 2 == 0 else 'odd'}" for k in range(40)]
    (tmp_path / "ecoli.csv").write_text("\n".join([*rows, "1,2,rare"]))
    monkeypatch.setenv(FOLDER, str(tmp_path))
    found = load("ecoli")
    assert found.X.shape == (40, 2)  # the class of one sample is left out
    assert np.bincount(found.y).tolist() == [20, 20]


def test_results_are_taken_from_the_cache(monkeypatch, tmp_path) -> None:
    few = {name: METRICS[name] for name in ("Euclidean", "LDA")}
    monkeypatch.setattr(runs, "METRICS", few)
    monkeypatch.setattr(runs, "CLASSIFIERS", {})
    monkeypatch.delenv(FOLDER, raising=False)
    said: list[str] = []
    names, accuracy, seconds = runs.measure(["iris", "ecoli"], [0, 1], tmp_path, said.append)
    assert names == ["iris"]
    assert any(line.startswith("  ecoli is left out") for line in said)
    assert accuracy.shape == seconds.shape == (1, 2, 2, 5)
    assert 0.9 < accuracy.mean() < 1.0
    for path in tmp_path.glob("iris__LDA__1*.json"):
        path.write_text(json.dumps([[0.5] * 5, [1.0] * 5]))
    again = runs.measure(["iris"], [0, 1], tmp_path, said.append)[1]
    np.testing.assert_array_equal(again[0, 0], accuracy[0, 0])
    assert (again[0, 1, 1] == 0.5).all()
    with pytest.raises(FileNotFoundError, match="none of the data sets"):
        runs.measure(["ecoli"], [0], tmp_path, said.append)


def test_statistics() -> None:
    raw = [0.01, 0.2, 0.04, 0.03, 0.5]
    np.testing.assert_allclose(holm(raw), multipletests(raw, method="holm")[1])
    # The table of Demšar (2006) has q = 3.164 for ten methods.
    assert critical_difference(10, 30) == pytest.approx(3.164 * np.sqrt(110 / 180), rel=1e-3)
    assert groups([1.0, 2.0, 3.0, 4.5, 9.0], 2.0) == [(0, 2), (2, 3)]


def test_the_summary_ranks_and_compares() -> None:
    rng = np.random.default_rng(0)
    n = len(METRICS) + len(CLASSIFIERS)
    skill = np.where(np.array([*METRICS, *CLASSIFIERS]) == OURS, 0.2, 0.0)
    accuracy = rng.uniform(0.4, 0.5, (8, n, 2, 5)) + skill[:, None, None]
    half = Half("The half", [f"set {k}" for k in range(8)], accuracy, np.ones(accuracy.shape))
    lines = summary(half).splitlines()
    best = next(line for line in lines if line.startswith(OURS))
    assert best.split()[1] == "1.00"
    nca = next(line for line in lines if line.startswith("NCA") and "+" in line)
    assert nca.split()[2:5] == ["8", "0", f"{2 / 2**8:.2g}"]  # all of 8 signs: the smallest p-value
