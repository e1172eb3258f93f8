"""The command `geodual`, run in this process: arguments and files of all kinds."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from geodual.cli import main

from ..case import Case, Rng, pick
from ..hostile import ILLNESSES, labels
from ..nav_tables import damaged_file

_WORDS = (
    "0",
    "-1",
    "3",
    "1e300",
    "nan",
    "inf",
    "",
    "a",
    "2015-06-30",
    "1999-01-01",
    "gmml",
    "median",
    "\t",
    "--json",
)
_OPTIONS = (
    "--k",
    "--top",
    "--label",
    "--weights",
    "--cost",
    "--test-start",
    "--start",
    "--end",
    "--frequency",
)
_OPTIONS += (
    "--metrics",
    "--factors",
    "--train-quarters",
    "--max-weight",
    "--index",
    "--config",
    "--meta",
    "--none",
)
_SHOWN = 300


def draw(rng: Rng) -> Case:
    """Return a run of a command in an empty folder."""
    seed, name = int(rng.integers(2**32)), pick(rng, *_COMMANDS)
    arguments = _COMMANDS[name](rng)
    for _ in range(int(rng.integers(0, 3)) if rng.random() < 0.5 else 0):
        arguments += [pick(rng, *_OPTIONS), pick(rng, *_WORDS)]
    arguments += [pick(rng, "--json", "--quiet", "-h")] if rng.random() < 0.2 else []
    return Case(
        f"geodual {' '.join(arguments)} (files of seed {seed})",
        lambda: _run(arguments, np.random.default_rng(seed)),
        check=_check,
        claim=lambda ended: "answer" if ended[0] in (0, 1) else "refusal",
    )


_COMMANDS: dict[str, Callable[[Rng], list[str]]] = {
    "backtest": lambda rng: [
        "backtest",
        "nav",
        "--out",
        "run",
        "--jobs",
        "1",
        "--metrics",
        "gmml",
        "--factors",
        "sharpe",
    ],
    "select": lambda rng: [
        "select",
        "nav",
        "--metric",
        pick(rng, "gmml", "none"),
        "--jobs",
        "1",
        "--factors",
        "sharpe",
    ],
    "check": lambda rng: ["check", "nav", *pick(rng, [], ["--all"])],
    "check-leakage": lambda rng: [
        "check-leakage",
        "nav",
        "--days",
        pick(rng, "1", "0", "-1"),
        "--metrics",
        "gmml",
    ],
    "factors": lambda rng: ["factors", "nav", "-o", pick(rng, "f.csv", "f.parquet", "f.txt", "no/f.csv")],
    "learn": lambda rng: [
        "learn",
        "labeled.csv",
        "--target",
        pick(rng, "y", "y", "none"),
        "-o",
        "metric.npz",
        *pick(rng, [], ["--metric", "gmml"], ["--task", "classes"], ["--task", "numbers"]),
    ],
    "predict": lambda rng: ["predict", pick(rng, "labeled.csv", "nav"), "labeled.csv", "-o", "p.csv"],
    "report": lambda rng: ["report", pick(rng, "run", "nav", "nowhere")],
    "demo": lambda rng: ["demo", "--funds", pick(rng, "0", "a", "-1"), "--out", "run"],
    "nothing": lambda rng: [pick(rng, "", "none", "--version", "--help", "-x")],
}


def _run(arguments: list[str], rng: Rng) -> tuple[int, str, str]:
    """Run the command in an empty folder; return its exit code, output and error output."""
    out, err, home = io.StringIO(), io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        path = damaged_file(rng, Path(folder))[1]
        _labeled(rng).to_csv(Path(folder) / "labeled.csv", index=False)
        given = [path.name if each == "nav" else each for each in arguments]
        os.chdir(folder)
        try:
            with (
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
                mock.patch.object(sys, "argv", ["geodual", *given]),
            ):
                main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            os.chdir(home)
    return code, out.getvalue(), err.getvalue()


def _labeled(rng: Rng) -> pd.DataFrame:
    """Return a table for `geodual learn`."""
    illness = "healthy" if rng.random() < 0.5 else pick(rng, *ILLNESSES)
    X = np.atleast_2d(np.squeeze(ILLNESSES[illness](rng, rng.standard_normal((16, 3)))))
    y = labels(rng, len(X))[1]
    table = pd.DataFrame(X)
    return table.assign(y=y) if np.ndim(y) == 1 and len(y) == len(X) else table


def _check(ended: tuple[int, str, str]) -> Iterator[str]:
    """Yield what is wrong with the end of a command."""
    code, out, err = ended
    if code not in (0, 1, 2):
        yield f"the exit code is {code}: {err[:_SHOWN]}"
    if "Traceback" in out + err:
        yield f"a traceback: {err[-_SHOWN:]}"
    # Typer draws a box around its own complaints about options.
    told = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("learning: "))
    if (
        code == 2
        and "Usage" not in err
        and (out or not told.startswith("geodual: ") or told.count("\n") != 1)
    ):
        yield f"bad input must end in one line of explanation, got {out[:_SHOWN]!r} and {err[:_SHOWN]!r}"
