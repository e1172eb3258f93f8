"""Saved metrics: equal after a round trip, and a damaged or foreign file is one clear error."""

import io
import json
import pickle
import zipfile
from dataclasses import is_dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import geodual.metric
from geodual.errors import DataError
from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    EuclideanMetric,
    FeatureWeights,
    LocalPairs,
    MahalanobisMetric,
    NeighborRPDML,
    PairGMML,
    PairITML,
    PairRPDML,
    QuadrupletRPDML,
    RPDMLClassifier,
    RPDMLRegressor,
    TripletRPDML,
    load_metric,
    save_metric,
)
from geodual.metric.base.maps import LowRankPlusDiagonal
from geodual.metric.machine.views import RankGauss, Standardized

IRIS = load_iris(as_frame=True)
X, y = IRIS.data.iloc[::3], IRIS.target.to_numpy()[::3]
RNG = np.random.default_rng(0)
PAIRS = X.to_numpy()[RNG.integers(0, len(X), (60, 2))]
SIGNS = np.where(np.arange(60) % 2, 1, -1)
TRIPLETS, QUADRUPLETS = (X.to_numpy()[RNG.integers(0, len(X), (60, size))] for size in (3, 4))

MAKERS = {
    "EuclideanMetric": lambda: EuclideanMetric(n_components=2).fit(X),
    "MahalanobisMetric": lambda: MahalanobisMetric().fit(X),
    "GMML": lambda: GMML().fit(X, y),
    "ITML": lambda: ITML(pairs=50, random_state=0).fit(X, y),
    "LMNN": lambda: LMNN().fit(X, y),
    "NeighborRPDML": lambda: NeighborRPDML().fit(X, y),
    "RPDML": lambda: RPDML(pairs=LocalPairs(2, 3), prior=np.eye(4), bounds=(0.5, 4.0)).fit(X, y),
    "FeatureWeights": lambda: FeatureWeights(sparsity=0.3).fit(X, y),
    "RPDMLClassifier": lambda: RPDMLClassifier().fit(X, IRIS.target_names[y]),
    "RPDMLRegressor": lambda: RPDMLRegressor().fit(X, y.astype(float)),
    "PairGMML": lambda: PairGMML().fit(PAIRS, SIGNS),
    "PairITML": lambda: PairITML().fit(PAIRS, SIGNS),
    "PairRPDML": lambda: PairRPDML(preprocessor=X.to_numpy()).fit(PAIRS, SIGNS),
    "TripletRPDML": lambda: TripletRPDML().fit(TRIPLETS),
    "QuadrupletRPDML": lambda: QuadrupletRPDML().fit(QUADRUPLETS),
}
LABELS, NUMBERS = IRIS.target_names[y], X.iloc[:, 0].to_numpy() ** 2
SEVERAL = np.column_stack([NUMBERS, y])
ON_LANDMARKS = {"max_exact": 20, "n_landmarks": 15, "random_state": 0}
MACHINES = {
    "neighbors": lambda: RPDMLClassifier("neighbors").fit(X, LABELS.astype(object)),
    "local": lambda: RPDMLClassifier("local", views=["rank"]).fit(X.to_numpy(), y - 1.0),
    "a matrix": lambda: RPDMLClassifier(metric="full").fit(X[X > 0.2], y > 0),
    "no metric, two outputs": lambda: RPDMLClassifier(metric=None).fit(X, np.column_stack([y, 2 * y])),
    "columns of labels": lambda: RPDMLClassifier().fit(X, np.column_stack([y > 0, y == 1])),
    "landmarks": lambda: RPDMLClassifier(**ON_LANDMARKS).fit(X, LABELS, 1 + y),
    "one constant feature": lambda: RPDMLClassifier().fit(X.assign(e=1.0), y),
    "means of numbers": lambda: RPDMLRegressor(predictor="neighbors").fit(X, NUMBERS),
    "means of several numbers": lambda: RPDMLRegressor(predictor="neighbors").fit(X, SEVERAL),
    "local fits of numbers": lambda: RPDMLRegressor(predictor="local").fit(X, NUMBERS),
    "several numbers": lambda: RPDMLRegressor().fit(X, SEVERAL),
    "numbers on landmarks": lambda: RPDMLRegressor(**ON_LANDMARKS).fit(X, NUMBERS),
}


