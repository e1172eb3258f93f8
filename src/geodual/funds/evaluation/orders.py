"""Orders that lead from what an investor holds to the funds picked: units, values and fees, lot by lot.

All is counted at the last published values. Money is rounded to the cent, and what rounding leaves stays in
cash. Lots of a fund are sold first in, first out; those without a day of purchase count as the oldest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from geodual.arrays import Array
from geodual.errors import DataError

from ..language import phrase
from ..sources.reading.holdings_file import Holdings
from .ledger import rows_waited
from .market import FeeRules

_HALF_CENT = 0.005  # by which rounding may raise the fee of a purchase
_LONG_AGO = pd.Timestamp(1900, 1, 1)  # the first day that the reader takes
_UNIT_DIGITS = 4  # of sales that leave a rest; the most that fund companies keep
COLUMNS = (
    *("fund", "action", "units", "value", "fee", "price", "day"),
    *("units_before", "value_before", "weight_before", "weight_after", "rank", "why"),
)
LOT_COLUMNS = (
    *("fund", "bought", "days_held", "units", "value", "locked", "rate", "sold_units", "sold_value", "fee"),
)


@dataclass(frozen=True, eq=False)
class Orders:
    """Orders that lead from what is held to the funds picked, at the last published values.

    Attributes
    ----------
    table : DataFrame
        One row per fund that is held or picked: fund; action ("sell", "buy", "keep", "closed" or "unknown");
        units, value and fee of the order, 0 without one; price and its day; units_before, value_before,
        weight_before and weight_after, as shares of all money including cash; rank of its forecast, 1 for
        the best, NaN without one; why.
    lots : DataFrame
        One row per lot of the funds with a price: fund, bought, days_held, units, value, locked (whether
        `min_holding` forbids a sale), rate (the fee of a sale today, as a share), sold_units, sold_value,
        fee.
    cash_before, cash_left : float
        Cash before and after all orders.
    total : float
        Value of all funds with a price, and cash, before the orders.
    fees : float
        Fees of all orders; what doing nothing saves.
    turnover : float
        Half the sum of absolute changes of weights, cash included.
    overlap : float
        Weight that stays where it is: what doing nothing and the orders have in common.
    n_ranked : int
        Number of funds with a forecast.
    notes : tuple of str
        Sentences that the reader of the orders should know.

    See Also
    --------
    select : Make them, with the argument `holdings`.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodual.funds import select, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2014-12-31").panel
    >>> mine = pd.DataFrame({"code": ["M00001"], "value": [10_000]})
    >>> orders = select(panel, metric="gmml", top=3, holdings=mine, cash=500.0).orders
    >>> orders.table["action"].tolist(), orders.total
    (['sell', 'buy', 'buy', 'buy'], 10500.0)
    """

    table: pd.DataFrame
    lots: pd.DataFrame = field(repr=False)
    cash_before: float
    cash_left: float
    total: float
    fees: float
    turnover: float
    overlap: float
    n_ranked: int
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Position:
    """What an investor holds, at the last published values.

    Attributes
    ----------
    lots : DataFrame
        The lots of the funds with a price, first in, first out: fund, bought, days_held, units, value,
        locked, rate.
    prices : DataFrame
        By fund of the table: price and its day; NaN before its first value.
    closed : DataFrame
        By fund held without a value for more than ten rows: units, value at the last one, day.
    unknown : dict of str to str
        Funds held that are not in the table, each with another code that it may be; "" if there is none.
    """

    lots: pd.DataFrame
    prices: pd.DataFrame
    closed: pd.DataFrame
    unknown: dict[str, str]

    def held_since(self) -> dict[str, pd.Timestamp]:
        """Return since when each fund is held, as in a study: the day of its oldest lot.

        Its younger lots may be locked all the same: orders do not sell them.
        """
        bought = self.lots["bought"].fillna(_LONG_AGO)
        oldest: pd.Series[pd.Timestamp] = bought.groupby(self.lots["fund"]).min()
        return {str(fund): day for fund, day in oldest.items()}


def value_holdings(holdings: Holdings, nav: pd.DataFrame, fees: FeeRules, min_holding: int) -> Position:
    """Return what an investor holds, at the last values of a table.

    Parameters
    ----------
    holdings : Holdings
        The lots.
    nav : DataFrame
        Day × fund, up to the day of the decision.
    fees : FeeRules
        What sales cost.
    min_holding : int
        Days for which a lot must be held.
    """
    today = nav.index[-1]
    lots = holdings.lots.rename(columns={"code": "fund"})
    late = lots[lots["bought"] > today]
    if len(late):
        raise DataError(
            f"{holdings.source}: a lot of {late['fund'].iloc[0]!r} was bought on "
            f"{late['bought'].iloc[0].date()}, after the day of the decision, {today.date()}. Correct "
            "the day, or leave out the lot."
        )
    prices = _last_prices(nav)
    unknown = [fund for fund in dict.fromkeys(lots["fund"]) if fund not in nav.columns]
    lots = lots[~lots["fund"].isin(unknown)]
    unpriced = lots[prices["price"].reindex(lots["fund"]).isna().to_numpy()]
    if len(unpriced):
        raise DataError(
            f"{holdings.source}: {unpriced['fund'].iloc[0]!r} has no value up to {today.date()}. "
            "Leave out the fund, or choose a later day."
        )
    price = prices["price"].reindex(lots["fund"]).to_numpy()
    lots = lots.assign(units=lots["units"].fillna(lots["value"] / price))
    lots = lots.assign(value=lots["units"] * price, days_held=(today - lots["bought"]).dt.days)
    lots = lots.sort_values(["fund", "bought"], kind="stable", na_position="first").reset_index(drop=True)
    is_closed = lots["fund"].isin(nav.columns[nav.iloc[-1 - rows_waited(nav.index) :].isna().all()])
    closed = lots[is_closed].groupby("fund")[["units", "value"]].sum()
    lots = lots[~is_closed].reset_index(drop=True)
    rates = [_sale_rate(fees, fund, days) for fund, days in zip(lots["fund"], lots["days_held"], strict=True)]
    lots = lots.assign(locked=lots["days_held"] < min_holding, rate=np.array(rates, dtype=float))
    return Position(
        lots[["fund", "bought", "days_held", "units", "value", "locked", "rate"]],
        prices,
        closed.join(prices["day"]),
        {fund: _other_code(fund, nav.columns) for fund in unknown},
    )


def _last_prices(nav: pd.DataFrame) -> pd.DataFrame:
    known = nav.notna().to_numpy()
    rows = len(nav) - 1 - known[::-1].argmax(axis=0)
    price = np.where(known.any(axis=0), nav.to_numpy(float)[rows, np.arange(nav.shape[1])], np.nan)
    return pd.DataFrame({"price": price, "day": nav.index[rows]}, index=nav.columns)


def _sale_rate(fees: FeeRules, fund: str, days: float) -> float:
    """Return the fee of a sale as a share; a lot without a day counts as older than all limits."""
    return fees.redemption_rate(fund, int(days) if days == days else np.iinfo(np.int32).max)


def _other_code(fund: str, codes: pd.Index[str]) -> str:
    """Return the code that a spreadsheet may have cut zeros from; "" if there is none."""
    return next((code for code in codes if code.lstrip("0") == fund and fund.isdecimal()), "")


def plan_orders(
    position: Position, weights: pd.Series[float], ranks: pd.Series[int], fees: FeeRules, cash: float
) -> Orders:
    """Return the orders that lead to target weights; sales and cash pay for purchases and all fees.

    Locked lots stay. Where they are worth more than the weight of their fund, the other funds get less, in
    proportion to their weights.

    Parameters
    ----------
    position : Position
        What is held.
    weights : Series
        Target weights by fund; what is missing to 1 stays in cash.
    ranks : Series of int
        Ranks of the forecasts by fund, 1 for the best.
    fees : FeeRules
        What trades cost.
    cash : float
        Money in addition to the funds.
    """
    if not float(position.lots["value"].sum()) + cash > 0.0:
        raise DataError(
            "None of the holdings has a value, and there is no cash. Give `cash` (--cash) to invest."
        )
    funds = pd.Index(sorted({*position.lots["fund"], *weights.index}))
    book = _Book(position, funds, weights.reindex(funds, fill_value=0.0).to_numpy(float), fees, cash)
    wanted = book.solve()
    lots, sales = book.sell(np.maximum(book.before - wanted, 0.0))
    earned = float((sales["sold_value"] - sales["fee"]).sum())
    bought, costs = book.buy(wanted, cash + earned)
    left = round(cash + earned - float((bought + costs).sum()), 2) + 0.0
    place: Array = np.asarray(ranks.reindex(funds), dtype=float)
    table = _table_of_orders(book, wanted, place, sales, bought, left).assign(
        fee=sales["fee"].to_numpy(float) + costs,
        day=position.prices["day"].reindex(funds).to_numpy(),
        rank=place,
    )
    change = (table["weight_after"] - table["weight_before"]).to_numpy()
    return Orders(
        table=_in_order(pd.concat([table[list(COLUMNS)], _untraded(position)], ignore_index=True)),
        lots=lots[list(LOT_COLUMNS)],
        cash_before=cash,
        cash_left=left,
        total=float(book.before.sum()) + cash,
        fees=round(float(table["fee"].sum()), 2),
        turnover=float(0.5 * (np.abs(change).sum() + abs(change.sum()))),
        overlap=float(np.minimum(table["weight_before"], table["weight_after"]).sum()),
        n_ranked=len(ranks),
        notes=tuple(_notes(position, table, fees)),
    )


def _table_of_orders(
    book: _Book, wanted: Array, ranks: Array, sales: pd.DataFrame, bought: Array, left: float
) -> pd.DataFrame:
    """Return one row per fund with a price: its order, and what is held before and after it."""
    sold = sales["sold_value"].to_numpy(float)
    after = np.where(sales["sold_units"] < book.units, book.before + bought - sold, bought)
    total = float(after.sum()) + left
    # Ranks behind the last place: such a fund is among the picks because it must stay.
    is_behind = ranks > np.count_nonzero(book.weights)
    parts = zip(book.weights, book.before, book.least, wanted, is_behind, strict=True)
    return pd.DataFrame(
        {
            "fund": book.funds,
            "action": np.select([sold > 0.0, bought > 0.0], ["sell", "buy"], "keep"),
            "units": np.where(sold > 0.0, sales["sold_units"], bought / book.price),
            "value": bought + sold,
            "price": book.price,
            "units_before": book.units,
            "value_before": book.before,
            "weight_before": book.before / (float(book.before.sum()) + book.cash),
            "weight_after": after / total if total else after,
            "why": [_reason(*each) for each in parts],
        }
    )


class _Book:
    """What is held and wanted of some funds, as arrays in their order."""

    def __init__(
        self, position: Position, funds: pd.Index[str], weights: Array, fees: FeeRules, cash: float
    ) -> None:
        lots = position.lots
        self.funds, self.weights, self.cash, self.lots = funds, weights, cash, lots
        self.price = position.prices["price"].reindex(funds).to_numpy(float)
        held = lots.groupby("fund")[["units", "value"]].sum().reindex(funds, fill_value=0.0)
        self.units, self.before = held["units"].to_numpy(float), held["value"].to_numpy(float)
        locked = lots[lots["locked"]].groupby("fund")["value"].sum()
        self.least = locked.reindex(funds, fill_value=0.0).to_numpy(float)
        self.purchase_rates: Array = np.array([fees.purchase_rate(fund) for fund in funds])

    def solve(self) -> Array:
        """Return what each fund is to be worth: max(weight × s, locked), with s as the money allows."""
        money = float(self.before.sum()) + self.cash
        idle = max(1.0 - float(self.weights.sum()), 0.0)

        def missing(scale: float) -> float:
            wanted = np.maximum(self.weights * scale, self.least)
            return float(wanted.sum()) + idle * scale + self._fees(wanted) - money

        scale = 0.0  # unless locked lots and the fees of all other sales leave nothing to invest
        # Fees are below 10 %, so `missing` rises with the scale. Without fees, rounding may keep it below 0.
        if missing(0.0) < 0.0:
            scale = money if missing(money) < 0.0 else brentq(missing, 0.0, money, xtol=1e-12, rtol=1e-15)
        return np.asarray(np.maximum(self.weights * scale, self.least))

    def _fees(self, wanted: Array) -> float:
        change = wanted - self.before
        _, sales = self._sell_oldest(np.maximum(-change, 0.0))
        return float(self.purchase_rates @ np.maximum(change, 0.0)) + float(sales @ self.lots["rate"])

    def _sell_oldest(self, values: Array) -> tuple[Array, Array]:
        """Return which share of each lot, and which value of it, a sale of these values takes."""
        own = self.funds.get_indexer(pd.Index(self.lots["fund"]))
        value = self.lots["value"].to_numpy(float)
        up_to = self.lots.groupby("fund")["value"].cumsum().to_numpy(float)
        taken = np.clip(values[own] - (up_to - value), 0.0, value)
        return taken / value, taken

    def buy(self, wanted: Array, money: float) -> tuple[Array, Array]:
        """Return what is bought of each fund, in whole cents, and what that costs."""
        missing = np.maximum(wanted - self.before, 0.0)
        needed = float(missing @ (1.0 + self.purchase_rates)) + _HALF_CENT * np.count_nonzero(
            missing * self.purchase_rates
        )
        # Sales bring a little less than planned: their units are rounded down.
        share = min(max(money, 0.0) / needed, 1.0) if needed else 0.0
        bought: Array = np.floor(np.round(missing * share * 100.0, 6)) / 100.0  # 99.9999999 is 100
        return bought, np.round(self.purchase_rates * bought, 2)

    def sell(self, values: Array) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the lots with what is sold of them, to the cent, and the sums by fund."""
        share, _ = self._sell_oldest(values)
        # A fund that is not wanted is sold to the last unit; otherwise units have few digits.
        units = self.lots["units"].to_numpy(float)
        digits = 10.0**_UNIT_DIGITS
        sold = np.where(share >= 1.0 - 1e-12, units, np.floor(units * share * digits) / digits)
        price = self.price[self.funds.get_indexer(pd.Index(self.lots["fund"]))]
        value = np.round(sold * price, 2)
        fee = np.round(value * self.lots["rate"].to_numpy(float), 2)
        lots = self.lots.assign(sold_units=sold, sold_value=value, fee=fee)
        sums = lots.groupby("fund")[["sold_units", "sold_value", "fee"]].sum()
        return lots, sums.reindex(self.funds, fill_value=0.0)


