"""Run the benchmarks: ``python -m benchmarks [section …]``; all of them by default.

``python -m benchmarks check`` compares a few ratios with the recorded ones, and exits with 1 if one is worse.
``python -m benchmarks scale`` measures how fits scale with samples, threads and workers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from threadpoolctl import threadpool_limits

from .accuracy import CACHE, HALVES, STUDIES, accuracy_table
from .factor_speed import factor_table
from .family_runs import families_table
from .findings import findings_table
from .first_solve import first_solve_table
from .geometry import geometry_table
from .metric_fit import itml_table, metric_fit_table, metric_scaling_table
from .metric_rivals import lmnn_table
from .metric_shapes import local_pairs_table, many_features_table
from .nonsmooth import nonsmooth_table
from .null_universes import claims_table
from .random_study import random_table
from .scale.run import run_scale
from .semidefinite import semidefinite_table
from .solvers import held_out_table, scaling_table, solver_table
from .speed_check import check_speed
from .study_time import study_table, sweep_table
from .timing import describe_machine

SECTIONS: dict[str, Callable[..., str]] = {
    "geometry": geometry_table,
    "solvers": solver_table,
    "held-out": held_out_table,
    "scaling": scaling_table,
    "families": families_table,
    "random": random_table,
    "first-solve": first_solve_table,
    "nonsmooth": nonsmooth_table,
    "semidefinite": semidefinite_table,
    "metric": metric_fit_table,
    "itml": itml_table,
    "lmnn": lmnn_table,
    "metric-scaling": metric_scaling_table,
    "local-pairs": local_pairs_table,
    "many-features": many_features_table,
    "accuracy": accuracy_table,
    "factors": factor_table,
    "study": study_table,
    "sweep": sweep_table,
    "null": claims_table,
    "findings": findings_table,
}


def main() -> None:
    """Run the chosen sections, print their tables and save them to output/bench.txt."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"any of {', '.join(SECTIONS)}")
    parser.add_argument("--out", type=Path, default=Path("output/bench.txt"), help="where to save the tables")
    parser.add_argument("--record", action="store_true", help="with check: record the ratios instead")
    parts = f"some parts only: of accuracy {', '.join(STUDIES)}; of scale such as fits"
    parser.add_argument("--parts", nargs="*", default=[], metavar="part", help=parts)
    random = parser.add_argument_group("random", "options of the section random")
    random.add_argument("--n", type=int, default=1000, help="number of problems")
    random.add_argument("--first", type=int, default=0, help="first seed; from 100000 on a third has terms")
    random.add_argument("--tol", type=float, default=1e-8, help="KKT residual to reach")
    random.add_argument("--method", default="proximal-lagrangian", help="method of minimize")
    nonsmooth = parser.add_argument_group("nonsmooth", "options of the section nonsmooth")
    nonsmooth.add_argument("--manpg", type=Path, help="folder of the code of ManPG, to run in Octave")
    semidefinite = parser.add_argument_group("semidefinite", "options of the section semidefinite")
    semidefinite.add_argument("--gset", type=Path, help="folder with graphs of the G-set, such as g1.txt")
    accuracy = parser.add_argument_group("accuracy", "options of the section accuracy")
    accuracy.add_argument("--half", choices=list(HALVES), help="one half of the data sets; both by default")
    accuracy.add_argument("--seeds", type=int, default=1, help="number of times that folds are drawn")
    accuracy.add_argument("--cache", type=Path, default=CACHE, help="folder of results, to resume from")
    accuracy.add_argument(
        "--fresh",
        nargs="*",
        default=[],
        metavar="NAME",
        help="measure methods again whose name contains this",
    )
    accuracy.add_argument("--peers", action="store_true", help="omit our own methods")
    scale = parser.add_argument_group("scale", "options of the section scale")
    scale.add_argument("--large", action="store_true", help="also run slow parts")
    scale.add_argument("--results", type=Path, help="where to save the rows; by default with the page")
    arguments = parser.parse_args()
    options = {
        "random": {
            "n": arguments.n,
            "first": arguments.first,
            "tol": arguments.tol,
            "method": arguments.method,
        },
        "nonsmooth": {"manpg": arguments.manpg},
        "semidefinite": {"gset": arguments.gset},
        "accuracy": {
            "parts": arguments.parts,
            "halves": (arguments.half,) if arguments.half else tuple(HALVES),
            "n_seeds": arguments.seeds,
            "cache": arguments.cache,
            "fresh": arguments.fresh,
            "peers_only": arguments.peers,
        },
    }
    if arguments.sections == ["check"]:
        with threadpool_limits(1):
            sys.exit(0 if check_speed(arguments.record) else 1)
    if arguments.sections == ["scale"]:
        sys.exit(0 if run_scale(arguments.parts, arguments.large, arguments.results) else 1)
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}")
    with threadpool_limits(1):
        tables = [describe_machine()]
        print(tables[0])
        for name in arguments.sections or SECTIONS:
            print(f"\n{name}: running", flush=True)
            tables.append(SECTIONS[name](**options.get(name, {})))
            print(tables[-1], flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n\n".join(tables) + "\n", encoding="utf-8")
    print(f"\nSaved to {arguments.out}")


if __name__ == "__main__":
    main()