def assert_equal(found, expected) -> None:
    """Compare two values of a learner part by part, types included."""
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    elif isinstance(expected, LowRankPlusDiagonal):
        np.testing.assert_array_equal(found @ np.eye(len(found), 3), expected @ np.eye(len(found), 3))
    elif is_dataclass(expected) or isinstance(expected, Standardized | RankGauss):
        assert_equal(list(vars(found).items()), list(vars(expected).items()))
    elif hasattr(expected, "get_params"):
        assert set(vars(found)) == set(vars(expected))
        for name in vars(expected):
            if not name.startswith("_"):  # what these hold, predictions and certificates show
                assert_equal(vars(found)[name], vars(expected)[name])
    else:
        assert found == expected


def use(learner) -> list[np.ndarray]:
    """Return what a learner answers: its transformation, a distance and its predictions."""
    samples = X.to_numpy()[:5] if not hasattr(learner, "feature_names_in_") else X.iloc[:5]
    if isinstance(learner, RPDMLClassifier):
        answers = [learner.predict(samples), *learner.nearest(samples, 2)]
        return [*answers, *learner.predict_proba(samples), *learner.decision_function(samples)]
    if isinstance(learner, FeatureWeights):
        return [learner.transform(samples)]
    u, v = X.to_numpy()[[0, -1]]
    answers = [learner.transform(samples), learner.get_metric()(u, v), learner.get_mahalanobis_matrix()]
    tuples = {"Pair": PAIRS, "Trip": TRIPLETS, "Quad": QUADRUPLETS}.get(type(learner).__name__[:4], samples)
    return [*answers, learner.predict(tuples)] if hasattr(learner, "predict") else answers


