"""The commands ``geodual learn`` and ``geodual predict`` on real tables: mixed columns, and hostile ones."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import scale

from geodual.cli import score_table
from geodual.cli.learned_model import baselines, leave_one_out
from geodual.errors import DataError
from geodual.metric import RPDMLClassifier, RPDMLRegressor, load_metric

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_table, "_DRAWS", 200)


def customers(n: int = 60) -> pd.DataFrame:
    """Return a table as it comes: names, a color, days, gaps, a constant; the target depends on two."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "name": [f"customer {k}" for k in range(n)],
            "age": np.round(rng.normal(size=n), 3),
            "color": rng.choice(["red", "green", "blue"], n),
            "joined": pd.date_range("2020-01-01", periods=n).strftime("%d.%m.%Y"),
            "score": [str(k % 7) if k % 20 else "?" for k in range(n)],
            "empty": "",
            "same": 7,
        }
    )
    table["churned"] = np.where((table["age"] > 0) ^ (table["color"] == "red"), "yes", "no")
    return table


def learn(geodual, *arguments: object) -> dict:
    """Run ``geodual learn … --json`` to m.npz, and return its result."""
    code, out, err = geodual("learn", *arguments, "-o", "m.npz", "--json")
    assert code == 0, err
    return json.loads(out)


def predict(geodual, *arguments: object) -> dict:
    code, out, err = geodual("predict", "m.npz", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def refused(geodual, *arguments: object) -> str:
    """Run a command that must end in one line of explanation, and return it."""
    code, out, err = geodual(*arguments)
    assert (code, out) == (2, ""), (code, out, err)
    lines = [line for line in err.splitlines() if not line.startswith("learning: ")]
    assert len(lines) == 1, err
    return lines[0]


def test_a_table_of_all_kinds_of_columns_is_learned_and_predicted(geodual, tmp_path: Path) -> None:
    table = customers()
    table.loc[[3, 4], "churned"] = ""
    table.to_csv(tmp_path / "t.csv", index=False, sep=";", encoding="utf-16")
    found = learn(geodual, "t.csv", "--target", "churned")
    assert (found["task"], found["rows"], found["classes"]) == ("classes", 58, 2)
    assert set(found["feature_weights"]) == {
        *("age", "joined", "score"),
        *("color = red", "color = green", "color = blue"),
    }
    told = " ".join(found["notes"])
    for part in (
        "2 of 60 rows are left out: they have no target.",
        "Column 'name' is left out: nearly every row has a text of its own.",
        "Column 'empty' is left out: it is empty.",
        "Column 'same' is left out: it has only one value.",
        "Column 'score': 3 cells are not numbers, such as '?' in line 2; taken as missing.",
    ):
        assert part in told
    new = customers().head(20).assign(more=1)
    new.loc[0, "color"] = "purple"
    new.to_csv(tmp_path / "new.csv", index=False)
    result = predict(geodual, "new.csv", "-o", "p.csv", "--keep", "name", "--nearest", 2)
    told = " ".join(result["notes"])
    assert "Column 'color': 1 cell is not a known category, such as 'purple' in line 2" in told
    assert "Columns that the model does not know are ignored: 'more'." in told
    assert "rows are the same as rows that the model learned from" in told
    made = pd.read_csv(tmp_path / "p.csv")
    assert list(made) == [
        *("name", "prediction", "probability of no", "probability of yes"),
        *("nearest 1", "distance 1", "nearest 2", "distance 2"),
    ]
    np.testing.assert_allclose(made.iloc[:, 2:4].sum(axis=1), 1.0)
    known = made.drop(index=[0, 3, 4])  # what it learned from: row k is its own nearest
    assert (known["nearest 1"] == known.index + 1).all()
    assert (known["distance 1"] == 0).all()
    assert result["score"]["accuracy"] == (made["prediction"] == new["churned"]).mean()


def test_the_order_of_columns_does_not_matter_and_all_kinds_of_files_give_the_same(geodual, tmp_path) -> None:
    table = customers()
    table.to_csv(tmp_path / "t.csv", index=False)
    learn(geodual, "t.csv", "--target", "churned", "--ignore", "score")
    table.iloc[:, ::-1].to_csv(tmp_path / "back.csv.gz", index=False)
    table.to_excel(tmp_path / "t.xlsx", index=False)
    typed = table.assign(joined=pd.to_datetime(table["joined"], format="%d.%m.%Y"))
    typed.to_parquet(tmp_path / "t.parquet")
    for source, out in (
        *(("t.csv", "a.csv"), ("back.csv.gz", "b.csv.gz")),
        *(("t.xlsx", "c.xlsx"), ("t.parquet", "d.parquet")),
    ):
        predict(geodual, source, "-o", out)
    read = {".csv": pd.read_csv, ".gz": pd.read_csv, ".xlsx": pd.read_excel, ".parquet": pd.read_parquet}
    tables = [
        read[Path(name).suffix](tmp_path / name) for name in ("a.csv", "b.csv.gz", "c.xlsx", "d.parquet")
    ]
    for other in tables[1:]:
        pd.testing.assert_frame_equal(other, tables[0], check_dtype=False)


def test_a_model_of_numbers_has_intervals_and_a_score(geodual, tmp_path) -> None:
    X = RNG.normal(size=(80, 3))
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=2.0 * X[:, 0] + 0.1 * RNG.normal(size=80))
    table[:60].to_csv(tmp_path / "t.csv", index=False)
    table[60:].to_csv(tmp_path / "new.csv", index=False)
    found = learn(geodual, "t.csv", "--target", "y")
    assert found["task"] == "numbers"
    assert next(iter(found["feature_weights"])) == "a"
    score = found["score"]
    assert score["r2_interval"][0] < score["r2"] < score["r2_interval"][1]
    assert score["rmse_interval"][0] < score["rmse"] < score["rmse_interval"][1]
    mean = next(row for row in score["baselines"] if row["baseline"] == "mean")
    y = table["y"][:60].to_numpy()
    np.testing.assert_allclose(mean["rmse"], np.sqrt(np.mean((60 / 59 * (y - y.mean())) ** 2)))
    result = predict(geodual, "new.csv", "-o", "p.csv", "--coverage", 0.8)
    made, truth = pd.read_csv(tmp_path / "p.csv"), table["y"][60:].to_numpy()
    lower, upper = load_metric(tmp_path / "m.npz").predict_interval(table.iloc[60:, :3], 0.8)
    np.testing.assert_allclose(made["lower"], lower)
    np.testing.assert_allclose(made["upper"], upper)
    np.testing.assert_allclose(result["score"]["rmse"], np.sqrt(np.mean((made["prediction"] - truth) ** 2)))
    assert not result["notes"]


