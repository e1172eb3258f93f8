"""Forecasters by name, by a table of settings and as objects; and what a TOML file keeps of them."""

import tomllib

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso, Ridge

from geodual.funds import (
    DataError,
    EnsembleForecaster,
    FactorForecaster,
    NeighborForecaster,
    RegressorForecaster,
    StudyConfig,
    forecaster_names,
    read_config,
    register_forecaster,
)
from geodual.funds.forecasters import registry
from geodual.funds.forecasters.make import compared_settings, resolve_baselines, resolve_compared
from geodual.metric import GMML, RPDML, metric_names

FILE = """
k = 7
train_quarters = 2

[forecasters.pooled]
metric = "rpdml"
parameters = {C = 10.0}
target = "rank"
window = "all"
half_life = 8
k = 200
weights = "distance"
grid = [{}, {parameters = {C = 1.0}, k = 50}]

[forecasters.careful]
estimator = "sklearn.linear_model:Lasso"
parameters = {alpha = 0.01}
window = 12

[forecasters.calm]
factor = "stddev_90"
sign = -1

[forecasters.both]
members = ["momentum", "careful"]

[forecasters.short]
like = "ridge"
window = 4

[forecasters.momentum]

[forecasters."odd name, indeed"]
like = "gmml"
"""


def made(forecasters, metrics=None, **settings):
    config = StudyConfig(**compared_settings(metrics, forecasters), **settings)
    return resolve_compared(metrics, forecasters, config)


def one(given, **settings):
    return made({"mine": given}, **settings)["mine"]


@pytest.fixture
def from_file(tmp_path):
    (tmp_path / "study.toml").write_text(FILE, encoding="utf-8")
    return read_config(tmp_path / "study.toml")


def test_a_file_describes_forecasters(from_file):
    tables = from_file.pop("forecasters")
    found = made(tables, **from_file)
    assert list(found) == ["pooled", "careful", "calm", "both", "short", "momentum", "odd name, indeed"]
    pooled = found["pooled"]
    assert (pooled.metric.C, pooled.k, pooled.weights, pooled.target) == (10.0, 200, "distance", "rank")
    assert (pooled.window, pooled.half_life) == ("all", 8)
    assert (type(found["careful"].estimator), found["careful"].estimator.alpha) == (Lasso, 0.01)
    assert (found["careful"].window, found["careful"].target) == (12, "rank")
    assert found["calm"] == FactorForecaster("stddev_90", -1)
    assert list(found["both"].members) == ["momentum", "careful"]
    assert found["both"].members["careful"].window == 12, "a member is the one that the file describes"
    assert (type(found["short"].estimator), found["short"].window) == (Ridge, 4)
    assert found["momentum"] == FactorForecaster("sharpe_90")
    assert (type(found["odd name, indeed"].metric), found["odd name, indeed"].k) == (GMML, 7)


def test_settings_survive_toml(from_file):
    config = StudyConfig(metrics=(), **from_file)
    again = StudyConfig(**tomllib.loads(config.to_toml()))
    assert again == config
    assert again.compared == tuple(from_file["forecasters"])
    plain = StudyConfig(metrics=(), forecasters=("momentum", "ridge"))
    assert StudyConfig(**tomllib.loads(plain.to_toml())) == plain


def test_metrics_take_the_settings_of_the_study_unless_a_table_says_otherwise():
    usual = made(None, ["gmml"], k=3, label="median", neighbors="current", train_quarters=4)["gmml"]
    assert (usual.k, usual.label, usual.neighbors, usual.window) == (3, "median", "current", 4)
    assert (usual.target, usual.weights, usual.half_life) == ("return", "uniform", None)
    by_table = one({"metric": "gmml", "k": 5}, k=3, train_quarters=4)
    assert (by_table.k, by_table.window) == (5, 4)


def test_the_default_is_the_paper_and_forecasters_take_its_place():
    assert compared_settings(None, None) == {}
    assert StudyConfig(**compared_settings(None, "momentum")).compared == ("momentum",)
    assert StudyConfig(**compared_settings("gmml", ["momentum"])).compared == ("gmml", "momentum")
    assert list(made(None)) == list(metric_names(in_paper=True))


