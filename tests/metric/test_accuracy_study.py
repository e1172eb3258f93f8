"""The accuracy studies of the benchmarks: their data sets, their cache, their statistics."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from statsmodels.stats.multitest import multipletests

import benchmarks.accuracy
from benchmarks.accuracy import accuracy_table, regression_sets, runs
from benchmarks.accuracy.data_sets import (
    FOLDER,
    HALVES,
    IN_FOLDER,
    SOURCES,
    DataSet,
    load,
    machine_sets,
    read_table,
)
from benchmarks.accuracy.diagram import groups
from benchmarks.accuracy.methods import METRICS, STUDIES, Study
from benchmarks.accuracy.runs import forget, measure
from benchmarks.accuracy.summary import Results, critical_difference, holm, scores, summary


def _iris() -> DataSet:
    return DataSet(*load_iris(return_X_y=True))


def _absent() -> DataSet:
    raise FileNotFoundError("it is elsewhere")


def _study(methods: Mapping[str, Any], **options: Any) -> Study:
    names = tuple(methods)
    chosen = {"ours": names[0], "rivals": names[1:], "reference": names[1], "clock": names[1]} | options
    return Study("Few", lambda half: {"iris": _iris}, methods, **chosen)


def test_the_halves_are_a_fixed_split() -> None:
    assert sorted(SOURCES) == list(SOURCES)
    assert sorted(HALVES["development"] + HALVES["held-out"]) == sorted(SOURCES)
    assert HALVES["development"][:2] == ("alzheimer", "athletes")
    assert len(SOURCES) >= 40


def test_every_study_compares_methods_that_it_has() -> None:
    for study in STUDIES.values():
        named = {study.ours, study.reference, study.clock, *study.rivals, *study.unranked}
        assert named <= set(study.methods)
        assert study.ours not in study.rivals
        peers = study.without_ours()
        assert {study.reference, study.clock} <= set(peers.methods) < set(study.methods)
        assert study.ours not in peers.methods


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


def test_tables_are_read_without_rare_classes_and_constant_features(tmp_path) -> None:
    rows = [[k, 1, k % 3, "ab"[k % 2]] for k in range(40)] + [[k, 1, 5, "rare"] for k in range(7)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    data = read_table(path)
    assert data.X.shape == (40, 2)
    assert np.bincount(data.y).tolist() == [20, 20]
    assert (data.X[:, 0] % 2 == data.y).all()  # classes stay with their samples


def test_sets_of_the_folder_are_for_development_only(monkeypatch, tmp_path) -> None:
    (tmp_path / "mine.csv").write_text("1,2,a\n")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    development, held_out = machine_sets("development"), machine_sets("held-out")
    assert "mine" in development
    assert "mine" not in held_out
    assert IN_FOLDER.isdisjoint({*development, *held_out})
    assert set(development).isdisjoint(held_out)


def test_regression_sets_are_cut_and_read_from_a_folder(monkeypatch, tmp_path) -> None:
    rows = np.column_stack([np.arange(1200.0), np.ones(1200), 3.0 * np.arange(1200)])
    np.savetxt(tmp_path / "line.csv", rows, delimiter=",")
    monkeypatch.setenv(regression_sets.FOLDER, str(tmp_path))
    sets = regression_sets.regression_sets("development")
    line = sets["line"]()
    assert line.X.shape == (1000, 1)  # the constant feature is left out
    np.testing.assert_allclose(line.y, 3.0 * line.X[:, 0])
    np.testing.assert_array_equal(np.sort(sets["diabetes"]().y), np.sort(load_diabetes().target))
    assert sets["star98"]().X.shape[0] == len(sets["star98"]().y)


def test_results_are_taken_from_the_cache(tmp_path) -> None:
    few = {name: METRICS[name] for name in ("Euclidean", "LDA")}
    said: list[str] = []
    sets = {"iris": _iris, "ecoli": _absent}
    names, accuracy, seconds = measure(sets, few, [0, 1], tmp_path, said.append)
    assert names == ["iris"]
    assert "  ecoli is left out: it is elsewhere" in said
    assert accuracy.shape == seconds.shape == (1, 2)
    assert (accuracy > 0.9).all()
    (path,) = tmp_path.glob("iris__LDA__1*.json")
    first, second = (json.loads(p.read_text())[0] for p in sorted(tmp_path.glob("iris__LDA__*.json")))
    assert accuracy[0, 1] == pytest.approx(np.mean([first, second]))
    path.write_text(json.dumps([[0.5] * 5, [1.0] * 5]))
    again = measure(sets, few, [0, 1], tmp_path, said.append)[1]
    assert again[0, 0] == accuracy[0, 0]
    assert again[0, 1] == pytest.approx((np.mean(first) + 0.5) / 2)
    assert forget(tmp_path, "LD") == 2
    assert [path.name.split("__")[1] for path in tmp_path.glob("*.json")] == ["Euclidean"] * 2
    assert measure(sets, few, [0, 1], tmp_path, said.append)[1].tolist() == accuracy.tolist()
    with pytest.raises(FileNotFoundError, match="none of the data sets"):
        measure({"ecoli": _absent}, few, [0], tmp_path, said.append)


def test_other_settings_and_other_data_are_measured_anew(tmp_path) -> None:
    def dummy(share: int) -> dict[str, Any]:
        return {"dummy": DummyClassifier(strategy="constant", constant=share)}

    def cut() -> DataSet:
        return DataSet(_iris().X[:100], _iris().y[:100])

    accuracies = [
        measure({"iris": read}, dummy(share), [0], tmp_path, lambda line: None)[1].item()
        for read, share in ((_iris, 0), (_iris, 1), (cut, 0))
    ]
    assert accuracies == pytest.approx([1 / 3, 1 / 3, 1 / 2])
    assert len(list(tmp_path.glob("*.json"))) == 3


def test_large_sets_are_tested_on_two_folds(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(runs, "ALL_FOLDS", 149)
    measure({"iris": _iris}, {"dummy": DummyClassifier()}, [0], tmp_path, lambda line: None)
    ((accuracies, seconds),) = (json.loads(path.read_text()) for path in tmp_path.glob("*.json"))
    assert len(accuracies) == len(seconds) == 2


def test_errors_of_regressors_are_in_units_of_the_standard_deviation(tmp_path) -> None:
    X, y = load_diabetes(return_X_y=True)
    constant = {"zero": DummyRegressor(strategy="constant", constant=0.0)}
    error = measure({"set": lambda: DataSet(X, y)}, constant, [0], tmp_path, lambda line: None)[1].item()
    assert error == pytest.approx(np.sqrt(np.mean(y**2)) / y.std(), rel=0.01)  # folds are not all of one size


def test_statistics() -> None:
    raw = [0.01, 0.2, 0.04, 0.03, 0.5]
    np.testing.assert_allclose(holm(raw), multipletests(raw, method="holm")[1])
    # The table of Demšar (2006) has q = 3.164 for ten methods.
    assert critical_difference(10, 30) == pytest.approx(3.164 * np.sqrt(110 / 180), rel=1e-3)
    assert groups([1.0, 2.0, 3.0, 4.5, 9.0], 2.0) == [(0, 2), (2, 3)]


def test_the_summary_of_classifiers_by_hand() -> None:
    methods = dict.fromkeys(("ours", "plain", "equal", "aside"))
    accuracy = np.array([[0.9, 0.8, 0.9, 1.0], [0.7, 0.75, 0.7, 1.0], [0.6, 0.5, 0.6, 1.0]])
    seconds = np.array([[4.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [2.0, 1.0, 1e-9, 1.0]])
    study = _study(methods, unranked=("aside",))
    lines = summary(Results("By hand", study, list("abc"), accuracy, seconds)).splitlines()
    assert lines[0].startswith("By hand: 3 sets. Mean rank of 3 methods")
    split = next(k for k, line in enumerate(lines) if line.startswith("ours against"))
    first, second = (
        {line.split()[0]: line.split()[1:] for line in half if line}
        for half in (lines[:split], lines[split:])
    )
    # Ranks 1.5, 3, 1.5; 2.5, 1, 2.5; 1.5, 3, 1.5. Times 4, 1 and 2: their geometric mean is 2.
    assert first["ours"] == ["1.83", "73.33", "2", "2"]
    assert first["plain"] == ["2.33", "68.33", "0", "1"]
    assert first["aside"] == ["–", "100.00", "3", "1"]
    assert float(first["equal"][3]) == pytest.approx(1e-4 ** (1 / 3), rel=0.02)  # of the least time
    p = [wilcoxon([10.0, -5.0, 10.0]).pvalue, 1.0, 0.25]  # all of three signs alike: 2 / 2³
    q = multipletests(p, method="holm")[1]
    assert second["plain"] == ["+5.00", "2", "1", f"{p[0]:.2g}", f"{q[0]:.2g}"]
    assert second["equal"] == ["+0.00", "0", "0", "1", f"{q[1]:.2g}"]
    assert second["aside"] == ["-26.67", "0", "3", "0.25", f"{q[2]:.2g}"]


def test_the_summary_of_regressors_by_hand() -> None:
    methods = dict.fromkeys(("ours", "plain", "worse"))
    errors = np.array([[0.1, 0.4, 0.8], [0.8, 0.4, 0.8], [0.05, 0.1, 0.2], [0.2, 0.2, 0.4]])
    results = Results("By hand", _study(methods, regression=True), list("abcd"), errors, np.ones((4, 3)))
    text = summary(results)
    first, second = text.split("ours against")
    rows = {line.split()[0]: line.split()[1:] for line in first.splitlines() if line}
    # Ratios to plain 1/4, 2, 1/2, 1: a product of 1/4, whose fourth root is 1/√2.
    assert rows["ours"][1:3] == ["0.707", "2"]
    assert rows["plain"][1:3] == ["1.000", "0"]
    assert rows["worse"][1:3] == ["2.000", "0"]
    rows = {line.split()[0]: line.split()[1:] for line in second.splitlines() if line}
    assert rows["worse"][:3] == ["0.354", "3", "0"]
    assert "0.050" in scores(results)


def test_the_table_of_all_parts(monkeypatch, tmp_path) -> None:
    few = {"our RPDML": DummyClassifier(), "plain": DummyClassifier(), "LDA": METRICS["LDA"]}
    study = _study(few)
    monkeypatch.setattr(benchmarks.accuracy, "STUDIES", {"metrics": study, "machines": study})
    said: list[str] = []
    text = accuracy_table(["machines"], cache=tmp_path, report=said.append)
    assert (
        text.count("Few, the development sets: 1 sets") == text.count("Few, the held-out sets: 1 sets") == 1
    )
    assert "our RPDML against" in text
    assert (tmp_path / "machines_ranks.png").exists()
    assert not (tmp_path / "metrics_ranks.png").exists()
    (stored,) = tmp_path.glob("iris__our_RPDML__0__*.json")
    stored.write_text(json.dumps([[1.0], [1.0]]))
    options = {"cache": tmp_path, "halves": ["development"], "report": said.append}
    assert "100.00" in accuracy_table(["machines"], **options)
    text = accuracy_table(["machines"], peers_only=True, **options)
    assert "RPDML" not in text
    assert "plain" in text
    text = accuracy_table(["machines"], fresh=["RPDML"], **options)
    assert "  1 results of RPDML are measured again" in said
    assert "100.00" not in text
    nothing = Study("None", lambda half: {}, few, study.ours, study.rivals, study.reference, study.clock)
    monkeypatch.setitem(benchmarks.accuracy.STUDIES, "metrics", nothing)
    assert accuracy_table(["metrics"], **options) == "None, the development sets: there are none."
    with pytest.raises(ValueError, match="unknown part forecasts; choose from metrics, machines"):
        accuracy_table(["forecasts"])


def test_metrics_do_not_depend_on_the_scales_of_features() -> None:
    """The frame gives raw features to all methods; those that need standardized ones do it themselves."""
    X, y = load_wine(return_X_y=True)
    scale = 10.0 ** np.arange(-6, 7)
    for name in ("NCA", "GMML", "NeighborRPDML"):
        plain = METRICS[name].fit(X[::2], y[::2]).predict(X[1::2])
        np.testing.assert_array_equal(
            METRICS[name].fit(X[::2] * scale, y[::2]).predict(X[1::2] * scale), plain
        )
