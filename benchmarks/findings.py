"""Measure how often findings are correct: ``python -m benchmarks findings``.

In clean tables of several kinds, every finding that can change a result is a false alarm. Then one fund in
five makes a payment: mixed funds 5 % of their value, bond funds 2 %, without adjustment. How many are found?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.funds import Finding, inspect_quality, synthetic_universe

from .timing import format_table

DAYS_PER_YEAR = 244
FUNDS, YEARS = (300, 1000), (5, 10)  # fewest and most
MOST_BUILT_IN = 697  # funds of the built-in universe
PAYERS = 0.2  # share of the funds that pay
PAID = {"mixed": 0.05, "bond": 0.02}
SHARES, HELD = 150, 30  # shares in the market, and in a fund, where holdings overlap
LEAST_LIFE = 60  # minimum number of rows of a fund that pays

Noise = Callable[[np.random.Generator, tuple[int, int]], Array]


@dataclass(frozen=True, eq=False)
class Table:
    """NAVs and types of funds; `own` is the part of their returns not shared by other funds, if known."""

    nav: pd.DataFrame
    types: NDArray[np.str_]
    own: Array | None = None


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.standard_normal(shape)


def student(freedom: int) -> Noise:
    """Return noise with Student's t distribution, scaled to variance 1."""
    scale = np.sqrt((freedom - 2) / freedom)
    return lambda rng, shape: scale * rng.standard_t(freedom, shape)


