"""The orders that lead from what is held to the picks, as a section of the page and in words."""

from __future__ import annotations

from ..evaluation.orders import Orders
from ..language import say
from .markup import Column, Section, make_list, make_paragraph, make_section, make_table
from .wording import MISSING, format_number, format_percent, format_two, format_whole


def tell_orders(orders: Orders) -> dict[str, str]:
    """Return what the orders do, and what is known about doing nothing, in words.

    Parameters
    ----------
    orders : Orders
        The orders of a selection.
    """
    held = orders.table[orders.table["weight_before"] > 0.0]
    ranks = ", ".join(f"{row.fund} {format_whole(row.rank)}" for row in held.itertuples()) or MISSING
    return {
        "Money": f"{format_two(orders.total)}, of which {format_two(orders.cash_before)} in cash",
        "Cash left": format_two(orders.cash_left),
        "Fees": format_two(orders.fees),
        "Turnover": format_percent(orders.turnover),
        "Doing nothing": (
            f"saves {format_two(orders.fees)} in fees, and leaves {format_percent(orders.overlap)} of the "
            f"money where the orders would have it. Ranks of what is held, of {orders.n_ranked:,} funds with "
            f"a forecast: {ranks}. What the other funds will earn is a forecast, and not counted."
        ),
    }


def show_orders(orders: Orders) -> Section:
    """Return the section of the orders.

    Parameters
    ----------
    orders : Orders
        The orders of a selection.
    """
    table = orders.table.assign(day=orders.table["day"].dt.strftime("%Y-%m-%d").fillna(""))
    ranked = say("Rank of the forecast among {n:,} funds", n=orders.n_ranked)
    columns = (
        Column("fund", "Fund", kind="text", under=("why",)),
        Column("action", "Order", kind="text"),
        Column("units", "Units", lambda units: format_number(units, 4) if units else ""),
        Column("value", "Value", lambda value: format_two(value) if value else ""),
        Column("fee", "Fee", lambda fee: format_two(fee) if fee else ""),
        Column("price", "Price", lambda price: format_number(price, 4), under=("day",)),
        Column("weight_before", "Weight held", format_percent),
        Column("weight_after", "Weight after", format_percent),
        Column(
            "rank",
            "Rank",
            format_whole,
            hint=ranked,
        ),
    )
    lead = (
        "At the last published values; lots are sold first in, first out. The fees are those of the age that "
        "lots have on the day of the decision."
    )
    told = [f"{what}: {text}" for what, text in tell_orders(orders).items()]
    return make_section(
        "orders",
        "What to buy and sell",
        make_paragraph(lead),
        make_list([*told, *orders.notes], "study-notes"),
        make_table(table, columns, "Orders"),
    )
