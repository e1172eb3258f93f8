"""The orders that lead from what is held to the picks, as a section of the page and in words."""

from __future__ import annotations

from collections.abc import Mapping

from ..evaluation.orders import Orders
from ..language import phrase, reword, say
from .markup import Column, Section, make_list, make_paragraph, make_section, make_table
from .wording import format_number, format_percent, format_two, format_whole, join_listed


def tell_orders(orders: Orders) -> dict[str, str]:
    """Return what the orders do, and what is known about doing nothing, in words.

    Parameters
    ----------
    orders : Orders
        The orders of a selection.
    """
    held = orders.table[orders.table["weight_before"] > 0.0]
    told = {
        say("Money"): say(
            "{money}, of which {cash} in cash",
            money=format_two(orders.total),
            cash=format_two(orders.cash_before),
        ),
        say("Cash left"): format_two(orders.cash_left),
        say("Fees"): format_two(orders.fees),
        say("Turnover"): format_percent(orders.turnover),
    }
    if held.empty:
        return told
    return told | {
        say("Doing nothing"): say(
            "saves {fees} in fees, and leaves {share} of the money where the orders would have it. Ranks of "
            "what is held, of {n:,} funds with a forecast: {ranks}. What the other funds will earn is a "
            "forecast, and not counted.",
            fees=format_two(orders.fees),
            share=format_percent(orders.overlap),
            n=orders.n_ranked,
            ranks=join_listed(f"{row.fund} {format_whole(row.rank)}" for row in held.itertuples()),
        )
    }


def show_orders(orders: Orders, names: Mapping[str, str]) -> Section:
    """Return the section of the orders.

    Parameters
    ----------
    orders : Orders
        The orders of a selection.
    names : mapping of str to str
        Names of funds by code; some may be missing.
    """
    days = orders.table["day"].dt.strftime("%Y-%m-%d").fillna("")
    table = orders.table.assign(
        name=[names.get(fund, "") for fund in orders.table["fund"]],
        day=days,
        why=orders.table["why"].map(reword),
    )
    ranked = say("Rank of the forecast among {n:,} funds", n=orders.n_ranked)
    columns = (
        Column("fund", "Fund", kind="text", under=("name", "why")),
        Column("action", "Order", reword, kind="text"),
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
    lead = phrase(
        "At the last published values; lots are sold first in, first out. The fees are those of the age that "
        "lots have on the day of the decision."
    )
    told = [say("{what}: {text}", what=what, text=text) for what, text in tell_orders(orders).items()]
    told += [reword(note) for note in orders.notes]
    return make_section(
        "orders",
        "What to buy and sell",
        make_paragraph(lead),
        make_list(told, "study-notes"),
        make_table(table, columns, "Orders"),
    )
