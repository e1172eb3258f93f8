"""Sections of the summary: the three questions that a reader has first, and Table 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import pandas as pd

from ..evaluation.study_tables import StudyTables
from ..forecasters.registry import UNIVERSE, forecaster_label
from .headline import Headline
from .html_table import Column, make_table
from .markup import Section, make_foot, make_list, make_paragraph, make_section, make_tabs, make_text
from .trust import TrustFact, list_trust_facts
from .wording import (
    PERIOD_PHRASES,
    PERIOD_TITLES,
    count_things,
    format_number,
    format_percent,
    format_two,
    format_whole,
    name_curve,
    name_period,
)

_COMPARED: dict[str, tuple[str, Callable[[Any], str]]] = {
    "annual_return": ("Return p.a.", format_percent),
    "sharpe": ("Sharpe", format_two),
    "max_drawdown": ("Drawdown", format_percent),
}
TABLE1 = (
    Column(
        "ic_mean", "IC mean", format_number, hint="Mean rank correlation (Spearman) of forecast and return"
    ),
    Column("ic_std", "IC std", format_number, hint="Standard deviation of the IC over the rebalance days"),
    Column("icir", "ICIR", format_two, hint="IC mean divided by IC std, not annualised"),
    Column("t", "t", format_two, hint="t-statistic of the mean IC (Newey and West)"),
    Column("low", "95 % low", format_number, hint="Lower end of the bootstrap interval for the mean IC"),
    Column("high", "95 % high", format_number, hint="Upper end of the bootstrap interval for the mean IC"),
    Column("hit_rate", "Hit rate", format_percent, hint="Share of rebalance days with an IC above zero"),
    Column("n", "n", format_whole, hint="Number of ICs"),
    Column("annual_return", "Return p.a.", format_percent, hint="Geometric annual return, after cost"),
    Column("volatility", "Volatility", format_percent, hint="Annualised standard deviation of daily returns"),
    Column("sharpe", "Sharpe", format_two, hint="Annualised, with a risk-free rate of zero"),
    Column("max_drawdown", "Max drawdown", format_percent, hint="Largest loss from an earlier peak"),
    Column(
        "turnover", "Turnover", format_percent, hint="Mean share of the portfolio exchanged per rebalance"
    ),
)


def show_answers(study: StudyTables, headline: Headline) -> Section:
    """Return the answers to three questions: if it works, compared with what, and if it can be trusted."""
    works = make_paragraph(headline.sentence, "headline") + make_list(headline.notes, "notes")
    facts = list_trust_facts(study, headline)
    n_cautions = sum(fact.caution for fact in facts)
    caution = "No reason for caution was found."
    if n_cautions:
        caution = f"{count_things(n_cautions, 'reason')} for caution."
    rows = "".join(map(_fact_row, facts))
    cards = (
        _card("Does it work?", headline.verdict, works),
        _card("Compared with what?", *_compare(study, headline)),
        _card("Can I trust it?", caution, f'<dl class="trust">{rows}</dl>'),
    )
    return make_section("answers", "Three questions", f'<div class="cards">{"".join(cards)}</div>')


def _card(question: str, answer: str, body: str) -> str:
    return (
        f'<div class="card"><h4>{escape(question)}</h4>\n<p class="answer">{escape(answer)}</p>\n{body}</div>'
    )


def _fact_row(fact: TrustFact) -> str:
    mark = '<span class="caution">Caution: </span>' if fact.caution else ""
    note = f"<small>{make_text(fact.note)}</small>" if fact.note else ""
    label = f'<a href="#{fact.target}">{escape(fact.label)}</a>'
    return f"<div><dt>{label}</dt><dd>{mark}{escape(fact.text)}{note}</dd></div>"


def _compare(study: StudyTables, headline: Headline) -> tuple[str, str]:
    """Return by how much the portfolio of the best forecaster beats the index, and the numbers of both."""
    best, period = headline.best, headline.period
    rows = study.table().loc[period]
    if not best or pd.isna(rows["annual_return"][best]) or pd.isna(rows["annual_return"]["index"]):
        return "There is nothing to compare yet.", ""
    points = format_number(100.0 * abs(rows["annual_return"][best] - rows["annual_return"]["index"]), 1)
    side = "above" if rows["annual_return"][best] >= rows["annual_return"]["index"] else "below"
    shown = rows.loc[[best, "index"], list(_COMPARED)].reset_index()
    columns = (
        Column("forecaster", "Portfolio", partial(name_curve, study.index_name), kind="text"),
        *(Column(key, title, show) for key, (title, show) in _COMPARED.items()),
    )
    table = make_table(shown, columns, PERIOD_PHRASES[period], kind="compact")
    notes = [
        *_tell_universe(study, period),
        *_tell_random(study, best),
        *_tell_best_earner(rows["annual_return"], best),
    ]
    return f"{points} points per year {side} the index.", table + make_list(notes, "notes")


def _tell_universe(study: StudyTables, period: str) -> list[str]:
    """Return a note on what all funds earned, unless this is what the index stands for."""
    if UNIVERSE not in study.config.baselines or not study.index_digest:
        return []
    earned = format_percent(study.baselines["annual_return"][period, UNIVERSE])
    return [f"All funds of the universe, equally weighted, earned {earned} per year before fees."]


def _tell_random(study: StudyTables, best: str) -> list[str]:
    """Return a note on the rank among random portfolios, which is known for the whole study only."""
    n = len(study.random_portfolios)
    if not n or study.random_rank.loc[best].isna().any():
        return []
    by_return, by_sharpe = (round(n * study.random_rank[key][best]) for key in ("annual_return", "sharpe"))
    equal = "" if study.config.weights == "equal" else ", which have equal weights,"
    return [
        f"Over the whole study it beats {by_return:,} of {n:,} random portfolios{equal} by return and "
        f"{by_sharpe:,} by Sharpe ratio."
    ]


def _tell_best_earner(returns: pd.Series[float], best: str) -> list[str]:
    earner = str(returns.drop("index").idxmax())
    if earner == best:
        return []
    return [f"{forecaster_label(earner)} earned most: {format_percent(returns[earner])} per year."]


def show_table1(study: StudyTables, headline: Headline) -> Section:
    """Return Table 1, with one panel per period."""
    columns = (
        Column("forecaster", "Forecaster", partial(name_curve, study.index_name), kind="text"),
        *TABLE1,
    )
    panels = {
        PERIOD_TITLES[period]: make_table(
            study.table().loc[period].reset_index(),
            columns,
            f"Table 1, {name_period(period, study.decided(period))}",
        )
        for period in study.known_periods or ["both"]
    }
    lead = (
        "How well each forecaster's forecasts ranked the funds (IC), and what a portfolio of its "
        f"{study.config.top} best funds earned. Click a heading to sort."
    )
    tabs = make_tabs("table1-panel", panels, PERIOD_TITLES[headline.period])
    return make_section(
        "table1",
        "Table 1: forecasts and portfolios",
        make_paragraph(lead),
        tabs,
        make_foot(csv=["table1"]),
        short="Table 1",
    )
