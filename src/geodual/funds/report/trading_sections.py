"""Sections on trading: turnover, fees and cash; the picks of each rebalance day, and why."""

from __future__ import annotations

from functools import partial
from html import escape

from ..evaluation.market import Steps, parse_redemption
from ..evaluation.study_tables import StudyTables
from ..language import phrase, say, say_all
from .markup import (
    Column,
    Plot,
    Section,
    head_cell,
    make_chart,
    make_filled_table,
    make_foot,
    make_paragraph,
    make_section,
    make_table,
    name_column,
)
from .wording import PARTS, RELATIVE, SHARES, format_percent, join_words, name_term

_percent2 = partial(format_percent, digits=2)


_SIDES = {"buy": phrase("{share} of the value bought"), "sell": phrase("{share} of the value sold")}
_NEIGHBORS = {
    "train": phrase(
        "Neighbors are funds as they were on an earlier rebalance day; their return is that of the {term} "
        "that followed."
    ),
    "current": phrase(
        "Neighbors are other funds on the same day; their return is that of the {term} before."
    ),
}


def _show_break_even(value: float) -> str:
    return say("none") if value <= 0.0 else format_percent(value, 2)


_COSTS = (
    Column(
        "turnover",
        "Turnover p.a.",
        partial(format_percent, digits=0),
        hint="Share of the portfolio exchanged per year, ½ Σ|Δw|; the first purchase is 100 %",
    ),
    Column("cost", "Fees p.a.", _percent2, hint="Fees paid per year, as a share of the portfolio's value"),
    Column("cash", "In cash", _percent2, hint="Mean share of the portfolio in cash"),
    Column("unfilled", "Not bought", _percent2, hint="Mean weight per rebalance that could not be bought"),
    Column("gross", "Gross return p.a.", format_percent, hint="Before cost"),
    Column("net", "Net return p.a.", format_percent, hint="After cost"),
    Column("excess", "Net over index", format_percent, hint="Net return minus that of the index"),
    Column(
        "break_even",
        "Break-even cost",
        _show_break_even,
        hint="Cost per traded value at which the portfolio earns as much as the index",
    ),
)


def show_costs(study: StudyTables) -> Section:
    """Return turnover, fees, gross and net return, and the break-even cost of each portfolio."""
    columns = (
        name_column(study),
        *_COSTS,
    )
    rules = say_all(
        _tell_fees(study),
        say(
            "An order for a fund that has no value on its day waits for its next value, for at most ten rows."
        ),
    )
    note = phrase(
        "At the break-even cost a portfolio would earn as much as the index. To first order, this is the "
        "logarithm of its final value before cost over that of the index, divided by the total value traded. "
        "“None” means that it is behind the index even before cost."
    )
    table = make_table(study.costs.reset_index(), columns, "Turnover, fees and break-even cost, whole study")
    plot = Plot(
        "cash",
        "Line chart of the share of each portfolio in cash.",
        tall=False,
        title="Share in cash, after the trades of each day",
    )
    return make_section(
        "costs",
        "Turnover, fees and cash",
        make_paragraph(rules),
        table,
        make_paragraph(note, "note"),
        make_chart([plot]),
        make_foot(make_filled_table("cash", "Table of the share in cash", "percent"), csv=["costs", "cash"]),
    )


def _tell_fees(study: StudyTables) -> str:
    """Return what a trade costs by the settings, and what it cost on average."""
    cost = study.config.cost
    steps, by_type = parse_redemption(study.config.redemption_fees)
    told = [say("a sale of a fund costs {rates}", rates=_tell_steps(steps))] if steps else []
    for kind, own in by_type.items():
        told.append(say("a sale of a fund of type {name} costs {rates}", name=kind, rates=_tell_steps(own)))
    share = format_percent(cost, 2)
    if told:
        told += [] if steps else [say("any other sale costs {share}", share=share)]
        text = say(
            "A purchase costs {share} of its value; {sales}. The oldest lots go first.",
            share=share,
            sales=join_words(told),
        )
    else:
        text = say("A trade costs {share} of its value per side.", share=share)
    if study.facts.reindex(columns=["purchase_fee", "redemption_fees"]).notna().any(axis=None):
        text = say_all(text, say("Fees that the fund facts name take their place."))
    sums = study.fills.groupby("side")[["fee", "value"]].sum()
    if not sums["fee"].sum() > 0.0:
        return say_all(text, say("No fees were paid."))
    paid = sums["fee"] / sums["value"]
    means = [say(word, share=format_percent(paid[side], 2)) for side, word in _SIDES.items() if side in paid]
    return say_all(text, say("The fees paid were {shares}.", shares=join_words(means)))


def _tell_steps(steps: Steps) -> str:
    rates = [say("{share} below {n} days", share=format_percent(rate, 2), n=days) for days, rate in steps]
    return say("{rates} and nothing afterward", rates=join_words(rates))


def _tell_forecasts(study: StudyTables, term: str) -> str:
    """Return what the forecasts are, and what the reasons for a pick mean."""
    told = []
    if len(study.neighbors):
        lead = say("With a metric, the forecast is the mean result of the nearest neighbors.")
        if set(study.units.values()) <= {"return"}:
            lead = say("With a metric, the forecast is the mean return of the nearest neighbors.")
        neighbors = say(_NEIGHBORS[study.config.neighbors], term=term)
        told += [lead, say(RELATIVE) if study.types else "", neighbors, say(SHARES)]
    if (study.reasons["view"] == "adds").any():
        told.append(say(PARTS))
    return say_all(*told) or say("These forecasters give no reasons for single funds.")


_PICKED = (
    Column("rank", "Rank"),
    Column("weight", "Weight"),
    Column("forecast", "Forecast"),
    Column("realized", "Realized"),
    Column("outcome", "Outcome", hint="Rank of the realized return among all funds"),
)


def show_picks(study: StudyTables) -> Section:
    """Return the frame in which the page shows the picks of a rebalance day, and why a fund was picked."""
    term = name_term(study.config.frequency)
    lead = say(
        "Choose a rebalance day and a forecaster to see what was held, its forecast, and its realized return "
        "in the next {term}. Choose a fund to see why it was picked.",
        term=term,
    )
    note = make_paragraph(_tell_forecasts(study, term), "note")
    picks = escape(say("Picks"))
    heads = f'<th scope="col">{escape(say("Fund"))}</th>' + "".join(map(head_cell, _PICKED))
    places = f"""<div class="choices">
<label class="choice">{escape(say("Rebalance day"))} <select id="pick-day"></select></label>
<label class="choice">{escape(say("Forecaster"))} <select id="pick-forecaster"></select></label>
</div>
<div class="picks">
<div>
<div class="scroll" role="region" tabindex="0" aria-label="{picks}">
<table><caption><span id="pick-caption">{picks}</span></caption>
<thead><tr>{heads}</tr></thead>
<tbody id="pick-rows"></tbody></table></div>
{note}
</div>
<div id="pick-reason" class="reason" aria-live="polite"></div>
</div>"""
    return make_section("picks", "Picks, and why", make_paragraph(lead), places, make_foot(csv=["holdings"]))
