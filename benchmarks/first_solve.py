"""Time from a fresh process to the first solution: formulas against functions compiled by jax."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from .timing import format_seconds, format_table

_FORMULA = """
import time
import geodual.model as gm
from geodual.manifolds import SPD
started = time.perf_counter()
X = gm.Variable(SPD(3), name="X")
result = gm.Problem(gm.Minimize(-gm.log_det(X)), [gm.trace(X) <= 6.0]).solve()
seconds = time.perf_counter() - started
assert result.success and result.gap <= 1e-6
print(seconds)
"""
_JAX = """
import time
import jax.numpy as jnp
import numpy as np
from geodual.manifolds import SPD
from geodual.optimize import Problem, minimize
import geodual.optimize.autodiff
started = time.perf_counter()
problem = Problem.from_jax(
    SPD(3), lambda x: -jnp.linalg.slogdet(x)[1], inequalities=lambda x: jnp.trace(x) - 6.0
)
result = minimize(problem, np.eye(3))
seconds = time.perf_counter() - started
assert result.success
print(seconds)
"""


def first_solve_table(runs: int = 5) -> str:
    """Time the first solve of the largest determinant with a bounded trace, alternating in fresh processes.

    Parameters
    ----------
    runs : int
        Number of processes of each kind; the table shows medians.
    """
    turns = [(_seconds(_FORMULA), _seconds(_JAX)) for _ in range(runs)]
    formula, jax = (statistics.median(times) for times in zip(*turns, strict=True))
    rows = [
        ("geodual.model, with proof and bound", format_seconds(formula), "1"),
        ("Problem.from_jax", format_seconds(jax), f"{jax / formula:.1f}"),
    ]
    return f"First solve in a fresh process, after imports, median of {runs}\n" + format_table(
        ("written as", "time", "ratio"), rows
    )


def _seconds(code: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return float(done.stdout)
