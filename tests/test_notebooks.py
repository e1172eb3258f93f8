"""What notebooks show of results, and the notebooks of the tutorials."""

import ast
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from docs.make_notebooks import TUTORIALS, USERS, make_notebook
from docs.run_pages import PAGES
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


@pytest.mark.parametrize("page", USERS)
def test_the_notebook_of_a_tutorial_has_its_code_and_commands(page: str) -> None:
    """A test of the site runs the same code from the page."""
    assert f"tutorials/{page}.md" in PAGES
    lines = (TUTORIALS / f"{page}.md").read_text("utf-8").splitlines()
    cells = make_notebook("\n".join(lines) + "\n")["cells"]
    code = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    assert [line[1:] for line in code.splitlines() if line.startswith("!")] == commands
    python = [line for line in code.splitlines() if not line.startswith("!")]
    assert set(python) <= set(lines)
    assert len(ast.parse("\n".join(python)).body) >= 3 or len(commands) >= 4
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert re.findall(r"^#+ .*", "\n".join(lines), re.M)[0] in text
    assert "](" not in text
    assert "```text" not in text
