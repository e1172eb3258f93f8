"""What a source of fund data is, the sources that go by a name, and how a site is called with patience."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

from geodual.errors import DataError
from geodual.places import is_place, load_place, run_own

# The class of each source is called with a `Pace`.
SOURCES = {"akshare": "geodual.funds.sources.fetching.akshare_source:Akshare"}


class FundSource(Protocol):
    """Where `fetch_universe` gets funds from. A class of your own needs these attributes and methods only.

    Attributes
    ----------
    name, version : str
        What ``fetch.json`` records.
    index : str
        Name of the index.
    kinds : tuple of str
        Beginnings of the types to take by default; ``("",)`` for all.
    """

    name: str
    version: str
    index: str
    kinds: tuple[str, ...]

    def list_funds(self, failures: dict[str, str]) -> pd.DataFrame:
        """Return all funds by code, with the columns `name` and `type` (texts).

        Two columns are optional: `size` in money, missing where unknown, and `repeats`, whether a fund only
        repeats the NAVs of another code. `failures` is filled on purpose: what could not be fetched, such as
        ``"size of …"``, is added to it with its error, and the fetch goes on.
        """

    def fetch_nav(self, code: str) -> pd.DataFrame:
        """Return the history of a fund: `date`, `adjusted` and any other columns, as they are to be saved.

        `adjusted` is the NAV with distributions reinvested, missing in rows that are not to be used. Without
        NAVs there is no row. An exception is the failure of this fund only.
        """

    def fetch_index(self, first: pd.Timestamp, last: pd.Timestamp) -> pd.Series[float]:
        """Return the levels of the index from one day to another, at most a year, by day; it may be empty."""


@dataclass(frozen=True)
class Pace:
    """How a site is called: with a pause before each call, and again with longer pauses if it fails.

    Parameters
    ----------
    pause : float
        Seconds to wait before each call; before the k-th retry, `pause` · 2ᵏ · (1 + jitter).
    retries : int
        Number of times that a failing call is repeated.
    sleep : callable
        Waits the given number of seconds.
    rng : Generator
        Draws the jitter, uniform on [0, 1).
    """

    pause: float = 0.5
    retries: int = 5
    sleep: Callable[[float], None] = time.sleep
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        check_least(0, pause=self.pause, retries=self.retries)

    def call(self, what: str, function: Callable[[], Any]) -> Any:
        """Return what a function answers; `what` names the call in the error if it never does."""
        failure = Exception()
        for attempt in range(self.retries + 1):
            self.sleep(self.pause * (2**attempt * (1 + self.rng.random()) if attempt else 1))
            try:
                return function()
            except Exception as error:  # the network, the site or a parser may raise anything
                failure = error
        raise DataError(
            f"{what}: {type(failure).__name__}: {failure}. Check the connection and run again later."
        ) from failure


def check_least(least: int, **numbers: float | None) -> None:
    """Raise if one of some numbers is too small; None stands for no number."""
    for name, number in numbers.items():
        if number is not None and not number >= least:  # in this form, NaN is refused too
            raise DataError(f"`{name}` must be at least {least}, got {number}; leave it out for the default.")


def find_source(source: str | FundSource, pace: Pace) -> FundSource:
    """Return a source: by its name, by its import path such as ``package.module:Class``, or itself."""
    if not isinstance(source, str):
        return source
    if source in SOURCES:
        named: FundSource = load_place(SOURCES[source], "source")(pace)
        return named
    if not is_place(source):
        raise DataError(
            f"`source`: unknown source {source!r}; known are {', '.join(SOURCES)}. Give your own as "
            "package.module:Class."
        )
    made: FundSource = run_own(
        lambda: load_place(source, "source")(pace),
        f"The source {source!r} cannot be made",
        "its class must take one argument, a `Pace`",
    )
    return made