def test_objects_are_wrapped():
    assert isinstance(one(Ridge(3.0)), RegressorForecaster)
    assert isinstance(one(PCA(2)), NeighborForecaster)
    assert isinstance(one("sklearn.linear_model:BayesianRidge"), RegressorForecaster)
    assert isinstance(one(GMML), NeighborForecaster)
    own = FactorForecaster("roc_10")
    assert one(own) is own
    assert one("factor:rsi_63") == FactorForecaster("rsi_63")
    ridge = Ridge(3.0)
    assert one(ridge).estimator is not ridge, "the study never changes the user's object"
    assert one("rpdml", random_state=5).metric.random_state == 5
    assert (
        one({"estimator": "sklearn.tree:DecisionTreeRegressor"}, random_state=5).estimator.random_state == 5
    )


def test_every_name_makes_a_forecaster():
    for name in forecaster_names():
        assert hasattr(one(name), "forecast"), name
    assert set(resolve_baselines(StudyConfig())) == {"momentum", "return_12m"}
    assert resolve_baselines(StudyConfig(baselines=())) == {}
    changed = StudyConfig(metrics=(), forecasters={"momentum": {"factor": "roc_10"}})
    assert resolve_baselines(changed)["momentum"] == FactorForecaster("sharpe_90")


def test_one_can_register_ones_own(monkeypatch):
    monkeypatch.setattr(registry, "FORECASTERS", dict(registry.FORECASTERS))
    register_forecaster("mine", {"metric": "gmml", "k": 4}, label="My own", grid=[{}, {"k": 8}])
    assert "mine" in forecaster_names()
    assert registry.forecaster_label("mine") == "My own"
    assert one("mine").k == 4
    register_forecaster("mine", RPDML(C=5.0))
    assert one("mine").metric.C == 5.0
    with pytest.raises(DataError, match="`name` must be a text without colon or comma"):
        register_forecaster("a,b", {"metric": "gmml"})
    with pytest.raises(DataError, match="not 'index' or 'universe'"):
        register_forecaster("universe", {"metric": "gmml"})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"metric": "gmml", "factor": "roc_10"}, "'mine' has both `metric` and `factor`"),
        ({"metric": "gmml", "alpha": 3}, "'mine' has no setting `alpha`; known are metric, parameters"),
        ({"metric": "gmml", "parameters": {"C": 3}}, "Check their names"),
        ({"metric": "nca"}, "unknown metric 'nca'"),
        ({"factor": "roc_10", "window": 3}, "'mine' has no setting `window`"),
        ({"estimator": "ridge"}, "must be an import path such as sklearn.linear_model:Ridge, got 'ridge'"),
        ({"metric": "gmml", "grid": {"k": 3}}, "the grid of 'mine' must be a list of changes"),
        ({"members": []}, "the members of 'mine' must be a list of names"),
        ({"members": ["ridge", "momentum", "ridge"]}, "'mine' names its member 'ridge' twice"),
        ({"members": ["mine"]}, "'mine' is a member of itself"),
        ({"like": "momentum", "window": 3}, "'mine' has no setting `window`; known are factor, sign"),
        ({"window": 3}, "unknown forecaster 'mine'; known are euclidean"),
        ("nothing", "unknown forecaster 'nothing'"),
        (5, "'mine' must be a forecaster, a scikit-learn transformer or regressor, or a name, got 5"),
    ],
)
def test_tables_that_make_no_sense_are_refused(table, message):
    with pytest.raises(DataError, match=message):
        one(table)


def test_names_that_make_no_sense_are_refused():
    with pytest.raises(DataError, match="`forecasters` must be names or a mapping to forecasters, got 5"):
        compared_settings(None, 5)
    with pytest.raises(DataError, match="`metrics` and `forecasters` must be different names"):
        StudyConfig(metrics=("gmml",), forecasters=("gmml",))
    with pytest.raises(DataError, match=r"`forecasters` must be names or a table of settings per name"):
        StudyConfig(metrics=(), forecasters={"mine": 5})
    with pytest.raises(DataError, match="`metrics` must be one or more names"):
        StudyConfig(metrics=())


def test_an_ensemble_can_be_made_of_objects():
    both = EnsembleForecaster({"a": FactorForecaster("roc_10"), "b": one("ridge")})
    assert one(both) is both


@pytest.mark.parametrize(
    ("parameters", "recorded"),
    [({"alpha": np.float64(3.0)}, {"alpha": 3.0}), ({"max_iter": None}, None), ({"alpha": [None]}, None)],
)
def test_only_what_a_toml_file_can_hold_is_recorded(parameters, recorded):
    settings = compared_settings(None, {"mine": {"like": "ridge", "parameters": parameters}})
    read = tomllib.loads(StudyConfig(**settings).to_toml())
    expected = ["mine"] if recorded is None else {"mine": {"like": "ridge", "parameters": recorded}}
    assert read["forecasters"] == expected
