"""What a reader should weigh before trusting a study: evidence, length of the record, assumptions, data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from ..evaluation.study_tables import StudyTables
from .headline import LEVEL, Headline
from .wording import TERMS, count_terms, count_things, format_p, format_percent

_FEW = 12  # with fewer values the reader is warned
_LIKELY = 0.95  # least probability of a true Sharpe ratio above zero
_EVEN = 0.5  # probability of overfitting from which it is as likely as not


@dataclass(frozen=True)
class TrustFact:
    """One thing to weigh.

    Attributes
    ----------
    label : str
        What it is about.
    text : str
        What was found, in a few words.
    caution : bool
        Whether it speaks for caution.
    target : str
        The section that says more.
    note : str
        A sentence that explains it, if it needs one.
    """

    label: str
    text: str
    caution: bool
    target: str
    note: str = ""


def list_trust_facts(study: StudyTables, headline: Headline) -> list[TrustFact]:
    """Return what speaks for and against trusting the result of a study.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    headline : Headline
        Its headline; the facts are about its forecaster and period.
    """
    facts = [*_weigh_evidence(study, headline), *_weigh_overfitting(study, headline.best)]
    facts += [_weigh_survivorship(study), _weigh_trading(study, headline.best), _weigh_data(study)]
    if study.notes:
        facts.append(TrustFact("Notes", f"{len(study.notes)} on the run", False, "notes"))
    return facts


def _weigh_evidence(study: StudyTables, headline: Headline) -> Iterator[TrustFact]:
    """Weigh the corrected p-value, the number of values and the period."""
    if not headline.best:
        return
    frequency, period = study.config.frequency, headline.period
    p, choices = study.skill["p"][period, headline.best], study.n_choices(period)
    counted = f", corrected for the choice among {choices}" if choices > 1 else ""
    yield TrustFact("p-value", f"{format_p(p, 3 if p < 0.1 else 2)}{counted}", not p < LEVEL, "skill")
    n = int(study.ic.loc[study.decided(period), headline.best].count())
    few = f"With only {count_terms(n, frequency)}, p-values and intervals are too optimistic."
    yield TrustFact("Record", count_terms(n, frequency), n < _FEW, "ic", few if n < _FEW else "")
    if period != "test":
        term, start = TERMS[frequency], study.config.test_start
        note = (
            f"No forecast for a {term} from {start} on can be checked yet. All numbers come from the "
            "validation period, on which choices may have been based."
        )
        yield TrustFact("Test period", "none", True, "table1", note)


def _weigh_overfitting(study: StudyTables, best: str) -> Iterator[TrustFact]:
    if not best:
        return
    if pd.notna(deflated := study.overfitting["deflated_sharpe"][best]):
        trials = count_things(int(study.overfitting["trials"][best]), "trial")
        text = f"above zero with {format_percent(deflated, 0)} probability, after {trials}"
        yield TrustFact("Sharpe ratio", text, deflated < _LIKELY, "skill")
    if pd.notna(probability := study.overfitting_probability):
        yield TrustFact(
            "Overfitting", f"{format_percent(probability, 0)} probability", probability >= _EVEN, "skill"
        )


def _weigh_survivorship(study: StudyTables) -> TrustFact:
    found = [finding.message for finding in study.findings if finding.kind == "survivorship"]
    if found:
        return TrustFact("Survivorship", "likely", True, "data", " ".join(found))
    closed = [finding.message for finding in study.findings if finding.kind == "early-end"]
    if closed:
        return TrustFact("Survivorship", "closed funds are included", False, "data", " ".join(closed))
    return TrustFact("Survivorship", "no sign of it in the data", False, "data")


def _weigh_trading(study: StudyTables, best: str) -> TrustFact:
    lag, fees = study.config.execution_lag, float(study.fills["fee"].sum())
    day = "on the day of the decision" if lag == 0 else f"{count_things(lag, 'day')} after the decision"
    paid = study.costs["cost"][best] if best else study.costs["cost"].mean()
    cost = f"fees of {format_percent(paid, 2)} per year" if fees > 0.0 else "no fees"
    free = not fees > 0.0
    note = {
        (True, True): "Neither can be had in practice.",
        (True, False): "In practice, orders are filled at a later value than the one decided on.",
        (False, True): "In practice, trading is not free.",
    }.get((lag == 0, free), "")
    return TrustFact("Trading", f"{day}, {cost}", bool(note), "costs", note)


def _weigh_data(study: StudyTables) -> TrustFact:
    n, n_matter = len(study.findings), sum(finding.matters for finding in study.findings)
    if not n:
        return TrustFact("Data", "no findings", False, "data")
    if not n_matter:
        return TrustFact("Data", f"{count_things(n, 'finding')}, none of which matters", False, "data")
    return TrustFact("Data", f"{n_matter} of {count_things(n, 'finding')} can change a result", True, "data")