@pytest.mark.parametrize("name", MAKERS)
def test_a_metric_is_loaded_as_it_was_saved(name, tmp_path):
    learner = MAKERS[name]()
    path = save_metric(learner, tmp_path / "a.npz")
    again = load_metric(str(path))
    assert_equal(again, learner)
    for found, expected in zip(use(again), use(learner), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert again._repr_html_()
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_is_loaded_as_it_was_saved(name, tmp_path):
    learner, path = MACHINES[name](), tmp_path / "a.npz"
    again = load_metric(save_metric(learner, path))
    assert_equal(again, learner)
    samples = (X if hasattr(learner, "feature_names_in_") else X.to_numpy())[20:]
    samples = samples.assign(e=2.0) if learner.n_features_in_ == 5 else samples
    answers = []
    for one in (learner, again):
        answers.append([one.predict(samples)])
        if isinstance(learner, RPDMLClassifier):
            assert one.metric_gain() == learner.metric_gain()
            answers[-1] += [one.predict_proba(samples), one.nearest(samples), one.classes_]
        elif learner.predictor != "neighbors":
            answers[-1] += one.predict_interval(samples)
    assert_equal(*answers)
    save_metric(again, tmp_path / "b.npz")
    assert (tmp_path / "b.npz").stat().st_size == path.stat().st_size


def test_every_learner_can_be_saved():
    learners = {name for name in geodual.metric.__all__ if hasattr(getattr(geodual.metric, name), "fit")}
    assert learners == set(MAKERS)


@pytest.mark.parametrize("learner", [RPDML(pairs="all"), GMML()], ids=repr)
def test_a_metric_of_very_many_features_keeps_its_few_columns(learner, tmp_path):
    for samples in (
        RNG.normal(size=(12, 5_001)),
        csr_array(np.where(RNG.random((12, 5_001)) < 0.01, 1.0 + RNG.random((12, 5_001)), 0.0)),
    ):
        learner = clone(learner).fit(samples, np.arange(12) % 2)
        again = load_metric(save_metric(learner, tmp_path / "a.npz"))
        assert_equal(again, learner)
        np.testing.assert_array_equal(again.transform(samples), learner.transform(samples))
        assert (tmp_path / "a.npz").stat().st_size < 10e6
        (tmp_path / "a.npz").write_bytes(
            change((tmp_path / "a.npz").read_bytes(), **{"components_.0": np.full(5_001, 0.9)})
        )
        with pytest.raises(DataError, match="`W_` is not the matrix LᵀL"):
            load_metric(tmp_path / "a.npz")


@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_a_matrix_of_few_columns_must_be_symmetric_and_semidefinite(prior, tmp_path):
    """W = D + U C Vᵀ with V = U, in units of which D may be far from 1."""
    path, samples = tmp_path / "a.npz", 30.0 * RNG.normal(size=(6, 5_001))
    learner = RPDML(pairs="all", prior=prior, bounds=(1.0, 9.0)).fit(samples, np.arange(6) % 2)
    content = save_metric(learner, path).read_bytes()
    assert_equal(load_metric(path), learner)
    d, U, C, _ = learner.W_.parts()
    skew, other = C.copy(), U.copy()
    skew[0, 1] += 1e-3 * np.abs(C).max()
    other[2, 1] += 1e-3
    low = np.linalg.inv(U.T @ (U / d[:, None]))  # D − U low Uᵀ is singular
    for changes in (
        {"W_.0": np.append(d[:-1], 0.0)},
        {"W_.1": other},
        {"W_.2": skew},
        {"W_.2": -1.001 * low},
        {"W_.3": other},
    ):
        path.write_bytes(change(content, **changes))
        with pytest.raises(DataError, match="`W_` is not valid"):
            load_metric(path)
    path.write_bytes(change(content, **{"W_.2": -0.999 * low}))  # semidefinite, but not that of the map
    with pytest.raises(DataError, match="`W_` is not the matrix LᵀL"):
        load_metric(path)


def test_a_loaded_metric_goes_on_where_it_was(tmp_path):
    learner = RPDML().fit(X, y).partial_fit(X[::2], y[::2])
    again = load_metric(save_metric(learner, tmp_path / "a.npz"))
    assert again.certificates_ == learner.certificates_
    assert len(again.certificates_) == 2
    np.testing.assert_array_equal(again.partial_fit(X, y).W_, learner.partial_fit(X, y).W_)
    assert [step[0] for step in again.certificates_] == [step[0] for step in learner.certificates_]


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"RPDMLClassifier"}))  # it transforms nothing
def test_what_scikit_learn_keeps_in_a_learner_does_no_harm(name, tmp_path):
    learner = MAKERS[name]().set_output(transform="pandas")
    if hasattr(learner, "set_fit_request"):
        with config_context(enable_metadata_routing=True):
            learner.set_fit_request(sample_weight=True)
    again = load_metric(save_metric(learner, tmp_path / "a.npz"))
    samples = X if hasattr(learner, "feature_names_in_") else X.to_numpy()
    pd.testing.assert_frame_equal(again.transform(samples), learner.transform(samples))
    path = tmp_path / "b.npz"
    path.write_bytes(change((tmp_path / "a.npz").read_bytes(), output="numpy"))
    with pytest.raises(DataError, match="the output 'numpy' is unknown"):
        load_metric(path)