@pytest.mark.parametrize(
    ("target", "task"),
    [
        (["a", "b"] * 10, "classes"),
        ([0, 1] * 10, "classes"),
        (list(range(20)), "numbers"),
        ([0.5, 1.5] * 10, "numbers"),
        ([1.0, 2.0] * 10, "classes"),
    ],
)
def test_the_task_is_decided_from_the_target(target, task, geodual, tmp_path) -> None:
    table = pd.DataFrame({"x": RNG.normal(size=20), "y": target})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert learn(geodual, "t.csv", "--target", "y")["task"] == task
    if task == "classes" and target[0] != "a":
        assert learn(geodual, "t.csv", "--target", "y", "--task", "numbers")["task"] == "numbers"


def test_what_is_printed_names_the_decision_and_the_intervals(geodual, tmp_path) -> None:
    customers().to_csv(tmp_path / "t.csv", index=False)
    code, out, err = geodual("learn", "t.csv", "--target", "churned", "-o", "m.npz")
    assert code == 0
    for part in (
        *("2 classes (as the values look; --task overrides)", "95 % by Wilson", "most frequent class"),
        *(
            "5-NN, standardized",
            "points above (95 %, paired",
            "The learned metric adds",
            "gap of the metrics",
        ),
    ):
        assert part in out
    assert "learning: 4/4 (saved)" in err
    assert geodual("learn", "t.csv", "--target", "churned", "-o", "m.npz", "-q") == (0, "", "")
    code, out, _ = geodual("predict", "m.npz", "t.csv", "-o", "p.csv")
    assert (code, "60 predictions of 'churned': p.csv" in out) == (0, True)
    assert geodual("predict", "m.npz", "t.csv", "-o", "p.csv", "-q") == (0, "", "")


