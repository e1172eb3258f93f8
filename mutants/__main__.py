"""Try mutants in a copy of the project: ``python -m mutants --size 650 --seed 0``.

The copy, the record of the tests' lines and the outcomes are in ``build/mutants``. A run that was stopped
goes on where it ended. To try the survivors again with new tests, add ``--survivors``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

_PROJECT = Path(__file__).parent.parent
_NOT_COPIED = shutil.ignore_patterns(
    ".venv", ".git", "build", "dist", "output", ".hypothesis", ".*_cache", "__pycache__"
)
_TESTS = (
    "optimize metric paper funds laws/test_duality.py laws/test_walk_forward_laws.py "
    "oracles/test_statistics_oracles.py oracles/test_ledger_bt.py oracles/test_portfolio_oracles.py "
    "oracles/test_logdet_program.py oracles/test_lmnn_program.py oracles/test_forecast_oracles.py"
)
# Tests of other modules, and tests that take long for what they would find here.
_LEFT_OUT = (
    "funds/test_dask dask_cluster test_report headline workbook test_fetch test_download null_universes "
    "test_synthetic test_factors broken_files test_read_nav test_quality test_jumps test_studies test_guide "
    "test_add_a sklearn_contract folder_lock accuracy_study published_families test_plots saved_study "
    "run_folder"
)


def main() -> None:
    """Copy the project, record which test runs which line, and try the mutants."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--size", type=int, default=650, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after that time")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of tests per mutant")
    parser.add_argument("--survivors", action="store_true", help="only the survivors of the last run")
    parser.add_argument("--work", type=Path, default=_PROJECT / "build" / "mutants", help="a folder")
    arguments = parser.parse_args()
    copy, data = arguments.work / "tree", arguments.work / "data"
    if not copy.exists():
        shutil.copytree(_PROJECT, copy, ignore=_NOT_COPIED)
    elif arguments.survivors:  # the same sources, so the same mutants, but the tests of today
        shutil.rmtree(copy / "tests")
        shutil.copytree(_PROJECT / "tests", copy / "tests", ignore=_NOT_COPIED)
        (data / "tests.json").unlink(missing_ok=True)
    if not (data / "tests.json").exists():
        data.mkdir(parents=True, exist_ok=True)
        left_out = [f"--ignore-glob=*{name}*" for name in _LEFT_OUT.split()]
        folders = [f"tests/{name}" for name in _TESTS.split()]
        _run(copy, data, "-m", "pytest", "-p", "mutants.line_record", *left_out, *folders)
    options = [f"--{name}={getattr(arguments, name)}" for name in ("size", "seed", "minutes", "budget")]
    _run(copy, data, "-m", "mutants.attempt", *options, *["--survivors"] * arguments.survivors)


def _run(copy: Path, data: Path, *command: str) -> None:
    """Run Python in the copy; it must not see the project itself."""
    paths = [str(copy / "src"), str(copy), os.environ.get("PYTHONPATH", "")]
    settings = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "MUTANTS_DATA": str(data),
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }
    subprocess.run([sys.executable, *command], cwd=copy, env=os.environ | settings, check=False)


if __name__ == "__main__":
    main()
