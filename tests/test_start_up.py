"""What is imported, and what is not: help comes at once, and a layer loads only what it needs."""

import json
import subprocess
import sys

import pytest

HEAVY = {"jax", "joblib", "matplotlib", "numpy", "pandas", "pyarrow", "pymanopt", "scipy", "sklearn", "torch"}


def loaded_by(code: str) -> set[str]:
    """Return the heavy packages that a fresh interpreter has loaded after some code."""
    report = f"import json, sys; print(json.dumps(sorted({HEAVY!r} & set(sys.modules))))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_optimization_loads_neither_pandas_nor_plots() -> None:
    assert loaded_by("import geodual.optimize") == {"numpy", "scipy"}


def test_metric_learning_loads_neither_pandas_nor_plots() -> None:
    assert loaded_by("import geodual.metric") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["backtest", "--help"]])
def test_the_command_helps_at_once(arguments: list[str]) -> None:
    """Nobody times it here; it takes 0.25 s, of which importing a heavy package would be the larger part."""
    code = f"""
import sys
from geodual.cli import main
sys.argv = ["geodual", *{arguments!r}]
try:
    main()
except SystemExit as end:
    assert not end.code
"""
    assert loaded_by(code) == set()


def test_every_lazy_name_of_funds_can_be_imported() -> None:
    """Those of `geodual.metric` are imported in test_light_core.py."""
    code = "import geodual.funds as p; assert len(p.__all__) > 5; [getattr(p, name) for name in p.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True)