def test_what_could_not_be_loaded_is_not_written(tmp_path):
    for attribute, value in (("note", "mine"), ("threshold_", float("nan")), ("components_", np.eye(3))):
        learner = MAKERS["PairRPDML"]()
        setattr(learner, attribute, value)
        told = rf"`learner`: this PairRPDML cannot be saved, .*`{attribute}` is .*Fit it again"
        with pytest.raises(DataError, match=told):
            save_metric(learner, tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


def named_by_texts_and_numbers():
    learner = MAKERS["GMML"]()
    learner.feature_names_in_ = np.array(["a", "b", "c", 1], dtype=object)
    return learner


def look_up(rows):
    return X.to_numpy()[rows]


@pytest.mark.parametrize(
    ("make", "name", "message"),
    [
        (MAKERS["GMML"], "a.pkl", r"Choose a file name that ends in \.npz"),
        (KFold, "a.npz", "KFold cannot be saved; give a fitted learner of geodual.metric"),
        (lambda: PairGMML(preprocessor=look_up).fit(PAIRS, SIGNS), "a.npz", "`preprocessor` of"),
        (named_by_texts_and_numbers, "a.npz", "`feature_names_in_` of GMML cannot be saved, .* ndarray"),
    ],
)
def test_what_cannot_be_saved_is_named(make, name, message, tmp_path):
    learner = make()
    with pytest.raises(DataError, match=message):
        save_metric(learner, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_an_unfitted_learner_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save_metric(RPDML(), tmp_path / "a.npz")


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a file was executed",))


def bytes_of_npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def compressed(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return buffer.getvalue()


def with_an_open_bracket(saved: bytes) -> bytes:
    """Return a saved metric whose arrays are described by no Python literals."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"), }", b"),  ", 1))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a saved pair classifier."""
    return save_metric(MAKERS["PairRPDML"](), tmp_path_factory.mktemp("saved") / "a.npz").read_bytes()


@pytest.mark.parametrize(
    "make",
    [
        lambda saved: b"",
        lambda saved: b"date,fund\n2015-01-05,1.0\n",
        lambda saved: pickle.dumps(Bomb()),
        lambda saved: bytes_of_npz(header=np.array([Bomb()], dtype=object)),
        lambda saved: bytes_of_npz(W=np.eye(2)),
        lambda saved: bytes_of_npz(header=np.frombuffer(b"[" * 100_000, dtype=np.uint8)),
        lambda saved: saved[: len(saved) // 2],
        lambda saved: saved[100:],
        compressed,
        with_an_open_bracket,
    ],
    ids=[
        "empty",
        "a table",
        "a pickle",
        "a pickle in it",
        "other arrays",
        "deep",
        "cut",
        "late",
        "compressed",
        "open bracket",
    ],
)
def test_a_foreign_or_damaged_file_is_one_error(make, saved, tmp_path):
    path = tmp_path / "b.npz"
    path.write_bytes(make(saved))
    with pytest.raises(DataError, match=r"b\.npz: this is not a metric .* Save the metric again\.$"):
        load_metric(path)


def change(saved: bytes, **changes) -> bytes:
    """Return a saved metric with other arrays, or with another part of its header."""
    with np.load(io.BytesIO(saved)) as stored:
        arrays = dict(stored)
    tree = json.loads(arrays["header"].tobytes())
    for name, value in changes.items():
        where = tree if name in tree else tree["attributes"] if name.endswith("_") else tree["parameters"]
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif value is None:
            del where[name]
        else:
            where[name] = value
    arrays["header"] = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)
    return bytes_of_npz(**arrays)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"class": "Popen"}, "Popen"),
        ({"threshold_": None}, "`threshold_` is missing"),
        ({"threshold_": float("nan")}, "`threshold_`"),
        ({"transform_": 1}, "`transform_` is unknown"),
        ({"__class__": 1}, "__class__"),
        ({"C": {"code": "1"}}, "unknown kind 'code'"),
        ({"n_features_in_": 5}, "`.*`"),
        ({"n_features_in_": True}, "`n_features_in_`"),
        ({"components_": np.full((4, 4), np.nan)}, "`components_`"),
        ({"components_": np.eye(3)}, "`components_`"),
        ({"components_": np.full((4, 4), 1e154)}, "`components_`"),
        ({"feature_importances_": np.ones(4, dtype=int)}, "`feature_importances_`"),
        ({"components_": np.array(["a"])}, "no numbers"),
        ({"W_": -np.eye(4)}, "`W_`"),
        ({"W_": np.triu(np.ones((4, 4)))}, "`W_`"),
        ({"W_": np.diag([1.0, 1.0, 1.0, -0.001])}, "`W_`"),
        ({"W_": np.eye(4) + 1e-3 * np.eye(4, k=1)}, "`W_` is not valid"),
        ({"W_": 1e-200 * (2.0 * np.ones((4, 4)) - np.eye(4))}, "`W_` is not valid"),
        ({"classes_": np.array([0, 1])}, "`classes_`"),
        ({"W_": np.eye(4)}, "`W_` is not the matrix LᵀL"),
        ({"components_": 1.000001 * np.eye(4), "W_": np.eye(4)}, "`W_` is not the matrix LᵀL"),
        ({"duality_gap_": -1e-6}, "`duality_gap_`"),
        ({"duality_gap_": float("nan")}, "`duality_gap_`"),
        ({"dual_objective_": 1e9}, "`dual_objective_` is above `objective_`"),
        ({"history_.0": np.array([[1.0, 1.0, 1.0, -0.5, 3, 0.1]])}, "`history_`"),
        ({"earlier": [[1.0, 0.5, -0.5, 3, 10]]}, "certificate of an earlier step"),
        ({"C": "100"}, "the parameter `C` is of the wrong type: str"),
        ({"C": True}, "`C` .* bool"),
        ({"max_iter": 2.5}, "`max_iter` .* float"),
        ({"n_components": {"list": [2]}}, "`n_components` .* list"),
        ({"percentiles": {"tuple": ["a", "b"]}}, "`percentiles` .* tuple"),
        ({"prior": {"dict": {}}}, "`prior` .* dict"),
    ],
    ids=str,
)
def test_what_is_no_metric_is_refused(changes, problem, saved, tmp_path):
    path = tmp_path / "b.npz"
    path.write_bytes(change(saved, **changes))
    with pytest.raises(DataError, match=rf"b\.npz: .*{problem}"):
        load_metric(path)


