"""Notes: sentences that the reader of a result should know in addition to the numbers."""

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
from ..evaluation.orders import Position
from ..evaluation.statistics import FEWEST
from ..evaluation.study_tables import StudyTables
from ..forecasters.forecast import NO_LABEL
from ..forecasters.registry import forecaster_label
from ..language import phrase, phrases
from ..panel import Finding, Panel
from ..report.headline import write_headline
from ..sources.reading.fund_facts import FundFacts
from .look_back import LookBack

_COVERAGE = 0.90  # warn below this share of known factors
_LEVEL = 0.05  # of significance
_UNFILLED = 0.001  # tell of purchases above this weight that were not made
_WEEK = 5  # trading days
# Words of the reasons why a fund is left out, and how a reader is told of them.
_TOLD = {
    "no change in": phrase("their values had not changed for a month and more while other funds moved"),
    "another share class": phrase("another share class of the same fund stands for them"),
}
_OFF_CALENDAR = {
    "monthly": phrase(
        "{date} is not a monthly rebalance day; the last holding interval is taken to end on it."
    ),
    "quarterly": phrase(
        "{date} is not a quarterly rebalance day; the last holding interval is taken to end on it."
    ),
    "yearly": phrase(
        "{date} is not a yearly rebalance day; the last holding interval is taken to end on it."
    ),
}
_WITHIN_TYPES = phrase(
    "Funds are compared within their type: forecasts are the excess over the mean of the type, and picks go "
    "by the rank in it."
)
_WITHIN_RANKS = phrase(
    "Funds are compared within their type: forecasts are expected ranks in it, and picks go by these ranks."
)
# What the learners of `geodual.metric` warn of; decisions have it among their notes.
WARNINGS = phrases(
    "{name} stopped at a relative duality gap of {gap} after {n} iterations; {advice}.",
    "LMNN stopped after {n} iterations at an objective of {gap}. It can decrease by at most {rest}; "
    "{advice}.",
    "raise `max_iter` or `tol`",
    "the updates left the positive definite matrices, so choose a smaller `step`",
    "rounding errors allow no better result, so standardize the features or raise `tol`",
    "this happens with clusters that are far apart; a smaller `tol` may help",
    "{n} sample(s) have a copy in another class. No metric can separate them, so their pairs do not affect "
    "the result; check `y`.",
    "More than {n} % of the pairs have distance zero, so the upper bound for similar pairs is the smallest "
    "positive squared distance, {bound}. Give `bounds` to choose another.",
    "The percentiles of the distances coincide, so the bounds are u = {low} and l = {high}. Give `bounds` to "
    "choose others.",
)
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
            phrase(
                "Trades are made at the values that decided them, as in the paper. Nobody can do that: a "
                "fund order is filled at a later value. Use an execution lag of 1 to see what could have "
                "been earned."
            )
        )
    if fees.are_free:
        notes.append(
            phrase("Trades cost nothing in this study. Set a cost or fees to see what is left after them.")
        )
    return notes


def note_index(findings: Sequence[Finding]) -> list[str]:
    """Return a note for each finding in the index that can change a result."""
    return [
        phrase("The {series}, {date}: {finding}", series=each.fund, date=each.date, finding=each.message)
        for each in findings
        if each.matters
    ]


def _note_facts(observations: Observations) -> list[str]:
    """Return a note if facts are given, but not for all funds."""
    known, funds = observations.facts.table.index, observations.funds
    unknown = funds[~funds.isin(known)]
    if known.empty or unknown.empty:
        return []
    return [
        phrase(
            "{n} of {n_funds} funds, such as {fund}, are not in the fund facts: they have no type, company "
            "or fee of their own, and no limit by type or company holds for them.",
            n=len(unknown),
            n_funds=len(funds),
            fund=unknown[0],
        )
    ]


