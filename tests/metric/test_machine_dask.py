"""Machines fitted to dask arrays: those of arrays of numpy, and predictions block by block."""

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

from geodual.cluster import local_cluster
from geodual.metric import RPDMLClassifier, RPDMLRegressor, load_metric, save_metric
from geodual.metric.machine import landmarks, many_samples

LARGE = {"max_exact": 60, "n_landmarks": 50, "random_state": 0}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(many_samples, "_DRAWN", 90)
    monkeypatch.setattr(landmarks, "_ENTRIES", 1000)
    with dask.config.set(scheduler="synchronous"):
        yield


def samples(n=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4)) * [1.0, 10.0, 0.1, 1.0] + 5.0
    y = (X[:, 0] > 5.0).astype(int) + (X[:, 1] > 8.0)
    return X, y


def in_order(X, *keys):
    """Return samples sorted as a fit to an array sorts them, so that the same rows are drawn."""
    strings = X.view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel()
    return X[np.lexsort((np.unique(strings, return_inverse=True)[1], *keys))]


def test_the_classifier_is_that_of_the_array():
    X, y = samples()
    X, y = in_order(X, y), np.sort(y)
    here = RPDMLClassifier(**LARGE).fit(X, y)
    there = RPDMLClassifier(**LARGE).fit(da.from_array(X, chunks=(70, 3)), da.from_array(y, chunks=30))
    np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(there.classes_, here.classes_)
    assert there.loo_score_ == here.loo_score_
    assert there.certificates_.metric_gap == pytest.approx(here.certificates_.metric_gap, abs=1e-12)
    assert there.n_features_in_ == 4


def test_the_regressor_is_that_of_the_array():
    X = in_order(samples()[0])
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * 100.0])
    here = RPDMLRegressor(**LARGE).fit(X, y)
    expected, W = here.predict(X), here.W_
    there = RPDMLRegressor(**LARGE).fit(da.from_array(X, chunks=(70, 3)), y)
    np.testing.assert_allclose(there.predict(X), expected, rtol=1e-7)
    np.testing.assert_allclose(there.W_, W, atol=1e-9 * np.abs(W).max())
    np.testing.assert_allclose(there.loo_error_, here.loo_error_, rtol=1e-7)


def test_predictions_are_dask_arrays_of_the_same_type():
    X, y = samples()
    names = np.array(["a", "b", "c"])[y]
    model = RPDMLClassifier(**LARGE).fit(X, names)
    for method in ("predict", "predict_proba", "decision_function"):
        for kind in (np.float64, np.float32, np.int64):
            given = X.astype(kind)
            predict = getattr(model, method)
            found, expected = predict(da.from_array(given, chunks=(70, 2))), predict(given)
            assert isinstance(found, da.Array)
            assert found.shape == expected.shape
            assert found.dtype == expected.dtype == found.compute().dtype
            if method == "predict":
                np.testing.assert_array_equal(found.compute(), expected)
            else:
                np.testing.assert_allclose(found.compute(), expected, atol=1e-6)
    regressor = RPDMLRegressor(**LARGE).fit(X, X[:, 0])
    found = regressor.predict(da.from_array(X, chunks=70))
    assert found.chunks == ((70, 70, 60),)
    np.testing.assert_allclose(found.compute(), regressor.predict(X))


def test_missing_values_and_weights_of_zero():
    X, y = samples()
    X[::7, 1] = np.nan
    weight = np.ones(200)
    weight[::5] = 0.0
    bad = np.where(weight[:, None] == 0.0, 1e6, X)  # what weighs nothing changes nothing
    found = [RPDMLClassifier(**LARGE).fit(da.from_array(given, chunks=60), y, weight) for given in (X, bad)]
    np.testing.assert_array_equal(found[0].predict_proba(X), found[1].predict_proba(X))
    assert not set(found[0].landmarks_.tolist()) & set(range(0, 200, 5))
    drawn = np.flatnonzero(weight)[
        np.sort(np.random.default_rng(0).choice(160, 90, replace=False, shuffle=False))
    ]
    np.testing.assert_allclose(found[0].medians_, np.nanmedian(X[drawn], axis=0))


