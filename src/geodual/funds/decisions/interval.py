"""One holding interval that is over: the piece that training sets are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array

from ..forecasters.forecast import Training


@dataclass(frozen=True, eq=False)
class Interval:
    """What can be learnt from one holding interval.

    Training sets of neighbouring days and of all forecasters consist of the same intervals. So workers are
    given intervals and join them: each is sent once, and no process holds training sets of many days.

    Attributes
    ----------
    features : array of shape (n_funds, n_factors)
        Standardised factors at the start of the interval, of all funds of that day.
    seen : array of bool, of shape (n_funds,)
        Which of these funds have a return in the interval.
    returns : array of shape (n_seen,)
        The returns of the funds seen; less the mean of the fund's type if the study asks for it.
    funds : Index of shape (n_seen,)
        The funds seen.
    groups : array of shape (n_seen,)
        Group within which each is ranked; empty without groups.
    """

    features: Array
    seen: NDArray[np.bool_]
    returns: Array
    funds: pd.Index[str]
    groups: NDArray[Any]

    def __sizeof__(self) -> int:
        """Return the size with the features, so that Dask knows how much memory its workers use."""
        return object.__sizeof__(self) + self.features.nbytes


def join_intervals(intervals: Sequence[Interval]) -> Training:
    """Return a training set.

    Parameters
    ----------
    intervals : sequence of Interval
        At least one, the oldest first.
    """
    sizes = [len(interval.funds) for interval in intervals]
    funds = [interval.funds for interval in intervals]
    return Training(
        np.vstack([interval.features[interval.seen] for interval in intervals]),
        np.concatenate([interval.returns for interval in intervals]),
        np.repeat(np.arange(len(intervals))[::-1], sizes),
        funds[0].append(funds[1:]),
        np.concatenate([interval.groups for interval in intervals]),
    )
