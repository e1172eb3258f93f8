"""The command ``geodual learn``, as its user meets it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA


def write_samples(path: Path, classes: list[str], n_features: int = 3) -> pd.DataFrame:
    """Write a table of random features and these classes."""
    X = np.random.default_rng(0).normal(size=(len(classes), n_features))
    table = pd.DataFrame(X, columns=list("abcdef"[:n_features])).assign(kind=classes)
    table.to_csv(path, index=False)
    return table


def test_learn_saves_a_metric_for_features_in_their_own_units(geodual, tmp_path) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 40)
    X = np.column_stack(
        [1e3 * rng.normal(size=80), rng.normal(size=80) + 3 * (y == "a"), rng.normal(size=80)]
    )
    table = pd.DataFrame(X, columns=["noise", "useful", "other"]).assign(kind=y, name="x")
    table.to_csv(tmp_path / "table.csv", index=False)
    arguments = ("learn", "table.csv", "--target", "kind", "--ignore", "name", "-o", "metric.npz")
    arguments += ("--metric", "neighbor_rpdml")
    code, out, _ = geodual(*arguments, "--json")
    assert code == 0
    result = json.loads(out)
    assert max(result["feature_importances"], key=result["feature_importances"].get) == "useful"
    with np.load(tmp_path / "metric.npz") as saved:
        assert list(saved["features"]) == ["noise", "useful", "other"]
        assert saved["W"][0, 0] < 1e-3 * saved["W"][1, 1]
        np.testing.assert_allclose(saved["components"].T @ saved["components"], saved["W"])
    code, _, err = geodual("learn", "table.csv", "--target", "kind", "--metric", "gmml", "-o", "m.npz")
    assert code == 2
    assert "line 2, column 'name'" in err
    code, _, err = geodual("learn", "table.csv", "--target", "none", "--metric", "gmml", "-o", "m.npz")
    assert code == 2
    assert (
        "exactly one column 'none', and there are 0. Did you mean 'noise'? Choose among 'noise', 'useful'"
        in err
    )


def test_a_missing_class_is_told_and_makes_no_class_of_its_own(geodual, tmp_path) -> None:
    write_samples(tmp_path / "table.csv", ["p"] * 6 + [""] + ["q"] * 6)
    code, out, err = geodual("learn", "table.csv", "--target", "kind", "--metric", "gmml", "-o", "m.npz")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "line 8, column 'kind': the class is missing" in err
    assert not (tmp_path / "m.npz").exists()


def test_two_columns_of_one_name_are_refused(geodual, tmp_path) -> None:
    (tmp_path / "table.csv").write_text("a,a,kind\n1,5,p\n2,3,p\n4,4,q\n6,1,q\n")
    code, _, err = geodual("learn", "table.csv", "--target", "kind", "--metric", "gmml", "-o", "m.npz")
    assert code == 2
    assert "exactly one column 'a'" in err


def test_a_wrong_number_of_neighbors_is_told_before_the_work(geodual, tmp_path) -> None:
    write_samples(tmp_path / "table.csv", ["p", "q"] * 6)
    arguments = ("learn", "table.csv", "--target", "kind", "-o", "m.npz", "--k")
    code, _, err = geodual(*arguments, 0, "--metric", "gmml")
    assert code == 2
    assert "`--k` must be at least 1, got 0" in err
    code, _, err = geodual(*arguments, 3)
    assert code == 2
    assert "`--k` is for --metric" in err
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize(("classes", "metric"), [("ppqq", "lmnn"), ("ppppq", "gmml")])
def test_where_folds_are_too_small_there_is_no_accuracy(classes, metric, geodual, tmp_path) -> None:
    write_samples(tmp_path / "table.csv", list(classes), 2)
    arguments = ("learn", "table.csv", "--target", "kind", "--metric", metric, "-o", "m.npz")
    code, out, _ = geodual(*arguments, "--json")
    assert (code, json.loads(out)["accuracy"]) == (0, None)
    code, out, _ = geodual(*arguments)
    assert code == 0
    assert "No accuracy" in out


@pytest.mark.parametrize(
    "place", ["sklearn.decomposition:FactorAnalysis", "sklearn.preprocessing:PolynomialFeatures"]
)
def test_a_map_that_no_matrix_stands_for_is_not_saved(place, geodual, tmp_path) -> None:
    write_samples(tmp_path / "table.csv", ["p", "q"] * 10)
    code, _, err = geodual("learn", "table.csv", "--target", "kind", "--metric", place, "-o", "m.npz")
    assert (code, err.count("\n")) == (2, 1)
    assert "is not a linear map" in err
    assert not (tmp_path / "m.npz").exists()


def test_a_linear_map_of_another_library_is_saved(geodual, tmp_path) -> None:
    X = write_samples(tmp_path / "table.csv", ["p", "q"] * 10).drop(columns="kind").to_numpy()
    place = "sklearn.decomposition:PCA"
    assert geodual("learn", "table.csv", "--target", "kind", "--metric", place, "-o", "m.npz")[0] == 0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    with np.load(tmp_path / "m.npz") as saved:
        expected = PCA().fit_transform(Z)
        found = X @ saved["components"].T
        np.testing.assert_allclose(np.abs(found - found.mean(axis=0)), np.abs(expected), atol=1e-10)
