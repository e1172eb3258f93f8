"""How often a study claims skill where there is none: ``python -m benchmarks.null_universes --n 1000``.

Nothing can be forecast in these universes, so every claim is false. Results are kept in a file, universe by
universe: an interrupted run goes on where it stopped. With ``--forecasters``, learnt forecasters are compared
besides the six metrics.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy.stats import binomtest

from geodual.funds import Study, StudyConfig, Universe, backtest, synthetic_universe
from geodual.funds.evaluation.track_record import measure_record
from geodual.funds.report.headline import LEVEL, write_headline
from geodual.metric.registry import FEATURED

from .timing import format_table

FIRST = pd.Period("2012Q1")
N_FUNDS = (40, 60)  # fewest and most
N_QUARTERS = (16, 24)  # the first four give no decision
N_TEST = (9, 12)  # quarters of the test period, if there is one; with fewer than 8 nothing is claimed
NEVER = "2099-01-01"  # first day of the test period if there is none
FORECASTERS = ("ridge", "factor_ic")  # besides the metrics, if asked for
EVERY = 50  # universes between two lines of progress


@dataclass(frozen=True)
class Claims:
    """What a study of one universe claims.

    Attributes
    ----------
    seed : int
        Seed of the universe.
    period : str
        The period that the headline is about.
    skill : bool
        The headline: the mean IC of the best forecaster differs from zero.
    lead : bool
        The headline: the best forecaster is better than another by more than chance.
    record : bool
        `select`: the track record is evidence of skill. With metrics alone it is that of the featured one,
        with forecasters that of the one with the highest mean IC, corrected for this choice.
    baseline : bool
        The headline: the best of what was learnt differs from the best baseline.
    factor : bool
        The skill map: the IC of some factor alone differs from zero.
    rest : bool
        The skill map: the part of some forecaster that momentum does not explain has an IC other than zero.
    uncorrected : bool
        What a reader without correction would claim: the forecaster with the highest mean IC has |t| > 2.
    """

    seed: int
    period: str
    skill: bool
    lead: bool
    record: bool
    baseline: bool
    factor: bool
    rest: bool
    uncorrected: bool


# What the reader of a headline reads: the words of a claim, and those of its absence.
SKILL_WORDS = "Its IC differs from zero", ("not clearly differ", "too few values")
LEAD_WORDS = "more than chance alone", ("within what chance alone", "too short to tell")
# Where the sentence on the best baseline ends if it comes first, and how it is known if it comes last.
FIRST_WORDS, LAST_WORDS = " Without the baselines: ", " above the best baseline, "

CLAIMS = {
    "skill": "headline: its IC differs from zero",
    "lead": "headline: it is better than another forecaster",
    "record": "select: the record is evidence of skill",
    "baseline": "headline: it differs from the best baseline",
    "factor": "skill map: some factor alone differs from zero",
    "rest": "skill map: some forecaster knows more than momentum",
    "uncorrected": "without correction: the best has |t| > 2",
}


def draw_universe(seed: int) -> tuple[Universe, str]:
    """Return a universe without skill, of random size, and the first day of its test period."""
    rng = np.random.default_rng([seed, 2012])
    n_funds, n_quarters, n_test = (
        int(rng.integers(low, high + 1)) for low, high in (N_FUNDS, N_QUARTERS, N_TEST)
    )
    last = FIRST + n_quarters - 1
    test_start = str((last - n_test + 1).start_time.date()) if rng.random() < 0.5 else NEVER
    days = str(FIRST.start_time.date()), str(last.end_time.date())
    return synthetic_universe(n_funds, *days, seed=seed, signal=0.0), test_start


def study_universe(seed: int, forecasters: Sequence[str] = ()) -> Claims:
    """Run the study of the paper on one universe, with some forecasters besides, and return its claims."""
    universe, test_start = draw_universe(seed)
    study = backtest(
        universe.panel,
        universe.index,
        StudyConfig.metrics,
        forecasters=forecasters,
        n_jobs=1,
        test_start=test_start,
    )
    return read_claims(study, seed)


def read_claims(study: Study, seed: int) -> Claims:
    """Return what a study claims."""
    headline = write_headline(study)
    on_lead, on_baseline = split_headline(headline.sentence)
    # `select` repeats the decisions of its forecaster; in the study they are there already.
    several = len(study.config.compared) > len(study.config.metrics)
    used = study.ic.mean().idxmax() if several else FEATURED
    own = {
        table: frame[frame["forecaster"] == used]
        for table, frame in (("predictions", study.predictions), ("holdings", study.holdings))
    }
    n_choices = len(study.config.compared) if several else 1
    skill_map = study.skill_map.loc[headline.period]
    return Claims(
        seed=seed,
        period=headline.period,
        skill=_says(" ".join(headline.notes), *SKILL_WORDS),
        lead=_says(on_lead, *LEAD_WORDS),
        record=measure_record(**own, n_choices=n_choices).is_evidence,
        baseline=_says(on_baseline, *LEAD_WORDS),
        factor=bool((skill_map.loc["factor"]["p"] < LEVEL).any()),
        rest=bool((skill_map.loc["forecaster"]["rest_p"] < LEVEL).any()),
        uncorrected=bool(abs(study.table().loc[(headline.period, headline.best), "t"]) > 2.0),
    )


def split_headline(sentence: str) -> tuple[str, str]:
    """Return the parts of a headline on the lead over other metrics and on the best baseline."""
    first, found, rest = sentence.partition(FIRST_WORDS)
    if found:
        return rest, first
    rest, _, last = sentence.rpartition(". ")
    if LAST_WORDS not in last:
        raise ValueError(f"The wording has changed; mend FIRST_WORDS or LAST_WORDS for {sentence!r}.")
    return rest, last


def _says(text: str, claim: str, denials: tuple[str, ...]) -> bool:
    """Tell whether a text makes a claim; raise if it neither makes nor denies it."""
    if claim not in text and not any(words in text for words in denials):
        raise ValueError(f"The wording has changed; mend SKILL_WORDS or LEAD_WORDS for {text!r}.")
    return claim in text


def null_table(
    n: int = 100,
    seed: int = 0,
    jobs: int = -1,
    kept: Path | None = None,
    forecasters: Sequence[str] = (),
) -> str:
    """Study universes without skill and return how often each claim was made, as a table.

    Parameters
    ----------
    n : int
        Number of universes.
    seed : int
        Seed of the first; the others follow.
    jobs : int
        Number of processes.
    kept : Path, optional
        File of the universes that are finished; they are not studied again.
    forecasters : sequence of str
        Forecasters to compare besides the six metrics.
    """
    found = {claims.seed: claims for claims in _read(kept)}
    wanted = range(seed, seed + n)
    left = [at for at in wanted if at not in found]
    if len(left) < n:
        print(f"  {n - len(left)} of {n} universes are taken from {kept}; delete it to begin anew")
    tasks = (joblib.delayed(study_universe)(at, forecasters) for at in left)
    studied = joblib.Parallel(n_jobs=jobs, return_as="generator")(tasks)
    for claims in studied:
        found[claims.seed] = claims
        _append(kept, claims)
        done = [found[at] for at in wanted if at in found]
        if len(done) % EVERY == 0 or len(done) == n:
            totals = ", ".join(f"{name} {sum(_made(done, name))}" for name in CLAIMS)
            print(f"  {len(done)}/{n}: {totals}", flush=True)
    compared = " and ".join(["six metrics", *([", ".join(forecasters)] if forecasters else [])])
    return _formatted([found[at] for at in wanted], compared)


def _made(universes: Iterable[Claims], name: str) -> list[bool]:
    return [getattr(claims, name) for claims in universes]


def _formatted(universes: list[Claims], compared: str) -> str:
    groups: dict[str, Callable[[Claims], bool]] = {
        "all": lambda claims: True,
        "test period": lambda claims: claims.period == "test",
        "no test period": lambda claims: claims.period != "test",
    }
    rows = []
    for name, told in CLAIMS.items():
        counts = [_made(filter(chosen, universes), name) for chosen in groups.values()]
        rows.append([told, *map(_share, counts)])
    return (
        f"Universes without skill ({len(universes)}; {N_FUNDS[0]} to {N_FUNDS[1]} funds, "
        f"{N_QUARTERS[0]} to {N_QUARTERS[1]} quarters, {compared}): share that claims some,\n"
        "with its 95 % interval (Clopper–Pearson)\n\n" + format_table(["claim", *groups], rows)
    )


def _share(made: list[bool]) -> str:
    if not made:
        return "–"
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
            yield Claims(seed=int(row["seed"]), period=row["period"], **flags)


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
    told = "compare forecasters besides the six metrics"
    parser.add_argument("--forecasters", action="store_true", help=told)
    told = "file of finished universes (default: in the folder output)"
    parser.add_argument("--kept", type=Path, default=None, help=told)
    asked = parser.parse_args()
    forecasters = FORECASTERS if asked.forecasters else ()
    kept = asked.kept or Path("output", f"null_{'forecasters' if forecasters else 'universes'}.csv")
    print(null_table(asked.n, asked.seed, asked.jobs, kept, forecasters))


if __name__ == "__main__":
    main()
