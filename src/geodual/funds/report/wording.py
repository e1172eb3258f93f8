"""Words and number formats that the pages share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from ..forecasters.registry import forecaster_label

MISSING = "–"
PERIOD_TITLES = {"validation": "Validation", "test": "Test", "both": "Both"}
PERIOD_PHRASES = {
    "validation": "In the validation period",
    "test": "In the test period",
    "both": "Over the whole study",
}
VIEWS = {"near": "What made its neighbors near", "apart": "What sets it apart from the universe"}
ALL_VIEWS = {**VIEWS, "adds": "What adds most to its forecast"}  # the last for forecasts that are sums
UNITS = {
    "return": "Forecasts are returns.",
    "excess": "Forecasts are excess returns over the mean fund.",
    "rank": "Forecasts are ranks, from −0.5 for the worst fund to 0.5 for the best.",
}
PARTS = (
    "What adds most to a forecast: for a regression, factors times their weights; for an ensemble, the ranks "
    "that its members give. Over all parts, absolute shares add up to 100\u202f%."
)
SHARES = (
    "A factor makes neighbors near if they differ from the fund in this factor much less than all funds do. "
    "It sets a fund apart if it makes up much of the fund's distance from the center of the universe. Shares "
    "are of squared distances; over all factors their absolute values add up to 100\u202f%. A factor with a "
    "negative share does the opposite, which can happen if factors are correlated."
)
# What a holding interval is called, by frequency.
TERMS = {"monthly": "month", "quarterly": "quarter", "yearly": "year"}


def name_curve(index_name: str, name: object) -> str:
    """Return the label of a forecaster, or the name of the index if `name` is "index"."""
    return index_name if name == "index" else forecaster_label(str(name))


def name_period(period: str, decided: pd.Index) -> str:
    """Return a period in words, with its first and last rebalance day."""
    days = f", rebalance days {decided[0]:%Y-%m-%d} to {decided[-1]:%Y-%m-%d}" if len(decided) else ""
    return ("both periods" if period == "both" else f"{period} period") + days


def name_factor(column: str, labels: Mapping[str, str]) -> str:
    """Return a factor in words, such as "rate of change, 10 days" for `roc_10`; unknown ones as they are."""
    name, _, window = column.rpartition("_")
    return f"{labels[name]}, {window} days" if name in labels else column


def format_number(value: Any, digits: int = 3) -> str:
    """Return a number with a true minus sign, or a dash if it is unknown.

    Parameters
    ----------
    value : number
        NaN, NA and infinities count as unknown.
    digits : int
        Number of decimals.
    """
    if pd.isna(value) or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{digits}f}"
    # What rounds to zero has no sign.
    return text.replace("-", "−") if float(text.replace(",", "")) else text.removeprefix("-")


format_whole = partial(format_number, digits=0)
format_two = partial(format_number, digits=2)


def format_percent(value: Any, digits: int = 1) -> str:
    """Return a share in per cent, or a dash if it is unknown."""
    text = format_number(100.0 * value if not pd.isna(value) else value, digits)
    return text if text == MISSING else f"{text}\u202f%"


def format_p(value: Any, digits: int = 3) -> str:
    """Return a p-value; one that is too small for the decimals shows as "< 0.001"."""
    least = 10.0**-digits
    return f"<\u202f{least}" if not pd.isna(value) and value < least else format_number(value, digits)


def format_equal_p(value: float) -> str:
    """Return a p-value with its letter, such as "p = 0.41", which no line breaks apart."""
    text = format_p(value, 3 if value < 0.1 else 2)
    return f"p\u00a0{text}" if text.startswith("<") else f"p\u00a0=\u00a0{text}"


def format_day(value: Any) -> str:
    """Return a day such as 2017-03-31, or a dash if there is none."""
    return MISSING if pd.isna(value) else f"{pd.Timestamp(value):%Y-%m-%d}"


def join_words(words: list[str]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def count_things(n: int, thing: str) -> str:
    """Return a number of things in words: "1 finding", "2 findings"."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def count_terms(n: int, frequency: str) -> str:
    """Return a number of holding intervals in words: "1 quarter", "8 quarters"."""
    return count_things(n, TERMS[frequency])
