"""What the reader of a result should know besides the numbers, in sentences."""

from __future__ import annotations

import pandas as pd

from ..config import StudyConfig
from ..decisions.decision import Decision
from ..panel import Panel

FEWEST_PAST = 8  # past decisions from which an interval of past returns is told
FEWEST_PER_RANK = 30  # past decisions from which each rank has an interval of its own
_COVERAGE = 0.90  # warn below this share of known factors
_WEEK = 5  # rows
_MISSING = 0.1  # warn above this share of the funds of the last week that have no value in the last row


def note_data(panel: Panel) -> list[str]:
    """Return what was found about the table as a whole and can change a result."""
    whole = [finding for finding in panel.findings if not finding.fund]
    return [finding.message for finding in whole if finding.matters or finding.kind == "survivorship"]


def note_skipped(skipped: dict[pd.Timestamp, str]) -> list[str]:
    """Return a note on the rebalance days without a decision, and why."""
    if not skipped:
        return []
    days: dict[str, list[str]] = {}
    for day, why in skipped.items():
        days.setdefault(why, []).append(str(day.date()))
    reasons = "; ".join(f"{', '.join(on)}: {why}" for why, on in days.items())
    return [f"No decision on {len(skipped)} of the rebalance days, nothing was traded ({reasons})."]


def note_coverage(universe: pd.DataFrame) -> list[str]:
    """Return a note on the rebalance days on which many factors are not known."""
    poor = universe[universe["coverage"] < _COVERAGE]
    if poor.empty:
        return []
    return [
        f"On {len(poor)} of the rebalance days fewer than {100 * _COVERAGE:.0f} % of the factors were known, "
        f"{100 * poor['coverage'].min():.0f} % at the least; missing ones count as average."
    ]


def note_decisions(decisions: list[Decision], config: StudyConfig) -> list[str]:
    """Return what decisions had to say: labels that fell back, and warnings of metrics, each once."""
    fallen = dict.fromkeys(str(d.day.date()) for d in decisions if d.label != config.label)
    notes = []
    if fallen:
        notes.append(
            f"On {len(fallen)} of the rebalance days fewer than 5 % of the funds had risen or fallen: the "
            f"median was used as label ({', '.join(fallen)})."
        )
    warned: dict[tuple[str, str], int] = {}
    for decision in decisions:
        for note in decision.notes:
            warned[decision.metric, note] = warned.get((decision.metric, note), 0) + 1
    notes += [f"{metric} ({count} ×): {note}" for (metric, note), count in warned.items()]
    return notes


def note_last_row(nav: pd.DataFrame, asked: pd.Timestamp) -> list[str]:
    """Return what is odd about the last row: its day is not the one asked for, or many values are missing."""
    notes, last = [], nav.index[-1]
    if last < asked.normalize():
        notes.append(f"The data have no row on {asked.date()}: the last before it, {last.date()}, is used.")
    recent = nav.iloc[-1 - _WEEK : -1].notna().any()
    missing = int((recent & nav.iloc[-1].isna()).sum())
    if missing > _MISSING * recent.sum():
        notes.append(
            f"{missing} of the {recent.sum()} funds with a value in the {_WEEK} rows before have none on "
            f"{last.date()} and cannot be chosen: if the row is incomplete, choose the day before."
        )
    return notes


def note_decision(decision: Decision, config: StudyConfig, is_rebalance: bool, n_past: int) -> list[str]:
    """Return notes on the decision of a selection and on its track record."""
    notes = []
    if not is_rebalance:
        notes.append(
            f"{decision.day.date()} is not a {config.frequency} rebalance day: the last period ends on it."
        )
    if decision.label != config.label:
        notes.append("Nearly all funds rose, or fell, in the last period: the median was used as label.")
    if n_past < FEWEST_PAST:
        notes.append(f"There are {n_past} past decisions, too few to tell what such picks earned.")
    elif n_past < FEWEST_PER_RANK:
        notes.append(
            f"What past picks earned is told for all ranks together: {n_past} past decisions are too few to "
            "tell it for each."
        )
    return notes + list(decision.notes)
