"""Sections on trading: turnover, fees and cash; the picks of each rebalance day, and why."""

from __future__ import annotations

from functools import partial

from ..evaluation.market import Steps, parse_redemption
from ..evaluation.study_tables import StudyTables
from .markup import (
    Column,
    Plot,
    Section,
    make_chart,
    make_filled_table,
    make_foot,
    make_paragraph,
    make_section,
    make_table,
    name_column,
)
from .wording import PARTS, SHARES, TERMS, format_percent, join_words

_percent2 = partial(format_percent, digits=2)


_SIDES = {"buy": "the value bought", "sell": "the value sold"}
_RELATIVE = " Forecasts and what neighbors earned are excess returns over the mean of the fund's type."
_NEIGHBORS = {
    "train": "Neighbors are funds as they were on an earlier rebalance day; their return is that of the "
    "{term} that followed.",
    "current": "Neighbors are other funds on the same day; their return is that of the {term} before.",
}


def _show_break_even(value: float) -> str:
    return "none" if value <= 0.0 else format_percent(value, 2)


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
    rules = (
        f"{_tell_fees(study)} An order for a fund that has no value on its day waits for its next value, "
        "for at most ten rows."
    )
    note = (
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
    rules = {"": steps} if steps else {}
    rules |= {f" of type {kind}": own for kind, own in by_type.items()}
    if rules:
        told = [f"a sale of a fund{kind} costs {_tell_steps(own)}" for kind, own in rules.items()]
        told += [] if steps else [f"any other sale costs {format_percent(cost, 2)}"]
        sales = join_words(told)
        text = f"A purchase costs {format_percent(cost, 2)} of its value; {sales}. The oldest lots go first."
    else:
        text = f"A trade costs {format_percent(cost, 2)} of its value per side."
    text += " Fees that the fund facts name take their place." if study.facts.notna().any(axis=None) else ""
    sums = study.fills.groupby("side")[["fee", "value"]].sum()
    if not sums["fee"].sum() > 0.0:
        return f"{text} No fees were paid."
    paid = sums["fee"] / sums["value"]
    means = [f"{format_percent(paid[side], 2)} of {word}" for side, word in _SIDES.items() if side in paid]
    return f"{text} The fees paid were {join_words(means)}."


def _tell_steps(steps: Steps) -> str:
    rates = [f"{format_percent(rate, 2)} below {days} days" for days, rate in steps]
    return f"{join_words(rates)} and nothing afterward"


def _tell_forecasts(study: StudyTables, term: str) -> str:
    """Return what the forecasts are, and what the reasons for a pick mean."""
    relative = _RELATIVE if study.types else ""
    told = []
    if len(study.neighbors):
        averaged = "mean return" if set(study.units.values()) <= {"return"} else "mean result"
        told.append(
            f"With a metric, the forecast is the {averaged} of the nearest neighbors.{relative} "
            f"{_NEIGHBORS[study.config.neighbors].format(term=term)} {SHARES}"
        )
    if (study.reasons["view"] == "adds").any():
        told.append(PARTS)
    return " ".join(told) or "These forecasters give no reasons for single funds."


def show_picks(study: StudyTables) -> Section:
    """Return the frame in which the page shows the picks of a rebalance day, and why a fund was picked."""
    term = TERMS[study.config.frequency]
    lead = (
        "Choose a rebalance day and a forecaster to see what was held, its forecast, and its realized return "
        f"in the next {term}. Choose a fund to see why it was picked."
    )
    note = make_paragraph(_tell_forecasts(study, term), "note")
    places = f"""<div class="choices">
<label class="choice">Rebalance day <select id="pick-day"></select></label>
<label class="choice">Forecaster <select id="pick-forecaster"></select></label>
</div>
<div class="picks">
<div>
<div class="scroll" role="region" tabindex="0" aria-label="Picks">
<table><caption><span id="pick-caption">Picks</span></caption>
<thead><tr><th scope="col">Fund</th><th scope="col" class="number">Rank</th>
<th scope="col" class="number">Weight</th><th scope="col" class="number">Forecast</th>
<th scope="col" class="number">Realized</th>
<th scope="col" class="number" title="Rank of the realized return among all funds">Outcome</th></tr></thead>
<tbody id="pick-rows"></tbody></table></div>
{note}
</div>
<div id="pick-reason" class="reason" aria-live="polite"></div>
</div>"""
    return make_section("picks", "Picks, and why", make_paragraph(lead), places, make_foot(csv=["holdings"]))