def note_held(position: Position, facts: FundFacts) -> list[str]:
    """Return a note if facts are known, but not of all funds held."""
    held = dict.fromkeys(position.lots["fund"])
    unknown = [fund for fund in held if fund not in facts.table.index]
    if facts.table.empty or not unknown:
        return []
    return [
        phrase(
            "Not in the fund facts, so without a name, type or fee of their own: {list_funds}. Give fund "
            "facts that include them; a run keeps those of its own universe.",
            list_funds=", ".join(unknown),
        )
    ]


def note_rows(panel: Panel, observations: Observations, config: StudyConfig, rows: list[int]) -> list[str]:
    """Return notes on rows that are no trading days, and on rebalance days without a decision."""
    last = observations.panel.nav.index[-1]
    stray = int((panel.nav.index <= last).sum()) - len(observations.panel.nav)
    notes = _note_windows(observations)
    if stray:
        rows_are = phrase("1 row is") if stray == 1 else phrase("{n} rows are", n=stray)
        notes.append(
            phrase(
                "{rows_are} left out, because too few of the funds alive have a value there: no decision is "
                "made and nothing is traded on such a day.",
                rows_are=rows_are,
            )
        )
    return notes + _note_skipped(skipped_days(observations, config, rows))


def _note_windows(observations: Observations) -> list[str]:
    """Return a note on the windows of the factors if the table is not daily."""
    factors = observations.factors
    if factors.rows_per_year == DAYS_PER_YEAR:
        return []
    return [
        phrase(
            "The table has a row per {row}, so {n} factors are computed: {name}. Their names count trading "
            "days. The execution lag counts rows.",
            row=row_name(factors.rows_per_year),
            n=len(factors.columns),
            name=factors.describe(),
        )
    ]


def _note_skipped(skipped: dict[pd.Timestamp, str]) -> list[str]:
    if not skipped:
        return []
    days: dict[str, list[str]] = {}
    for day, why in skipped.items():
        days.setdefault(why, []).append(str(day.date()))
    reasons = [phrase("{list_dates}: {why}", list_dates=", ".join(on), why=why) for why, on in days.items()]
    return [
        phrase(
            "No decision was made on {days}, so nothing was traded then ({parts}).",
            days=_days(len(skipped)),
            parts="; ".join(reasons),
        )
    ]


def note_universe(observations: Observations, universe: pd.DataFrame) -> list[str]:
    """Return notes on funds without facts, on funds left out that have values, and on unknown factors."""
    decided = set(universe["date"])
    why = [section.left_out for section in observations.sections if section.day in decided]
    notes = _note_facts(observations)
    for words, told in _TOLD.items():
        counts = [int(reasons.str.contains(words, regex=False).sum()) for reasons in why]
        if most := max(counts, default=0):
            days = _days(sum(count > 0 for count in counts))
            if most == 1:
                notes.append(
                    phrase("On {days} up to 1 fund was left out, because {why}.", days=days, why=told)
                )
            else:
                notes.append(
                    phrase(
                        "On {days} up to {n} funds were left out, because {why}.", days=days, n=most, why=told
                    )
                )
    poor = universe[universe["coverage"] < _COVERAGE]
    if len(poor):
        notes.append(
            phrase(
                "On {days} fewer than {n:.0f} % of the factors were known, at worst {n_worst:.0f} %. Missing "
                "factors count as average.",
                days=_days(len(poor)),
                n=100 * _COVERAGE,
                n_worst=100 * poor["coverage"].min(),
            )
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
        phrase(
            "On {days} purchases could not be made in full, because funds had no value to trade at in time, "
            "or because sales that waited brought less money than planned: up to {n:.1f} % of a portfolio "
            "({forecaster}, {date}).",
            days=_days(failed["decided"].nunique()),
            n=100 * worst["unfilled"],
            forecaster=worst["forecaster"],
            date=worst["decided"].date(),
        )
    ]


