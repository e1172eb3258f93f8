"""Run the fuzzer: ``python -m fuzz --minutes 120``; repeat one case with ``--kind`` and ``--case``."""

from __future__ import annotations

import argparse
import os
import sys
import time

# One thread each: cases are small, and other threads would only spin.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from .summary import Summary  # noqa: E402 - the variables above must be set before numpy is loaded
from .worker import Worker  # noqa: E402

KINDS = ("geometry", "solver", "metrics", "pairs", "compat", "dask", "saving")
KINDS += ("tables", "studies", "commands")
_PER_SEED = 10_000_000  # case numbers of one seed
_REPORT = 600.0  # seconds between two summaries


def main() -> int:
    """Run cases until the time is over; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to run")
    parser.add_argument("--seed", type=int, default=0, help="where the case numbers start")
    parser.add_argument("--kind", choices=KINDS, help="only this kind of entry point")
    parser.add_argument("--case", type=int, help="run only the case with this number; needs --kind")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a case may take")
    arguments = parser.parse_args()
    if arguments.case is not None:
        return _repeat(arguments.kind or parser.error("--case needs --kind"), arguments.case)
    kinds = (arguments.kind,) if arguments.kind else KINDS
    return _run(kinds, arguments.seed, 60.0 * arguments.minutes, arguments.limit)


def _repeat(kind: str, number: int) -> int:
    """Run one case in this process, so that a debugger can follow it."""
    from .judge import run_case
    from .kinds import KINDS as DRAWS

    outcome = run_case(DRAWS[kind], kind, number)
    _say(f"{outcome.verdict}: {outcome.words}\n  {outcome.name}")
    return int(outcome.verdict == "finding")


def _run(kinds: tuple[str, ...], seed: int, seconds: float, limit: float) -> int:
    summary, worker = Summary(kinds), Worker(limit)
    numbers = dict.fromkeys(kinds, seed * _PER_SEED)
    end, report = time.perf_counter() + seconds, time.perf_counter() + _REPORT
    try:
        while time.perf_counter() < end:
            kind = summary.next_kind
            started = time.perf_counter()
            outcome = worker.run(kind, numbers[kind])
            summary.add(kind, outcome, time.perf_counter() - started)
            if outcome.verdict == "finding":
                line = f"python -m fuzz --kind {kind} --case {numbers[kind]}"
                _say(f"FINDING {line}\n  {outcome.words}\n  {outcome.name}")
            numbers[kind] += 1
            if time.perf_counter() > report:
                _say(f"{summary}\n")
                report += _REPORT
    finally:  # also after Ctrl-C
        worker.stop()
        _say(f"{summary}\n{summary.cases:,} cases, {summary.findings} findings")
    return int(summary.findings > 0)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
