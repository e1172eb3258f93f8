"""The page of a fact sheet: one HTML document without scripts, for screen, phone and print."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from ..evaluation.sheet_tables import SheetTables
from ..evaluation.trailing import rolling_returns, underwater
from ..factors.factor import FACTORS
from .line_chart import draw_lines, draw_style
from .markup import Column, Section, make_list, make_paragraph, make_section, make_table
from .render import content_policy, read_asset
from .wording import MISSING, format_day, format_number, format_percent, format_two, format_whole

_SPANS = {
    "ytd": "Year to date",
    "1": "1 year",
    "3": "3 years",
    "5": "5 years",
    "10": "10 years",
    "start": "Since start",
}
_MEASURES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "volatility": ("Volatility", format_percent),
    "index_volatility": ("… of the index", format_percent),
    "max_drawdown": ("Maximum drawdown", format_percent),
    "index_max_drawdown": ("… of the index", format_percent),
    "sharpe": ("Sharpe ratio", format_two),
    "index_sharpe": ("… of the index", format_two),
    "sortino": ("Sortino ratio", format_two),
    "index_sortino": ("… of the index", format_two),
    "alpha": ("Alpha p.a.", format_percent),
    "beta": ("Beta", format_two),
    "tracking_error": ("Tracking error", format_percent),
    "information_ratio": ("Information ratio", format_two),
    "up_capture": ("Up capture", partial(format_percent, digits=0)),
    "down_capture": ("Down capture", partial(format_percent, digits=0)),
}
_LEGEND = 34  # letters in a legend
_FACTS = {
    "type": "Type",
    "company": "Company",
    "group": "Share group",
    "purchase_fee": "Purchase fee",
    "redemption_fees": "Redemption fees",
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
        f"{format_day(sheet.first_day)} to {format_day(sheet.last_day)}",
        f"{_age(sheet):.1f} years of values",
        *(["closed"] if sheet.closed else []),
    )
    return Template(read_asset("selection.html")).substitute(
        policy=content_policy([style], []),
        style=style,
        title=escape(sheet.title),
        facts="".join(f"<li>{escape(str(fact))}</li>" for fact in facts),
        record=make_paragraph(describe_returns(sheet), "headline"),
        notes=make_list(sheet.notes, "study-notes"),
        sections="\n".join(section.html(level=2) for section in sections if section is not None),
    )


def _age(sheet: SheetTables) -> float:
    return float((sheet.last_day - sheet.first_day) / pd.Timedelta(days=365.25))


def describe_returns(sheet: SheetTables) -> str:
    """Return one sentence on the longest of the spans of 1, 3, 5 and 10 years that the fund has."""
    known = sheet.trailing.loc[["10", "5", "3", "1"]].dropna(subset=["value"])
    if known.empty:
        return "The fund has less than a year of values."
    row, years = known.iloc[0], known.index[0]
    span = "over the last year" if years == "1" else f"per year over the last {years} years"
    names = {"index": "the index", "peers": "the median of its peers"}
    beside = [f"{name} {format_percent(row[key])}" for key, name in names.items() if pd.notna(row[key])]
    ranked = pd.notna(row["quartile"])
    place = f" (quartile {row['quartile']:.0f} of {row['funds']:.0f} funds)" if ranked else ""
    others = f"; {' and '.join(beside)}{place}" if beside else ""
    return f"The fund earned {format_percent(row['value'])} {span}{others}."


def _columns(sheet: SheetTables, first: str, key: str) -> list[Column]:
    index = [Column("index", "Index", format_percent, hint=sheet.index_name)] if sheet.index_name else []
    return [
        Column(key, first, kind="text"),
        Column("value", "Fund", format_percent),
        *index,
        Column("peers", "Peers", format_percent, hint="Median of the peers without the fund"),
        Column("quartile", "Quartile", format_whole, hint="1 is the best fourth", tint=_tint),
        Column("funds", "Funds", format_whole, hint="Peers with a return, and the fund"),
    ]


def _tint(quartile: float) -> str:
    return "" if pd.isna(quartile) else f"quartile{quartile:.0f}"


def _show_returns(sheet: SheetTables) -> Section:
    rows = sheet.trailing.reset_index()
    rows["span"] = rows["span"].map(_SPANS)
    lead = (
        f"Up to {format_day(sheet.last_day)}, per year where longer than one year. Peers are "
        f"{sheet.peer_group} with a value on that day; quartile 1 is the best fourth."
    )
    index = f" The index is {sheet.index_name}." if sheet.index_name else ""
    table = make_table(rows, _columns(sheet, "Span", "span"), "Returns", "compact")
    return make_section("returns", "Returns", make_paragraph(lead + index), table)


def _show_years(sheet: SheetTables) -> Section | None:
    if sheet.years.empty:
        return None
    rows = sheet.years.reset_index().astype({"year": str})
    lead = "Complete calendar years. Peers that closed later count in the years that they completed."
    table = make_table(rows, _columns(sheet, "Year", "year"), "Returns of calendar years", "compact")
    return make_section("years", "Calendar years", make_paragraph(lead), table)


def _show_curves(sheet: SheetTables) -> Section:
    labels = {"fund": _short(sheet.name or sheet.code), "index": _short(sheet.index_name)}
    figures = [
        show_figure(
            partial(draw_lines, sheet.curves, labels, percent=False),
            "Growth of 1",
            f"Line chart: 1 became {format_two(sheet.curves['fund'].iloc[-1])}.",
        ),
        show_figure(
            partial(draw_lines, underwater(sheet.curves), labels),
            "Below the highest value so far",
            f"Line chart: the deepest loss was {format_percent(sheet.risk['start']['max_drawdown'])}.",
        ),
    ]
    rolling = rolling_returns(sheet.curves).dropna(subset=["fund"])
    if len(rolling) > 1:
        worst, best = (format_percent(value) for value in (rolling["fund"].min(), rolling["fund"].max()))
        told = f"Line chart: returns over one year from {worst} to {best}."
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
        f'<figure><figcaption>{escape(title)}</figcaption><picture class="figure">'
        f'<source media="screen and (width < 700px)" srcset="{narrow}">'
        f'<img src="{wide}" alt="{escape(told)}"></picture></figure>'
    )


def _show_risk(sheet: SheetTables) -> Section:
    spans = [str(span) for span in sheet.risk.columns]
    rows = []
    for measure, (title, show) in _MEASURES.items():
        if measure in sheet.risk.index and sheet.risk.loc[measure].notna().any():
            rows.append({"measure": title} | {span: show(sheet.risk.at[measure, span]) for span in spans})
    titles = {span: f"{span} y" for span in spans} | {"start": "All"}
    columns = [
        Column("measure", "Measure", kind="text"),
        *(Column(span, titles[span], kind="text") for span in spans),
    ]
    lead = (
        "Up and down capture are shares of the index's return in the months in which it rose and fell."
        if sheet.index_name
        else ""
    )
    table = make_table(pd.DataFrame(rows), columns, "Measures of risk, from daily values", "compact")
    return make_section("risk", "Risk", make_paragraph(lead) if lead else "", table)


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
    lead = (
        f"The mix of indices, weights at least 0, that moved most like the fund in {fit['months']:.0f} "
        f"months: it explains {format_percent(fit['r2'], 0)} of the variance. The fund earned "
        f"{format_percent(fit['selection'])} per year beyond it. Intervals are 95 %, by block bootstrap."
    )
    parts = [make_paragraph(lead), make_table(rows, columns, "Style weights", "compact")]
    rolling = sheet.rolling_style
    if rolling is not None and len(rolling.fit) > 1:
        weights = rolling.weights["weight"].unstack()[list(rows["index"])]
        months = f"{rolling.fit['months'].iloc[-1]:.0f} months"
        parts.append(
            show_figure(partial(draw_style, weights), f"Style over the past {months}", "Stacked area chart.")
        )
    return make_section("style", "Style", *parts)


def _show_factors(sheet: SheetTables) -> Section | None:
    if not sheet.factors["percentile"].notna().any():
        return None
    names = sheet.factors.index.str.rsplit("_", n=1)
    table = sheet.factors.set_axis(pd.MultiIndex.from_tuples(map(tuple, names)))["percentile"].unstack()
    windows = sorted(table.columns, key=int)
    rows = table.loc[list(dict.fromkeys(name for name, _ in names))]
    labels = [_capitalized(FACTORS[name].label) for name in rows.index]
    shown = pd.DataFrame({"factor": labels, **{window: rows[window].to_numpy() for window in windows}})
    columns = [
        Column("factor", "Factor", kind="text"),
        *(Column(window, window, _points) for window in windows),
    ]
    lead = (
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
    lead = "The peers whose standardized factors are nearest to those of the fund."
    table = make_table(sheet.neighbors, columns, "Nearest neighbors", "compact")
    return make_section("neighbors", "Funds like it", make_paragraph(lead), table)


def _show_facts(sheet: SheetTables) -> Section:
    facts: dict[str, str] = {"Code": sheet.code}
    for key, title in _FACTS.items():
        if key in sheet.facts:
            value = sheet.facts[key]
            facts[title] = format_percent(value, 2) if key == "purchase_fee" else str(value)
    if not {"purchase_fee", "redemption_fees"} & set(sheet.facts):
        facts["Fees"] = "not given"
    days = f"{format_day(sheet.first_day)} to {format_day(sheet.last_day)}"
    facts |= {"Values": f"{len(sheet.curves):,}, {days}", "Source": Path(sheet.source).name}
    rows = "".join(
        f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in facts.items()
    )
    return make_section("facts", "Facts and fees", f"<dl>{rows}</dl>")


def _show_findings(sheet: SheetTables) -> Section:
    if sheet.findings.empty:
        return make_section(
            "findings", "Data", make_paragraph("Nothing was found in the values of this fund.")
        )
    rows = sheet.findings.assign(effect=["yes" if matters else "no" for matters in sheet.findings["matters"]])
    columns = (
        Column("kind", "Finding", kind="text", under=("date",)),
        Column("message", "What was found", kind="prose"),
        Column("effect", "Can change results", kind="text"),
    )
    return make_section("findings", "Data", make_table(rows, columns, "Findings in the values", "compact"))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
