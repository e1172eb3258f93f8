"""The statistics of a study beyond Table 1, each computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from . import benchmark, risk
from .baselines import AgainstBaseline, choose_rivals, compare_with_baselines, learnt_names
from .exposure import type_exposure
from .forecast_diagnostics import (
    average_over_types,
    correlate_ranks,
    ic_by_day_and_type,
    measure_spreads,
    summarise_spread,
    summarise_types,
)
from .overfitting import deflate_sharpe, overfitting_probability
from .performance import annual_return, sharpe
from .periods import equity_in
from .random_portfolios import rank_among_random
from .result_tables import ic_table
from .skill import judge_skill, superior_ability_p
from .study_fields import StudyFields


@dataclass(frozen=True, eq=False)
class StudyStatistics(StudyFields):
    """The forecasts and portfolios of a study against the index, against luck, and given the choices made."""

    @cached_property
    def against_index(self) -> pd.DataFrame:
        """The portfolios against the index, by (period, forecaster) for the known periods.

        Columns: alpha (per year), beta, tracking_error and information_ratio (per year), up_capture and
        down_capture (of months), sortino (per year), cvar (mean of the worst 5 % of the returns from row to
        row). The row `index` of a period has sortino and cvar only.
        """
        rows = {}
        for period in self.known_periods:
            equity = equity_in(period, self.equity, self.config.test_start)
            for name in equity.columns:
                compared = {} if name == "index" else _compare(equity[name], equity["index"])
                own = {"sortino": risk.sortino(equity[name]), "cvar": risk.cvar(equity[name])}
                rows[period, str(name)] = {**compared, **own}
        columns = [*("alpha", "beta", "tracking_error", "information_ratio"), *("up_capture", "down_capture")]
        return _by_period(rows, [*columns, "sortino", "cvar"])

    @cached_property
    def monthly_returns(self) -> pd.DataFrame:
        """The returns of calendar months, month (its first day) × forecaster and `index`."""
        return risk.monthly_returns(self.equity)

    @cached_property
    def rolling_sharpe(self) -> pd.DataFrame:
        """The Sharpe ratio of the last year, day × forecaster and `index`; NaN in the first year."""
        return risk.roll_sharpe(self.equity)

    @cached_property
    def rolling_beta(self) -> pd.DataFrame:
        """The beta to the index over the year up to each day, day × forecaster; NaN in the first year."""
        return benchmark.roll_beta(self.equity)

    @cached_property
    def spreads(self) -> pd.DataFrame:
        """What the fifth with the best forecasts earned more than the worst, rebalance day × forecaster."""
        return measure_spreads(self.predictions)

    @cached_property
    def spread_summary(self) -> pd.DataFrame:
        """The mean spread between the best and the worst fifth, by (period, forecaster).

        Columns: mean, t (Newey–West), low, high (95 % bootstrap interval), p (two-sided, corrected for the
        number of forecasters and tuned settings), n (number of rebalance days).
        """
        rows = {
            (period, name): summarise_spread(
                self.spreads.loc[self.decided(period), name], self.n_choices(period)
            )
            for period in self.known_periods
            for name in self.config.compared
        }
        return _by_period(rows, ["mean", "t", "low", "high", "p", "n"]).astype({"n": int})

    @cached_property
    def ic_within_types(self) -> pd.DataFrame:
        """The mean IC within types of funds, weighted by their numbers, rebalance day × forecaster.

        Empty without types. Funds of unknown type are left out.
        """
        if self._types.empty:
            return pd.DataFrame()
        return average_over_types(self._ic_by_day_and_type, self.predictions)

    @cached_property
    def ic_by_type(self) -> pd.DataFrame:
        """The mean IC by (forecaster, type): ic_mean, t (Newey–West), n (days), funds (their mean number).

        Empty without types.
        """
        if self._types.empty:
            return pd.DataFrame()
        return summarise_types(self._ic_by_day_and_type, self.config.compared)

    @cached_property
    def _ic_by_day_and_type(self) -> pd.DataFrame:
        return ic_by_day_and_type(self.predictions, self._types)

    @cached_property
    def _types(self) -> pd.Series[str]:
        known = self.facts["type"].dropna() if "type" in self.facts else pd.Series(dtype=str)
        return known[known.index.isin(self.predictions["fund"].unique())]

    @cached_property
    def rank_autocorrelation(self) -> pd.DataFrame:
        """The rank correlation of the forecasts with those of the rebalance day before, day × forecaster."""
        return correlate_ranks(self.predictions)

    @cached_property
    def exposure(self) -> pd.DataFrame:
        """The weight of each type of funds at the decision, by (date, forecaster). Empty without types."""
        return pd.DataFrame() if self._types.empty else type_exposure(self.holdings, self._types)

    @cached_property
    def spa(self) -> pd.Series[float]:
        """The p-value of superior predictive ability, by known period: the best against no skill."""
        values = {period: superior_ability_p(self._ic_in(period)) for period in self.known_periods}
        return pd.Series(values, dtype=float, name="spa").rename_axis("period")

    @cached_property
    def skill(self) -> pd.DataFrame:
        """Whether the forecasts have skill, by (period, forecaster) for the known periods.

        Columns: ic_mean; p (two-sided, that the mean IC is zero, corrected for the choice among forecasters
        and tuned settings); in_set (whether the forecaster is in the 90 % model confidence set: whether it
        may be the best). A forecaster has skill if its mean IC is above zero and p is below 0.05.
        """
        tables = {
            period: judge_skill(self._ic_in(period), self.n_choices(period), self.spa[period])
            for period in self.known_periods
        }
        if not tables:
            return _by_period({}, ["ic_mean", "p", "in_set"])
        return pd.concat(tables, names=["period", "forecaster"])

    def _ic_in(self, period: str) -> pd.DataFrame:
        return self.ic.loc[self.decided(period), list(self.config.compared)]

    @cached_property
    def baseline_ic(self) -> pd.DataFrame:
        """The information coefficients of the baselines, rebalance day × baseline; empty without any."""
        if self.baseline_predictions.empty:
            return pd.DataFrame(index=self.ic.index)
        return ic_table(self.baseline_predictions)

    @cached_property
    def against_baselines(self) -> pd.DataFrame:
        """The ICs compared with those of the baselines, by (period, forecaster, baseline) for known periods.

        Columns: difference (of the mean ICs), t (Newey–West), low, high (95 % interval), p (two-sided), n
        (shared days). Interval and p are corrected for the choice among forecasters, settings and baselines.
        """
        periods = self.known_periods if len(self.baseline_ic.columns) else ()
        tables = {period: self._against_baselines(period) for period in periods}
        return pd.concat(tables, names=["period"]) if tables else pd.DataFrame()

    def best_against_baseline(self, period: str) -> AgainstBaseline | None:
        """Compare the best of what was learnt with the best baseline; None if one of them is missing.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".
        """
        if self.against_baselines.empty:
            return None
        baseline_ic, learnt = self.baseline_ic.reindex(self.decided(period)), learnt_names(self.config)
        compared = pd.DataFrame(self.against_baselines.loc[period])
        return choose_rivals(self._ic_in(period), baseline_ic, learnt, compared)

    def _against_baselines(self, period: str) -> pd.DataFrame:
        baseline_ic = self.baseline_ic.reindex(self.decided(period))
        return compare_with_baselines(self._ic_in(period), baseline_ic, self.n_choices(period))

    @cached_property
    def overfitting(self) -> pd.DataFrame:
        """The Sharpe ratio of each portfolio in the light of the number of trials, by forecaster.

        Columns: sharpe (per year, whole study); deflated_sharpe (probability that the true Sharpe ratio is
        above zero after the number of trials); probabilistic_sharpe (the same for a single trial); trials
        (number of forecasters and tuned settings).
        """
        return deflate_sharpe(self._portfolios, self.n_choices("both"))

    @cached_property
    def overfitting_probability(self) -> float:
        """The probability that the best forecaster on half of the days is not above the median on the others.

        NaN with fewer than two forecasters or too few days.
        """
        return overfitting_probability(self._portfolios)

    @cached_property
    def random_rank(self) -> pd.DataFrame:
        """The share of the random portfolios that each forecaster's portfolio beats, by forecaster.

        Columns: annual_return, sharpe. Empty without random portfolios. This is no p-value: the funds that a
        forecaster picks resemble each other, random ones do not. Where styles explained 25 to 75 % of the
        differences between funds, 17 to 31 % of the portfolios without skill beat 95 % of the random ones
        (400 simulations of 36 quarters each).
        """
        if self.random_portfolios.empty:
            return pd.DataFrame()
        measured = pd.DataFrame(
            {
                name: {"annual_return": annual_return(curve), "sharpe": sharpe(curve)}
                for name, curve in self._portfolios.items()
            }
        )
        return rank_among_random(measured.T.rename_axis("forecaster"), self.random_portfolios)

    @property
    def _portfolios(self) -> pd.DataFrame:
        return self.equity[list(self.config.compared)]


def _compare(own: pd.Series[float], index: pd.Series[float]) -> dict[str, float]:
    alpha, beta = benchmark.alpha_beta(own, index)
    up, down = benchmark.capture_ratios(own, index)
    return {
        "alpha": alpha,
        "beta": beta,
        "tracking_error": benchmark.tracking_error(own, index),
        "information_ratio": benchmark.information_ratio(own, index),
        "up_capture": up,
        "down_capture": down,
    }


def _by_period(rows: dict[tuple[str, str], dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Return a table indexed by (period, forecaster); it keeps its columns if there are no rows."""
    index = pd.MultiIndex.from_tuples(list(rows), names=["period", "forecaster"])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)
