"""Notes: sentences that the reader of a result should know besides the numbers."""

from __future__ import annotations

import pandas as pd

from ..config import StudyConfig
from ..decisions.decision import Decision
from ..panel import Panel

FEWEST_PAST = 8  # fewest past decisions for an interval of past returns
FEWEST_PER_RANK = 30  # fewest past decisions for an interval per rank
_COVERAGE = 0.90  # warn below this share of known factors
_UNFILLED = 0.001  # tell of purchases above this weight that were not made
_WEEK = 5  # rows
_MISSING = 0.1  # warn if more than this share of last week's funds has no value in the last row


def note_data(panel: Panel) -> list[str]:
    """Return the findings about the table as a whole that a reader of results should know."""
    whole = [finding for finding in panel.findings if not finding.fund]
    return [finding.message for finding in whole if finding.matters or finding.kind == "survivorship"]


def note_stray(n_rows: int) -> list[str]:
    """Return a note on rows that are no trading days."""
    if not n_rows:
        return []
    rows = "1 row is" if n_rows == 1 else f"{n_rows} rows are"
    return [
        f"{rows} left out, because too few of the funds alive have a value there: no decision is made and "
        "nothing is traded on such a day."
    ]


def note_orders(trades: pd.DataFrame) -> list[str]:
    """Return a note on purchases that were cancelled because their funds had no value for too long."""
    failed = trades[trades["unfilled"] > _UNFILLED]
    if failed.empty:
        return []
    worst = failed.sort_values("unfilled", kind="stable").iloc[-1]
    return [
        f"On {_days(failed['decided'].nunique())} purchases could not be made in time, because funds had no "
        f"value to trade at. The money stayed in cash: up to {100 * worst['unfilled']:.0f} % of a portfolio "
        f"({worst['metric']}, {worst['decided'].date()})."
    ]


def note_skipped(skipped: dict[pd.Timestamp, str]) -> list[str]:
    """Return a note on the rebalance days without a decision, with the reasons."""
    if not skipped:
        return []
    days: dict[str, list[str]] = {}
    for day, why in skipped.items():
        days.setdefault(why, []).append(str(day.date()))
    reasons = "; ".join(f"{', '.join(on)}: {why}" for why, on in days.items())
    return [f"No decision was made on {_days(len(skipped))}, so nothing was traded then ({reasons})."]


def note_coverage(universe: pd.DataFrame) -> list[str]:
    """Return a note on the rebalance days on which many factors are unknown."""
    poor = universe[universe["coverage"] < _COVERAGE]
    if poor.empty:
        return []
    return [
        f"On {_days(len(poor))} fewer than {100 * _COVERAGE:.0f} % of the factors were known, at worst "
        f"{100 * poor['coverage'].min():.0f} %. Missing factors count as average."
    ]


def note_decisions(decisions: list[Decision], config: StudyConfig) -> list[str]:
    """Return notes on labels that fell back to the median, and each warning of a metric once."""
    fallen = dict.fromkeys(str(d.day.date()) for d in decisions if d.label != config.label)
    notes = []
    if fallen:
        notes.append(
            f"On {_days(len(fallen))} fewer than 5 % of the funds had risen, or fewer than 5 % had fallen, "
            f"so the median was used as label ({', '.join(fallen)})."
        )
    warned: dict[tuple[str, str], int] = {}
    for decision in decisions:
        for note in decision.notes:
            warned[decision.metric, note] = warned.get((decision.metric, note), 0) + 1
    notes += [f"{metric} ({count} ×): {note}" for (metric, note), count in warned.items()]
    return notes


def note_last_row(nav: pd.DataFrame, asked: pd.Timestamp) -> list[str]:
    """Return notes on the last row: it is not on the day asked for, or many values are missing."""
    notes, last = [], nav.index[-1]
    if last < asked.normalize():
        notes.append(f"The data have no row on {asked.date()}; {last.date()}, the last before it, is used.")
    recent = nav.iloc[-1 - _WEEK : -1].notna().any()
    missing = int((recent & nav.iloc[-1].isna()).sum())
    if missing > _MISSING * recent.sum():
        notes.append(
            f"{missing} of the {recent.sum()} funds with a value in the {_WEEK} rows before have none on "
            f"{last.date()} and cannot be chosen. If the row is incomplete, select as of an earlier day."
        )
    return notes


def note_decision(decision: Decision, config: StudyConfig, is_rebalance: bool, n_past: int) -> list[str]:
    """Return notes on the decision of a selection and on its track record."""
    notes = []
    if not is_rebalance:
        notes.append(
            f"{decision.day.date()} is not a {config.frequency} rebalance day; the last holding interval is "
            "taken to end on it."
        )
    if decision.label != config.label:
        notes.append(
            "Nearly all funds rose, or nearly all fell, in the last holding interval, so the median was used "
            "as label."
        )
    if n_past < FEWEST_PAST:
        notes.append(f"There are only {n_past} past decisions, too few to show what such picks earned.")
    elif n_past < FEWEST_PER_RANK:
        notes.append(
            f"What past picks earned is shown for all ranks together: {n_past} past decisions are too few to "
            "show it for each rank."
        )
    return notes + list(decision.notes)


def _days(n: int) -> str:
    return f"{n} rebalance day{'' if n == 1 else 's'}"
