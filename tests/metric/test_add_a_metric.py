"""The metric of docs/add_a_metric.md, from its own text: in Python, and in the command from elsewhere."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.utils.estimator_checks import check_estimator

from geodual.funds import backtest, synthetic_universe
from geodual.metric import registry
from tests.guides import DOCS, run_command, run_guide


@pytest.fixture
def guide(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "METRICS", dict(registry.METRICS))
    return run_guide("add_a_metric.md", tmp_path, monkeypatch)


def test_it_is_a_scikit_learn_estimator_and_does_what_it_says(guide):
    check_estimator(guide["WithinClassMetric"](), on_skip=None)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    X = rng.standard_normal((1000, 2)) * [1.0, 3.0] + 10.0 * y[:, None]
    W = guide["WithinClassMetric"](shrinkage=0.0).fit(X, y).get_mahalanobis_matrix()
    np.testing.assert_allclose(np.diag(W), [1.0, 1.0 / 9.0], rtol=0.1)


def test_it_is_tuned_and_shown_by_what_the_registry_says(guide, tmp_path):
    universe = synthetic_universe(30, "2014-01-02", "2016-06-30", seed=2)
    study = backtest(universe.panel, metrics=["euclidean", "within"], tune=True, test_start="2016-01-01")
    assert set(study.chosen) == {"within"}
    assert study.chosen["within"]["shrinkage"] in (0.1, 0.5)
    page = study.report(tmp_path / "report.html").read_text("utf-8")
    assert "Within classes" in page


def test_the_command_finds_it_by_its_place(guide, geodual, tmp_path, monkeypatch):
    folder = tmp_path / "user"
    folder.mkdir()
    (tmp_path / "within_class.py").rename(folder / "within_class.py")
    synthetic_universe(30, "2014-01-02", "2015-06-30").panel.nav.to_csv(folder / "nav.csv")
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.assign(cultivar=y).to_csv(folder / "wine.csv", index=False)
    text = (DOCS / "add_a_metric.md").read_text("utf-8")
    commands = re.findall(r"^geodual (.*)$", text, flags=re.M)
    assert [command.split()[0] for command in commands] == ["backtest", "select", "learn"]
    # The first in a process of its own, whose workers must find the module, too.
    backtest, *others = (shlex.split(command) for command in commands)
    results = {"backtest": json.loads(run_command(folder, *backtest, "--jobs", "2", "--json"))}
    monkeypatch.chdir(folder)
    results |= {arguments[0]: json.loads(geodual(*arguments, "--json")[1]) for arguments in others}
    name = "within_class:WithinClassMetric"
    expected = guide["study"].table().loc[("both", "within"), "ic_mean"]
    assert results["backtest"]["table1"]["both"][name]["ic_mean"] == pytest.approx(expected, rel=1e-12)
    assert results["select"]["forecaster"] == name
    assert results["learn"]["accuracy"] > 0.9
    assert f'metrics = ["euclidean", "{name}"]' in (folder / "geodual-run" / "config.toml").read_text("utf-8")
    assert "WithinClassMetric" in (folder / "geodual-run" / "report.html").read_text("utf-8")
    with np.load(folder / "metric.npz") as saved:
        assert list(saved["features"]) == list(X.columns)
    assert len(pd.read_csv(folder / "geodual-run" / "ic.csv")) == len(guide["study"].ic)
