"""Forecasts of days by processes that have never seen a later value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.errors import DataError

from ..panel import Panel
from .fresh_processes import run_fresh
from .sent_procedure import SentProcedure


def forecast_without_future(
    study: SentProcedure, panel: Panel, chains: list[pd.DatetimeIndex], is_trading: NDArray[np.bool_]
) -> Iterator[tuple[pd.Timestamp, dict[str, pd.DataFrame]]]:
    """Yield each day with its forecasts after later rows were removed ("cut") and replaced ("garbage").

    Parameters
    ----------
    study : SentProcedure
        Makes the forecasts.
    panel : Panel
        The whole table.
    chains : list of DatetimeIndex
        The days. Each chain has a process of its own and must be in order: going from the earliest day to the
        latest, a process never knows more than was known on the day.
    is_trading : array of bool, of shape (n_rows,)
        Which rows are trading days. That is known before; the values are not.
    """
    yield from run_fresh(
        [[partial(_two_futures, study, *_split(panel, day, is_trading)) for day in days] for days in chains]
    )


def _split(
    panel: Panel, day: pd.Timestamp, is_trading: NDArray[np.bool_]
) -> tuple[Panel, pd.Index, NDArray[np.bool_]]:
    """Return the table up to a day, the days after it, and which of these are trading days."""
    later = np.asarray(panel.nav.index > day)
    # Without the findings of the panel: they are about the whole table.
    return Panel(panel.nav.loc[:day], panel.source), panel.nav.index[later], is_trading[later]


def _two_futures(
    study: SentProcedure, past: Panel, later: pd.Index, is_trading: NDArray[np.bool_]
) -> tuple[pd.Timestamp, dict[str, pd.DataFrame]]:
    """Return the last day of a table, and its forecasts with no future and with a future of noise."""
    day = past.nav.index[-1]
    futures = {"cut": past, "garbage": _with_noise(past, later, is_trading)}
    try:
        return day, {test: study(panel, pd.DatetimeIndex([day])) for test, panel in futures.items()}
    except DataError:
        raise
    except Exception as error:  # whatever code of the user raises
        raise DataError(
            f"Without the rows after {day.date()}, there is no forecast of that day "
            f"({type(error).__name__}: {error}). It looks ahead, or it has another error: correct it."
        ) from error


def _with_noise(past: Panel, later: pd.Index, is_trading: NDArray[np.bool_]) -> Panel:
    """Append random NAVs with gaps on later trading days, and rows without a value on other days."""
    rng = np.random.default_rng(0)
    shape = len(later), past.nav.shape[1]
    noise = np.exp(rng.normal(scale=2.0, size=shape))
    noise[(rng.random(shape) < 0.1) | ~is_trading[:, None]] = np.nan
    return Panel(pd.concat([past.nav, pd.DataFrame(noise, later, past.nav.columns)]), past.source)
