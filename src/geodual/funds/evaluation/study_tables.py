"""The tables of a study and the statistics that follow from them, each computed once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from . import performance
from .forecast_tables import forecast_row, judge_fifths, mean_turnover, portfolio_row, returns_by_fifth
from .periods import PERIODS, equity_in
from .skill_map import COLUMNS, MOMENTUM, compare_with_momentum, summarise_skill
from .statistics import compare_pairs
from .study_statistics import StudyStatistics
from .trading_tables import list_drawdowns, measure_costs, roll_drawdowns


@dataclass(frozen=True, eq=False)
class StudyTables(StudyStatistics):
    """The tables of a study; `Study` adds saving, reports and plots, and documents the fields."""

    def table(self) -> pd.DataFrame:
        """Return Table 1: the quality of the forecasts and of the portfolios, by period and forecaster.

        Returns
        -------
        DataFrame
            Indexed by (period, forecaster): the periods "validation", "test" and "both", in each the
            forecasters and `index`. Columns on the forecasts: ic_mean, ic_std, icir (mean/std), t
            (Newey–West), low, high (95 % bootstrap interval for the mean), hit_rate (share of positive ICs),
            n (number of ICs). Columns on the portfolios: annual_return, volatility, sharpe, max_drawdown,
            turnover (mean per rebalance, without the first purchase). A copy: changing it does not change the
            study.
        """
        return self._table1.copy()

    @cached_property
    def _table1(self) -> pd.DataFrame:
        rows = {
            (period, name): self._table_row(period, name)
            for period in PERIODS
            for name in (*self.config.compared, "index")
        }
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(table.index, names=["period", "forecaster"])
        return table.astype({"n": "Int64"})

    @cached_property
    def baselines(self) -> pd.DataFrame:
        """The baselines in the columns of Table 1, by (period, forecaster) for all periods.

        The universe with equal weights makes no forecasts: it has the columns of portfolios only. Empty
        without baselines.
        """
        rows = {
            (period, name): self._baseline_row(period, name)
            for period in PERIODS
            for name in self.config.baselines
        }
        if not rows:
            return pd.DataFrame(columns=self._table1.columns)
        table = pd.DataFrame.from_dict(rows, orient="index").reindex(columns=self._table1.columns)
        table.index = pd.MultiIndex.from_tuples(table.index, names=["period", "forecaster"])
        return table.astype({"n": "Int64"})

    def _baseline_row(self, period: str, name: str) -> dict[str, Any]:
        portfolio = portfolio_row(equity_in(period, self.baseline_equity, self.config.test_start)[name])
        if name not in self.baseline_ic:
            return portfolio
        decided = self.decided(period)
        own = self.baseline_trades[self.baseline_trades["forecaster"] == name]
        turnover = mean_turnover(own[own["decided"].isin(decided)], self.trades["decided"].min())
        return {**forecast_row(self.baseline_ic[name].reindex(decided)), **portfolio, "turnover": turnover}

    def _table_row(self, period: str, name: str) -> dict[str, Any]:
        portfolio = portfolio_row(equity_in(period, self.equity, self.config.test_start)[name])
        if name == "index":
            return portfolio
        decided = self.decided(period)
        own = self.trades[(self.trades["forecaster"] == name) & self.trades["decided"].isin(decided)]
        turnover = mean_turnover(own, self.trades["decided"].min())
        return {**forecast_row(self.ic.loc[decided, name]), **portfolio, "turnover": turnover}

    @cached_property
    def skill_map(self) -> pd.DataFrame:
        """What every factor alone, every baseline and every forecaster knows, by (period, kind, name).

        The kinds are "forecaster", "baseline" and "factor". Columns: ic_mean; t (Newey–West); low, high (95 %
        intervals that hold for all names of the kind together); p (of a mean of zero,
        corrected in the same way); n (rebalance days with an IC); momentum (mean rank correlation of the
        forecasts with those of momentum); rest_ic, rest_low, rest_high, rest_p (the same of the part of the
        ranks that a linear regression on momentum's ranks leaves). Factors alone are not compared with
        momentum.
        """
        tables = {(period, kind): table for period in self.known_periods for kind, table in self._map(period)}
        if not tables:
            index = pd.MultiIndex.from_tuples([], names=["period", "kind", "name"])
            return pd.DataFrame(index=index, columns=list(COLUMNS), dtype=float)
        return _in_order(pd.concat(tables, names=["period", "kind"]))

    def _map(self, period: str) -> Iterator[tuple[str, pd.DataFrame]]:
        days = self.decided(period)
        yield (
            "forecaster",
            summarise_skill(self._ic_in(period), self.n_choices(period), *self._beside_momentum),
        )
        if len(self.baseline_ic.columns):
            baseline_ic = self.baseline_ic.reindex(days)
            beside = self._baselines_beside_momentum
            yield "baseline", summarise_skill(baseline_ic, baseline_ic.shape[1], *beside)
        if not self.factor_ic.empty:
            yield "factor", summarise_skill(self.factor_ic.reindex(days), self.factor_ic.shape[1])

    @cached_property
    def _beside_momentum(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        return self._compare_with_momentum(self.predictions)

    @cached_property
    def _baselines_beside_momentum(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        return self._compare_with_momentum(self.baseline_predictions)

    def _compare_with_momentum(
        self, predictions: pd.DataFrame
    ) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        """Compare forecasts with those of momentum: a baseline, one of those compared, or absent."""
        for table in (self.baseline_predictions, self.predictions):
            momentum = table[table["forecaster"] == MOMENTUM] if len(table) else table
            if len(momentum):
                return compare_with_momentum(predictions, momentum)
        return None, None

    def annual_returns(self) -> pd.DataFrame:
        """Return the returns of calendar years, as in Figure 2.

        Returns
        -------
        DataFrame
            Year × forecaster and `index`. The first and the last year may be incomplete.
        """
        table = pd.DataFrame({name: performance.annual_returns(self.equity[name]) for name in self.equity})
        return table.rename_axis(index="year", columns="forecaster")

    def comparisons(self, period: str = "both") -> pd.DataFrame:
        """Compare the ICs of all pairs of forecasters on the same rebalance days, with Holm's correction.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        DataFrame
            One row per pair, indexed by (forecaster, against): difference (mean IC of forecaster minus that
            of against), t (Newey–West), low, high (95 % bootstrap interval), p (two-sided), p_holm (corrected
            for the number of pairs), n (number of shared rebalance days). A copy.
        """
        if period not in self._compared:
            self._compared[period] = compare_pairs(self.ic.loc[self.decided(period)])
        return self._compared[period].copy()

    @cached_property
    def _compared(self) -> dict[str, pd.DataFrame]:
        return {}  # by period: bootstraps are slow, so each period is compared once

    @cached_property
    def comparisons_by_period(self) -> pd.DataFrame:
        """The comparisons of all known periods, indexed by (period, forecaster, against)."""
        periods = self.known_periods if len(self.config.compared) > 1 else ()
        tables = {period: self.comparisons(period) for period in periods}
        return pd.concat(tables, names=["period"]) if tables else pd.DataFrame()

    def quantile_returns(self, period: str = "both") -> pd.DataFrame:
        """Return the mean realised return by fifth of the forecasts: it rises if forecasts rank well.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        DataFrame
            Forecaster × fifth, from 1 (worst forecasts) to 5 (best).
        """
        chosen = self.predictions[self.predictions["date"].isin(self.decided(period))]
        return returns_by_fifth(chosen, self.config.compared)

    @cached_property
    def fifths(self) -> pd.DataFrame:
        """The returns by fifth in all known periods, their spread, and whether they rise."""
        return judge_fifths({period: self.quantile_returns(period) for period in self.known_periods})

    @cached_property
    def costs(self) -> pd.DataFrame:
        """Turnover, cost and break-even cost of each forecaster's portfolio."""
        return measure_costs(self.equity, self.trades, self.cash)

    @cached_property
    def drawdowns(self) -> pd.DataFrame:
        """The worst drawdowns of each portfolio and of the index."""
        return list_drawdowns(self.equity)

    @cached_property
    def rolling_drawdowns(self) -> pd.DataFrame:
        """The one-year rolling maximum drawdown, day × forecaster and `index`."""
        return roll_drawdowns(self.equity)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose index counts as sorted in the order of its rows: pandas finds rows faster then."""
    values = [table.index.get_level_values(level) for level in range(table.index.nlevels)]
    levels = [pd.Index(value.unique()) for value in values]
    codes = [level.get_indexer(value) for level, value in zip(levels, values, strict=True)]
    return table.set_axis(pd.MultiIndex(levels, codes, names=table.index.names))