def _note_limits(holdings: pd.DataFrame, config: StudyConfig) -> list[str]:
    groups = holdings.groupby(["date", "forecaster"])
    few, invested = groups.size().min(), groups["weight"].sum().min()
    notes = []
    if few < config.top:
        notes.append(
            phrase(
                "The universe and the limits left as few as {n} funds to hold instead of {n_top}.",
                n=few,
                n_top=config.top,
            )
        )
    if invested < 1.0 - _UNFILLED:
        notes.append(
            phrase("The limits left room for as little as {n:.0f} % of the money.", n=100 * invested)
        )
    return notes


def _note_partly_known(holdings: pd.DataFrame) -> list[str]:
    """Return a note on holdings of which many factors are not known: these count as average."""
    poor = holdings[holdings["known"] < _COVERAGE]
    if poor.empty:
        return []
    worst = poor.sort_values("known", kind="stable").iloc[0]
    return [
        phrase(
            "{n} of {n_all} holdings had fewer than {n_least:.0f} % of their factors known, at worst "
            "{n_worst:.0f} % ({fund}, {date}). Missing factors count as average.",
            n=len(poor),
            n_all=len(holdings),
            n_least=100 * _COVERAGE,
            n_worst=100 * worst["known"],
            fund=worst["fund"],
            date=worst["date"].date(),
        )
    ]


def _note_flagged(holdings: pd.DataFrame, findings: Sequence[Finding]) -> list[str]:
    """Return a note on holdings whose data have a finding that can change a result."""
    held = set(holdings["fund"])
    flagged = [finding for finding in findings if finding.matters and finding.fund in held]
    if not flagged:
        return []
    kinds = sorted(Counter(f.kind for f in flagged).items())
    first = flagged[0]
    return [
        phrase(
            "{n} of the {n_held} funds held have findings that can change a result ({list_kinds}). For one, "
            "{fund} on {date}: {finding}",
            n=len({f.fund for f in flagged}),
            n_held=len(held),
            list_kinds=", ".join(f"{kind} {n}" for kind, n in kinds),
            fund=first.fund,
            date=first.date,
            finding=first.message,
        )
    ]


def note_decisions(decisions: list[Decision], config: StudyConfig) -> list[str]:
    """Return notes on labels that fell back to the median, and each warning of a forecaster once."""
    fallen = dict.fromkeys(str(d.day.date()) for d in decisions if d.label not in (config.label, NO_LABEL))
    notes = []
    if fallen:
        notes.append(
            phrase(
                "On {days} fewer than 5 % of the funds had risen, or fewer than 5 % had fallen, so the "
                "median was used as label ({list_dates}).",
                days=_days(len(fallen)),
                list_dates=", ".join(fallen),
            )
        )
    warned: dict[tuple[str, str], int] = {}
    for decision in decisions:
        for note in decision.notes:
            warned[decision.forecaster, note] = warned.get((decision.forecaster, note), 0) + 1
    return notes + [
        phrase("{forecaster} ({n} ×): {note}", forecaster=forecaster, n=count, note=note)
        for (forecaster, note), count in warned.items()
    ]


def note_study(study: StudyTables) -> list[str]:
    """Return what the study says whose strategy a selection continues, and which baseline did better."""
    notes = [
        phrase(
            "The verdict of the study on {method}: {verdict}",
            method=forecaster_label(study.strategy),
            verdict=write_headline(study).verdict,
        )
    ]
    rivals = study.best_against_baseline(study.judged_period)
    if rivals is not None and rivals.difference < 0.0:
        notes.append(
            phrase(
                "{baseline}, which learns nothing, had a higher mean IC than {method}: {n:+.3f} against "
                "{n_own:+.3f}.",
                baseline=forecaster_label(rivals.baseline),
                method=forecaster_label(rivals.learned),
                n=rivals.baseline_ic,
                n_own=rivals.learned_ic,
            )
        )
    return notes