def test_few_components_are_the_leading_ones_of_their_matrix(tmp_path):
    path = tmp_path / "a.npz"
    learner = RPDML(n_components=2).fit(X, y)
    assert_equal(load_metric(save_metric(learner, path)), learner)
    sizes, directions = np.linalg.eigh(learner.W_)
    last = np.sqrt(sizes[:2, None]) * directions[:, :2].T
    for L in (np.zeros((2, 4)), learner.components_ * 1.001, learner.components_[[0, 0]], last):
        path.write_bytes(change(save_metric(learner, path).read_bytes(), components_=L))
        with pytest.raises(DataError, match="`W_` is not the matrix LᵀL"):
            load_metric(path)


def test_a_newer_format_asks_for_a_newer_version(saved, tmp_path):
    path = tmp_path / "b.npz"
    path.write_bytes(change(saved, schema=2))
    with pytest.raises(DataError, match=r"b\.npz: .* format 2, .* Install a newer geodual"):
        load_metric(path)


@pytest.mark.parametrize("size", [1.0, 1e-200])
def test_a_matrix_of_rank_one_is_a_metric(size, saved, tmp_path):
    path, W = tmp_path / "b.npz", np.full((4, 4), size)
    path.write_bytes(change(saved, W_=W, components_=np.full((4, 4), 0.5 * np.sqrt(size))))
    np.testing.assert_array_equal(load_metric(path).W_, W)


def test_a_matrix_may_be_unsymmetric_by_rounding(saved, tmp_path):
    path, W = tmp_path / "b.npz", np.eye(4) + 1e-14 * np.eye(4, k=1)
    path.write_bytes(change(saved, W_=W, components_=np.eye(4)))
    np.testing.assert_array_equal(load_metric(path).W_, W)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        load_metric(tmp_path / "none.npz")


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_are_noticed_or_do_not_matter(seed, saved, tmp_path):
    """Some bytes of the container, such as a date, mean nothing to the metric."""
    rng, path, learner = np.random.default_rng(seed), tmp_path / "b.npz", MAKERS["PairRPDML"]()
    learner.history_, refused = None, 0  # it has the seconds that the fit took
    for _ in range(100):
        content = bytearray(saved)
        for at in rng.integers(0, len(content), rng.integers(1, 4)):
            content[at] ^= int(rng.integers(1, 256))
        path.write_bytes(content)
        try:
            again = load_metric(path)
        except DataError:
            refused += 1
        else:
            again.history_ = None
            assert_equal(again, learner)
    assert refused > 50


@pytest.mark.parametrize("path", [3, None, b"a.npz", "a\0.npz"])
def test_what_is_no_path_is_named(path):
    for call in (load_metric, lambda path: save_metric(GMML(), path)):
        with pytest.raises(DataError, match="`path` must be the name of a file"):
            call(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_neighbors": "a"},
        {"_targets_": np.full((len(X), 1), 1e200)},
        {"_targets_": np.ones((len(X), 2))},
        {"_counts_": np.zeros(len(X))},
        {"_search_": np.ones((len(X), 3))},
        {"predictor": "kernel"},
        {"predictor": "pickle"},
    ],
    ids=str,
)
def test_a_regressor_by_neighbors_with_other_parts_is_refused(changes, tmp_path):
    path = save_metric(MACHINES["means of numbers"](), tmp_path / "b.npz")
    refuse(path, path.read_bytes(), changes, "`")


