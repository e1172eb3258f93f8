"""The picks of one day, and how good past picks with the same settings were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..language import phrase
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts
from .alike import warn_of_beta
from .case import PickCase
from .orders import Orders
from .statistics import FEWEST, corrected_p, stationary_bootstrap_interval

_LEVEL = 0.05


@dataclass(frozen=True)
class TrackRecord:
    """What past decisions with the same settings achieved.

    Attributes
    ----------
    n : int
        Number of past decisions whose outcome is known.
    ic, ic_low, ic_high, p : float
        Mean information coefficient, its 95 % interval, and the p-value of a mean of zero.
    excess, excess_low, excess_high : float
        Mean return of the portfolio, after its costs, less that of all funds with equal weights, per holding
        interval, and its interval.
    beat_median : float
        Share of the past picks that earned more than the median fund of their day, before costs.
    over_index, over_index_low, over_index_high : float
        Mean return of the portfolio, after its costs, less that of the index, per holding interval, and its
        interval; NaN without an index.
    n_over_index : int, optional
        Number of past decisions for which the return of the index is known; None without an index.
    beta : float
        Beta of the portfolio to the index over the record; NaN without an index.
    """

    n: int
    ic: float
    ic_low: float
    ic_high: float
    p: float
    excess: float
    excess_low: float
    excess_high: float
    beat_median: float
    over_index: float = np.nan
    over_index_low: float = np.nan
    over_index_high: float = np.nan
    n_over_index: int | None = field(default=None, kw_only=True)
    beta: float = field(default=np.nan, kw_only=True)

    @property
    def is_evidence(self) -> bool:
        """Whether the record shows skill: enough decisions, and a mean IC above zero with p < 0.05."""
        return self.n >= FEWEST and self.ic > 0.0 and self.p < _LEVEL

    def tell(self, term: str) -> str:
        """Return the record in words; `term` is what a holding interval is called, such as "quarter"."""
        if not self.n:
            return phrase("There is no track record: no past decision has a known outcome.")
        many = phrase("{n} past decisions")
        shown = phrase(phrase("{n} past decision") if self.n == 1 else many, n=self.n)
        facts = self._tell_facts(term, shown)
        if self.n < FEWEST:
            facts = phrase(
                "Track record of {decisions}: too short to judge; {ic}.", decisions=shown, ic=self._name_ic()
            )
        verdict = phrase("This is no evidence of skill.")
        if self.is_evidence:
            verdict = phrase("This is evidence of skill, unless the settings were chosen on these data.")
        return " ".join(filter(None, [warn_of_beta(self.beta, phrase("the index")), facts, verdict]))

    def _name_ic(self) -> str:
        # Forecasts that are all the same have no IC.
        return phrase("no IC") if np.isnan(self.ic) else phrase("IC {n:+.2f}", n=self.ic)

    def _tell_facts(self, term: str, decisions: str) -> str:
        ic = self._name_ic()
        if not np.isnan(self.ic_low):
            interval = {"n_low": self.ic_low, "n_high": self.ic_high}
            ic = phrase("{ic} (95 % {n_low:+.2f} … {n_high:+.2f})", ic=ic, **interval)
        lead = _tell_lead(self.excess, self.excess_low, self.excess_high)
        return phrase(
            "Track record of {decisions}: {ic}; after costs, picks earned per {term} {lead}; before costs, "
            "{share:.0%} of them beat the median fund.",
            decisions=decisions,
            ic=ic,
            term=term,
            lead=self._tell_leads(phrase("{lead} than the average fund", lead=lead)),
            share=self.beat_median,
        )

    def _tell_leads(self, lead: str) -> str:
        """Return the lead over the average fund, and that over the index if there is one."""
        if self.n_over_index is None:
            return lead
        if not self.n_over_index:
            return phrase("{lead} (the index has no levels in this time)", lead=lead)
        over = _tell_lead(self.over_index, self.over_index_low, self.over_index_high)
        if self.n_over_index == self.n:
            return phrase("{lead} and {over} than the index", lead=lead, over=over)
        return phrase(
            "{lead} and {over} than the index, whose levels cover {n} decisions",
            lead=lead,
            over=over,
            n=self.n_over_index,
        )


def _tell_lead(mean: float, low: float, high: float) -> str:
    told = {"n": abs(100.0 * mean), "n_low": 100.0 * low, "n_high": 100.0 * high}
    if mean >= 0.0:
        return phrase("{n:.1f} points more (95 % {n_low:+.1f} … {n_high:+.1f})", **told)
    return phrase("{n:.1f} points less (95 % {n_low:+.1f} … {n_high:+.1f})", **told)


def no_record() -> TrackRecord:
    """Return the record without any past decision."""
    return TrackRecord(0, *[np.nan] * 8)


def measure_record(
    ic: pd.Series[float],
    returns: pd.DataFrame,
    beaten: pd.Series[bool],
    n_choices: int = 1,
    beta: float = np.nan,
) -> TrackRecord:
    """Measure the record of one forecaster.

    Parameters
    ----------
    ic : Series
        Information coefficients, by decision whose outcome is known.
    returns : DataFrame
        What was earned in the holding interval that each of these decisions opens: `picks`, the portfolio
        after costs; `universe`, all funds with equal weights; and, if there is one, `index`, NaN where it is
        not known.
    beaten : Series
        Whether each past pick earned more than the median fund of its day.
    n_choices : int
        Number of settings that were tried on these decisions.
    beta : float
        Beta of the portfolio to the index; NaN without one.
    """
    if not len(ic):
        return no_record()
    excess = returns["picks"] - returns["universe"]
    return TrackRecord(
        n=len(ic),
        ic=float(ic.mean()),
        ic_low=(interval := stationary_bootstrap_interval(ic))[0],
        ic_high=interval[1],
        p=corrected_p(ic, n_choices),
        excess=float(excess.mean()),
        excess_low=(interval := stationary_bootstrap_interval(excess))[0],
        excess_high=interval[1],
        beat_median=float(beaten.mean()),
        **_against_index(returns),
        beta=beta,
    )


def _against_index(returns: pd.DataFrame) -> dict[str, Any]:
    if "index" not in returns:
        return {}
    over = (returns["picks"] - returns["index"]).dropna()
    low, high = stationary_bootstrap_interval(over)
    return {
        "over_index": float(over.mean()),
        "over_index_low": low,
        "over_index_high": high,
        "n_over_index": len(over),
    }


@dataclass(frozen=True, eq=False)
class SelectionTables:
    """The tables of a selection; `Selection` adds a report and documents the fields."""

    as_of: pd.Timestamp
    forecaster: str
    picks: pd.DataFrame
    neighbors: pd.DataFrame = field(repr=False)
    reasons: pd.DataFrame = field(repr=False)
    left_out: pd.DataFrame = field(repr=False)
    factor_labels: Mapping[str, str] = field(repr=False)
    record: TrackRecord
    record_text: str
    notes: tuple[str, ...]
    source: str
    first_day: pd.Timestamp
    candidates: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    unit: str = "return"
    within_types: bool = False
    run: str = ""
    case: PickCase | None = field(default=None, repr=False)
    panel: Panel | None = field(default=None, repr=False)
    facts: FundFacts | None = field(default=None, repr=False)
    levels: Mapping[str, pd.Series[float]] = field(default_factory=dict, repr=False)
    orders: Orders | None = field(default=None, repr=False)

    @property
    def order_table(self) -> pd.DataFrame:
        """The orders; an empty table without holdings."""
        return pd.DataFrame() if self.orders is None else self.orders.table

    @property
    def lot_table(self) -> pd.DataFrame:
        """The lots held, and what is sold of them; an empty table without holdings."""
        return pd.DataFrame() if self.orders is None else self.orders.lots
