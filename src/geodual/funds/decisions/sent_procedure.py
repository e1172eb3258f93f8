"""A procedure that makes forecasts, sent to other processes as it was before it saw a table."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import joblib
import numpy as np
import pandas as pd

from geodual.arrays import Array
from geodual.errors import DataError

from ..panel import Panel

COLUMNS = ("date", "forecaster", "fund", "forecast")
_RUN = 4  # values in a row: 32 bytes that are in no pickle by chance

Procedure = Callable[[Panel, pd.DatetimeIndex], pd.DataFrame]
"""Returns the forecasts of some days, one per row; columns `date`, `forecaster`, `fund` and `forecast`."""


@dataclass(frozen=True)
class SentProcedure:
    """A pickled procedure; every call starts from the state that it had when it was pickled."""

    pickled: bytes

    def __call__(self, panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
        """Return the forecasts of some days, and check that all columns are there."""
        try:
            forecast: Procedure = pickle.loads(self.pickled)
        except (ImportError, AttributeError) as error:
            raise DataError(
                f"What is to be checked cannot be imported in another process ({error}). Put its module "
                "where Python finds it."
            ) from error
        table = forecast(panel, days)
        missing = [name for name in COLUMNS if name not in table]
        if missing:
            raise DataError(
                f"`forecaster` must return the columns {', '.join(COLUMNS)}, got none named {missing[0]!r}."
            )
        return table


def send(forecast: Procedure, panel: Panel) -> SentProcedure:
    """Return a procedure to send; raise if it cannot be pickled, or holds the last values of the panel."""
    try:
        # joblib's wrapper lets lambdas and closures be pickled.
        pickled = pickle.dumps(joblib.wrap_non_picklable_objects(forecast, keep_wrapper=False))
    except Exception as error:  # whatever an object of the user raises
        raise DataError(
            f"What is to be checked cannot be sent to another process ({error}). Remove locks, connections "
            "and open files from it."
        ) from error
    if any(values.tobytes() in pickled for values in _last_values(panel.nav.to_numpy(float))):
        raise DataError(
            "What is to be checked holds later values of the table itself, so removing them from its input "
            "proves nothing. Let it use its arguments only, and give objects that have seen no table yet."
        )
    return SentProcedure(pickled)


def _last_values(nav: Array) -> Iterator[Array]:
    """Yield the last values of each fund, and those of the last row; no decision knows them."""
    last = nav[-_RUN:]
    for values in (*last.T, *(last[-1, at : at + _RUN] for at in range(0, nav.shape[1], _RUN))):
        if len(np.unique(values[np.isfinite(values)])) == _RUN:
            yield values