def _reason(weight: float, before: float, least: float, wanted: float, is_behind: bool) -> str:
    if weight and is_behind and least == before > 0.0:
        return phrase("kept by min_holding")
    if least > 0.0 and wanted <= least:
        return phrase("locked by min_holding") if weight else phrase("locked by min_holding; not picked")
    if not weight:
        return phrase("not picked")
    return phrase("picked") if not before else phrase("picked and held")


def _untraded(position: Position) -> pd.DataFrame:
    """Return the rows of funds that have no price any more, or never had one here."""
    closed = position.closed
    rows = [
        *(
            (
                *("closed", fund, row.units, row.value, row.day),
                phrase("no value since {date}", date=f"{row.day:%Y-%m-%d}"),
            )
            for fund, row in zip(closed.index, closed.itertuples(), strict=True)
        ),
        *(
            ("unknown", fund, np.nan, np.nan, pd.NaT, _tell_absent(code))
            for fund, code in position.unknown.items()
        ),
    ]
    names = ["action", "fund", "units_before", "value_before", "day", "why"]
    table = pd.DataFrame(rows, columns=names).reindex(columns=list(COLUMNS))
    orders = dict.fromkeys(("units", "value", "fee"), 0.0)
    numbers = ["price", "units_before", "value_before", "weight_before", "weight_after", "rank"]
    days = pd.to_datetime(table["day"])
    return table.assign(**orders, day=days).astype(dict.fromkeys(numbers, float))