def test_texts_that_look_like_formulas_are_not_executed(geodual, tmp_path) -> None:
    table = customers().replace({"yes": "=1+1", "red": "@red"})
    table.to_csv(tmp_path / "t.csv", index=False)
    learn(geodual, "t.csv", "--target", "churned")
    predict(geodual, "t.csv", "-o", "p.csv", "--keep", "color")
    cells = {cell for line in (tmp_path / "p.csv").read_text().splitlines() for cell in line.split(",")}
    assert {"'=1+1", "'@red"} <= cells
    assert not any(cell.startswith(("=", "@")) for cell in cells)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("a,y\n", "no row"),
        ("a,y\n1,p\n", "the target has only one value, 'p'"),
        ("a,y\n1,p\n2,p\n3,p\n", "the target has only one value, 'p'"),
        ("a,y\n1,\n2,\n", "the target has no value"),
        ("a,y\n,p\n,q\n,p\n,q\n", "no column is left to learn from. Column 'a' is left out: it is empty"),
        ("a,a,y\n1,2,p\n2,2,q\n", "exactly one column 'a', and there are 2"),
        ("a,yy\n1,p\n2,q\n", "exactly one column 'y', and there are 0. Did you mean 'yy'?"),
        ("a,y\n1,u\n2,v\n3,w\n4,x\n", "4 classes in 4 rows"),
        ("a,y\n1e200,p\n2,q\n3,p\n4,q\n", "scale the features"),
    ],
)
def test_hostile_tables_are_one_clear_error(text, problem, geodual, tmp_path) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert problem in refused(geodual, "learn", "t.csv", "--target", "y", "-o", "m.npz")
    assert not (tmp_path / "m.npz").exists()


def test_wrong_options_are_told_before_the_work(geodual, tmp_path) -> None:
    customers().to_csv(tmp_path / "t.csv", index=False)
    learn(geodual, "t.csv", "--target", "churned")
    start = ("learn", "t.csv", "--target", "churned", "-o")
    assert "ends in .npz" in refused(geodual, *start, "m.txt")
    assert "`--task` must be classes or numbers" in refused(geodual, *start, "m.npz", "--task", "ranks")
    told = refused(geodual, *start, "m.npz", "--task", "numbers")
    assert "line 2, column 'churned': the target" in told
    start = ("predict", "m.npz", "t.csv", "-o")
    assert "unknown file type" in refused(geodual, *start, "p.txt")
    assert "`--nearest` must be at least 0" in refused(geodual, *start, "p.csv", "--nearest", -1)
    assert "`--coverage` must be between 0 and 1" in refused(geodual, *start, "p.csv", "--coverage", 1.0)
    assert "would be overwritten" in refused(geodual, *start, "t.csv")
    assert "Did you mean 'name'?" in refused(geodual, *start, "p.csv", "--keep", "nme")


def test_a_table_that_the_model_cannot_read_is_one_error(geodual, tmp_path) -> None:
    table = customers()
    table.to_csv(tmp_path / "t.csv", index=False)
    learn(geodual, "t.csv", "--target", "churned")
    table.rename(columns={"age": "ages"}).to_csv(tmp_path / "n.csv", index=False)
    told = refused(geodual, "predict", "m.npz", "n.csv", "-o", "p.csv")
    assert "the model needs the missing columns 'age'. Is it 'ages'? Rename it." in told
    table.assign(age="old").to_csv(tmp_path / "n.csv", index=False)
    told = refused(geodual, "predict", "m.npz", "n.csv", "-o", "p.csv")
    assert "line 2, column 'age': 'old' is not a number, nor is any other cell" in told
    table.assign(prediction="p").to_csv(tmp_path / "n.csv", index=False)
    told = refused(geodual, "predict", "m.npz", "n.csv", "-o", "p.csv", "--keep", "prediction")
    assert "'prediction' is also the name of a column of predictions" in told
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("harm", ["a metric", "columns", "rows", "kinds", "no table"])
def test_a_file_that_is_no_model_is_one_error(harm, geodual, tmp_path) -> None:
    customers().to_csv(tmp_path / "t.csv", index=False)
    learn(geodual, "t.csv", "--target", "churned")
    with np.load(tmp_path / "m.npz") as stored:
        arrays = dict(stored)
    tree = json.loads(arrays["header"].tobytes())
    if harm == "a metric":
        arrays = {"W": np.eye(2)}
    else:
        table = tree["notes"]["table"]
        changes = {"columns": {"columns": []}, "rows": {"rows": ["a"]}, "no table": {"ignored": 3}}
        table |= changes.get(harm, {})
        if harm == "kinds":
            table["columns"][0][1] = "picture"
        arrays["header"] = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)
    np.savez(tmp_path / "m.npz", **arrays)
    told = refused(geodual, "predict", "m.npz", "t.csv", "-o", "p.csv")
    assert "m.npz: this is not a m" in told


