"""The tables of a study: its data, and the results that follow from them, each computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import pandas as pd

from ..config import StudyConfig
from ..forecasters.peers import rank_predictions, types_of_study
from ..panel import Finding
from . import performance
from .forecast_diagnostics import (
    average_over_types,
    correlate_ranks,
    ic_by_day_and_type,
    judge_fifths,
    measure_spreads,
    returns_by_fifth,
    summarize_spread,
    summarize_types,
)
from .overfitting import Trials, deflate_sharpe, overfitting_probability
from .periods import PERIODS, decisions_in, equity_in, judged_period
from .persistence import Persistence, compare_years, returns_by_year
from .random_portfolios import rank_among_random
from .result_tables import (
    ic_table,
    list_drawdowns,
    mean_turnover,
    measure_costs,
    roll_drawdowns,
    type_exposure,
)
from .risk_free import RiskFree, rate_of_table
from .skill import (
    COLUMNS,
    MOMENTUM,
    AgainstBaseline,
    choose_rivals,
    compare_with_baselines,
    compare_with_momentum,
    learned_names,
    summarize_skill,
)
from .statistics import compare_pairs, corrected_p, forecast_row, rank_by_ic
from .style import style_regression
from .table_registry import PERSISTENT, RANKED, Table, computed, returned, stored, tables_of
from .tuning import count_choices

_PREDICTIONS = ("date", "forecaster", "fund", "forecast", "realized")
_TRADES = (
    *("forecaster", "decided", "executed", "turnover", "traded", "cost", "n_held", "unfilled", "cash"),
)
_BY_DAY: dict[str, Any] = {"key": "date", "per": "forecaster"}
_LATER: dict[str, Any] = {"sparse": True, "is_new": True}  # runs of the first versions have no such table
_DECIMALS = 4  # of rolling measures in the report: more are never shown, and cost space


def _no_days() -> pd.DataFrame:
    return pd.DataFrame(index=pd.DatetimeIndex([], name="date"))


def _no_rates() -> pd.DataFrame:
    return _no_days().assign(rate=pd.Series(dtype=float))


def _no_trades() -> pd.DataFrame:
    return pd.DataFrame(columns=list(_TRADES))


def _no_predictions() -> pd.DataFrame:
    return pd.DataFrame(columns=list(_PREDICTIONS))


def no_curves() -> pd.DataFrame:
    """Return a table by day without columns."""
    days = pd.DatetimeIndex([], dtype="datetime64[s]", name="date")
    return pd.DataFrame(index=days, columns=pd.Index([], dtype=str, name="forecaster"))


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyTables:
    """The tables of a study, those that `backtest` made and those that follow from them.

    To add a table, define it here, with a title and a few words about it: it is then in the workbook and
    in the report, too, and in the run folder if it says ``saved=True``. The order of the definitions is
    that of the sheets. `Study` documents the fields, and adds saving, reports and plots.
    """

    config: StudyConfig
    source: str
    digest: str
    findings: tuple[Finding, ...]
    index_name: str
    index_digest: str
    factor_labels: Mapping[str, str] = field(repr=False)
    chosen: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    seconds: float
    facts_digest: str = ""
    units: dict[str, str] = field(default_factory=dict, repr=False)
    trials: Trials | None = field(default=None, repr=False)

    @classmethod
    def tables(cls) -> tuple[Table, ...]:
        """Return what is known of all tables, in the order of the sheets of a workbook."""
        return tables_of(cls)

    def decided(self, period: str) -> pd.Index:
        """Return the rebalance days whose holding interval begins in a period.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        Index
            Days, in order of time.
        """
        days = self.equity.index.union(self.ic.index)
        return decisions_in(period, self.ic.index, days, self.config.test_start)

    @cached_property
    def known_periods(self) -> tuple[str, ...]:
        """The periods with at least one information coefficient; "both" is the last if there are any."""
        known = [period for period in PERIODS if self.ic.loc[self.decided(period)].notna().any(axis=None)]
        return tuple(known)

    @cached_property
    def judged_period(self) -> str:
        """The period that verdicts are about: "both", or "test" if settings were tuned and it is known."""
        return judged_period(self.known_periods, tuned=self.config.tune and bool(self.chosen))

    @cached_property
    def strategy(self) -> str:
        """The forecaster that the headline names, and whose funds `select` picks by default.

        It is the one with the highest mean IC over the decisions that count, as `rank_by_ic` has it; without
        any IC, the first.
        """
        ranked = rank_by_ic(self._ic_in(self.judged_period))
        return (ranked or list(self.config.compared))[0]

    def n_choices(self, period: str) -> int:
        """Return the number of forecasters and settings that the best of a period was chosen from.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        int
            The number of forecasters, and, where the period is one on which settings were tuned, the number
            of candidates tried; in a study of a sweep, those of all its studies.
        """
        if self.trials is not None:
            return self.trials.choices[period]
        tuned = self.chosen if self.config.tune and period != "test" else ()
        return count_choices(len(self.config.compared), tuned, self.config)

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
        return self.table1.copy()

    @computed("Table 1", "quality of forecasts and portfolios, by period and forecaster", saved=True)
    def table1(self) -> pd.DataFrame:
        """Table 1, which `table` describes."""
        rows = {
            (period, name): self._table_row(period, name)
            for period in PERIODS
            for name in (*self.config.compared, "index")
        }
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(table.index, names=["period", "forecaster"])
        return table.astype({"n": "Int64"})

    def _table_row(self, period: str, name: str) -> dict[str, Any]:
        curve = equity_in(period, self.equity, self.config.test_start)[name]
        portfolio = performance.portfolio_row(curve, self._rate)
        if name == "index":
            return portfolio
        decided = self.decided(period)
        own = self.trades[(self.trades["forecaster"] == name) & self.trades["decided"].isin(decided)]
        turnover = mean_turnover(own, self.trades["decided"].min())
        return {**forecast_row(self.ic.loc[decided, name]), **portfolio, "turnover": turnover}

    @computed("Baselines", "the same for baselines that learn nothing", saved=True)
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
            return pd.DataFrame(columns=self.table1.columns)
        table = pd.DataFrame.from_dict(rows, orient="index").reindex(columns=self.table1.columns)
        table.index = pd.MultiIndex.from_tuples(table.index, names=["period", "forecaster"])
        return table.astype({"n": "Int64"})

    def _baseline_row(self, period: str, name: str) -> dict[str, Any]:
        curve = equity_in(period, self.baseline_equity, self.config.test_start)[name]
        portfolio = performance.portfolio_row(curve, self._rate)
        if name not in self.baseline_ic:
            return portfolio
        decided = self.decided(period)
        own = self.baseline_trades[self.baseline_trades["forecaster"] == name]
        turnover = mean_turnover(own[own["decided"].isin(decided)], self.trades["decided"].min())
        return {**forecast_row(self.baseline_ic[name].reindex(decided)), **portfolio, "turnover": turnover}

    @computed("Against baselines", "differences of mean ICs from those of the baselines")
    def against_baselines(self) -> pd.DataFrame:
        """The ICs compared with those of the baselines, by (period, forecaster, baseline) for known periods.

        Columns: difference (of the mean ICs), t (Newey–West), low, high (95 % interval), p (two-sided), n
        (shared days). Interval and p are corrected for the choice among forecasters, settings and baselines.
        """
        periods = self.known_periods if len(self.baseline_ic.columns) else ()
        tables = {period: self._against_baselines(period) for period in periods}
        return pd.concat(tables, names=["period"]) if tables else pd.DataFrame()

    def _against_baselines(self, period: str) -> pd.DataFrame:
        baseline_ic = self.baseline_ic.reindex(self.decided(period))
        return compare_with_baselines(self._ic_in(period), baseline_ic, self.n_choices(period))

    def best_against_baseline(self, period: str) -> AgainstBaseline | None:
        """Compare the best of what was learned with the best baseline; None if one of them is missing.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".
        """
        if self.against_baselines.empty:
            return None
        baseline_ic, learned = self.baseline_ic.reindex(self.decided(period)), learned_names(self.config)
        compared = pd.DataFrame(self.against_baselines.loc[period])
        return choose_rivals(self._ic_in(period), baseline_ic, learned, compared)

    ic: pd.DataFrame = stored(
        "ICs", "information coefficients, rebalance day × forecaster", **_BY_DAY, gaps=True, embedded=True
    )

    @computed("", "running sums of the information coefficients")
    def ic_cumulated(self) -> pd.DataFrame:
        """The running sums of the information coefficients, rebalance day × forecaster."""
        return self.ic.cumsum()

    def _ic_in(self, period: str) -> pd.DataFrame:
        return self.ic.loc[self.decided(period), list(self.config.compared)]

    @computed("Skill", "mean ICs with p-values corrected for the choice among forecasters")
    def skill(self) -> pd.DataFrame:
        """Whether the forecasts have skill, by (period, forecaster) for the known periods.

        Columns: ic_mean; p (two-sided, that the mean IC is zero, by `corrected_p` for the choice among
        forecasters and tuned settings). A forecaster has skill if its mean IC is above zero and p is below
        0.05.
        """
        tables = {}
        for period in self.known_periods:
            ic, n_choices = self._ic_in(period), self.n_choices(period)
            p = [corrected_p(ic[name], n_choices) for name in ic]
            tables[period] = pd.DataFrame({"ic_mean": ic.mean(), "p": p})
        if not tables:
            return _by_period({}, ["ic_mean", "p"])
        return pd.concat(tables, names=["period", "forecaster"])

    @computed(
        "Skill map", "what factors and forecasters know, and what momentum does not explain", saved=True
    )
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
            summarize_skill(self._ic_in(period), self.n_choices(period), *self._beside_momentum),
        )
        if len(self.baseline_ic.columns):
            baseline_ic = self.baseline_ic.reindex(days)
            beside = self._baselines_beside_momentum
            yield "baseline", summarize_skill(baseline_ic, baseline_ic.shape[1], *beside)
        if not self.factor_ic.empty:
            yield "factor", summarize_skill(self.factor_ic.reindex(days), self.factor_ic.shape[1])

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
                columns = "forecast", "realized"
                return compare_with_momentum(
                    rank_predictions(predictions, self.types, *columns),
                    rank_predictions(momentum, self.types, *columns),
                )
        return None, None

    factor_ic: pd.DataFrame = stored(
        "Factor ICs",
        "information coefficients of every factor alone",
        key="date",
        per="factor",
        gaps=True,
        **_LATER,
        default=_no_days,
    )

    @computed("Comparisons", "forecaster against forecaster: differences of mean ICs")
    def comparisons_by_period(self) -> pd.DataFrame:
        """The comparisons of all known periods, indexed by (period, forecaster, against)."""
        periods = self.known_periods if len(self.config.compared) > 1 else ()
        tables = {period: self.comparisons(period) for period in periods}
        return pd.concat(tables, names=["period"]) if tables else pd.DataFrame()

    @returned("", "the comparisons of the whole study", saved=True, embedded=False)
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

    ic_decay: pd.DataFrame = stored(
        "IC decay",
        "mean IC by months after the decision",
        key="months",
        per="forecaster",
        gaps=True,
        embedded=True,
        default=pd.DataFrame,
    )

    @computed("ICs within types", "mean IC within fund types, rebalance day × forecaster")
    def ic_within_types(self) -> pd.DataFrame:
        """The mean IC within types of funds, weighted by their numbers, rebalance day × forecaster.

        Empty without types. Funds of unknown type are left out.
        """
        if self._types.empty:
            return pd.DataFrame()
        return average_over_types(self._ic_by_day_and_type, self.predictions)

    @computed("ICs by type", "mean IC of each forecaster in each fund type")
    def ic_by_type(self) -> pd.DataFrame:
        """The mean IC by (forecaster, type): ic_mean, t (Newey–West), n (days), funds (their mean number).

        Empty without types.
        """
        if self._types.empty:
            return pd.DataFrame()
        return summarize_types(self._ic_by_day_and_type, self.config.compared)

    @cached_property
    def _ic_by_day_and_type(self) -> pd.DataFrame:
        return ic_by_day_and_type(self.predictions, self._types)

    @cached_property
    def types(self) -> dict[str, str]:
        """The type of each fund if funds are compared within types; empty otherwise."""
        return types_of_study(self.config, self.facts)

    @cached_property
    def _ranked(self) -> pd.DataFrame:
        """The predictions, with forecasts as ranks within peer groups if there are any."""
        return rank_predictions(self.predictions, self.types, "forecast")

    @cached_property
    def _types(self) -> pd.Series[str]:
        known = self.facts["type"].dropna() if "type" in self.facts else pd.Series(dtype=str)
        return known[known.index.isin(self.predictions["fund"].unique())]

    @computed("Rank autocorrelation", "forecasts against those one rebalance before")
    def rank_autocorrelation(self) -> pd.DataFrame:
        """The rank correlation of the forecasts with those of the rebalance day before, day × forecaster."""
        return correlate_ranks(self._ranked)

    @computed("Fifths", "mean returns by fifth of the forecasts; 5 has the best", file="quantile_returns")
    def fifths(self) -> pd.DataFrame:
        """The returns by fifth in all known periods, their spread, and whether they rise."""
        return judge_fifths({period: self.quantile_returns(period) for period in self.known_periods})

    def quantile_returns(self, period: str = "both") -> pd.DataFrame:
        """Return the mean realized return by fifth of the forecasts: it rises if forecasts rank well.

        Parameters
        ----------
        period : str
            "validation", "test" or "both".

        Returns
        -------
        DataFrame
            Forecaster × fifth, from 1 (worst forecasts) to 5 (best).
        """
        chosen = self._ranked[self._ranked["date"].isin(self.decided(period))]
        return returns_by_fifth(chosen, self.config.compared)

    @computed("Spreads", "best fifth minus worst, rebalance day × forecaster", percent=None)
    def spreads(self) -> pd.DataFrame:
        """What the fifth with the best forecasts earned more than the worst, rebalance day × forecaster."""
        return measure_spreads(self._ranked)

    @computed("Spread summary", "the mean of these spreads", percent={"mean", "low", "high"})
    def spread_summary(self) -> pd.DataFrame:
        """The mean spread between the best and the worst fifth, by (period, forecaster).

        Columns: mean, t (Newey–West), low, high (95 % bootstrap interval), p (two-sided, corrected for the
        number of forecasters and tuned settings), n (number of rebalance days).
        """
        rows = {
            (period, name): summarize_spread(
                self.spreads.loc[self.decided(period), name], self.n_choices(period)
            )
            for period in self.known_periods
            for name in self.config.compared
        }
        return _by_period(rows, ["mean", "t", "low", "high", "p", "n"]).astype({"n": int})

    @cached_property
    def _persistence(self) -> Persistence:
        return compare_years(returns_by_year(self.predictions, self.config.frequency))

    @computed("Persistence", "where the funds of each quartile of a year are in the next", percent=PERSISTENT)
    def persistence(self) -> pd.DataFrame:
        """The shares of the funds of each quartile of a calendar year by quartile of the next, and closed.

        Quartile 1 has the highest returns; `funds` is their number over all years. The funds are those that
        the study could choose from in all holding intervals of the year; those that it could not in all of
        the next count as closed.
        """
        found = self._persistence
        return found.transitions.assign(funds=found.counts.sum(axis=1))

    @computed("Persistence by year", "rank correlations from year to year", percent=PERSISTENT)
    def persistence_by_year(self) -> pd.DataFrame:
        """The rank correlation of returns with those of the year before, and shares of funds, by year."""
        return self._persistence.years

    @computed("Persistence of tenths", "what the tenths of a year earned in the next", percent=PERSISTENT)
    def persistence_by_decile(self) -> pd.DataFrame:
        """The return of each tenth in the next year less that of the mean fund, and how many closed."""
        return self._persistence.deciles

    def style(self, indices: pd.DataFrame, **options: Any) -> pd.DataFrame:
        """Return the style of each portfolio and of the index: the mix of other indices that moves like it.

        Parameters
        ----------
        indices : DataFrame
            Levels of the indices, day × index.
        **options
            Those of `style_regression`, such as ``window``.

        Returns
        -------
        DataFrame
            By (forecaster, until, index): weight, low, high.
        """
        styles = {name: style_regression(self.equity[name], indices, **options) for name in self.equity}
        tables = {name: style.weights for name, style in styles.items()}
        return pd.concat(tables, names=["forecaster"])

    equity: pd.DataFrame = stored(
        "Equity",
        "value of each portfolio and of the index, starting at 1",
        **_BY_DAY,
        columns=("index",),
        embedded=True,
    )

    benchmarks: pd.DataFrame = stored(
        "Benchmarks",
        "value of the mix of indices that each portfolio is compared with",
        key="date",
        per="portfolio",
        **_LATER,
        default=no_curves,
    )

    def benchmark(self, name: str) -> pd.Series[float]:
        """Return the levels that a portfolio is compared with: of the index, or of its own mix of indices.

        Parameters
        ----------
        name : str
            A forecaster.
        """
        return self.equity["index"] if self.benchmarks.empty or name == "index" else self.benchmarks[name]

    @returned("Annual returns", "returns of calendar years", percent=None, saved=True)
    def annual_returns(self) -> pd.DataFrame:
        """Return the returns of calendar years, as in Figure 2.

        Returns
        -------
        DataFrame
            Year × forecaster and `index`. The first and the last year may be incomplete.
        """
        table = pd.DataFrame({name: performance.annual_returns(self.equity[name]) for name in self.equity})
        return table.rename_axis(index="year", columns="forecaster")

    @computed("Monthly returns", "returns of calendar months", percent=None)
    def monthly_returns(self) -> pd.DataFrame:
        """The returns of calendar months, month (its first day) × forecaster and `index`."""
        return performance.monthly_returns(self.equity)

    @computed("Against index", "each portfolio against the index")
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
                curve, market = equity[name], self.benchmark(str(name)).reindex(equity.index)
                compared = {} if name == "index" else performance.compare(curve, market, self._rate)
                own = {"sortino": performance.sortino(curve, self._rate), "cvar": performance.cvar(curve)}
                rows[period, str(name)] = {**compared, **own}
        columns = [*("alpha", "beta", "tracking_error", "information_ratio"), *("up_capture", "down_capture")]
        return _by_period(rows, [*columns, "sortino", "cvar"])

    random_portfolios: pd.DataFrame = stored(
        "Random portfolios",
        "portfolios drawn at random under the same rules",
        columns=("annual_return", "volatility", "sharpe", "max_drawdown"),
        gaps=True,
        embedded=True,
        default=pd.DataFrame,
    )

    @computed("Random rank", "share of the random portfolios that each portfolio beats", percent=None)
    def random_rank(self) -> pd.DataFrame:
        """The share of the random portfolios that each forecaster's portfolio beats, by forecaster.

        Columns: annual_return, sharpe. Empty without random portfolios. This is not a p-value: the funds that
        a forecaster picks resemble each other; random ones do not. Where styles explained 25 to 75 % of the
        differences between funds, 17 to 31 % of the portfolios without skill beat 95 % of the random ones
        (400 simulations of 36 quarters each).
        """
        if self.random_portfolios.empty:
            return pd.DataFrame()
        measured = pd.DataFrame(
            {
                name: {
                    "annual_return": performance.annual_return(curve),
                    "sharpe": performance.sharpe(curve, self._rate),
                }
                for name, curve in self._portfolios.items()
            }
        )
        return rank_among_random(measured.T.rename_axis("forecaster"), self.random_portfolios)

    @computed("Overfitting", "Sharpe ratios corrected for the number of trials")
    def overfitting(self) -> pd.DataFrame:
        """The Sharpe ratio of each portfolio in the light of the number of trials, by forecaster.

        Columns: sharpe (per year, whole study); deflated_sharpe (probability that the true Sharpe ratio is
        above zero after the number of trials); probabilistic_sharpe (the same for a single trial); trials
        (number of forecasters and tuned settings; in a sweep, those of all its studies).
        """
        spread = None if self.trials is None else self.trials.sharpe_spread
        return deflate_sharpe(self._portfolios, self.n_choices("both"), self._rate, spread)

    @cached_property
    def overfitting_probability(self) -> float:
        """The probability that the best forecaster on half of the days is not above the median on the others.

        In a study of a sweep, the best of all portfolios of the sweep. NaN with fewer than two forecasters or
        too few days.
        """
        if self.trials is not None:
            return self.trials.overfitting_probability
        return overfitting_probability(self._portfolios, risk_free=self._rate)

    @computed(
        "Drawdowns",
        "the worst drawdowns of each portfolio and of the index",
        file="worst_drawdowns",
        indexed=False,
    )
    def drawdowns(self) -> pd.DataFrame:
        """The worst drawdowns of each portfolio and of the index."""
        return list_drawdowns(self.equity)

    @computed(
        "Rolling drawdowns", "one-year rolling maximum drawdowns", percent=None, file="rolling_drawdown"
    )
    def rolling_drawdowns(self) -> pd.DataFrame:
        """The one-year rolling maximum drawdown, day × forecaster and `index`."""
        return roll_drawdowns(self.equity)

    @computed("Rolling Sharpe", "one-year rolling Sharpe ratios", decimals=_DECIMALS)
    def rolling_sharpe(self) -> pd.DataFrame:
        """The Sharpe ratio of the last year, day × forecaster and `index`; NaN in the first year."""
        return performance.roll_sharpe(self.equity, self._rate)

    @computed("Rolling beta", "one-year rolling betas", decimals=_DECIMALS)
    def rolling_beta(self) -> pd.DataFrame:
        """The beta to the index over the year up to each day, day × forecaster; NaN in the first year."""
        return performance.roll_beta(self.equity)

    @computed("Exposure", "weight of each fund type, by decision and forecaster", percent=None)
    def exposure(self) -> pd.DataFrame:
        """The weight of each type of funds at the decision, by (date, forecaster). Empty without types."""
        return pd.DataFrame() if self._types.empty else type_exposure(self.holdings, self._types)

    @computed("Costs", "turnover, cost and break-even cost of each portfolio")
    def costs(self) -> pd.DataFrame:
        """Turnover, cost and break-even cost of each forecaster's portfolio."""
        return measure_costs(self.equity, self.trades, self.cash)

    cash: pd.DataFrame = stored(
        "Cash", "share of each portfolio in cash, day × forecaster", **_BY_DAY, percent=None, embedded=True
    )

    holdings: pd.DataFrame = stored(
        "Holdings",
        "the funds held, with weight, forecast and realized return",
        columns=("date", "forecaster", "fund", "weight", "forecast", "known", "realized"),
        embedded=True,
    )
    trades: pd.DataFrame = stored("Trades", "one row per forecaster and rebalance", columns=_TRADES)
    fills: pd.DataFrame = stored(
        "Fills",
        "one row per order filled; the portfolio starts with the value 1",
        columns=("forecaster", "decided", "day", "fund", "side", "price", "units", "value", "fee"),
        sparse=True,
    )
    universe: pd.DataFrame = stored(
        "Universe",
        "the funds that could be chosen, by rebalance day",
        columns=("date", "funds", "coverage", "label"),
        embedded=True,
    )
    facts: pd.DataFrame = stored(
        "Funds",
        "what is known about each fund",
        key="fund",
        columns=("name", "type", "group", "company", "redemption_fees", "purchase_fee"),
        gaps=True,
        default=pd.DataFrame,
    )

    @computed("Findings", "what was found in the data", file="findings", saved=True, indexed=False)
    def findings_table(self) -> pd.DataFrame:
        """One row per finding, with the fields of `Finding`."""
        table = pd.DataFrame(self.findings, columns=[each.name for each in fields(Finding)])
        return table.assign(date=pd.to_datetime(table["date"], errors="coerce"))

    neighbors: pd.DataFrame = stored(
        "Neighbors",
        "the neighbors behind each holding",
        columns=("date", "forecaster", "fund", "neighbor", "distance", "earned"),
        sparse=True,
    )
    reasons: pd.DataFrame = stored(
        "Reasons",
        "the factors behind each holding",
        columns=("date", "forecaster", "fund", "view", "factor", "share"),
        sparse=True,
    )
    predictions: pd.DataFrame = stored(
        "Predictions", "forecast and realized return of every fund", columns=_PREDICTIONS
    )

    @computed("Baseline ICs", "information coefficients of the baselines", embedded=False)
    def baseline_ic(self) -> pd.DataFrame:
        """The information coefficients of the baselines, rebalance day × baseline; empty without any."""
        if self.baseline_predictions.empty:
            return pd.DataFrame(index=self.ic.index)
        return ic_table(self.baseline_predictions, self.types)

    baseline_equity: pd.DataFrame = stored(
        "Baseline equity",
        "value of the portfolio of each baseline, starting at 1",
        key="date",
        per="baseline",
        **_LATER,
        embedded=True,
        default=no_curves,
    )
    baseline_trades: pd.DataFrame = stored(
        "Baseline trades", "one row per baseline and rebalance", columns=_TRADES, **_LATER, default=_no_trades
    )
    baseline_predictions: pd.DataFrame = stored(
        "Baseline predictions",
        "forecasts of the baselines",
        percent=RANKED,
        columns=_PREDICTIONS,
        **_LATER,
        default=_no_predictions,
    )

    risk_free: pd.DataFrame = stored(
        "Risk-free rate",
        "the risk-free rate per year, from each day on",
        percent={"rate"},
        key="date",
        columns=("rate",),
        **_LATER,
        default=_no_rates,
    )

    @cached_property
    def _rate(self) -> RiskFree:
        return rate_of_table(self.risk_free)

    @cached_property
    def _portfolios(self) -> pd.DataFrame:
        return self.equity[list(self.config.compared)]


def _by_period(rows: dict[tuple[str, str], dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Return a table indexed by (period, forecaster); it keeps its columns if there are no rows."""
    index = pd.MultiIndex.from_tuples(list(rows), names=["period", "forecaster"])
    return pd.DataFrame(list(rows.values()), index=index, columns=columns)


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose index counts as sorted in the order of its rows: pandas finds rows faster then."""
    values = [table.index.get_level_values(level) for level in range(table.index.nlevels)]
    levels = [pd.Index(value.unique()) for value in values]
    codes = [level.get_indexer(value) for level, value in zip(levels, values, strict=True)]
    return table.set_axis(pd.MultiIndex(levels, codes, names=table.index.names))