def _tell_absent(code: str) -> str:
    return phrase("not in the table; {fund}?", fund=code) if code else phrase("not in the table")


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Return sales first, then purchases, what is kept, and what cannot be traded; each by rank."""
    place = {action: at for at, action in enumerate(("sell", "buy", "keep", "closed", "unknown"))}
    keys = table.assign(action=table["action"].map(place))
    order = keys.sort_values(["action", "rank", "fund"], kind="stable").index
    return table.loc[order].reset_index(drop=True)


def tell_unknown(position: Position) -> list[str]:
    """Return a note on the funds held that are not in the table, if there are any.

    Parameters
    ----------
    position : Position
        What is held.
    """
    if not position.unknown:
        return []
    named = [
        phrase("{fund} (did it lose zeros: {other}?)", fund=fund, other=code) if code else fund
        for fund, code in position.unknown.items()
    ]
    text = phrase("{list_funds} are not in the table and are left out of all orders, weights and limits.")
    if len(named) == 1:
        text = phrase("{list_funds} is not in the table and is left out of all orders, weights and limits.")
    return [phrase(text, list_funds=", ".join(named))]


def _notes(position: Position, table: pd.DataFrame, fees: FeeRules) -> list[str]:
    notes = tell_unknown(position)
    for fund, row in zip(position.closed.index, position.closed.itertuples(), strict=True):
        notes.append(
            phrase(
                "{fund} has had no value since {date} and counts as closed: its last value, {n:,.2f}, is in "
                "no order and no weight.",
                fund=fund,
                date=f"{row.day:%Y-%m-%d}",
                n=row.value,
            )
        )
    undated = position.lots[position.lots["bought"].isna()]
    if len(undated):
        rates = np.array([fees.redemption_rate(fund, 0) for fund in undated["fund"]])
        most = float((rates - undated["rate"].to_numpy(float)) @ undated["value"].to_numpy(float))
        notes.append(
            phrase(
                "Without a day of purchase, {n} of {n_lots} lots count as older than all limits and are sold "
                "first; had they been bought today, selling them whole would cost {n_more:,.2f} more.",
                n=len(undated),
                n_lots=len(position.lots),
                n_more=most,
            )
        )
    stuck = table[table["why"].str.startswith("locked")]["fund"].tolist()
    if stuck:
        notes.append(
            phrase("Locked lots of {list_funds} cannot be sold yet, and stay.", list_funds=", ".join(stuck))
        )
    return notes
