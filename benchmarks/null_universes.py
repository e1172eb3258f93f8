"""Measure how often a study claims skill: ``python -m benchmarks.null_universes``.

In universes of several kinds, nothing can be forecast, so every claim is false. With ``--planted``, the funds
of the same universes have skill that lasts from quarter to quarter, so every claim of skill is true. Results
are saved to a file after each universe, so an interrupted run resumes where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy.stats import binomtest

from geodual.funds import Panel, Study, backtest, select, synthetic_universe
from geodual.funds.evaluation.statistics import FEWEST
from geodual.funds.report.headline import LEVEL, write_headline

from .findings import draw_table, student
from .timing import format_table

N_FUNDS = (40, 60)  # fewest and most
N_YEARS = (5, 7)
TEST_SHARE = 0.4  # of the table, at its end, for the row about the test period alone
FORECASTERS = ("euclidean", "ridge")  # quick ones: neighbors, and a regression
EVERY = 50  # universes between two lines of progress
QUARTER = 61  # trading days
# Planted skill: standard deviation of its return per quarter, and the share that lasts.
SKILL, LASTS = 0.03, 0.8

KINDS: dict[str, Callable[[int, int, int], pd.DataFrame]] = {
    "built in": lambda seed, n_funds, n_years: (
        synthetic_universe(n_funds, "2010-01-04", f"{2009 + n_years}-12-31", seed=seed, signal=0.0).panel.nav
    ),
    "fat tails": lambda *size: draw_table(*size, noise=student(3)).nav,
    "stale prices": lambda *size: draw_table(*size, late=True).nav,
    "style clusters": lambda *size: draw_table(*size, clusters=True).nav,
    "overlapping holdings": lambda *size: draw_table(*size, overlap=True).nav,
}


@dataclass(frozen=True)
class Claims:
    """The claims of a study of one universe.

    Attributes
    ----------
    seed : int
        Seed of the universe.
    kind : str
        Its kind.
    skill : bool
        The headline: the mean IC of the best forecaster differs from zero.
    record : bool
        `select`: the track record is evidence of skill.
    lead : bool
        The headline: the best forecaster is better than another by more than chance.
    baseline : bool
        The headline: the best learned forecaster differs from the best baseline.
    factor : bool
        The skill map: the IC of some factor alone differs from zero.
    rest : bool
        The skill map: the part of some forecaster that momentum does not explain has an IC other than zero.
    late : bool
        The claim of the headline from the test period alone: its best forecaster has skill.
    uncorrected : bool
        The claim without correction: the forecaster with the highest mean IC has |t| > 2.
    """

    seed: int
    kind: str
    skill: bool
    record: bool
    lead: bool
    baseline: bool
    factor: bool
    rest: bool
    late: bool
    uncorrected: bool


# The words of a headline for a claim, and for its absence.
SKILL_WORDS = "Its IC differs from zero", ("not clearly differ", "too few values")
LEAD_WORDS = "more than chance alone", ("within what chance alone", "too short to tell")
# The end of the sentence on the best baseline if it comes first, and its mark if it comes last.
FIRST_WORDS, LAST_WORDS = " Without the baselines: ", " above the best baseline, "
CHOSEN_WORDS = " The best is chosen over "  # may follow

CLAIMS = {
    "skill": "headline: its IC differs from zero",
    "record": "select: the record is evidence of skill",
    "lead": "headline: it is better than another forecaster",
    "baseline": "headline: it differs from the best baseline",
    "factor": "skill map: some factor alone differs from zero",
    "rest": "skill map: some forecaster knows more than momentum",
    "late": "from the test period alone: the best has skill",
    "uncorrected": "without correction: the best has |t| > 2",
}


def kind_of(seed: int) -> str:
    """Return the kind of the universe with this seed; kinds alternate."""
    return list(KINDS)[seed % len(KINDS)]


def draw_universe(seed: int, planted: float = 0.0) -> Panel:
    """Return a universe of random size whose funds have the planted skill."""
    rng = np.random.default_rng([seed, 2012])
    n_funds, n_years = (int(rng.integers(low, high + 1)) for low, high in (N_FUNDS, N_YEARS))
    nav = KINDS[kind_of(seed)](seed, n_funds, n_years)
    return Panel(nav * np.exp(planted * _lasting(rng, nav.shape)).astype(float))


def _lasting(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Return the daily cumulative skill, of size one per quarter, a part of which lasts to the next."""
    n_quarters = -(-shape[0] // QUARTER)
    drawn = rng.standard_normal((n_quarters, shape[1]))
    for before, now in itertools.pairwise(drawn):
        now *= np.sqrt(1.0 - LASTS**2)
        now += LASTS * before
    return np.asarray(np.cumsum(np.repeat(drawn, QUARTER, axis=0)[: shape[0]] / QUARTER, axis=0))


def study_universe(seed: int, planted: float = 0.0, forecasters: Sequence[str] = FORECASTERS) -> Claims:
    """Run a study on one universe, select from it, and return the claims of both."""
    panel = draw_universe(seed, planted)
    test_start = panel.nav.index[int((1.0 - TEST_SHARE) * len(panel.nav))]
    study = backtest(panel, forecasters=forecasters, n_jobs=1, test_start=str(test_start.date()))
    return read_claims(study, select(panel, run=study).record.is_evidence, seed)


def read_claims(study: Study, record: bool, seed: int) -> Claims:
    """Return the claims of a study and of its selection's record."""
    headline = write_headline(study)
    on_lead, on_baseline = split_headline(headline.sentence)
    skill_map = study.skill_map.loc[headline.period]
    late = study.table().loc["test"].join(study.skill.loc["test"]["p"]).dropna(subset="p")
    best = late.sort_values("ic_mean").iloc[-1]
    return Claims(
        seed=seed,
        kind=kind_of(seed),
        skill=_says(" ".join(headline.notes), *SKILL_WORDS),
        record=record,
        lead=_says(on_lead, *LEAD_WORDS),
        baseline=_says(on_baseline, *LEAD_WORDS),
        factor=bool((skill_map.loc["factor"]["p"] < LEVEL).any()),
        rest=bool((skill_map.loc["forecaster"]["rest_p"] < LEVEL).any()),
        late=bool(best["p"] < LEVEL and best["ic_mean"] > 0.0 and best["n"] >= FEWEST),
        uncorrected=bool(abs(study.table().loc[(headline.period, headline.best), "t"]) > 2.0),
    )


def split_headline(sentence: str) -> tuple[str, str]:
    """Return the parts of a headline on the lead over other metrics and on the best baseline."""
    first, found, rest = sentence.partition(FIRST_WORDS)
    if found:
        return rest, first
    rest, _, last = sentence.partition(CHOSEN_WORDS)[0].rpartition(". ")
    if LAST_WORDS not in last:
        raise ValueError(f"The wording has changed; correct FIRST_WORDS or LAST_WORDS for {sentence!r}.")
    return rest, last


def _says(text: str, claim: str, denials: tuple[str, ...]) -> bool:
    """Return whether a text makes a claim; raise an error if it neither makes nor denies it."""
    if claim not in text and not any(words in text for words in denials):
        raise ValueError(f"The wording has changed; correct SKILL_WORDS or LEAD_WORDS for {text!r}.")
    return claim in text


def claims_table(
    n: int = 100,
    seed: int = 0,
    jobs: int = -1,
    kept: Path | None = None,
    planted: float = 0.0,
    minutes: float = np.inf,
) -> str:
    """Study universes and return the frequency of each claim, by kind of universe, as a table.

    Parameters
    ----------
    n : int
        Number of universes.
    seed : int
        Seed of the first; the others follow.
    jobs : int
        Number of processes.
    kept : Path, optional
        File of finished universes, which are not studied again.
    planted : float
        Standard deviation of the planted skill per quarter.
    minutes : float
        Time after which no further universe is studied.
    """
    started = time.monotonic()
    found = {claims.seed: claims for claims in _read(kept)}
    wanted = range(seed, seed + n)
    left = [at for at in wanted if at not in found]
    if len(left) < n:
        print(f"  {n - len(left)} of {n} universes are taken from {kept}; delete it to begin anew")
    tasks = (joblib.delayed(study_universe)(at, planted) for at in left)
    for claims in joblib.Parallel(n_jobs=jobs, return_as="generator")(
        task for task in tasks if time.monotonic() - started < 60.0 * minutes
    ):
        found[claims.seed] = claims
        _append(kept, claims)
        done = [found[at] for at in wanted if at in found]
        if len(done) % EVERY == 0 or len(done) == n:
            totals = ", ".join(f"{name} {sum(_made(done, name))}" for name in CLAIMS)
            print(f"  {len(done)}/{n}: {totals}", flush=True)
    return _formatted([found[at] for at in wanted if at in found], planted)


def _made(universes: Iterable[Claims], name: str) -> list[bool]:
    return [getattr(claims, name) for claims in universes]


def _formatted(universes: list[Claims], planted: float) -> str:
    groups = {"all": universes} | {
        kind: [claims for claims in universes if claims.kind == kind] for kind in KINDS
    }
    rows = [
        [told, *(_share(_made(own, name), full=group == "all") for group, own in groups.items())]
        for name, told in CLAIMS.items()
    ]
    what = f"with skill of {100 * planted:g} % per quarter" if planted else "without skill"
    return (
        f"Universes {what} ({len(universes)}; {N_FUNDS[0]} to {N_FUNDS[1]} funds, {N_YEARS[0]} to "
        f"{N_YEARS[1]} years, {' and '.join(FORECASTERS)}): share that claims some,\n"
        "with its 95 % interval (Clopper–Pearson)\n\n" + format_table(["claim", *groups], rows)
    )


def _share(made: list[bool], full: bool = True) -> str:
    if not made:
        return "–"
    if not full:
        return f"{sum(made)} of {len(made)}"
    interval = binomtest(sum(made), len(made)).proportion_ci(0.95, "exact")
    ends = f"{100 * interval.low:.1f} … {100 * interval.high:.1f}"
    return f"{100 * np.mean(made):.1f} % ({ends}), {sum(made)} of {len(made)}"


def _read(kept: Path | None) -> Iterator[Claims]:
    if kept is None or not kept.exists():
        return
    with kept.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != [field.name for field in fields(Claims)]:
            raise ValueError(f"{kept} is of an earlier version; delete it or give another file by --kept.")
        for row in reader:
            flags: dict[str, Any] = {name: row[name] == "True" for name in CLAIMS}
            yield Claims(seed=int(row["seed"]), kind=row["kind"], **flags)


def _append(kept: Path | None, claims: Claims) -> None:
    if kept is None:
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    is_new = not kept.exists()
    with kept.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Claims)])
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(claims))


def main() -> None:
    """Read the options, study the universes, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.null_universes", description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="number of universes (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first universe (default: 0)")
    parser.add_argument("--jobs", type=int, default=-1, help="number of processes (default: one per core)")
    told = f"plant skill with this standard deviation per quarter (without a number: {SKILL})"
    parser.add_argument("--planted", type=float, nargs="?", const=SKILL, default=0.0, help=told)
    told = "stop after so many minutes (default: never)"
    parser.add_argument("--minutes", type=float, default=np.inf, help=told)
    told = "file of finished universes (default: in the folder output)"
    parser.add_argument("--kept", type=Path, default=None, help=told)
    asked = parser.parse_args()
    name = f"planted_{asked.planted:g}" if asked.planted else "null"
    kept = asked.kept or Path("output", f"{name}_universes.csv")
    print(claims_table(asked.n, asked.seed, asked.jobs, kept, asked.planted, asked.minutes))


if __name__ == "__main__":
    main()
