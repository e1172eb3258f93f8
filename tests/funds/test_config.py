"""Settings: checked once, each error one line that names the setting; written and read as TOML."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from docs.setting_reference import describe_settings
from geodual.funds import DataError, StudyConfig, backtest, read_config
from geodual.funds.config import GROUPS
from geodual.funds.settings import list_settings
from geodual.metric import EuclideanMetric


def test_the_defaults_are_the_papers():
    config = StudyConfig()
    assert config.metrics == ("euclidean", "mahalanobis", "lmnn", "itml", "gmml", "rpdml")
    assert (config.k, config.top, config.label, config.weights) == (10, 10, "sign", "equal")
    assert (config.neighbors, config.train_quarters, config.frequency) == ("train", 1, "quarterly")
    assert (config.test_start, config.cost, config.execution_lag) == ("2017-01-01", 0.0, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.k = 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("k", 2.0),
        ("k", True),
        ("k", "ten"),
        ("top", -1),
        ("train_quarters", 0),
        ("execution_lag", -1),
        ("execution_lag", 0.5),
        ("random_state", -1),
        ("random_state", None),
        ("label", "Sign"),
        ("label", ["sign"]),
        ("neighbors", "all"),
        ("weights", None),
        ("frequency", "weekly"),
        ("cost", -0.001),
        ("cost", 0.1),
        ("cost", float("nan")),
        ("cost", "0.001"),
        ("tune", 1),
        ("tune", "yes"),
        ("test_start", "soon"),
        ("test_start", "2017-13-01"),
        ("test_start", 2017),
        ("test_start", 20170101),
        ("test_start", ""),
        ("test_start", None),
        ("metrics", ()),
        ("metrics", ("gmml", "gmml")),
        ("metrics", 5),
        ("metrics", ("a", 2)),
        ("metrics", "rpdml"),
        ("metrics", ("index", "gmml")),
        ("factors", ()),
        ("factors", "roc"),
        ("factors", ("roc", "roc")),
    ],
)
def test_a_bad_setting_is_named_in_one_line(name, value):
    with pytest.raises(DataError, match=f"^`{name}` must .*got .*; [a-z][^;]+\\.$") as error:
        StudyConfig(**{name: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "value", ["2015-06-30", pd.Timestamp("2015-06-30"), np.datetime64("2015-06-30"), "30 June 2015"]
)
def test_test_start_is_a_day_however_written(value):
    assert StudyConfig(test_start=value).test_start == "2015-06-30"


SETTINGS = {
    "metrics": ("gmml", 'say "π" \\ back'),
    "factors": ("sharpe", "mymodule:factor"),
    "k": 3,
    "top": 7,
    "label": "median",
    "neighbors": "current",
    "train_quarters": 4,
    "weights": "forecast",
    "frequency": "monthly",
    "test_start": "2014-07-01",
    "cost": 0.0015,
    "execution_lag": 1,
    "tune": True,
    "random_state": 42,
}


@pytest.mark.parametrize("settings", [{}, SETTINGS], ids=["defaults", "all changed"])
def test_a_configuration_is_read_back_as_it_was(tmp_path, settings):
    config = StudyConfig(**settings)
    (tmp_path / "config.toml").write_text(config.to_toml(), encoding="utf-8")
    assert StudyConfig(**read_config(tmp_path / "config.toml")) == config
    changed = [f.name for f in dataclasses.fields(config) if getattr(config, f.name) != f.default]
    assert sorted(changed) == sorted(settings)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"cost": np.float64(0.001)}, id="numpy float"),
        pytest.param({"k": np.int64(5)}, id="numpy int"),
        pytest.param({"metrics": ("two\nlines",)}, id="control character"),
        pytest.param({"metrics": ["gmml"]}, id="list"),
    ],
)
def test_what_python_users_pass_is_read_back_too(tmp_path, settings):
    config = StudyConfig(**settings)
    (tmp_path / "config.toml").write_text(config.to_toml(), encoding="utf-8")
    assert StudyConfig(**read_config(tmp_path / "config.toml")) == config


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_file_may_name_some_settings_only(tmp_path, encoding):
    path = tmp_path / "study.toml"
    path.write_text('# mine\nk = 5\nmetrics = ["gmml", "rpdml"]\ntest_start = 2015-01-01\n', encoding)
    config = StudyConfig(**read_config(path))
    assert config == StudyConfig(k=5, metrics=("gmml", "rpdml"), test_start="2015-01-01")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("K = 5\n", "unknown setting `K`; known are metrics, forecasters, top, frequency"),
        ("[study]\nk = 5\n", "Check the spelling."),
        ("k : 5\n", "not a TOML file"),
        ("k = 5\nk = 6\n", "not a TOML file"),
        (b"k = 5 # \xff\n", "not a TOML file"),
    ],
)
def test_a_bad_file_is_named_in_one_line(tmp_path, text, message):
    path = tmp_path / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(DataError, match=r"cannot be read \(.*\); check the path"):
        read_config(tmp_path / name)


def test_backtest_refuses_what_it_does_not_know(universe):
    with pytest.raises(DataError, match="backtest: unknown setting `neighbor`; known are"):
        backtest(universe.panel, neighbor="train")
    with pytest.raises(DataError, match="unknown metric 'euclid'; known are euclidean, mahalanobis"):
        backtest(universe.panel, metrics=["euclid"])
    with pytest.raises(DataError, match="`k` must be a whole number"):
        backtest(universe.panel, k=0)


def test_a_mapping_to_something_else_is_refused(universe):
    with pytest.raises(DataError, match="'mine'"):
        backtest(universe.panel, metrics={"mine": 5})


def test_one_metric_may_be_given_as_text(universe):
    named = backtest(universe.panel, metrics="euclidean")
    given = backtest(universe.panel, metrics={"euclidean": EuclideanMetric()})
    pd.testing.assert_frame_equal(named.predictions, given.predictions, check_exact=True)


def test_every_setting_is_in_one_group_in_the_order_of_the_groups():
    grouped = [name for names in GROUPS.values() for name in names]
    assert [field.name for field in dataclasses.fields(StudyConfig)] == grouped
    assert [(setting.name, setting.name in GROUPS[setting.group]) for setting in list_settings()] == [
        (name, True) for name in grouped
    ]
    assert describe_settings().count("\n| `") == len(grouped)
