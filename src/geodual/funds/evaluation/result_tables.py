"""Decisions and books as tables: predictions, ICs, holdings, reasons, exposure, costs, drawdowns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..config import StudyConfig
from ..decisions.decision import Decision
from ..decisions.observations import Observations
from ..decisions.picking import Picks
from ..forecasters.forecast import NO_LABEL
from ..forecasters.peers import rank_predictions
from .performance import annual_return, rolling_drawdown, worst_drawdowns, years_between
from .statistics import spearman_ic
from .weights import make_caps, portfolio_weights

_REASONS = 5  # number of factors listed per pick and view
UNKNOWN = "unknown"  # stands for the type of funds without one
_DRAWDOWNS = 3  # listed per curve
_DIGITS = 6  # of rolling drawdowns: the report embeds them, and full precision would take twice the space


def predictions_table(decisions: Sequence[Decision], observations: Observations) -> pd.DataFrame:
    """Return one row per decision and fund: date, forecaster, fund, forecast, realized (NaN if not known)."""
    # What a decision at day t forecasts is the return over the holding interval that ends at day t + 1.
    realized = {day: observations.returns(t + 1) for t, day in enumerate(observations.days[:-1])}
    nothing = pd.Series(dtype=float)
    earned = [realized.get(each.day, nothing).reindex(each.funds).to_numpy(float) for each in decisions]
    return _by_fund(decisions, forecast=[each.forecast for each in decisions], realized=earned)


def _by_fund(
    decided: Sequence[Decision] | Sequence[Picks], times: Sequence[int] = (), **columns: Sequence[Any]
) -> pd.DataFrame:
    """Return one row per decision and fund: date, forecaster, fund, and more columns.

    One table per decision, joined afterwards, would take ten times as long.

    Parameters
    ----------
    decided : sequence of Decision or of Picks
        At least one.
    times : sequence of int
        Rows per fund of each; by default one.
    **columns
        Arrays of each.
    """
    of_each = [each.funds.to_numpy() for each in decided]
    funds = [np.repeat(own, n) for own, n in zip(of_each, times or [1] * len(of_each), strict=True)]
    sizes = [len(own) for own in funds]
    labels = {
        "date": pd.DatetimeIndex([each.day for each in decided]).repeat(sizes),
        "forecaster": pd.Index([each.forecaster for each in decided], dtype=str).repeat(sizes),
        "fund": pd.Index(np.concatenate(funds), dtype=str),
    }
    return pd.DataFrame(labels | {name: np.concatenate(parts) for name, parts in columns.items()})


def ic_table(predictions: pd.DataFrame, types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the information coefficients, the rank correlations of forecast and realized returns.

    The table is rebalance day × forecaster, with the forecasters in the order of the predictions.

    Parameters
    ----------
    predictions : DataFrame
        One row per decision and fund.
    types : mapping of str to str, optional
        From `types_compared`. Forecasts and returns are then ranked within peer groups, and these ranks are
        correlated: about the mean of the coefficients of the groups, weighted by their numbers of funds.
    """
    ranked = rank_predictions(predictions, types or {}, "forecast", "realized")
    groups = ranked.groupby(["date", "forecaster"], sort=False)
    values = {key: spearman_ic(group["forecast"], group["realized"]) for key, group in groups}
    table = pd.Series(values).unstack()
    table.index.name, table.columns.name = "date", "forecaster"
    return table[list(dict.fromkeys(predictions["forecaster"]))]


def holdings_table(
    picked: Sequence[Picks], predictions: pd.DataFrame, observations: Observations, config: StudyConfig
) -> pd.DataFrame:
    """Return one row per holding: date, forecaster, fund, weight, forecast, known (factors), realized."""
    nav, caps = observations.panel.nav, make_caps(config, observations.facts)
    weights = [
        portfolio_weights(
            config.weights, pd.Series(picks.forecast, picks.funds), nav.loc[: picks.day, picks.funds], caps
        )
        for picks in picked
    ]
    forecasts, known = ([getattr(picks, name) for picks in picked] for name in ("forecast", "known"))
    holdings = _by_fund(picked, weight=weights, forecast=forecasts, known=known)
    key = ["date", "forecaster", "fund"]
    return holdings.merge(predictions[[*key, "realized"]], on=key, how="left", validate="one_to_one")


def neighbors_table(picked: Sequence[Picks]) -> pd.DataFrame:
    """Return one row per pick and neighbor: date, forecaster, fund, neighbor, distance, earned."""
    return _by_fund(
        picked,
        [picks.neighbors.shape[1] for picks in picked],
        neighbor=[picks.neighbors.ravel() for picks in picked],
        distance=[picks.distances.ravel() for picks in picked],
        earned=[picks.returns.ravel() for picks in picked],
    )


def reasons_table(picked: Sequence[Picks], factor_names: Sequence[str]) -> pd.DataFrame:
    """Return the factors that matter most for each pick: date, forecaster, fund, view, factor, share.

    There are three views. "near" lists the factors in which the neighbors differ much less from the pick
    than all funds do. "apart" lists the factors that set the pick apart from the center of the universe.
    "adds", for forecasts that are sums, lists the factors, or the members of an ensemble, that add most to
    the forecast. Within a view the largest shares come first. A metric that is not linear has no shares and
    gets no rows.
    """
    names, rows = np.array(factor_names), []
    for picks in picked:
        for i, fund in enumerate(picks.funds):
            for view, shares in (("near", picks.near[i]), ("apart", picks.apart[i])):
                if np.isfinite(shares).all():
                    order = np.argsort(-shares, kind="stable")[:_REASONS]
                    rows += [(picks.day, picks.forecaster, fund, view, names[j], shares[j]) for j in order]
            if picks.parts.size:
                pairs = zip(picks.part_names[i], picks.parts[i], strict=True)
                rows += [(picks.day, picks.forecaster, fund, "adds", name, share) for name, share in pairs]
    return pd.DataFrame(rows, columns=["date", "forecaster", "fund", "view", "factor", "share"])


