"""The track record of past decisions: how good forecasts and picks made with the same settings were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .result_tables import ic_table
from .statistics import corrected_p, stationary_bootstrap_interval

FEWEST = 8  # decisions from which a record says something
_LEVEL = 0.05
_EVIDENCE = "This is evidence of skill, unless the settings were chosen on these data."


@dataclass(frozen=True)
class TrackRecord:
    """What past decisions with the same settings were worth.

    Attributes
    ----------
    n : int
        Number of past decisions whose outcome is known.
    ic, ic_low, ic_high, p : float
        Mean information coefficient, its 95 % interval, and the p-value of a mean of zero.
    excess, excess_low, excess_high : float
        Mean return of the picks less that of all funds of the day, per holding interval, and its interval.
    beat_median : float
        Share of the past picks that earned more than the median fund of their day.
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

    @property
    def is_evidence(self) -> bool:
        """Whether the record shows skill: enough decisions, and a mean IC above zero with p < 0.05."""
        return self.n >= FEWEST and self.ic > 0.0 and self.p < _LEVEL

    def tell(self, term: str) -> str:
        """Return the record in words; `term` is what a holding interval is called, such as "quarter"."""
        if not self.n:
            return "There is no track record: no past decision has a known outcome."
        shown = f"{self.n} past decision{'' if self.n == 1 else 's'}"
        better = "more" if self.excess >= 0.0 else "less"
        low, high = 100.0 * self.excess_low, 100.0 * self.excess_high
        facts = (
            f"Track record of {shown}: IC {self.ic:+.2f} (95 % {self.ic_low:+.2f} … {self.ic_high:+.2f}); "
            f"picks earned {abs(100.0 * self.excess):.1f} points {better} per {term} than the average fund "
            f"(95 % {low:+.1f} … {high:+.1f}); {self.beat_median:.0%} of them beat the median fund."
        )
        if self.n < FEWEST:
            facts = f"Track record of {shown}: too short to judge; IC {self.ic:+.2f}."
        verdict = _EVIDENCE if self.is_evidence else "This is no evidence of skill."
        return f"{facts} {verdict}"


def measure_record(predictions: pd.DataFrame, holdings: pd.DataFrame) -> TrackRecord:
    """Measure the record of one metric.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund and decision: date, metric, fund, forecast, realised.
    holdings : DataFrame
        One row per pick: date, fund.
    """
    known = predictions.dropna(subset=["realised"])
    picks = known.merge(holdings[["date", "fund"]], on=["date", "fund"])
    if picks.empty:
        return TrackRecord(0, *[np.nan] * 8)
    ic = ic_table(known).iloc[:, 0]
    by_day = known.groupby("date")["realised"]
    excess = picks.groupby("date")["realised"].mean() - by_day.mean()
    median = picks["date"].map(by_day.median())
    return TrackRecord(
        n=int(picks["date"].nunique()),
        ic=float(ic.mean()),
        ic_low=(interval := stationary_bootstrap_interval(ic))[0],
        ic_high=interval[1],
        p=corrected_p(ic),
        excess=float(excess.mean()),
        excess_low=(interval := stationary_bootstrap_interval(excess))[0],
        excess_high=interval[1],
        beat_median=float((picks["realised"] > median).mean()),
    )
