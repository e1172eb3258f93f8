"""`watch`: what has changed for the funds held since a day, and whether something crossed a limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..calendar import keep_trading_days, rebalance_days
from ..config import DRAWDOWN, RANK_DROP, StudyConfig
from ..decisions.observations import prepare_panel
from ..decisions.walk_forward import walk_forward
from ..evaluation.ledger import rows_waited
from ..evaluation.market import make_fee_rules
from ..evaluation.orders import Position, tell_unknown, value_holdings
from ..evaluation.study_tables import StudyTables
from ..evaluation.trailing import trailing_returns, underwater
from ..panel import Finding, Panel
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.holdings_file import Holdings, take_holdings
from ..sources.reading.nav_file import read_nav
from ..sources.reading.quality import inspect_quality
from .continued_run import Plan, check_past, plan_of_run
from .select_funds import observe_now

_FINDING_COLUMNS = ("fund", "kind", "date", "count", "message")


@dataclass(frozen=True, eq=False)
class WatchList:
    """What has changed for the funds held since a day.

    Attributes
    ----------
    since, day : Timestamp
        The rows compared: the last one up to the day asked for, and the last row.
    ranked_by : str
        What ranks the funds: the forecaster of the run, or "return over a year".
    table : DataFrame
        One row per fund held that is in the table: fund, name, rank_then of n_then funds, rank_now of n_now
        (1 is best; NaN without a rank), earned since, drawdown_then and drawdown below the highest value so
        far, sale_fee (a share, of all lots sold today; NaN if no fees are known), last_day (of its last
        value), crossed (the limits that it crossed, in words; "" for none).
    findings : DataFrame
        What is new in the data of the funds held, and can change a result: fund, kind, date, count, message.
    notes : tuple of str
        What the reader should know.

    See Also
    --------
    watch : Make it.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodual.funds import synthetic_universe, watch
    >>> panel = synthetic_universe(20, "2014-01-02", "2016-12-30").panel
    >>> seen = watch(panel, pd.DataFrame({"code": ["M00001"], "units": [100]}), "2016-06-30")
    >>> seen.table["fund"].tolist(), seen.ranked_by
    (['M00001'], 'return over a year')
    """

    since: pd.Timestamp
    day: pd.Timestamp
    ranked_by: str
    table: pd.DataFrame
    findings: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...]

    @property
    def crossed(self) -> bool:
        """Whether a fund crossed a limit."""
        return bool((self.table["crossed"] != "").any())


def watch(
    panel: Panel | pd.DataFrame | str | Path,
    holdings: Holdings | pd.DataFrame | str | Path,
    since: Any,
    *,
    run: StudyTables | str | Path | None = None,
    facts: FundFacts | pd.DataFrame | str | Path | None = None,
    rank_drop: float = RANK_DROP,
    drawdown: float = DRAWDOWN,
) -> WatchList:
    """List what has changed for the funds held since a day.

    A fund crosses a limit if it has lost more than `rank_drop` of all ranks, or its rank; if it has fallen
    further than `drawdown` below its high, but had not on that day; if it has had no value for more than ten
    rows, but had one then; or if there is a new finding in its data that can change a result.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    holdings : Holdings, DataFrame or path
        What is held, in any form that `read_holdings` reads.
    since : date
        The day to compare with.
    run : Study or path, optional
        A study, or the folder of one, whose forecaster ranks the funds, with what was known on each of the
        two days. By default, funds are ranked by their return over a year, among funds of the same type where
        types are known.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads; by default those of the run.
    rank_drop : float
        Share of all ranks that a fund may lose, from 0 to 1.
    drawdown : float
        How far a fund may be below its high, from 0 to 1.

    Returns
    -------
    WatchList

    See Also
    --------
    select : Choose the funds to hold next.
    fund_sheet : All that is known of one fund.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodual.funds import synthetic_universe, watch
    >>> panel = synthetic_universe(20, "2014-01-02", "2016-12-30").panel
    >>> mine = pd.DataFrame({"code": ["M00001", "B00012"], "value": [5000, 5000]})
    >>> watch(panel, mine, "2016-09-30", drawdown=0.05).table["crossed"].tolist()
    ['', '']
    """
    for name, limit in (("rank_drop", rank_drop), ("drawdown", drawdown)):
        if not 0.0 <= limit <= 1.0:
            raise DataError(f"`{name}` must be from 0 to 1 (0.2 means 20 %), got {limit}.")
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    mine, known = take_holdings(holdings), take_facts(facts)
    plan = None if run is None else plan_of_run(run, None, {}, known)
    known = known if plan is None else plan.facts
    nav = keep_trading_days(panel).nav
    then, now = _row_since(nav, since), pd.Timestamp(nav.index[-1])
    config = StudyConfig() if plan is None else plan.config
    position = value_holdings(mine, nav, make_fee_rules(config, known), 0)
    ranked, notes = _ranks(panel, nav, plan, known, (then, now))
    found = _new_findings(panel, then, position)
    table = _compare(nav, then, position, ranked)
    reasons = [_crossed(row, found, rank_drop, drawdown) for row in table.itertuples()]
    names = [known.names.get(fund, "") for fund in table["fund"]]
    table.insert(1, "name", names)
    return WatchList(
        since=then,
        day=now,
        ranked_by="return over a year" if plan is None else next(iter(plan.forecasters)),
        table=table.drop(columns=["silent_then", "silent"]).assign(crossed=reasons),
        findings=found,
        notes=(*tell_unknown(position), *notes),
    )


def _row_since(nav: pd.DataFrame, since: Any) -> pd.Timestamp:
    """Return the last row up to a day, which must not be the last one."""
    try:
        day = pd.Timestamp(since).tz_localize(None)
    except (ValueError, TypeError):
        raise DataError(f"`since` must be a date such as 2016-12-30, got {since!r}.") from None
    first, last = nav.index[0], nav.index[-1]
    if pd.isna(day) or not first <= day < last:
        raise DataError(
            f"`since` must be on or after the first row, {first.date()}, and before the last, "
            f"{last.date()}, got {since}."
        )
    return pd.Timestamp(nav.index[nav.index <= day][-1])


def _ranks(
    panel: Panel,
    nav: pd.DataFrame,
    plan: Plan | None,
    facts: FundFacts,
    days: tuple[pd.Timestamp, pd.Timestamp],
) -> tuple[list[pd.DataFrame], list[str]]:
    """Return rank and number of funds on two days, by fund, and notes on what was ranked."""
    if plan is None:
        types = pd.Series({fund: facts.types.get(fund, "") for fund in nav.columns})
        return [_rank_within(trailing_returns(nav, day, [1])[1].dropna(), types) for day in days], []
    ranked, notes = [], []
    for day in days:
        ranks, missing = _forecast_ranks(panel, plan, day)
        ranked.append(pd.DataFrame({"rank": ranks, "n": len(ranks)}, dtype=float))
        notes += [f"No ranks on {day.date()}: {missing}"] if missing else []
    return ranked, notes


def _rank_within(values: pd.Series[float], types: pd.Series[str]) -> pd.DataFrame:
    groups = values.groupby(types.reindex(values.index))
    ranks = groups.rank(ascending=False, method="min")
    return pd.DataFrame({"rank": ranks, "n": groups.transform("size")}, dtype=float)


def _forecast_ranks(panel: Panel, plan: Plan, day: pd.Timestamp) -> tuple[pd.Series[int], str]:
    """Return the ranks that the forecaster of a run gives on a day, by fund; or none, and why."""
    try:
        until = prepare_panel(panel.until(day), plan.config, plan.facts)
        days = pd.DatetimeIndex(until.nav.index)
        now, past = observe_now(until, plan, rebalance_days(days, plan.config.frequency))
    except DataError as error:  # the day is too early to decide
        return pd.Series(dtype=int), str(error)
    if plan.study is not None and day >= plan.study.equity.index[-1]:
        check_past(plan.study, past)
    return walk_forward(now, plan.forecasters, [len(now.days) - 1])[0].ranks, ""


def _new_findings(panel: Panel, then: pd.Timestamp, position: Position) -> pd.DataFrame:
    """Return what was found in the data of the funds held that had not been found then."""
    held = {*position.lots["fund"], *position.closed.index}
    before = {(each.fund, each.kind): each.count for each in inspect_quality(panel.nav.loc[:then])}
    rows = [
        {name: getattr(each, name) for name in _FINDING_COLUMNS}
        for each in panel.findings or inspect_quality(panel.nav)
        if each.fund in held and each.matters and each.count > _count_of(each, before)
    ]
    return pd.DataFrame(rows, columns=list(_FINDING_COLUMNS))


def _count_of(finding: Finding, before: dict[tuple[str, str], int]) -> int:
    return before.get((finding.fund, finding.kind), 0)


def _compare(
    nav: pd.DataFrame, then: pd.Timestamp, position: Position, ranked: list[pd.DataFrame]
) -> pd.DataFrame:
    """Return one row per fund held: ranks, returns and drawdowns then and now."""
    funds = pd.Index(sorted({*position.lots["fund"], *position.closed.index}), dtype=str)
    filled = nav[funds].ffill()
    below = underwater(filled)
    ranks = [each.reindex(funds) for each in ranked]
    lots = position.lots.assign(fee=position.lots["rate"] * position.lots["value"])
    sums = lots.groupby("fund")[["fee", "value"]].sum().reindex(funds)
    fee = sums["fee"] / sums["value"]
    return pd.DataFrame(
        {
            "fund": funds,
            "rank_then": ranks[0]["rank"].to_numpy(),
            "n_then": ranks[0]["n"].to_numpy(),
            "rank_now": ranks[1]["rank"].to_numpy(),
            "n_now": ranks[1]["n"].to_numpy(),
            "earned": (filled.iloc[-1] / filled.loc[then] - 1.0).to_numpy(),
            "drawdown_then": below.loc[then].to_numpy(),
            "drawdown": below.iloc[-1].to_numpy(),
            "sale_fee": (fee if position.lots["rate"].any() else fee * np.nan).to_numpy(),
            "last_day": position.prices["day"].reindex(funds).to_numpy(),
            "silent_then": _silent(nav[funds].loc[:then]),
            "silent": _silent(nav[funds]),
        }
    )


def _silent(nav: pd.DataFrame) -> Any:
    """Return which funds have had no value for so many rows that they count as closed."""
    return nav.iloc[-1 - rows_waited(nav.index) :].isna().all().to_numpy()


def _crossed(row: Any, found: pd.DataFrame, rank_drop: float, drawdown: float) -> str:
    """Return the limits that a fund crossed, in words."""
    silent = bool(row.silent and not row.silent_then)
    fall = row.rank_now / row.n_now - row.rank_then / row.n_then
    lost = np.isfinite(row.rank_then) and not np.isfinite(row.rank_now) and not row.silent
    told = (
        (silent, f"no value since {row.last_day:%Y-%m-%d}"),
        (fall > rank_drop, f"lost {100.0 * fall:.0f} % of all ranks"),
        (lost, "has no rank any more"),
        (row.drawdown < -drawdown <= row.drawdown_then, f"{-100.0 * row.drawdown:.1f} % below its high"),
        (row.fund in set(found["fund"]), "new findings in its data"),
    )
    return "; ".join(text for is_so, text in told if is_so)
