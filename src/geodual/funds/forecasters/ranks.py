"""Forecast by ranks: those of one factor, and the mean of those of several forecasters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from geodual.errors import DataError

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
    """Rank the funds by one factor. Nothing is learnt.

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
        """One interval, the fewest: nothing is learnt from it."""
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
class EnsembleForecaster:
    """Average the ranks that several forecasters give the funds of a day.

    Ranks, as forecasts of different kinds have different units.

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
