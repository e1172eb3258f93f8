"""The core works without the packages of any extra, and what is missing is named with its remedy."""

import subprocess
import sys
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement

CORE = {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "lazy-loader"}
# In this process packages outside the core are not found, as if they were not installed.
WITHOUT_THE_REST = """
import sys
from importlib.machinery import PathFinder

class CoreFinder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {missing!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = CoreFinder
"""
USE = """
import numpy as np
import geodual.metric
from geodual.manifolds import SPD
from geodual.metric import GMML, ITML, RPDML, load_metric, save_metric
from geodual.optimize import Problem, minimize

[getattr(geodual.metric, name) for name in geodual.metric.__all__]
problem = Problem(
    SPD(3),
    cost=lambda x: -np.linalg.slogdet(x)[1],
    gradient=lambda x: -np.linalg.inv(x),
    inequalities=lambda x: np.trace(x) - 6.0,
    jacobian_product=lambda x, w: w[0] * np.eye(3),
)
result = minimize(problem, 5.0 * np.eye(3))
assert result.success and "converged" in result._repr_html_() and str(result.history)
X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
for learner in (RPDML(), ITML(), GMML()):
    assert learner.fit(X, y)._repr_html_()
assert np.array_equal(load_metric(save_metric(RPDML().fit(X, y), "metric.npz")).W_, RPDML().fit(X, y).W_)
"""


def installed_with(names: set[str]) -> set[str]:
    """Return these distributions and all that they need."""
    known: set[str] = set()
    while names - known:
        known |= (new := names - known)
        needed = [Requirement(line) for name in new for line in requires(name) or ()]
        names = known | {
            need.name.lower() for need in needed if not need.marker or need.marker.evaluate({"extra": ""})
        }
    return known


def run_without_the_rest(code: str, folder, *arguments: str) -> subprocess.CompletedProcess[str]:
    core = installed_with(CORE) | {"geodual"}
    missing = {
        module
        for module, owners in packages_distributions().items()
        if core.isdisjoint(map(str.lower, owners))
    }
    assert {"pandas", "matplotlib", "typer", "jax"} <= missing
    command = [sys.executable, "-c", WITHOUT_THE_REST.format(missing=missing) + code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_core_installs_six_packages() -> None:
    needed = [Requirement(line) for line in requires("geodual") or ()]
    assert {need.name for need in needed if need.marker is None} == CORE


def test_the_core_works_without_the_rest(tmp_path) -> None:
    done = run_without_the_rest(USE, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import geodual.funds",
        "from geodual.extras import new_axes; new_axes(6.0, 4.0)",
        "from geodual.optimize import History; History().to_frame()",
    ],
)
def test_what_is_missing_is_named_with_its_remedy(code: str, tmp_path) -> None:
    done = run_without_the_rest(code, tmp_path)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("geodual.extras.MissingExtraError")
    assert "pip install 'geodual[funds]'" in last


def test_the_command_names_the_remedy_in_one_line(tmp_path) -> None:
    done = run_without_the_rest("from geodual.__main__ import main; main()", tmp_path, "demo")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [done.stderr.strip()]
    assert "pip install 'geodual[funds]'" in done.stderr