def test_scores_by_leave_one_out_are_those_of_the_rows() -> None:
    """Copies of a sample with other targets are rows of their own, and a baseline sees the same rows."""
    X = RNG.normal(size=(30, 2)).round(1)
    X = np.vstack([X, X[:6], X[:3]])
    y = np.where(X[:, 0] > 0, "p", "q")
    y[30:33] = "q"
    model = RPDMLClassifier().fit(X, y)
    found, first = leave_one_out(model, X, y)
    assert found.rows.tolist() == list(range(39))
    assert (found.predicted == y).mean() == pytest.approx(model.loo_score_)
    np.testing.assert_array_equal(X[first], model._machine_.X)
    numbers = X[:, 0] + np.arange(39) / 39
    regressor = RPDMLRegressor().fit(X, numbers)
    found, first = leave_one_out(regressor, X, numbers)
    np.testing.assert_array_equal(X[first], regressor._machine_.X)
    np.testing.assert_array_equal(found.predicted[:3], found.predicted[30:33])
    means = [found.truth[(x == X).all(axis=1)].mean() for x in X]
    assert np.sqrt(np.mean((found.predicted - means) ** 2)) == pytest.approx(regressor.loo_error_)


def test_baselines_are_those_of_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X + RNG.normal(scale=1e-3, size=X.shape), y[RNG.permutation(150)]
    rows = np.arange(0, 150, 3)
    found = baselines(X, y, rows, "classes")["5-NN, standardized"]
    expected = cross_val_predict(KNeighborsClassifier(), scale(X), y, cv=LeaveOneOut())
    np.testing.assert_array_equal(found, expected[rows])
    found = baselines(X, X[:, 0], rows, "numbers")["5-NN, standardized"]
    expected = cross_val_predict(KNeighborsRegressor(), scale(X), X[:, 0], cv=LeaveOneOut())
    np.testing.assert_allclose(found, expected[rows])


def test_intervals_of_shares_are_those_of_wilson_and_agresti_and_min() -> None:
    truth, ours, other = np.zeros(50), np.arange(50) >= 40, np.arange(50) >= 30
    score = score_table.score_classes(truth, ours.astype(float), {"other": other.astype(float)})
    z, p, n = norm.ppf(0.975), 0.8, 50
    center, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    np.testing.assert_allclose(score["interval"], [(center + s * half) / (1 + z**2 / n) for s in (-1, 1)])
    row = score["baselines"][0]
    assert row["difference"] == pytest.approx(0.2)
    difference = (10.5 - 0.5) / 52
    error = np.sqrt(11.0 / 52**2 - difference**2 / 52)
    np.testing.assert_allclose(row["interval"], [difference + s * z * error for s in (-1, 1)])


def test_the_bootstrap_covers_the_error_of_the_mean() -> None:
    """For many samples, the interval of the mean square is that of the normal distribution."""
    truth, error = np.zeros(4000), RNG.normal(size=4000)
    score = score_table.score_numbers(truth, error, {"twice": 2.0 * error})
    spread = np.std(error**2) / np.sqrt(4000) / (2.0 * score["rmse"])
    low, high = score["rmse_interval"]
    assert (high - low) / (2 * norm.ppf(0.975) * spread) == pytest.approx(1.0, abs=0.2)
    np.testing.assert_allclose(score["baselines"][0]["interval"], [low, high])
    assert score["r2"] is None
    assert score["r2_interval"] is None


def test_a_file_of_a_metric_is_not_a_model(geodual, tmp_path) -> None:
    customers().drop(columns=["name", "color", "joined", "score", "empty"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert geodual("learn", "t.csv", "--target", "churned", "--metric", "gmml", "-o", "m.npz", "-q")[0] == 0
    assert "this is not a m" in refused(geodual, "predict", "m.npz", "t.csv", "-o", "p.csv")
    with pytest.raises(DataError):
        load_metric(tmp_path / "m.npz")
