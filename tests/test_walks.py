"""docs/architecture.md is true: its picture shows the contracts, and its walks are those that calls take."""

import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from docs.draw_rooms import PICTURE, draw
from geodual.cli import main
from geodual.funds import synthetic_universe
from geodual.manifolds import SPD
from geodual.metric import RPDML
from geodual.optimize import Problem, minimize

PAGE = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text("utf-8")


def walk_told(title: str) -> list[str]:
    """Return the modules of a numbered list, in its order."""
    section = PAGE.split(f"### `{title}`")[1].split("\n#")[0]
    return re.findall(r"^\d+\. `(geodual[\w.]+)`", section, flags=re.M)


def modules_called(run: Callable[[], object]) -> list[str]:
    """Return the modules of ours in the order in which their functions are first called."""
    visited: dict[str, None] = {}

    def note(frame, event, argument):
        module = frame.f_globals.get("__name__", "")
        is_function = event == "call" and frame.f_code.co_name != "<module>"  # no annotation being evaluated
        if is_function and module.startswith("geodual."):
            visited.setdefault(module)

    run()  # once unseen: importing a module calls the bodies of its classes
    gc.collect()  # or what other tests left behind may be freed on the way, and call back
    gc.disable()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return list(visited)


def assert_is_the_walk(title: str, run: Callable[[], object]) -> None:
    """The list is complete, and in the order of the first calls."""
    assert modules_called(run) == walk_told(title)


def test_the_walk_of_minimize() -> None:
    problem = Problem(
        SPD(3),
        cost=lambda x: -np.linalg.slogdet(x)[1],
        gradient=lambda x: -np.linalg.inv(x),
        inequalities=lambda x: np.trace(x) - 6.0,
        jacobian_product=lambda x, w: w[0] * np.eye(3),
    )
    assert_is_the_walk("minimize(problem, x0)", lambda: minimize(problem, np.eye(3)))


def test_the_walk_of_a_fit() -> None:
    X, y = load_iris(return_X_y=True)
    assert_is_the_walk("RPDML().fit(X, y)", lambda: RPDML().fit(X, y))


def test_the_walk_of_a_backtest(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    synthetic_universe(20, "2014-01-02", "2015-06-30").panel.nav.to_csv("nav.csv")
    monkeypatch.setattr(
        sys, "argv", ["geodual", "backtest", "nav.csv", "--metrics", "euclidean", "-j", "1", "-q"]
    )

    def run() -> None:
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code

    assert_is_the_walk("geodual backtest nav.csv", run)


def test_the_picture_is_that_of_the_contracts() -> None:
    assert PICTURE.read_text("utf-8") == draw(), "run python -m docs.draw_rooms"


def test_every_file_and_page_that_the_text_names_exists() -> None:
    root = Path(__file__).parent.parent
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (root / "docs" / target).exists(), target
