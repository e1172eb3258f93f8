"""What a leakage test found: which forecasts changed, and in one sentence what was tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_FAILED = "They look ahead, or the same data do not give the same forecasts twice."


@dataclass(frozen=True)
class LeakageCheck:
    """The result of one leakage test: whether the forecasts of a day stay the same to the last bit.

    Parameters
    ----------
    test : str
        "cut" (later rows removed) or "garbage" (later rows replaced by noise).
    day : str
        Day of the decision, the last that was left unchanged (ISO).
    forecaster : str
        Name of the forecaster.
    compared : int
        Number of forecasts compared.
    differing : int
        Number of forecasts that changed.

    See Also
    --------
    check_leakage : Run the tests.

    Examples
    --------
    >>> from geodual.funds import LeakageCheck
    >>> LeakageCheck("cut", "2016-12-30", "rpdml", compared=120, differing=0).passed
    True
    >>> LeakageCheck("garbage", "2016-12-30", "rpdml", compared=120, differing=3).passed
    False
    """

    test: str
    day: str
    forecaster: str
    compared: int
    differing: int

    @property
    def passed(self) -> bool:
        """Whether there were forecasts to compare and none changed."""
        return self.compared > 0 and self.differing == 0


@dataclass(frozen=True)
class LeakageChecks(Sequence[LeakageCheck]):
    """All checks of a leakage test, and on how many days there was a decision to test.

    Parameters
    ----------
    checks : tuple of LeakageCheck
        One per day, test and forecaster.
    decision_days : int
        Number of days on which the study makes a decision, tested or not.

    See Also
    --------
    check_leakage : Run the tests.

    Examples
    --------
    >>> from geodual.funds import LeakageCheck, LeakageChecks
    >>> check = LeakageCheck("cut", "2016-12-30", "rpdml", compared=120, differing=0)
    >>> checks = LeakageChecks((check,), decision_days=14)
    >>> checks.passed, len(checks), checks[0].forecaster
    (True, 1, 'rpdml')
    >>> checks.summary.split(": ")[0]
    '120 forecasts of rpdml on 1 of 14 decision days compared'
    """

    checks: tuple[LeakageCheck, ...]
    decision_days: int

    def __len__(self) -> int:
        """Return the number of checks."""
        return len(self.checks)

    def __getitem__(self, at: Any) -> Any:
        """Return one check, or some."""
        return self.checks[at]

    @property
    def passed(self) -> bool:
        """Whether there were checks and all of them passed."""
        return len(self) > 0 and all(check.passed for check in self)

    @property
    def summary(self) -> str:
        """What was tested and found, in one or two sentences; nothing is said of days that were not."""
        days = dict.fromkeys(check.day for check in self)
        compared = sum(check.compared for check in self if check.test == "cut")
        failed = [check for check in self if not check.passed]
        bad_days = len(dict.fromkeys(check.day for check in failed))
        found = f"on {bad_days} of these days those of {_names(failed)} changed" if failed else "none changed"
        untested = self.decision_days - len(days)
        return (
            f"{compared:,} forecasts of {_names(self)} on {len(days)} of {self.decision_days} decision days "
            f"compared: {found} when later rows were removed or replaced by noise."
            + (f" {_FAILED}" if failed else "")
            + (f" The other {untested} days were not tested." if untested else "")
        )


def _names(checks: Sequence[LeakageCheck]) -> str:
    return ", ".join(dict.fromkeys(check.forecaster for check in checks))