def _clustered(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return GARCH(1, 1) noise with the usual persistence of daily returns."""
    drawn, variance = rng.standard_normal(shape), np.ones(shape[1])
    for row in drawn:
        row *= np.sqrt(variance)
        variance = 0.05 + 0.10 * row**2 + 0.85 * variance
    return drawn


def draw_table(
    seed: int,
    n_funds: int,
    n_years: int,
    noise: Noise = _normal,
    crashes: bool = False,
    clusters: bool = False,
    late: bool = False,
    overlap: bool = False,
) -> Table:
    """Draw funds that share a market, four styles and rates; no return can be forecast.

    Volatilities range from those of Chinese funds in 2012–2016 (after comparison with similar funds, the
    median remainder is 0.32 % per day for mixed and 0.09 % for bond funds) to more than twice as much.
    """
    rng = np.random.default_rng([seed, n_funds])
    shape = n_days, _ = DAYS_PER_YEAR * n_years, n_funds
    is_bond = rng.random(n_funds) < 0.3
    volatility = np.where(is_bond, rng.uniform(0.0009, 0.002, n_funds), rng.uniform(0.003, 0.008, n_funds))
    own = volatility * noise(rng, shape)
    market = 0.012 * noise(rng, (n_days, 1))
    if crashes:  # three per year, by 3 to 9 %
        market[rng.integers(0, n_days, 3 * n_years)] -= rng.uniform(0.03, 0.09, (3 * n_years, 1))
    styles = 0.003 * rng.standard_normal((n_days, 4)) @ rng.standard_normal((4, n_funds))
    if clusters:  # of about twenty funds, with heavy tails
        member = rng.integers(0, n_funds // 20, n_funds)
        styles += 0.003 * rng.standard_t(4, (n_days, n_funds // 20))[:, member]
    if overlap:  # of 30 out of 150 shares, so that any two funds share some
        holdings = np.zeros((SHARES, n_funds))
        for column in holdings.T:
            column[rng.permutation(SHARES)[:HELD]] = rng.dirichlet(np.ones(HELD))
        styles += 0.02 * noise(rng, (n_days, SHARES)) @ holdings
    beta = np.where(is_bond, rng.normal(0.1, 0.05, n_funds), rng.normal(0.95, 0.15, n_funds))
    rates = 0.0012 * rng.standard_normal((n_days, 1)) * is_bond
    returns = 0.0002 + market * beta + styles * np.where(is_bond, 0.1, 1.0) + rates + own
    nav = np.exp(np.cumsum(returns, axis=0))
    if late:  # one fund in five repeats the value of the day before on one day in twenty
        missing = (rng.random(shape) < 0.05) & (rng.random(n_funds) < 0.2)
        nav = pd.DataFrame(nav).mask(missing).ffill().bfill().to_numpy()
    days = pd.bdate_range("2010-01-04", periods=n_days, name="date")
    frame = pd.DataFrame(nav, days, [f"F{at:04d}" for at in range(n_funds)])
    return Table(frame, np.where(is_bond, "bond", "mixed"), own)


def _built_in(seed: int, n_funds: int, n_years: int) -> Table:
    n_funds = min(n_funds, MOST_BUILT_IN)
    universe = synthetic_universe(n_funds, "2010-01-04", f"{2009 + n_years}-12-31", seed=seed)
    return Table(universe.panel.nav, universe.facts.table["type"].to_numpy(str))


KINDS: dict[str, Callable[[int, int, int], Table]] = {
    "synthetic_universe": _built_in,
    "normal": draw_table,
    "clustered volatility": lambda *size: draw_table(*size, noise=_clustered),
    "shared crashes": lambda *size: draw_table(*size, crashes=True),
    "style clusters": lambda *size: draw_table(*size, clusters=True),
    "late prices": lambda *size: draw_table(*size, late=True),
    "Student t, 5": lambda *size: draw_table(*size, noise=student(5)),
    "Student t, 4": lambda *size: draw_table(*size, noise=student(4)),
    "Student t, 3": lambda *size: draw_table(*size, noise=student(3)),
}


@dataclass
class Counts:
    """Counts over the tables of one kind."""

    funds: int = 0
    flagged: int = 0  # funds of a clean table with a finding that can change a result
    own_known: int = 0  # funds whose own noise is known,
    fall_as_much: int = 0  # of which this many fall by the amount of a payment through their own noise
    paid: int = 0
    found: int = 0
    flagged_others: int = 0  # funds without a payment that are flagged in tables with payments


def pay(table: Table, seed: int) -> tuple[pd.DataFrame, dict[str, str]]:
    """Let one fund in five pay, each on a random day; return the NAVs and the days."""
    rng = np.random.default_rng([seed, 5])
    nav, days = table.nav.copy(), {}
    able = np.flatnonzero(np.isin(table.types, list(PAID)) & (nav.notna().sum() >= LEAST_LIFE))
    for at in rng.permutation(able)[: round(PAYERS * len(able))]:
        row = int(rng.choice(np.flatnonzero(nav.iloc[:, at].notna())[1:]))
        nav.iloc[row:, at] *= 1.0 - PAID[table.types[at]]
        days[str(nav.columns[at])] = f"{nav.index[row]:%Y-%m-%d}"
    return nav, days


def count_findings(kind: str, seed: int, n_funds: int, n_years: int, counts: Counts) -> None:
    """Draw a table, count its false alarms, let funds pay, and count the payments found."""
    table = KINDS[kind](seed, n_funds, n_years)
    counts.funds += table.nav.shape[1]
    counts.flagged += len({finding.fund for finding in inspect_quality(table.nav) if finding.matters})
    if table.own is not None:
        amounts = np.array([PAID[name] for name in table.types])
        counts.own_known += table.own.shape[1]
        counts.fall_as_much += int((table.own < -amounts).any(axis=0).sum())
    nav, days = pay(table, seed)
    jumps = {finding.fund: finding for finding in inspect_quality(nav) if finding.kind == "jump"}
    counts.paid += len(days)
    counts.found += sum(_is_about(jumps.get(fund), day) for fund, day in days.items())
    counts.flagged_others += len(jumps.keys() - days.keys())


def _is_about(finding: Finding | None, day: str) -> bool:
    """Return whether a finding is about a day; a finding names only its first day."""
    return finding is not None and (finding.date == day or (finding.count > 1 and finding.date < day))


def findings_table(n: int = 10, kinds: Iterable[str] = tuple(KINDS)) -> str:
    """Return a table of both rates for each kind of table, over `n` seeds."""
    rows = []
    for kind in kinds:
        counts = Counts()
        for seed in range(n):
            rng = np.random.default_rng([seed, 2])
            n_funds, n_years = (int(rng.integers(low, high + 1)) for low, high in (FUNDS, YEARS))
            count_findings(kind, seed, n_funds, n_years, counts)
        rows.append([kind, *_shares(counts)])
        print("  " + "  ".join(rows[-1]), flush=True)
    names = [
        "kind of table",
        "clean: flagged",
        "clean: fall as much",
        "payments found",
        "others flagged then",
    ]
    return f"Findings that can change a result ({n} tables of each kind)\n\n" + format_table(names, rows)


def _shares(counts: Counts) -> list[str]:
    pairs = [
        (counts.flagged, counts.funds, 2),
        (counts.fall_as_much, counts.own_known, 1),
        (counts.found, counts.paid, 0),
        (counts.flagged_others, counts.found + counts.flagged_others, 0),
    ]
    return [f"{100 * part / whole:.{digits}f} %" if whole else "–" for part, whole, digits in pairs]
