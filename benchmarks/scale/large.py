"""What takes long: 100,000 samples and all their pairs, 200,000 and their local pairs, 5,000 funds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from .constants import measure_costs
from .data import four_classes
from .fits import write_samples
from .one_fit import fit_elsewhere
from .one_study import LOOSE, study_elsewhere, write_universe
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


def study_rows(old: Path | None, n_funds: int = 5_000, report: Callable[[str], object] = print) -> list[Row]:
    """Backtest many funds over 15 years with RPDML and GMML, learning from one and from four quarters.

    Parameters
    ----------
    old : Path, optional
        A checkout with older sources. The same studies are done with them.
    n_funds : int
        Number of funds.
    report : callable
        Receives a line for each study.
    """
    rows = []
    with TemporaryDirectory() as folder:
        path = write_universe(folder, n_funds)
        for quarters, days in ((1, (1, 9)), (4, (1, 2))):
            before = None if old is None else study_elsewhere(path, old, quarters, days)
            for metric, gap in (("rpdml", "1e-10"), (LOOSE, "1e-6")):
                name = f"backtest, {quarters} quarter{'s' if quarters > 1 else ''} to learn from, gap {gap}"
                report(f"  {name}: {n_funds:,} funds, {days[1]} decisions …")
                new = study_elsewhere(path, None, quarters, days, metric)
                rows += _rows_of_study(name, f"{n_funds:,} funds × 15 years", days, new, before)
    return rows


def _rows_of_study(
    name: str, size: str, days: tuple[int, int], new: dict[str, float], before: dict[str, float] | None
) -> list[Row]:
    note = f"{new['per_day']:.3g} s per decision; 60 decisions from runs of {days[0]} and {days[1]}"
    rows = [
        Row(name, size, new["processor"], "s", note=note),
        Row(f"{name}: peak of the process", size, new["megabytes"], "MB", at_most=1_500.0),
    ]
    if before is not None:
        note = f"{before['per_day']:.3g} s per decision and {before['megabytes']:,.0f} MB before, gap 1e-6"
        ratio = new["processor"] / before["processor"]
        rows.append(Row(f"{name} ÷ before", size, ratio, at_most=0.5, note=note))
    return rows
