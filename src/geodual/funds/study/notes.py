"""Notes: sentences that the reader of a result should know besides the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from ..calendar import DAYS_PER_YEAR, row_name, rows_in, rows_per_year
from ..config import StudyConfig
from ..decisions.decision import Decision
from ..decisions.observations import Observations, skipped_days
from ..evaluation.concentration import tell_concentration
from ..evaluation.market import FeeRules
from ..evaluation.statistics import FEWEST
from ..evaluation.study_tables import StudyTables
from ..forecasters.forecast import NO_LABEL
from ..forecasters.registry import forecaster_label
from ..panel import Finding, Panel
from ..report.headline import write_headline
from .look_back import LookBack

_COVERAGE = 0.90  # warn below this share of known factors
_LEVEL = 0.05  # of significance
_UNFILLED = 0.001  # tell of purchases above this weight that were not made
_WEEK = 5  # trading days
# Words of the reasons why a fund is left out, and how a reader is told of them.
_TOLD = {
    "no change in": "their values had not changed for a month and more while other funds moved",
    "another share class": "another share class of the same fund stands for them",
}
_MISSING = 0.1  # warn if more than this share of last week's funds has no value in the last row


def note_data(panel: Panel, config: StudyConfig, fees: FeeRules) -> list[str]:
    """Return notes on the table as a whole, and on assumptions that no investor can meet."""
    whole = [finding for finding in panel.findings if not finding.fund]
    notes = [finding.message for finding in whole if finding.matters or finding.kind == "survivorship"]
    return notes + note_trading(config, fees)


def note_trading(config: StudyConfig, fees: FeeRules) -> list[str]:
    """Return notes on conditions of trade that no investor can meet."""
    notes = []
    if config.execution_lag == 0:
        notes.append(
            "Trades are made at the values that decided them, as in the paper. Nobody can do that: a fund "
            "order is filled at a later value. Use an execution lag of 1 to see what could have been earned."
        )
    if fees.are_free:
        notes.append("Trades cost nothing in this study. Set a cost or fees to see what is left after them.")
    return notes


def note_index(findings: Sequence[Finding]) -> list[str]:
    """Return a note for each finding in the index that can change a result."""
    return [f"The {found.fund}, {found.date}: {found.message}" for found in findings if found.matters]


def _note_facts(observations: Observations) -> list[str]:
    """Return a note if facts are given, but not for all funds."""
    known, funds = observations.facts.table.index, observations.funds
    unknown = funds[~funds.isin(known)]
    if known.empty or unknown.empty:
        return []
    return [
        f"{len(unknown)} of {len(funds)} funds, such as {unknown[0]}, are not in the fund facts: they have "
        "no type, company or fee of their own, and no limit by type or company holds for them."
    ]


def note_rows(panel: Panel, observations: Observations, config: StudyConfig, rows: list[int]) -> list[str]:
    """Return notes on rows that are no trading days, and on rebalance days without a decision."""
    last = observations.panel.nav.index[-1]
    stray = int((panel.nav.index <= last).sum()) - len(observations.panel.nav)
    notes = _note_windows(observations)
    if stray:
        are = "1 row is" if stray == 1 else f"{stray} rows are"
        notes.append(
            f"{are} left out, because too few of the funds alive have a value there: no decision is made and "
            "nothing is traded on such a day."
        )
    return notes + _note_skipped(skipped_days(observations, config, rows))


def _note_windows(observations: Observations) -> list[str]:
    """Return a note on the windows of the factors if the table is not daily."""
    factors = observations.factors
    if factors.rows_per_year == DAYS_PER_YEAR:
        return []
    row = row_name(factors.rows_per_year)
    return [
        f"The table has a row per {row}, so {len(factors.columns)} factors are computed: "
        f"{factors.describe()}. Their names count trading days. The execution lag counts rows."
    ]


def _note_skipped(skipped: dict[pd.Timestamp, str]) -> list[str]:
    if not skipped:
        return []
    days: dict[str, list[str]] = {}
    for day, why in skipped.items():
        days.setdefault(why, []).append(str(day.date()))
    reasons = "; ".join(f"{', '.join(on)}: {why}" for why, on in days.items())
    return [f"No decision was made on {_days(len(skipped))}, so nothing was traded then ({reasons})."]


def note_universe(observations: Observations, universe: pd.DataFrame) -> list[str]:
    """Return notes on funds without facts, on funds left out that have values, and on unknown factors."""
    decided = set(universe["date"])
    why = [section.left_out for section in observations.sections if section.day in decided]
    notes = _note_facts(observations)
    for words, told in _TOLD.items():
        counts = [int(reasons.str.contains(words, regex=False).sum()) for reasons in why]
        if most := max(counts, default=0):
            funds = "1 fund was" if most == 1 else f"{most} funds were"
            on = sum(count > 0 for count in counts)
            notes.append(f"On {_days(on)} up to {funds} left out, because {told}.")
    poor = universe[universe["coverage"] < _COVERAGE]
    if len(poor):
        notes.append(
            f"On {_days(len(poor))} fewer than {100 * _COVERAGE:.0f} % of the factors were known, at worst "
            f"{100 * poor['coverage'].min():.0f} %. Missing factors count as average."
        )
    return notes


def note_portfolios(
    trades: pd.DataFrame, holdings: pd.DataFrame, config: StudyConfig, findings: Sequence[Finding]
) -> list[str]:
    """Return notes on purchases that were not made, on limits, and on what is doubtful about funds held."""
    return [
        *_note_orders(trades),
        *_note_limits(holdings, config),
        *_note_partly_known(holdings),
        *_note_flagged(holdings, findings),
    ]


def _note_orders(trades: pd.DataFrame) -> list[str]:
    failed = trades[trades["unfilled"] > _UNFILLED]
    if failed.empty:
        return []
    worst = failed.sort_values("unfilled", kind="stable").iloc[-1]
    return [
        f"On {_days(failed['decided'].nunique())} purchases could not be made in full, because funds had no "
        "value to trade at in time, or because sales that waited brought less money than planned: up to "
        f"{100 * worst['unfilled']:.1f} % of a portfolio ({worst['forecaster']}, {worst['decided'].date()})."
    ]


def _note_limits(holdings: pd.DataFrame, config: StudyConfig) -> list[str]:
    groups = holdings.groupby(["date", "forecaster"])
    few, invested = groups.size().min(), groups["weight"].sum().min()
    notes = []
    if few < config.top:
        notes.append(
            f"The universe and the limits left as few as {few} funds to hold instead of {config.top}."
        )
    if invested < 1.0 - _UNFILLED:
        notes.append(f"The limits left room for as little as {100 * invested:.0f} % of the money.")
    return notes


def _note_partly_known(holdings: pd.DataFrame) -> list[str]:
    """Return a note on holdings of which many factors are not known: these count as average."""
    poor = holdings[holdings["known"] < _COVERAGE]
    if poor.empty:
        return []
    worst = poor.sort_values("known", kind="stable").iloc[0]
    return [
        f"{len(poor)} of {len(holdings)} holdings had fewer than {100 * _COVERAGE:.0f} % of their factors "
        f"known, at worst {100 * worst['known']:.0f} % ({worst['fund']}, {worst['date'].date()}). Missing "
        "factors count as average."
    ]


def _note_flagged(holdings: pd.DataFrame, findings: Sequence[Finding]) -> list[str]:
    """Return a note on holdings whose data have a finding that can change a result."""
    held = set(holdings["fund"])
    flagged = [finding for finding in findings if finding.matters and finding.fund in held]
    if not flagged:
        return []
    kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(Counter(f.kind for f in flagged).items()))
    first = flagged[0]
    return [
        f"{len({f.fund for f in flagged})} of the {len(held)} funds held have findings that can change a "
        f"result ({kinds}). For one, {first.fund} on {first.date}: {first.message}"
    ]


def note_decisions(decisions: list[Decision], config: StudyConfig) -> list[str]:
    """Return notes on labels that fell back to the median, and each warning of a forecaster once."""
    fallen = dict.fromkeys(str(d.day.date()) for d in decisions if d.label not in (config.label, NO_LABEL))
    notes = []
    if fallen:
        notes.append(
            f"On {_days(len(fallen))} fewer than 5 % of the funds had risen, or fewer than 5 % had fallen, "
            f"so the median was used as label ({', '.join(fallen)})."
        )
    warned: dict[tuple[str, str], int] = {}
    for decision in decisions:
        for note in decision.notes:
            warned[decision.forecaster, note] = warned.get((decision.forecaster, note), 0) + 1
    notes += [f"{forecaster} ({count} ×): {note}" for (forecaster, note), count in warned.items()]
    return notes


def note_study(study: StudyTables) -> list[str]:
    """Return what the study says whose strategy a selection continues, and which baseline did better."""
    label = forecaster_label(study.strategy)
    notes = [f"The verdict of the study on {label}: {write_headline(study).verdict}"]
    rivals = study.best_against_baseline(study.judged_period)
    if rivals is not None and rivals.difference < 0.0:
        notes.append(
            f"{forecaster_label(rivals.baseline)}, which learns nothing, had a higher mean IC than "
            f"{forecaster_label(rivals.learned)}: {rivals.baseline_ic:+.3f} against {rivals.learned_ic:+.3f}."
        )
    return notes


def note_last_row(nav: pd.DataFrame, asked: pd.Timestamp) -> list[str]:
    """Return notes on the last row: it is not on the day asked for, or many values are missing."""
    notes, last = [], nav.index[-1]
    if last < asked.normalize():
        notes.append(f"The data have no row on {asked.date()}; {last.date()}, the last before it, is used.")
    recent = nav.iloc[-1 - rows_in(_WEEK, rows_per_year(nav.index), 1) : -1].notna().any()
    missing = int((recent & nav.iloc[-1].isna()).sum())
    if missing > _MISSING * recent.sum():
        notes.append(
            f"{missing} of the {recent.sum()} funds with a value in the {_WEEK} rows before have none on "
            f"{last.date()} and cannot be chosen. If the row is incomplete, select as of an earlier day."
        )
    return notes


def note_concentration(
    picks: Sequence[str], day: pd.Timestamp, observations: Observations, forecaster: str = ""
) -> list[str]:
    """Return a note on what many of the picks of a day have in common."""
    facts = observations.facts
    told = tell_concentration(picks, observations.panel.nav.loc[:day], facts.types, facts.companies)
    whose = f"the picks of {forecaster_label(forecaster)} on {day.date()}" if forecaster else "the picks"
    return [f"Concentration: of {whose}, {'; '.join(told)}."] if told else []


def note_decision(decision: Decision, config: StudyConfig, is_rebalance: bool, looked: LookBack) -> list[str]:
    """Return notes on the decision of a selection and on its track record."""
    notes, n_past = note_choice(looked), len(looked.past)
    for parameters in looked.chosen.values():
        told = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        notes.append(f"Chosen on past decisions before {config.test_start}: {told}.")
    if len(decision.groups):
        notes.append(
            "Funds are compared within their type: forecasts are the excess over the mean of the type, "
            "and picks go by the rank in it."
        )
    if not is_rebalance:
        notes.append(
            f"{decision.day.date()} is not a {config.frequency} rebalance day; the last holding interval is "
            "taken to end on it."
        )
    if decision.label not in (config.label, NO_LABEL):
        notes.append(
            "Nearly all funds rose, or nearly all fell, in the last holding interval, so the median was used "
            "as label."
        )
    if n_past < FEWEST:
        notes.append(f"There are only {n_past} past decisions, too few to show what such funds earned.")
    return notes + list(decision.notes)


def note_choice(looked: LookBack) -> list[str]:
    """Return which of several forecasters is used, and why."""
    table, used = looked.candidates, forecaster_label(looked.name)
    if table.empty:
        return []
    n, p = int(table["n"].iloc[0]), table["p"].iloc[0]
    table = table[table["n"] >= FEWEST] if n >= FEWEST else table
    others = ", ".join(
        f"{forecaster_label(str(name))} {mean:+.2f}" for name, mean in table["ic_mean"].iloc[1:].items()
    )
    best = (
        f"{used} is used, because its mean IC over {n} past decision{'' if n == 1 else 's'} was the highest "
        f"of {len(table)} forecasters: {table['ic_mean'].iloc[0]:+.2f} (others: {others or 'none'})."
    )
    if n < FEWEST:
        return [f"{best} So few decisions say little about which is best."]
    clear = "differs" if p < _LEVEL else "does not clearly differ"
    shown = "p < 0.01" if p < 0.01 else f"p = {p:.2f}"
    return [f"{best} It {clear} from zero, the choice of the best counted ({shown})."]


def _days(n: int) -> str:
    return f"{n} rebalance day{'' if n == 1 else 's'}"