def note_last_row(nav: pd.DataFrame, asked: pd.Timestamp) -> list[str]:
    """Return notes on the last row: it is not on the day asked for, or many values are missing."""
    notes, last = [], nav.index[-1]
    if last < asked.normalize():
        notes.append(
            phrase(
                "The data have no row on {date}; {last}, the last before it, is used.",
                date=asked.date(),
                last=last.date(),
            )
        )
    recent = nav.iloc[-1 - rows_in(_WEEK, rows_per_year(nav.index), 1) : -1].notna().any()
    missing = int((recent & nav.iloc[-1].isna()).sum())
    if missing > _MISSING * recent.sum():
        notes.append(
            phrase(
                "{n} of the {n_funds} funds with a value in the {n_rows} rows before have none on {date} and "
                "cannot be chosen. If the row is incomplete, select as of an earlier day.",
                n=missing,
                n_funds=recent.sum(),
                n_rows=_WEEK,
                date=last.date(),
            )
        )
    return notes


def note_concentration(
    picks: Sequence[str], day: pd.Timestamp, observations: Observations, forecaster: str = ""
) -> list[str]:
    """Return a note on what many of the picks of a day have in common."""
    facts = observations.facts
    told = tell_concentration(picks, observations.panel.nav.loc[:day], facts.types, facts.companies)
    if not told:
        return []
    if not forecaster:
        return [phrase("Concentration: of the picks, {parts}.", parts="; ".join(told))]
    return [
        phrase(
            "Concentration: of the picks of {method} on {date}, {parts}.",
            method=forecaster_label(forecaster),
            date=day.date(),
            parts="; ".join(told),
        )
    ]


def note_decision(decision: Decision, config: StudyConfig, is_rebalance: bool, looked: LookBack) -> list[str]:
    """Return notes on the decision of a selection and on its track record."""
    notes, n_past = note_choice(looked), len(looked.past)
    for parameters in looked.chosen.values():
        told = ", ".join(f"{name} = {value}" for name, value in parameters.items())
        notes.append(
            phrase("Chosen on past decisions before {date}: {name}.", date=config.test_start, name=told)
        )
    if len(decision.groups):
        notes.append(_WITHIN_RANKS if decision.unit == "rank" else _WITHIN_TYPES)
    if not is_rebalance:
        notes.append(phrase(_OFF_CALENDAR[config.frequency], date=decision.day.date()))
    if decision.label not in (config.label, NO_LABEL):
        notes.append(
            phrase(
                "Nearly all funds rose, or nearly all fell, in the last holding interval, so the median was "
                "used as label."
            )
        )
    if n_past < FEWEST:
        notes.append(
            phrase("There are only {n} past decisions, too few to show what such funds earned.", n=n_past)
        )
    return notes + list(decision.notes)


def note_choice(looked: LookBack) -> list[str]:
    """Return which of several forecasters is used, and why."""
    table = looked.candidates
    if table.empty:
        return []
    n, p = int(table["n"].iloc[0]), table["p"].iloc[0]
    table = table[table["n"] >= FEWEST] if n >= FEWEST else table
    others = [
        f"{forecaster_label(str(name))} {mean:+.2f}" for name, mean in table["ic_mean"].iloc[1:].items()
    ]
    best = phrase(
        "{method} is used, because its mean IC over {decisions} was the highest of {n} forecasters: "
        "{ic:+.2f} (others: {list_others}).",
        method=forecaster_label(looked.name),
        decisions=_count(n, phrase("{n} past decision"), phrase("{n} past decisions")),
        n=len(table),
        ic=table["ic_mean"].iloc[0],
        list_others=", ".join(others) or phrase("none"),
    )
    if n < FEWEST:
        return [f"{best} {phrase('So few decisions say little about which is best.')}"]
    shown = "p < 0.01" if p < 0.01 else f"p = {p:.2f}"
    verdict = phrase("It does not clearly differ from zero, the choice of the best counted ({p}).", p=shown)
    if p < _LEVEL:
        verdict = phrase("It differs from zero, the choice of the best counted ({p}).", p=shown)
    return [f"{best} {verdict}"]


def _days(n: int) -> str:
    return _count(n, phrase("{n} rebalance day"), phrase("{n} rebalance days"))


def _count(n: int, one: str, many: str) -> str:
    return phrase(one if n == 1 else many, n=n)
