"""What notebooks show of results."""

import numpy as np
from sklearn.datasets import load_iris

from geodual.funds import backtest, synthetic_universe
from geodual.manifolds import Euclidean
from geodual.metric import RPDML
from geodual.optimize import Problem, minimize


def test_a_result_shows_its_status_and_last_iterations() -> None:
    problem = Problem(Euclidean(2), cost=lambda x: x @ x, gradient=lambda x: 2.0 * x)
    page = minimize(problem, np.ones(2))._repr_html_()
    assert "<b>converged</b>" in page
    assert "stationary" in page


def test_a_fitted_metric_shows_its_convergence() -> None:
    learner = RPDML(pairs="all").fit(*load_iris(return_X_y=True))
    page = learner.history_._repr_html_()
    assert page.count("<tr>") == learner.n_iter_ + 2
    assert f"<td>{learner.objective_:.6g}</td>" in page


def test_a_study_shows_its_headline_and_table_1_with_names_escaped() -> None:
    universe = synthetic_universe(30, "2014-01-02", "2015-12-31", seed=1)
    study = backtest(universe.panel, metrics={"<b>euclidean": "euclidean", "gmml": "gmml"})
    page = study._repr_html_()
    assert f"{study.table().loc[('both', 'gmml'), 'ic_mean']:.3f}" in page
    assert "<b>euclidean" not in page
    assert "&lt;b&gt;euclidean" in page
