"""Settings that suit a table better than the defaults, which are those of the paper."""

from __future__ import annotations

import pandas as pd

from geodual.funds.config import StudyConfig

_LEARNED = pd.DateOffset(years=2)  # before the test period: a year of factors, and a year of decisions
_TESTED = pd.DateOffset(years=1)  # the shortest test period that is informative
_SHARE = 0.6  # of the days come before the test period, as in the paper: 5 of its 7 years, less the first
_FEW = 5  # hold at most a fifth of the funds


def suggest(nav: pd.DataFrame) -> list[list[str]]:
    """Return suggestions: name of a setting, value as text, and the reason.

    Parameters
    ----------
    nav : DataFrame
        Net asset values, day × fund.
    """
    first, last = nav.index[0], nav.index[-1]
    found = [
        ["execution_lag", "1", "NAVs are known after the close, so orders are filled a day later at best."],
    ]
    start = pd.Timestamp(StudyConfig.test_start)
    if not first + _LEARNED <= start <= last - _TESTED:
        day = (first + _SHARE * (last - first)).to_period("Q").start_time
        reason = f"The default, {StudyConfig.test_start}, does not divide these years into two periods."
        found.append(["test_start", f"{day:%Y-%m-%d}", reason])
    most = max(nav.shape[1] // _FEW, 1)
    if most < StudyConfig.top:
        reason = f"Of {nav.shape[1]} funds, the default of {StudyConfig.top} would be more than a fifth."
        found.append(["top", str(most), reason])
    return found
