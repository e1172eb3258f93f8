"""The comparison of classifiers, on two small sets."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier

from benchmarks import machine_accuracy
from benchmarks.machine_accuracy import OURS, machine_table, read_table


def test_tables_are_read_without_rare_classes_and_constant_features(tmp_path) -> None:
    rows = [[k, 1, k % 3, "ab"[k % 2]] for k in range(40)] + [[k, 1, 5, "rare"] for k in range(7)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    X, y = read_table(path)
    assert X.shape == (40, 2)
    assert np.bincount(y).tolist() == [20, 20]


def test_the_table_compares_means_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent():
        raise FileNotFoundError

    sets = {"first": lambda: load_iris(return_X_y=True), "second": lambda: load_iris(return_X_y=True)}
    monkeypatch.setattr(machine_accuracy, "groups", lambda: iter([("few sets", sets | {"none": absent})]))
    dummies = {name: DummyClassifier() for name in machine_accuracy.METHODS if name != OURS}
    monkeypatch.setattr(machine_accuracy, "METHODS", {OURS: machine_accuracy.METHODS[OURS]} | dummies)
    lines: list[str] = []
    table = machine_table(lines.append)
    assert [line.split()[0] for line in lines] == ["first", "second"]
    assert "few sets: 2" in table
    forest = next(line for line in table.splitlines() if line.startswith("forest"))
    # A constant prediction is right for a third of the irises, and Wilcoxon's p of two gains is 1/2.
    assert forest.split()[1] == "33.33"
    assert forest.split()[3:5] == ["2/0", "0.5000"]
