"""Forecast by ranks: of one factor, of values of your own, and the mean of several forecasters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..config import check_integer
from .forecast import (
    NO_LABEL,
    Forecast,
    Forecaster,
    Today,
    Training,
    ask,
    check_values,
    factors_asked,
    window_of,
)
from .peers import ranks_within


@dataclass(frozen=True)
class FactorForecaster:
    """Rank the funds by one factor. Nothing is learned.

    A fund whose factor is not known gets the middle rank.

    Parameters
    ----------
    factor : str
        Name of the factor with its window, such as "sharpe_90", or "return_12m" for the return over the last
        12 months.
    sign : int
        1 if a high value is good, −1 if a low one is.

    See Also
    --------
    RegressorForecaster : Learn how to combine factors.
    compute_factors : What the factors are.

    Examples
    --------
    >>> from geodual.funds import FactorForecaster, backtest, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> study = backtest(panel, forecasters={"momentum": FactorForecaster("sharpe_90")})
    >>> list(study.ic)
    ['momentum']
    """

    factor: str
    sign: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.factor, str) or not self.factor:
            raise DataError(f"`factor` must be the name of a factor such as sharpe_90, got {self.factor!r}.")
        if self.sign not in (1, -1):
            raise DataError(f"`sign` must be 1 or -1, got {self.sign!r}; -1 means that low values are good.")

    @property
    def window(self) -> int:
        """One interval, the fewest: nothing is learned from it."""
        return 1

    @property
    def factors(self) -> tuple[str, ...]:
        """The factor that must be known of each fund."""
        return (self.factor,)

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Return the ranks of the funds of the day by the factor, from −½ to ½, within their peer groups."""
        ranks = self.sign * np.nan_to_num(ranks_within(today.factors[self.factor], today.groups))
        return Forecast(ranks, unit="rank", parts=ranks[:, None], part_names=(self.factor,))


@dataclass(frozen=True, eq=False)
class FactorSeries:
    """Rank the funds by values of your own, such as a factor from another library. Nothing is learned.

    A decision uses the last value of each fund that is dated on its day or before, unless it is older than
    `max_age`. A fund without such a value gets the middle rank. Date a value with the day on which it was
    known: `check_leakage` cannot see how the values were made.

    Parameters
    ----------
    values : Series or DataFrame
        A Series indexed by (date, fund), or a DataFrame day × fund. Missing and infinite values are left out.
        If dates have a time of day, only the day counts.
    sign : int
        1 if a high value is good, −1 if a low one is.
    max_age : int
        Days for which a value holds. The default is a year: funds report at least once in it.

    See Also
    --------
    FactorForecaster : Rank by a factor that the study computes.
    register_forecaster : Use a forecaster of your own by name.

    Examples
    --------
    >>> from geodual.funds import FactorSeries, backtest, synthetic_universe
    >>> nav = synthetic_universe(20, "2014-01-02", "2015-06-30").panel.nav
    >>> calm = -nav.pct_change().rolling(60).std().stack()
    >>> backtest(nav, forecasters={"calm": FactorSeries(calm)}).ic.shape
    (2, 1)
    """

    values: pd.Series[float] | pd.DataFrame
    sign: int = 1
    max_age: int = 366

    def __post_init__(self) -> None:
        if self.sign not in (1, -1):
            raise DataError(f"`sign` must be 1 or -1, got {self.sign!r}; -1 means that low values are good.")
        check_integer("max_age", self.max_age, 0, type(self).max_age)
        object.__setattr__(self, "values", _by_day_and_fund(self.values))  # frozen: no assignment

    @property
    def window(self) -> int:
        """One interval, the fewest: nothing is learned from it."""
        return 1

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Return the ranks of the funds of the day by their last values, from −½ to ½, within peer groups."""
        last = self._last_values(today.day).reindex(today.funds)
        if last.isna().all():
            raise DataError(
                f"`values` have no value of any fund in the {self.max_age} days up to {today.day.date()}. "
                "Begin with a later `start`, raise `max_age`, or write fund codes as in the NAV table."
            )
        ranks = ranks_within(last.to_numpy(float), today.groups)
        return Forecast(self.sign * np.nan_to_num(ranks), unit="rank")

    def _last_values(self, day: pd.Timestamp) -> pd.Series[float]:
        """Return the last value of each fund up to a day, of those that are not too old."""
        table = pd.DataFrame(self.values).loc[day - pd.Timedelta(days=self.max_age) : day]
        return pd.Series(table.ffill().iloc[-1] if len(table) else np.nan, table.columns, dtype=float)


def _by_day_and_fund(values: Any) -> pd.DataFrame:
    """Return values as a table day × fund, in order of time."""
    form = "a Series indexed by (date, fund), or a DataFrame day × fund"
    if isinstance(values, pd.Series) and values.index.nlevels == 2:
        if values.index.has_duplicates:
            day, fund = values.index[values.index.duplicated()][0]
            raise DataError(f"`values` must have one value per date and fund; {fund} has two on {day}.")
        values = values.unstack()
    if not isinstance(values, pd.DataFrame) or not isinstance(values.index, pd.DatetimeIndex):
        raise DataError(f"`values` must be {form}, with dates of pandas; got {type(values).__name__}.")
    days = values.index.tz_localize(None).normalize()
    if days.has_duplicates:
        raise DataError(
            f"`values` must have one row per day, got two on {days[days.duplicated()][0].date()}."
        )
    if not all(pd.api.types.is_numeric_dtype(kind) for kind in values.dtypes):
        raise DataError(f"`values` must be numbers: {form}.")
    table = values.set_axis(days).set_axis(values.columns.astype(str), axis="columns").astype(float)
    return table.where(np.isfinite(table)).sort_index()


@dataclass(frozen=True, eq=False)
class EnsembleForecaster:
    """Average the ranks that several forecasters give the funds of a day.

    Ranks are averaged because forecasts of different kinds have different units.

    Parameters
    ----------
    members : mapping of str to forecaster
        The forecasters by name. Each counts the same.

    See Also
    --------
    FactorForecaster : Rank by one factor.
    RegressorForecaster : Learn how to combine factors.

    Examples
    --------
    >>> from geodual.funds import EnsembleForecaster, FactorForecaster, backtest, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> members = {name: FactorForecaster(name) for name in ("sharpe_90", "roc_63")}
    >>> backtest(panel, forecasters={"both": EnsembleForecaster(members)}).ic.shape
    (2, 1)
    """

    members: Mapping[str, Forecaster]

    def __post_init__(self) -> None:
        if not isinstance(self.members, Mapping) or not self.members:
            raise DataError(
                f"`members` must be one or more forecasters by name, got {self.members!r}; write a mapping "
                'such as {"momentum": FactorForecaster("sharpe_90")}.'
            )

    @property
    def window(self) -> int | str:
        """The longest window of a member."""
        windows = [window_of(member) for member in self.members.values()]
        return "all" if "all" in windows else max(int(window) for window in windows)

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors that members want to see."""
        return factors_asked(self.members.values())

    def forecast(self, training: Training, today: Today) -> Forecast:
        """Return the mean rank of each fund of the day, from −½ to ½, within its peer group."""
        made = {name: ask(member, training, today) for name, member in self.members.items()}
        values = [check_values(name, each, today) for name, each in made.items()]
        ranks = np.column_stack([ranks_within(each, today.groups) for each in values])
        return Forecast(
            ranks.mean(axis=1),
            unit="rank",
            label=next((each.label for each in made.values() if each.label != NO_LABEL), NO_LABEL),
            parts=ranks / ranks.shape[1],
            part_names=tuple(self.members),
        )
