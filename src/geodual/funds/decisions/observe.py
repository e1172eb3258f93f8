"""From a panel and the settings of a study to what may be known on each rebalance day."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..calendar import keep_trading_days, rebalance_days
from ..config import StudyConfig
from ..factors.factor import FactorSet
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts
from .fund_filter import filter_funds
from .observations import Observations


def prepare_panel(
    panel: Panel, config: StudyConfig, facts: FundFacts, index_days: pd.Index | None = None
) -> Panel:
    """Return the trading days up to the end of a study, with the funds that it may choose from.

    Parameters
    ----------
    panel : Panel
        Net asset values.
    config : StudyConfig
        The settings `end`, `types`, `include` and `exclude`.
    facts : FundFacts
        Facts about the funds.
    index_days : Index, optional
        Days on which an index has a level.
    """
    if panel.nav.empty:
        raise DataError(f"{panel.source}: the table has no rows or no funds. Fill in the NAVs.")
    values = panel.nav.to_numpy(float)
    if (values <= 0.0).any() or np.isinf(values).any():
        raise DataError(f"{panel.source}: NAVs must be positive and finite. Use NaN where there is no value.")
    if config.end:
        if pd.Timestamp(config.end) < panel.nav.index[0]:
            raise DataError(
                f"{panel.source}: `end`, {config.end}, lies before the first row, "
                f"{panel.nav.index[0].date()}. Choose a later day."
            )
        panel = panel.until(pd.Timestamp(config.end))
    # All funds tell which days are trading days, also those that the study may not choose.
    return filter_funds(keep_trading_days(panel, index_days), config, facts)


def observe(
    panel: Panel,
    config: StudyConfig,
    factors: FactorSet,
    facts: FundFacts,
    days: pd.DatetimeIndex | None = None,
    asked: Iterable[str] = (),
) -> Observations:
    """Return what is known on each rebalance day, or on other days.

    Parameters
    ----------
    panel : Panel
        Trading days, as `prepare_panel` returns them.
    config : StudyConfig
        The settings `frequency`, `share_classes` and `relative_to`.
    factors : FactorSet
        The factors that describe the funds.
    facts : FundFacts
        Facts about the funds.
    days : DatetimeIndex, optional
        By default the rebalance days.
    asked : iterable of str
        Factors whose raw values forecasters want to see.
    """
    if days is None:
        days = rebalance_days(pd.DatetimeIndex(panel.nav.index), config.frequency)
    return Observations(
        panel,
        days,
        factors,
        facts,
        one_class=config.share_classes == "one",
        by_type=config.relative_to == "type",
        asked=asked,
    )