def universe_table(decisions: Sequence[Decision], observations: Observations) -> pd.DataFrame:
    """Return the input of each decision: date, number of funds, share of factors known, label used."""
    sections = dict(zip(observations.days, observations.sections, strict=True))
    rows: dict[pd.Timestamp, tuple[int, float, str]] = {}
    for decision in decisions:  # forecasters that learn no classes have no label
        if decision.day not in rows or decision.label != NO_LABEL:
            coverage = sections[decision.day].coverage
            rows[decision.day] = (len(decision.funds), coverage, decision.label)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["funds", "coverage", "label"])
    return table.rename_axis("date").reset_index()


def type_exposure(holdings: pd.DataFrame, types: pd.Series[str]) -> pd.DataFrame:
    """Return the weight of each type of funds in each portfolio at its decision.

    Parameters
    ----------
    holdings : DataFrame
        One row per holding: date, forecaster, fund, weight.
    types : Series
        Type by fund.

    Returns
    -------
    DataFrame
        Indexed by (date, forecaster), in the order of the holdings. Columns: the types held, by name, then
        "unknown" if funds without a type are held.
    """
    held = holdings["fund"].map(types).fillna(UNKNOWN).rename("type")
    weights = holdings["weight"].groupby([holdings["date"], holdings["forecaster"], held], sort=False).sum()
    table = weights.unstack("type").fillna(0.0)
    return table[sorted(table.columns, key=lambda name: (name == UNKNOWN, name))]


def measure_costs(equity: pd.DataFrame, trades: pd.DataFrame, cash: pd.DataFrame) -> pd.DataFrame:
    """Return turnover, cost and break-even cost of each forecaster's portfolio.

    A rebalance trades the share V = Σ|Δw| of the portfolio's value, over the funds. To first
    order, a cost of c per traded value multiplies the final value by exp(−c Σ V). The break-even cost, at
    which the portfolio earns as much as the index, is therefore c* = ln(G/I)/Σ V, where G is the final value
    of the portfolio before cost and I that of the index.

    Parameters
    ----------
    equity : DataFrame
        Day × forecaster and `index`, starting at 1.
    trades : DataFrame
        One row per forecaster and rebalance: forecaster, executed, turnover, traded, cost, unfilled.
    cash : DataFrame
        Day × forecaster: share of the portfolio in cash.

    Returns
    -------
    DataFrame
        By forecaster: `turnover` and `traded` (V) per year; `cost` paid per year, as a share of the
        portfolio's value; the mean share in `cash` and the mean weight `unfilled` per rebalance; annual
        return `gross` (before cost) and `net`; `excess`, net minus the index; `break_even`, negative if the
        portfolio trails the index even before cost.
    """
    years = years_between(equity.index) or np.nan  # a single day has no measure per year
    rows = {}
    for name in equity.columns.drop("index"):
        # A trade on the last day is left out: its cost would show on the day after.
        own = trades[(trades["forecaster"] == name) & (trades["executed"] < equity.index[-1])]
        kept = (1.0 - own.set_index("executed")["cost"]).reindex(equity.index, fill_value=1.0)
        # Equity is taken before the trades of a day, so a cost shows from the next day on.
        gross = equity[name] / kept.cumprod().shift(1, fill_value=1.0)
        traded = float(own["traded"].sum()) or np.nan
        net = annual_return(equity[name])
        rows[name] = {
            "turnover": own["turnover"].sum() / years,
            "traded": own["traded"].sum() / years,
            "cost": own["cost"].sum() / years,
            "cash": cash[name].mean(),
            "unfilled": own["unfilled"].mean(),
            "gross": annual_return(gross),
            "net": net,
            "excess": net - annual_return(equity["index"]),
            "break_even": np.log(gross.iloc[-1] / equity["index"].iloc[-1]) / traded,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("forecaster")


def mean_turnover(trades: pd.DataFrame, first: pd.Timestamp) -> float:
    """Return the mean turnover per rebalance, without the first purchase, decided on the day `first`."""
    return float(trades.loc[trades["decided"] > first, "turnover"].mean())


def list_drawdowns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return the worst drawdowns of each curve, with their length in days from peak to recovery."""
    tables = [worst_drawdowns(equity[name], _DRAWDOWNS).assign(forecaster=str(name)) for name in equity]
    table = pd.concat(tables, ignore_index=True)
    days = (table["recovery"] - table["peak"]).dt.days.astype("Int64")
    return table.assign(days=days)[["forecaster", "depth", "peak", "trough", "recovery", "days"]]


def roll_drawdowns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return one-year rolling maximum drawdowns, day × forecaster and `index`, rounded to six decimals."""
    table = pd.DataFrame({name: rolling_drawdown(equity[name]) for name in equity})
    return table.rename_axis(index="date", columns="forecaster").round(_DIGITS)
