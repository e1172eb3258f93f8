"""What takes long: 100,000 samples and all their pairs, 200,000 and their local pairs, 5,000 funds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from .constants import measure_costs
from .data import four_classes
from .fits import write_samples
from .one_fit import fit_elsewhere
from .one_study import DAYS, study_elsewhere, write_universe
from .rows import Row
from .simulation import Passes, part_of

_LOCAL_BEFORE = 435.0  # processor seconds of local pairs, 200,000 × 50, when issue 14 was written


def all_pairs_row(
    n_samples: int = 100_000, n_features: int = 70, n_jobs: int = 2, report: Callable[[str], object] = print
) -> list[Row]:
    """Fit all pairs of many samples to a gap of 1e-4; say first how long it will take."""
    expected = estimated_seconds(n_samples, n_features)
    report(f"  all pairs of {n_samples:,} × {n_features}: about {expected:,.0f} s of processor time …")
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n_samples, n_features)
        found = fit_elsewhere(path, {"C": 100.0, "pairs": "all", "tol": 1e-4, "n_jobs": n_jobs})
    size = f"{n_samples:,} × {n_features}"
    note = f"{found['pairs']:,} pairs, gap {found['gap']:.0e}, {n_jobs} threads, {found['passes']} passes"
    return [
        Row("all pairs, gap 1e-4", size, found["seconds"], "s", note=note),
        Row("all pairs, gap 1e-4: processor time", size, found["processor"], "s"),
        Row("all pairs, gap 1e-4: peak above the data", size, found["megabytes"], "MB"),
    ]


def estimated_seconds(n_samples: int, n_features: int) -> float:
    """Return the processor seconds of a fit to all pairs, from the cost of a pair in each kind of pass."""
    costs, passes = measure_costs(2_000, (n_features // 2, n_features), report=lambda line: None), Passes()
    pairs, part = n_samples**2 / 2, part_of(n_samples, n_features) ** 2 / 2
    cost = {kind: found.per_pair(n_features) for kind, found in costs.items()}
    return pairs * (passes.evaluations * cost["evaluation"] + cost["count"] + cost["collect"]) + part * (
        passes.part_evaluations * cost["evaluation"]
        + passes.part_products * cost["product"]
        + passes.part_moments * cost["moment"]
    )


def local_pairs_row(
    n_samples: int = 200_000, n_features: int = 50, report: Callable[[str], object] = print
) -> list[Row]:
    """Fit local pairs of many samples on one thread."""
    size = f"{n_samples:,} × {n_features}"
    report(f"  local pairs of {size} …")
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n_samples, n_features, four_classes)
        found = fit_elsewhere(path, {"C": 100.0, "pairs": "local", "random_state": 0})
    note = f"{found['pairs']:,} pairs, gap {found['gap']:.0e}; {_LOCAL_BEFORE:g} s before, measured elsewhere"
    bar = _LOCAL_BEFORE / 3.0 if (n_samples, n_features) == (200_000, 50) else None
    return [
        Row("local pairs: processor time", size, found["processor"], "s", at_most=bar, note=note),
        Row("local pairs: peak above the data", size, found["megabytes"], "MB"),
    ]


def study_row(old: Path | None, n_funds: int = 5_000, report: Callable[[str], object] = print) -> list[Row]:
    """Backtest many funds over 15 years with RPDML and GMML, for a few of 60 decision days."""
    size = f"{n_funds:,} funds × 15 years"
    with TemporaryDirectory() as folder:
        path = write_universe(folder, n_funds)
        sources = [None] if old is None else [None, old]
        found = []
        for source in sources:
            report(f"  backtest of {size}, {', '.join(map(str, DAYS))} decision days …")
            found.append(study_elsewhere(path, source))
    note = f"{found[0]['per_day']:.3g} s per decision day, {len(DAYS)} runs of {DAYS[0]} and {DAYS[-1]} days"
    rows = [
        Row("backtest, 60 quarters, extrapolated", size, found[0]["processor"], "s", note=note),
        Row("backtest: peak of the process", size, found[0]["megabytes"], "MB", at_most=1_500.0),
    ]
    if old is not None:
        ratio = found[0]["processor"] / found[1]["processor"]
        note = f"{found[1]['processor']:,.0f} s and {found[1]['megabytes']:,.0f} MB before"
        rows.append(Row("backtest ÷ before", size, ratio, at_most=0.5, note=note))
    return rows
