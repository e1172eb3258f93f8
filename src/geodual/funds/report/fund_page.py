"""The page of a fact sheet: one HTML document without scripts, for screen, phone and print."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from html import escape
from string import Template
from typing import Any

import pandas as pd

from ..evaluation.sheet_tables import SheetTables
from ..evaluation.trailing import rolling_returns, underwater
from ..factors.factor import FACTORS
from ..language import phrase, reword, say, say_all
from .line_chart import draw_lines, draw_style
from .markup import Column, Section, make_list, make_paragraph, make_section, make_table
from .render import content_policy, frame_texts, read_asset
from .wording import (
    MISSING,
    SPANS,
    format_day,
    format_number,
    format_percent,
    format_two,
    format_whole,
    join_words,
    name_index,
    name_source,
    span_days,
)

_MEASURES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "volatility": (phrase("Volatility"), format_percent),
    "index_volatility": (phrase("… of the index"), format_percent),
    "max_drawdown": (phrase("Maximum drawdown"), format_percent),
    "index_max_drawdown": (phrase("… of the index"), format_percent),
    "sharpe": (phrase("Sharpe ratio"), format_two),
    "index_sharpe": (phrase("… of the index"), format_two),
    "sortino": (phrase("Sortino ratio"), format_two),
    "index_sortino": (phrase("… of the index"), format_two),
    "alpha": (phrase("Alpha p.a."), format_percent),
    "beta": (phrase("Beta"), format_two),
    "tracking_error": (phrase("Tracking error"), format_percent),
    "information_ratio": (phrase("Information ratio"), format_two),
    "up_capture": (phrase("Up capture"), partial(format_percent, digits=0)),
    "down_capture": (phrase("Down capture"), partial(format_percent, digits=0)),
}
_BESIDE = {"index": phrase("the index {share}"), "peers": phrase("the median of its peers {share}")}
_LEGEND = 34  # letters in a legend
_FACTS = {
    "type": phrase("Type"),
    "company": phrase("Company"),
    "group": phrase("Share group"),
    "purchase_fee": phrase("Purchase fee"),
    "redemption_fees": phrase("Redemption fees"),
}


def render_fund(sheet: SheetTables) -> str:
    """Return the page of a fund as one HTML document; the same sheet always gives the same text.

    Parameters
    ----------
    sheet : SheetTables
        The result of `fund_sheet`.
    """
    style = read_asset("style.css") + read_asset("sheet.css")
    sections = (
        _show_returns(sheet),
        _show_years(sheet),
        _show_curves(sheet),
        _show_risk(sheet),
        _show_style(sheet),
        _show_factors(sheet),
        _show_neighbors(sheet),
        _show_facts(sheet),
        _show_findings(sheet),
    )
    facts = (
        *filter(None, (sheet.facts.get("type"), sheet.facts.get("company"))),
        span_days(sheet.first_day, sheet.last_day),
        say("{n} years of values", n=f"{_age(sheet):.1f}"),
        *([say("closed")] if sheet.closed else []),
    )
    return Template(read_asset("selection.html")).substitute(
        frame_texts(),
        policy=content_policy([style], []),
        style=style,
        title=escape(sheet.title),
        facts="".join(f"<li>{escape(str(fact))}</li>" for fact in facts),
        record=make_paragraph(describe_returns(sheet), "headline"),
        notes=make_list([reword(note) for note in sheet.notes], "study-notes"),
        sections="\n".join(section.html(level=2) for section in sections if section is not None),
    )


def _age(sheet: SheetTables) -> float:
    return float((sheet.last_day - sheet.first_day) / pd.Timedelta(days=365.25))


def describe_returns(sheet: SheetTables) -> str:
    """Return one sentence on the longest of the spans of 1, 3, 5 and 10 years that the fund has."""
    known = sheet.trailing.loc[["10", "5", "3", "1"]].dropna(subset=["value"])
    if known.empty:
        return say("The fund has less than a year of values.")
    row, years = known.iloc[0], known.index[0]
    earned = format_percent(row["value"])
    text = say("The fund earned {earned} over the last year", earned=earned)
    if years != "1":
        text = say("The fund earned {earned} per year over the last {n} years", earned=earned, n=years)
    beside = [
        say(words, share=format_percent(row[key])) for key, words in _BESIDE.items() if pd.notna(row[key])
    ]
    if not beside:
        return say("{text}.", text=text)
    others = join_words(beside)
    if pd.isna(row["quartile"]):
        return say("{text}; {others}.", text=text, others=others)
    return say(
        "{text}; {others} (quartile {n} of {n_funds} funds).",
        text=text,
        others=others,
        n=f"{row['quartile']:.0f}",
        n_funds=f"{row['funds']:.0f}",
    )


def _columns(sheet: SheetTables, first: str, key: str) -> list[Column]:
    index = (
        [Column("index", "Index", format_percent, hint=name_index(sheet.index_name))]
        if sheet.index_name
        else []
    )
    return [
        Column(key, first, kind="text"),
        Column("value", "Fund", format_percent),
        *index,
        Column("peers", "Peers", format_percent, hint="Median of the peers without the fund"),
        Column("quartile", "Quartile", format_whole, hint="1 is the best fourth", tint=_tint),
        Column("funds", "number\x04Funds", format_whole, hint="Peers with a return, and the fund"),
    ]


def _tint(quartile: float) -> str:
    return "" if pd.isna(quartile) else f"quartile{quartile:.0f}"


def _show_returns(sheet: SheetTables) -> Section:
    rows = sheet.trailing.reset_index()
    rows["span"] = [say(SPANS[str(span)]) for span in rows["span"]]
    lead = say(
        "Up to {day}, per year where longer than one year. Peers are {peers} with a value on that day; "
        "quartile 1 is the best fourth.",
        day=format_day(sheet.last_day),
        peers=reword(sheet.peer_group),
    )
    index = say("The index is {index}.", index=name_index(sheet.index_name)) if sheet.index_name else ""
    table = make_table(rows, _columns(sheet, phrase("Span"), "span"), "Returns", "compact")
    return make_section("returns", "Returns", make_paragraph(say_all(lead, index)), table)


def _show_years(sheet: SheetTables) -> Section | None:
    if sheet.years.empty:
        return None
    rows = sheet.years.reset_index().astype({"year": str})
    lead = phrase("Complete calendar years. Peers that closed later count in the years that they completed.")
    table = make_table(rows, _columns(sheet, phrase("Year"), "year"), "Returns of calendar years", "compact")
    return make_section("years", "Calendar years", make_paragraph(lead), table)


def _show_curves(sheet: SheetTables) -> Section:
    labels = {"fund": _short(sheet.name or sheet.code), "index": _short(name_index(sheet.index_name))}
    figures = [
        show_figure(
            partial(draw_lines, sheet.curves, labels, percent=False),
            "Growth of 1",
            say("Line chart: 1 became {n}.", n=format_two(sheet.curves["fund"].iloc[-1])),
        ),
        show_figure(
            partial(draw_lines, underwater(sheet.curves), labels),
            "Below the highest value so far",
            say(
                "Line chart: the deepest loss was {loss}.",
                loss=format_percent(sheet.risk["start"]["max_drawdown"]),
            ),
        ),
    ]
    rolling = rolling_returns(sheet.curves).dropna(subset=["fund"])
    if len(rolling) > 1:
        worst, best = (format_percent(value) for value in (rolling["fund"].min(), rolling["fund"].max()))
        told = say("Line chart: returns over one year from {low} to {high}.", low=worst, high=best)
        figures.append(show_figure(partial(draw_lines, rolling, labels), "Return over the past year", told))
    return make_section("curves", "Value, losses and rolling return", *figures)


def _short(name: str) -> str:
    """Return a name that fits into the legend of a narrow figure."""
    return name if len(name) <= _LEGEND else f"{name[: _LEGEND - 1].rstrip()}…"


def show_figure(draw: Callable[..., str], title: str, told: str) -> str:
    """Return a figure in two shapes, of which a narrow screen shows the second."""
    wide, narrow = (
        f"data:image/svg+xml;base64,{base64.b64encode(draw(narrow=narrow).encode()).decode()}"
        for narrow in (False, True)
    )
    return (
        f'<figure><figcaption>{escape(say(title))}</figcaption><picture class="figure">'
        f'<source media="screen and (width < 700px)" srcset="{narrow}">'
        f'<img src="{wide}" alt="{escape(say(told))}"></picture></figure>'
    )


def _show_risk(sheet: SheetTables) -> Section:
    spans = [str(span) for span in sheet.risk.columns]
    rows = []
    for measure, (title, show) in _MEASURES.items():
        if measure in sheet.risk.index and sheet.risk.loc[measure].notna().any():
            rows.append(
                {"measure": say(title)} | {span: show(sheet.risk.at[measure, span]) for span in spans}
            )
    titles = {span: say("{n} y", n=span) for span in spans} | {"start": say("All")}
    columns = [
        Column("measure", "Measure", kind="text"),
        *(Column(span, titles[span], kind="text") for span in spans),
    ]
    lead = phrase(
        "Up and down capture are shares of the index's return in the months in which it rose and fell."
    )
    table = make_table(pd.DataFrame(rows), columns, "Measures of risk, from daily values", "compact")
    return make_section("risk", "Risk", make_paragraph(lead) if sheet.index_name else "", table)


def _show_style(sheet: SheetTables) -> Section | None:
    if sheet.style is None or sheet.style.weights.empty:
        return None
    fit = sheet.style.fit.iloc[-1]
    rows = sheet.style.weights.droplevel("until").reset_index().astype({"index": str})
    columns = (
        Column("index", "Index", kind="text"),
        Column("weight", "Weight", partial(format_percent, digits=0)),
        Column("low", "From", partial(format_percent, digits=0), hint="Lower end of the 95 % interval"),
        Column("high", "To", partial(format_percent, digits=0), hint="Upper end of the 95 % interval"),
    )
    lead = say(
        "The mix of indices, weights at least 0, that moved most like the fund in {n} months: it explains "
        "{share} of the variance. The fund earned {earned} per year beyond it. Intervals are 95 %, by block "
        "bootstrap.",
        n=f"{fit['months']:.0f}",
        share=format_percent(fit["r2"], 0),
        earned=format_percent(fit["selection"]),
    )
    parts = [make_paragraph(lead), make_table(rows, columns, "Style weights", "compact")]
    rolling = sheet.rolling_style
    if rolling is not None and len(rolling.fit) > 1:
        weights = rolling.weights["weight"].unstack()[list(rows["index"])]
        title = say("Style over the past {n} months", n=f"{rolling.fit['months'].iloc[-1]:.0f}")
        parts.append(show_figure(partial(draw_style, weights), title, "Stacked area chart."))
    return make_section("style", "Style", *parts)


def _show_factors(sheet: SheetTables) -> Section | None:
    if not sheet.factors["percentile"].notna().any():
        return None
    names = sheet.factors.index.str.rsplit("_", n=1)
    table = sheet.factors.set_axis(pd.MultiIndex.from_tuples(map(tuple, names)))["percentile"].unstack()
    windows = sorted(table.columns, key=int)
    rows = table.loc[list(dict.fromkeys(name for name, _ in names))]
    labels = [_capitalized(reword(FACTORS[name].label)) for name in rows.index]
    shown = pd.DataFrame({"factor": labels, **{window: rows[window].to_numpy() for window in windows}})
    columns = [
        Column("factor", "Factor", kind="text"),
        *(Column(window, window, _points) for window in windows),
    ]
    lead = phrase(
        "The factors of the study on the last day, over so many values: the share of the peers, in per cent, "
        "with a smaller value. A high percentile is neither good nor bad: that of volatility means much risk."
    )
    return make_section(
        "factors",
        "Factors",
        make_paragraph(lead),
        make_table(shown, columns, "Percentiles among peers", "compact"),
    )


def _points(share: float) -> str:
    return MISSING if pd.isna(share) else format_number(100.0 * share, 0)


def _show_neighbors(sheet: SheetTables) -> Section | None:
    if sheet.neighbors.empty:
        return None
    columns = (
        Column("fund", "Fund", kind="text", under=("name",)),
        Column("distance", "Distance", format_two),
        Column("correlation", "Correlation", format_two, hint="Of daily returns over the last year"),
        Column("return", "1 year", format_percent),
    )
    lead = phrase("The peers whose standardized factors are nearest to those of the fund.")
    table = make_table(sheet.neighbors, columns, "Nearest neighbors", "compact")
    return make_section("neighbors", "Funds like it", make_paragraph(lead), table)


def _show_facts(sheet: SheetTables) -> Section:
    facts: dict[str, str] = {say("Code"): sheet.code}
    for key, title in _FACTS.items():
        if key in sheet.facts:
            value = sheet.facts[key]
            facts[say(title)] = format_percent(value, 2) if key == "purchase_fee" else str(value)
    if not {"purchase_fee", "redemption_fees"} & set(sheet.facts):
        facts[say("Fees")] = say("not given")
    days = span_days(sheet.first_day, sheet.last_day)
    facts |= {
        say("Values"): say("{n:,}, {days}", n=len(sheet.curves), days=days),
        say("Source"): name_source(sheet.source),
    }
    rows = "".join(
        f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in facts.items()
    )
    return make_section("facts", "Facts and fees", f"<dl>{rows}</dl>")


def _show_findings(sheet: SheetTables) -> Section:
    if sheet.findings.empty:
        return make_section(
            "findings", "Data", make_paragraph("Nothing was found in the values of this fund.")
        )
    rows = sheet.findings.assign(
        effect=[say("yes") if matters else say("no") for matters in sheet.findings["matters"]]
    )
    columns = (
        Column("kind", "Finding", reword, kind="text", under=("date",)),
        Column("message", "What was found", reword, kind="prose"),
        Column("effect", "Can change results", kind="text"),
    )
    return make_section("findings", "Data", make_table(rows, columns, "Findings in the values", "compact"))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
