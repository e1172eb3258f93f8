"""Words and number formats that the pages share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ..forecasters.registry import forecaster_label
from ..language import phrase, reword, say

MISSING = "–"
_UNNAMED = phrase("index")  # the name of an index that has none
PERIOD_TITLES = {"validation": phrase("Validation"), "test": phrase("Test"), "both": phrase("Both")}
PERIOD_PHRASES = {
    "validation": phrase("In the validation period"),
    "test": phrase("In the test period"),
    "both": phrase("Over the whole study"),
}
_PERIODS = {
    "validation": phrase("validation period"),
    "test": phrase("test period"),
    "both": phrase("both periods"),
}
VIEWS = {
    "near": phrase("What made its neighbors near"),
    "apart": phrase("What sets it apart from the universe"),
}
# The last for forecasts that are sums.
ALL_VIEWS = {**VIEWS, "adds": phrase("What adds most to its forecast")}
UNITS = {
    "return": phrase("Forecasts are returns."),
    "excess": phrase("Forecasts are excess returns over the mean fund."),
    "rank": phrase("Forecasts are expected ranks, from −0.5 for the worst fund to 0.5 for the best."),
}
_BEYOND_TYPE = phrase("Forecasts are excess returns over the mean of the fund's type.")
UNITS_WITHIN_TYPES = {
    "return": _BEYOND_TYPE,
    "excess": _BEYOND_TYPE,
    "rank": phrase(
        "Forecasts are expected ranks within the fund's type, from −0.5 for the worst fund to 0.5 for the "
        "best."
    ),
}
RELATIVE = phrase("Forecasts and what neighbors earned are excess returns over the mean of the fund's type.")
PARTS = phrase(
    "What adds most to a forecast: for a regression, factors times their weights; for an ensemble, the ranks "
    "that its members give. Over all parts, absolute shares add up to 100\u202f%."
)
SHARES = phrase(
    "A factor makes neighbors near if they differ from the fund in this factor much less than all funds do. "
    "It sets a fund apart if it makes up much of the fund's distance from the center of the universe. Shares "
    "are of squared distances; over all factors their absolute values add up to 100\u202f%. A factor with a "
    "negative share does the opposite, which can happen if factors are correlated."
)
SPANS = {
    "ytd": phrase("Year to date"),
    "1": phrase("1 year"),
    "3": phrase("3 years"),
    "5": phrase("5 years"),
    "10": phrase("10 years"),
    "start": phrase("Since start"),
}
# What a holding interval is called, by frequency: alone, after 1, and after other numbers.
TERMS = {"monthly": phrase("month"), "quarterly": phrase("quarter"), "yearly": phrase("year")}
_COUNTED = {
    "monthly": (phrase("{n} month"), phrase("{n} months")),
    "quarterly": (phrase("{n} quarter"), phrase("{n} quarters")),
    "yearly": (phrase("{n} year"), phrase("{n} years")),
}


_MONTHS = (
    phrase("Jan"),
    phrase("Feb"),
    phrase("Mar"),
    phrase("Apr"),
    phrase("May"),
    phrase("Jun"),
    phrase("Jul"),
    phrase("Aug"),
    phrase("Sep"),
    phrase("Oct"),
    phrase("Nov"),
    phrase("Dec"),
)


def name_month(month: int) -> str:
    """Return the short name of a month, 1 to 12."""
    return say(_MONTHS[month - 1])


def name_term(frequency: str) -> str:
    """Return what a holding interval is called, in the language of the page."""
    return say(TERMS[frequency])


def name_forecaster(name: object) -> str:
    """Return the label of a forecaster in the language of the page; names of methods stay as they are."""
    return reword(forecaster_label(str(name)))


def name_curve(index_name: str, name: object) -> str:
    """Return the label of a forecaster, or the name of the index if `name` is "index"."""
    return name_index(index_name) if name == "index" else name_forecaster(name)


def name_index(index_name: str) -> str:
    """Return the name of the index; what stands for one, or for its name, is translated."""
    return say(index_name)


def name_source(source: str) -> str:
    """Return what the data are called: the name of their file, or what the synthetic universe is."""
    return reword(Path(source).name)


def name_period(period: str, decided: pd.Index) -> str:
    """Return a period in words, with its first and last rebalance day."""
    if not len(decided):
        return say(_PERIODS[period])
    first, last = map(format_day, (decided[0], decided[-1]))
    return say(
        "{period}, rebalance days {first} to {last}", period=say(_PERIODS[period]), first=first, last=last
    )


def name_factor(column: str, labels: Mapping[str, str]) -> str:
    """Return a factor in words, such as "rate of change, 10 days" for `roc_10`; unknown ones as they are."""
    name, _, window = column.rpartition("_")
    if name not in labels:
        return reword(column)
    return say("{factor}, {n} days", factor=reword(labels[name]), n=window)


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
    return text if text == MISSING else say("{n}\u202f%", n=text)


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
    if len(words) < 2:
        return "".join(words)
    return say("{first} and {last}", first=join_listed(words[:-1]), last=words[-1])


def join_listed(words: Iterable[str]) -> str:
    """Return "a, b, c"."""
    return say(", ").join(words)


def count_things(n: int, one: str, many: str) -> str:
    """Return a number of things in words.

    Parameters
    ----------
    n : int
        The number.
    one, many : str
        What to say of one, and of another number, such as "{n} finding" and "{n} findings".
    """
    return say(one if n == 1 else many, n=f"{n:,}")


def count_terms(n: int, frequency: str) -> str:
    """Return a number of holding intervals in words: "1 quarter", "8 quarters"."""
    one, many = _COUNTED[frequency]
    return say(one if n == 1 else many, n=f"{n:,}")


def span_days(first: Any, last: Any) -> str:
    """Return "2012-01-04 to 2018-12-28"."""
    return say("{first} to {last}", first=format_day(first), last=format_day(last))
