"""Sections of the summary: three questions that a reader has first, Table 1, and the baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation.study_tables import StudyTables
from ..forecasters.registry import UNIVERSE
from ..language import phrase, reword, say, say_all
from .headline import LEVEL, Headline
from .markup import (
    Column,
    Section,
    caption_of,
    make_details,
    make_foot,
    make_list,
    make_paragraph,
    make_period_tabs,
    make_section,
    make_table,
    make_text,
    name_column,
)
from .wording import (
    PERIOD_PHRASES,
    count_terms,
    count_things,
    format_number,
    format_p,
    format_percent,
    format_two,
    format_whole,
    join_words,
    name_curve,
    name_forecaster,
    name_term,
)

_FEW = 12  # with fewer values the reader is warned
_LIKELY = 0.95  # least probability of a true Sharpe ratio above zero
_EVEN = 0.5  # probability of overfitting from which it is as likely as not
_COMPARED: dict[str, tuple[str, Callable[[Any], str]]] = {
    "annual_return": (phrase("Return p.a."), format_percent),
    "sharpe": (phrase("Sharpe"), format_two),
    "max_drawdown": (phrase("Drawdown"), format_percent),
}
TABLE1 = (
    Column(
        "ic_mean", "IC mean", format_number, hint="Mean rank correlation (Spearman) of forecast and return"
    ),
    Column("ic_std", "IC std", format_number, hint="Standard deviation of the IC over the rebalance days"),
    Column("icir", "ICIR", format_two, hint="IC mean divided by IC std, not annualized"),
    Column("t", "t", format_two, hint="t-statistic of the mean IC (Newey and West)"),
    Column("low", "95 % low", format_number, hint="Lower end of the bootstrap interval for the mean IC"),
    Column("high", "95 % high", format_number, hint="Upper end of the bootstrap interval for the mean IC"),
    Column("hit_rate", "Hit rate", format_percent, hint="Share of rebalance days with an IC above zero"),
    Column("n", "n", format_whole, hint="Number of ICs"),
    Column("annual_return", "Return p.a.", format_percent, hint="Geometric annual return, after cost"),
    Column("volatility", "Volatility", format_percent, hint="Annualized standard deviation of daily returns"),
    Column("sharpe", "Sharpe", format_two, hint="Annualized, beyond the risk-free rate"),
    Column("max_drawdown", "Max drawdown", format_percent, hint="Largest loss from an earlier peak"),
    Column(
        "turnover", "Turnover", format_percent, hint="Mean share of the portfolio exchanged per rebalance"
    ),
)


@dataclass(frozen=True)
class TrustFact:
    """One thing to weigh.

    Attributes
    ----------
    label : str
        What it is about.
    text : str
        What was found, in a few words.
    caution : bool
        Whether it speaks for caution.
    target : str
        The section that says more.
    note : str
        A sentence that explains it, if it needs one.
    """

    label: str
    text: str
    caution: bool
    target: str
    note: str = ""


def list_trust_facts(study: StudyTables, headline: Headline) -> list[TrustFact]:
    """Return what speaks for and against trusting the result of a study.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    headline : Headline
        Its headline; the facts are about its forecaster and period.
    """
    facts = [*_weigh_evidence(study, headline), *_weigh_overfitting(study, headline.best)]
    facts += [_weigh_survivorship(study), _weigh_trading(study, headline.best), _weigh_data(study)]
    if study.notes:
        facts.append(TrustFact("Notes", say("{n} on the run", n=len(study.notes)), False, "notes"))
    return facts


def _weigh_evidence(study: StudyTables, headline: Headline) -> Iterator[TrustFact]:
    """Weigh the corrected p-value, the number of values and the period."""
    if not headline.best:
        return
    frequency, period = study.config.frequency, headline.period
    p, choices = study.skill["p"][period, headline.best], study.n_choices(period)
    text = format_p(p, 3 if p < 0.1 else 2)
    if choices > 1:
        text = say("{p}, corrected for the choice among {n}", p=text, n=choices)
    is_skill = p < LEVEL and study.skill["ic_mean"][period, headline.best] > 0.0
    yield TrustFact("p-value", text, not is_skill, "skill")
    n = int(study.ic.loc[study.decided(period), headline.best].count())
    terms = count_terms(n, frequency)
    few = say("With only {terms}, p-values and intervals are too optimistic.", terms=terms)
    yield TrustFact("Record", terms, n < _FEW, "ic", few if n < _FEW else "")
    if study.chosen and period != "test":
        note = say(
            "No forecast for a {term} from {day} on can be checked yet. All numbers come from the "
            "validation period, on which settings were chosen.",
            term=name_term(frequency),
            day=study.config.test_start,
        )
        yield TrustFact("Test period", "none", True, "table1", note)
    if period == "both" and study.known_periods == ("validation", "test", "both"):
        yield _weigh_periods(study, headline.best)


def _weigh_periods(study: StudyTables, best: str) -> TrustFact:
    """Weigh whether the forecaster was better than nothing in both periods."""
    means = [study.table1["ic_mean"].get((part, best), np.nan) for part in ("validation", "test")]
    note = "" if min(means) > 0.0 else phrase("Skill that is there at all times shows in both parts.")
    text = say(
        "mean IC {numbers}, before {day} and after",
        numbers=join_words([format_number(mean) for mean in means]),
        day=study.config.test_start,
    )
    return TrustFact("Both periods", text, bool(note), "table1", note)


def _weigh_overfitting(study: StudyTables, best: str) -> Iterator[TrustFact]:
    if not best:
        return
    if pd.notna(deflated := study.overfitting["deflated_sharpe"][best]):
        trials = count_things(int(study.overfitting["trials"][best]), "{n} trial", "{n} trials")
        text = say(
            "above zero with {share} probability, after {trials}",
            share=format_percent(deflated, 0),
            trials=trials,
        )
        yield TrustFact("Sharpe ratio", text, deflated < _LIKELY, "skill")
    if pd.notna(probability := study.overfitting_probability):
        text = say("{share} probability", share=format_percent(probability, 0))
        yield TrustFact("Overfitting", text, probability >= _EVEN, "skill")


def _weigh_survivorship(study: StudyTables) -> TrustFact:
    found = [reword(finding.message) for finding in study.findings if finding.kind == "survivorship"]
    if found:
        return TrustFact("Survivorship", "likely", True, "data", say_all(*found))
    closed = [reword(finding.message) for finding in study.findings if finding.kind == "early-end"]
    if closed:
        return TrustFact("Survivorship", "closed funds are included", False, "data", say_all(*closed))
    return TrustFact("Survivorship", "no sign of it in the data", False, "data")


def _weigh_trading(study: StudyTables, best: str) -> TrustFact:
    lag, fees = study.config.execution_lag, float(study.fills["fee"].sum())
    day = (
        say("on the day of the decision")
        if lag == 0
        else count_things(lag, "{n} day after the decision", "{n} days after the decision")
    )
    paid = study.costs["cost"][best] if best else study.costs["cost"].mean()
    cost = say("fees of {share} per year", share=format_percent(paid, 2)) if fees > 0.0 else say("no fees")
    free = not fees > 0.0
    note = {
        (True, True): phrase("Neither is possible in practice."),
        (True, False): phrase("In practice, orders are filled at a later value than the one decided on."),
        (False, True): phrase("In practice, trading is not free."),
    }.get((lag == 0, free), "")
    return TrustFact("Trading", say("{day}, {cost}", day=day, cost=cost), bool(note), "costs", note)


def _weigh_data(study: StudyTables) -> TrustFact:
    n, n_matter = len(study.findings), sum(finding.matters for finding in study.findings)
    findings = count_things(n, "{n} finding", "{n} findings")
    if not n:
        return TrustFact("Data", "no findings", False, "data")
    if not n_matter:
        return TrustFact("Data", say("{findings}, none of which matters", findings=findings), False, "data")
    text = say("{n} of {findings} can change a result", n=n_matter, findings=findings)
    return TrustFact("Data", text, True, "data")


def show_answers(study: StudyTables, headline: Headline) -> Section:
    """Return the answers to three questions: if it works, compared with what, and if it can be trusted."""
    told = "".join(make_paragraph(each, "headline") for each in headline.sentences)
    works = told + make_list(headline.notes, "notes")
    facts = list_trust_facts(study, headline)
    n_cautions = sum(fact.caution for fact in facts)
    caution = say("No reason for caution was found.")
    if n_cautions:
        caution = count_things(n_cautions, "{n} reason for caution.", "{n} reasons for caution.")
    rows = "".join(map(_fact_row, facts))
    cards = (
        _card(say("Does it work?"), headline.verdict, works),
        _card(say("Compared with what?"), *_compare(study, headline)),
        _card(say("Can I trust it?"), caution, f'<dl class="trust">{rows}</dl>'),
    )
    return make_section("answers", "Three questions", f'<div class="cards">{"".join(cards)}</div>')


def _card(question: str, answer: str, body: str) -> str:
    return (
        f'<div class="card"><h4>{escape(question)}</h4>\n<p class="answer">{escape(answer)}</p>\n{body}</div>'
    )


def _fact_row(fact: TrustFact) -> str:
    mark = f'<span class="caution">{escape(say("Caution: "))}</span>' if fact.caution else ""
    note = f"<small>{make_text(say(fact.note))}</small>" if fact.note else ""
    label = f'<a href="#{fact.target}">{escape(say(fact.label))}</a>'
    return f"<div><dt>{label}</dt><dd>{mark}{escape(say(fact.text))}{note}</dd></div>"


def _compare(study: StudyTables, headline: Headline) -> tuple[str, str]:
    """Return by how much the portfolio of the best forecaster beats the index, and the numbers of both."""
    best, period = headline.best, headline.period
    rows = study.table().loc[period]
    if not best or pd.isna(rows["annual_return"][best]) or pd.isna(rows["annual_return"]["index"]):
        return say("There is nothing to compare yet."), ""
    points = format_number(100.0 * abs(rows["annual_return"][best] - rows["annual_return"]["index"]), 1)
    lead = say("{points} points per year below the index.", points=points)
    if rows["annual_return"][best] >= rows["annual_return"]["index"]:
        lead = say("{points} points per year above the index.", points=points)
    shown = rows.loc[[best, "index"], list(_COMPARED)].reset_index()
    columns = (
        name_column(study, title="Portfolio"),
        *(Column(key, title, show) for key, (title, show) in _COMPARED.items()),
    )
    table = make_table(shown, columns, say(PERIOD_PHRASES[period]), kind="compact")
    notes = [
        *_tell_universe(study, period),
        *_tell_random(study, best),
        *_tell_best_earner(rows["annual_return"], best),
    ]
    return lead, table + make_list(notes, "notes")


def _tell_universe(study: StudyTables, period: str) -> list[str]:
    """Return a note on what all funds earned, unless this is what the index stands for."""
    if UNIVERSE not in study.config.baselines or not study.index_digest:
        return []
    earned = format_percent(study.baselines["annual_return"][period, UNIVERSE])
    return [
        say(
            "All funds of the universe, equally weighted, earned {earned} per year before fees.",
            earned=earned,
        )
    ]


def _tell_random(study: StudyTables, best: str) -> list[str]:
    """Return a note on the rank among random portfolios, which is known for the whole study only."""
    n = len(study.random_portfolios)
    if not n or study.random_rank.loc[best].isna().any():
        return []
    by_return, by_sharpe = (round(n * study.random_rank[key][best]) for key in ("annual_return", "sharpe"))
    told = {"n": n, "n_return": by_return, "n_sharpe": by_sharpe}
    if study.config.weights == "equal":
        return [
            say(
                "Over the whole study it beats {n_return:,} of {n:,} random portfolios by return and "
                "{n_sharpe:,} by Sharpe ratio.",
                **told,
            )
        ]
    return [
        say(
            "Over the whole study it beats {n_return:,} of {n:,} random portfolios, which have equal "
            "weights, by return and {n_sharpe:,} by Sharpe ratio.",
            **told,
        )
    ]


def _tell_best_earner(returns: pd.Series[float], best: str) -> list[str]:
    earner = str(returns.drop("index").idxmax())
    if earner == best:
        return []
    return [
        say(
            "{forecaster} earned most: {earned} per year.",
            forecaster=name_forecaster(earner),
            earned=format_percent(returns[earner]),
        )
    ]


def show_table1(study: StudyTables, headline: Headline) -> Section:
    """Return Table 1, with one panel per period."""
    columns = (
        name_column(study),
        *TABLE1,
    )
    tabs = make_period_tabs(study, headline.period, "table1", study.table(), columns, "Table 1")
    lead = say(
        "How well the forecasts ranked the funds (IC), and what a portfolio of the {n} best funds earned. "
        "Click a heading to sort.",
        n=study.config.top,
    )
    return make_section(
        "table1",
        "Table 1: forecasts and portfolios",
        make_paragraph(lead),
        tabs,
        make_foot(csv=["table1"]),
        short="Table 1",
    )


def show_baselines(study: StudyTables, headline: Headline) -> Section | None:
    """Return the baselines in the columns of Table 1, and how what was compared differs from them."""
    if study.baselines.empty or not study.known_periods:
        return None
    name = partial(name_curve, study.index_name)
    columns = (Column("forecaster", "Baseline", name, kind="text"), *TABLE1)
    tabs = make_period_tabs(study, headline.period, "baselines", study.baselines, columns, "Baselines")
    lead = phrase(
        "What you get without learning: funds ranked by one number, under the same rules and fees, "
        "and all funds of the universe, equally weighted, without fees. What was learned should be better."
    )
    return make_section(
        "baselines",
        "Baselines",
        make_paragraph(lead),
        tabs,
        make_foot(*_differences(study, headline), csv=["baselines", "against_baselines"]),
    )


def _differences(study: StudyTables, headline: Headline) -> list[str]:
    """Return the table of paired differences of the IC, in the period of the headline."""
    if study.against_baselines.empty:
        return []
    name = partial(name_curve, study.index_name)
    columns = (
        Column("forecaster", "Forecaster", name, kind="text"),
        Column("baseline", "Baseline", name, kind="text"),
        Column("difference", "IC difference", format_number),
        Column("low", "95 % low", format_number, hint="Lower end of the interval, corrected as p is"),
        Column("high", "95 % high", format_number, hint="Upper end of the interval, corrected as p is"),
        Column("t", "t", format_two, hint="t-statistic of the mean difference (Newey and West)"),
        Column("p", "p", format_p, hint="Corrected for the choice among forecasters, settings and baselines"),
        Column("n", "n", format_whole, hint="Rebalance days on which both have an IC"),
    )
    title = caption_of("Paired differences of the IC", headline.period, study)
    table = make_table(study.against_baselines.loc[headline.period].reset_index(), columns, title)
    return [make_details("Table of differences from the baselines", table)]