def refuse(path, content: bytes, changes: dict, problem: str) -> None:
    """Assert that a file with changes cannot be loaded."""
    path.write_bytes(change(content, **changes))
    with pytest.raises(DataError, match=rf"b\.npz: this is not a metric .*{problem}"):
        load_metric(path)


@pytest.fixture(scope="module")
def saved_machine(tmp_path_factory):
    """The bytes of a saved classifier."""
    return save_metric(MAKERS["RPDMLClassifier"](), tmp_path_factory.mktemp("saved") / "a.npz").read_bytes()


def members(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content)) as stored:
        return dict(stored)


def test_no_array_of_a_machine_may_be_of_another_kind(saved_machine, tmp_path):
    """NaN, another shape, another type, or one value too large to compute with."""
    arrays, path = members(saved_machine), tmp_path / "b.npz"
    del arrays["header"]
    assert len(arrays) > 20
    for name, array in arrays.items():
        wrong = [array[:0], array[None], np.array(3.0), array.astype(bytes)]
        if array.dtype == float:
            wrong += [
                np.where(np.arange(array.size) == 0, bad, array.ravel()).reshape(array.shape)
                for bad in (np.nan, np.inf, 1e300)
            ]
        for value in wrong:
            refuse(path, saved_machine, {name: value}, "")


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (["_machine_", "Machine", 0, "tuple"], [], "_machine_"),
        (["_machine_", "Machine", 0, "tuple", 0, "Part", 0], 0.9, "_machine_"),
        (["_machine_", "Machine", 0, "tuple", 0, "Part", 2, "Ridge", 0], "cubic", "_machine_"),
        (["_machine_", "Machine", 0, "tuple", 0, "Part", 2, "Ridge", 1], -1.0, "_machine_"),
        (["_machine_", "Machine", 0, "tuple", 0, "Part", 2, "Ridge", 2], 0.0, "_machine_"),
        (["_machine_", "Machine", 0, "tuple", 0, "Part", 1, "Geometry", 3], "l3", "_machine_"),
        (["_machine_", "Machine", 0, "tuple", 0, "Part", 1, "Geometry", 1], None, "_machine_|NoneType"),
        (["_machine_", "Machine", 2, "ClassTargets", 2], -1.0, "_machine_"),
        (["_machine_", "Machine", 2, "ClassTargets", 3, "tuple", 0], 7, "_machine_"),
        (["_machine_", "Machine", 6, "MachineCertificates", 1], -1e-3, "_machine_"),
        (["_machine_", "Machine"], [1, 2], "argument"),
        (["_machine_"], None, "_machine_"),
        (["_class_lists"], {"list": []}, "_class_lists"),
        (["_sharpness_", "list"], [], "_machine_"),
        (["_sharpness_", "list", 0], -2.0, "_sharpness_"),
        (["_is_flat"], False, "_machine_|object"),
        (["_marks_labels"], True, "_machine_"),
        (["loo_score_"], 1.5, "loo_score_"),
    ],
    ids=str,
)
def test_what_is_no_machine_is_refused(place, value, problem, saved_machine, tmp_path):
    arrays = members(saved_machine)
    tree = json.loads(arrays["header"].tobytes())
    at = tree["attributes"]
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    arrays["header"] = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)
    path = tmp_path / "b.npz"
    path.write_bytes(bytes_of_npz(**arrays))
    with pytest.raises(DataError, match=rf"b\.npz: this is not a metric .*({problem})"):
        load_metric(path)


def test_a_classifier_does_not_become_a_regressor(saved_machine, tmp_path):
    refuse(tmp_path / "b.npz", saved_machine, {"class": "RPDMLRegressor"}, "")
    refuse(tmp_path / "b.npz", saved_machine, {"predictor": "neighbors"}, "does not predict by 'neighbors'")