def test_few_samples_make_the_exact_machine():
    X, y = samples(50)
    here, there = (RPDMLClassifier().fit(given, y) for given in (X, da.from_array(X, chunks=20)))
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))


def test_many_weights_of_zero_leave_few_samples():
    X, y = samples()
    weight = np.zeros(200)
    weight[:55] = 1.0
    here, there = (
        RPDMLClassifier(**LARGE).fit(given, y, weight) for given in (X, da.from_array(X, chunks=70))
    )
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-9)


def test_what_cannot_be_done_is_one_clear_error():
    X, y = samples()
    lazy = da.from_array(X, chunks=70)
    with pytest.raises(ValueError, match='needs `predictor="kernel"`, got "local"'):
        RPDMLClassifier("local", **LARGE).fit(lazy, y)
    with pytest.raises(ValueError, match='needs `predictor="kernel"`, got "neighbors"'):
        RPDMLRegressor(predictor="neighbors").fit(lazy, y)
    with pytest.raises(ValueError, match="RPDMLClassifier needs targets; pass `y`"):
        RPDMLClassifier().fit(lazy, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RPDMLClassifier().fit(lazy, y[:-1])
    with pytest.raises(ValueError, match="`y` must hold numbers, got texts"):
        RPDMLRegressor(**LARGE).fit(lazy, np.array(["a", "b", "c"])[y])
    infinite = X.copy()
    infinite[100, 2] = np.inf
    with pytest.raises(ValueError, match="`X` contains infinity"):
        RPDMLClassifier(**LARGE).fit(da.from_array(infinite, chunks=70), y)
    model = RPDMLRegressor(**LARGE).fit(lazy, y)
    with pytest.raises(ValueError, match=r"got a dask array; pass `X.compute\(\)`"):
        model.predict_interval(lazy)
    with pytest.raises(ValueError, match="4 features"):
        model.predict(lazy[:, :3])
    several = RPDMLClassifier(**LARGE).fit(lazy, np.column_stack([y, y % 2]))
    assert several.predict(lazy).compute().shape == (200, 2)
    with pytest.raises(ValueError, match="`predict_proba` of several outputs is a list"):
        several.predict_proba(lazy)


def test_workers_form_the_normal_equations(monkeypatch):
    """The samples that come here are the landmarks and those drawn."""
    X, y = samples(400)
    sizes, gathered = [], many_samples.gathered_rows
    monkeypatch.setattr(
        many_samples, "gathered_rows", lambda *given: sizes.append(len(given[1])) or gathered(*given)
    )
    expected = RPDMLClassifier(**LARGE).fit(da.from_array(X, chunks=40), y).predict_proba(X)
    assert len(sizes) == 1
    assert 90 <= sizes[0] <= 140
    with dask.config.set(scheduler=None), local_cluster(2) as started, Client(started) as client:
        model = RPDMLClassifier(**LARGE).fit(da.from_array(X, chunks=40), y)
        np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
        found = model.predict_proba(da.from_array(X, chunks=40)).compute()
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert client.status == "running"


def test_machines_of_dask_arrays_are_saved(tmp_path):
    X, y = samples()
    lazy = da.from_array(X, chunks=70)
    for model, targets in ((RPDMLClassifier(**LARGE), y), (RPDMLRegressor(**LARGE), X[:, 0])):
        found = load_metric(save_metric(model.fit(lazy, targets), tmp_path / "model.npz"))
        np.testing.assert_array_equal(found.predict(X), model.predict(X))
    classifier = RPDMLClassifier(**LARGE).fit(lazy, y)
    _, rows = classifier.nearest(X, 1)
    kept = np.unique(rows)
    assert 90 <= len(kept) <= 140
    np.testing.assert_array_equal(rows[kept, 0], kept)
    assert set(classifier.landmarks_.tolist()) <= set(kept.tolist())
