"""Sections on whether forecasts are more than chance: skill, overfitting, comparisons, the skill map."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..evaluation.statistics import FEWEST
from ..evaluation.study_tables import StudyTables
from ..language import phrase, say, say_all
from .headline import LEVEL, Headline
from .markup import (
    Column,
    Section,
    caption_of,
    make_details,
    make_foot,
    make_pair,
    make_paragraph,
    make_period_tabs,
    make_section,
    make_table,
    make_tabs,
)
from .wording import (
    PERIOD_PHRASES,
    PERIOD_TITLES,
    count_things,
    format_number,
    format_p,
    format_percent,
    format_two,
    format_whole,
    name_factor,
    name_forecaster,
)

_FORECASTER = Column("forecaster", "Forecaster", name_forecaster, kind="text")
_SKILL = (
    _FORECASTER,
    Column("ic_mean", "IC mean", format_number),
    Column(
        "p", "p", format_p, hint="Of a mean IC of zero, corrected for the choice of forecasters and settings"
    ),
)
_OVERFITTING = (
    _FORECASTER,
    Column("sharpe", "Sharpe", format_two, hint="Sharpe ratio of the portfolio over the whole study"),
    Column(
        "probabilistic_sharpe",
        "P(Sharpe > 0)",
        format_percent,
        hint="Probability that the true Sharpe ratio is above zero, if this were the only trial",
    ),
    Column(
        "deflated_sharpe",
        "Deflated",
        format_percent,
        hint="The same probability after the number of trials (deflated Sharpe ratio)",
    ),
    Column("trials", "Trials", format_whole, hint="Number of forecasters and settings that were tried"),
)
_WIDTH, _HEIGHT, _BAR = 200.0, 18.0, 8.0  # of a drawing and of its bar, in units of its own
_LOW = phrase("Lower end of the 95 % interval that holds for all forecasters, or all factors, together")
_HIGH = phrase("Upper end of the 95 % interval that holds for all forecasters, or all factors, together")
_NAME = Column("label", "Name", kind="text")
_IC = (
    Column("ic_mean", "IC mean", format_number, hint="Mean rank correlation with the realized returns"),
    Column("t", "t", format_two, hint="t-statistic of the mean IC (Newey and West)"),
    Column("low", "Low", format_number, hint=_LOW),
    Column("high", "High", format_number, hint=_HIGH),
    Column(
        "p", "p", format_p, hint="Of a mean IC of zero, corrected for the number of forecasters or factors"
    ),
)
_LOW_REST = phrase(
    "Lower end of the 95 % interval that holds for all forecasters, or all factors, together, for the rest"
)
_HIGH_REST = phrase(
    "Upper end of the 95 % interval that holds for all forecasters, or all factors, together, for the rest"
)
_REST = (
    Column(
        "momentum",
        "Like momentum",
        format_two,
        hint="Mean rank correlation of the forecasts with those of momentum; 1 means the same ranking",
    ),
    Column(
        "rest_ic",
        "IC of the rest",
        format_number,
        hint="Mean IC of the part of the ranks that momentum does not explain",
    ),
    Column("rest_low", "Low", format_number, hint=_LOW_REST),
    Column("rest_high", "High", format_number, hint=_HIGH_REST),
    Column("rest_p", "p", format_p, hint="Of a mean IC of the rest of zero, corrected for the choice"),
)


def show_skill(study: StudyTables, headline: Headline) -> Section | None:
    """Return the tests of skill by period, and the signs of overfitting."""
    if not study.known_periods:
        return None
    tabs = make_period_tabs(study, headline.period, "skill", study.skill, _SKILL, "Skill of the forecasts")
    lead = phrase(
        "A mean IC counts as skill if its p-value, corrected for the choice among all forecasters and "
        "settings that were tried, is below 0.05."
    )
    overfitting = make_table(
        study.overfitting.reset_index(), _OVERFITTING, "Sharpe ratios after the number of trials, whole study"
    )
    return make_section(
        "skill",
        "Is it skill?",
        make_paragraph(lead),
        make_pair(
            tabs,
            overfitting + make_paragraph(_tell_overfitting(study.overfitting_probability), "note"),
        ),
        make_foot(csv=["skill", "overfitting"]),
    )


def _tell_overfitting(probability: float) -> str:
    if pd.isna(probability):
        return say("The probability of overfitting needs at least two forecasters and enough days.")
    return say(
        "Probability of overfitting: {share}. So often the forecaster that did best in one half of the days "
        "was not above the median in the other half.",
        share=format_percent(probability, 0),
    )


def show_comparisons(study: StudyTables, headline: Headline) -> Section | None:
    """Return the paired differences of the ICs, with one panel per period."""
    if study.comparisons_by_period.empty:
        return None
    columns = (
        _FORECASTER,
        Column("against", "Against", name_forecaster, kind="text"),
        Column("difference", "IC difference", format_number),
        Column("low", "95 % low", format_number),
        Column("high", "95 % high", format_number),
        Column("t", "t", format_two, hint="t-statistic of the mean difference (Newey and West)"),
        Column("p", "p", format_p, hint="Two-sided, for this comparison alone"),
        Column("p_holm", "p (Holm)", format_p, hint="Corrected for the number of comparisons in this table"),
        Column("n", "n", format_whole, hint="Rebalance days on which both have an IC"),
    )
    tables = study.comparisons_by_period
    tabs = make_period_tabs(
        study, headline.period, "comparisons", tables, columns, "Paired differences of the IC"
    )
    lead = say_all(
        say(
            "Mean difference between the ICs of two forecasters on the same rebalance days. Two forecasters "
            "differ by more than chance alone would produce if p, after Holm's correction, is below 0.05."
        ),
        _count(tables, headline),
    )
    return make_section(
        "comparisons",
        "Forecaster against forecaster",
        make_paragraph(lead),
        make_foot(make_details("Table of all pairs", tabs), csv=["comparisons_by_period"]),
        short="Comparisons",
    )


def _count(tables: pd.DataFrame, headline: Headline) -> str:
    """Return how many differences of the headline's period are more than chance, if it is long enough."""
    rows = pd.DataFrame(tables.loc[headline.period])
    if rows["n"].min() < FEWEST:
        return ""
    n = int((rows["p_holm"] < LEVEL).sum())
    pairs = count_things(len(rows), "{n} pair", "{n} pairs")
    period = say(PERIOD_PHRASES[headline.period])
    if not n:
        return say("{period}, none of {pairs} do so.", period=period, pairs=pairs)
    return say("{period}, {n} of {pairs} do so.", period=period, n=n, pairs=pairs)


def show_skill_map(study: StudyTables, headline: Headline) -> Section | None:
    """Return the ICs of forecasters, baselines and factors, and what momentum does not explain."""
    if not study.known_periods:
        return None
    period = headline.period
    forecasters = {say(PERIOD_TITLES[each]): _forecasters(study, each) for each in study.known_periods}
    with_factors = [] if study.factor_ic.empty else [_factors(study, period)]
    lead = say_all(
        say("Does the learning add anything to what a single number knows?"),
        _tell(study, period),
        say(
            "Bars are mean ICs; lines are 95 % intervals that hold for all forecasters, or all factors, "
            "together. A bar is colored if its interval excludes zero. The rest is the part of a ranking "
            "that momentum does not explain."
        ),
    )
    return make_section(
        "skill-map",
        "Skill map",
        make_paragraph(lead),
        make_tabs("skill-map-panel", forecasters, say(PERIOD_TITLES[period])),
        *with_factors,
        make_foot(csv=["skill_map"]),
    )


def _forecasters(study: StudyTables, period: str) -> str:
    """Return the table of forecasters and baselines in a period."""
    rows = pd.DataFrame(study.skill_map.loc[period]).query("kind != 'factor'").reset_index()
    rows["label"] = [
        say("{forecaster}, baseline", forecaster=name_forecaster(name))
        if kind == "baseline"
        else name_forecaster(name)
        for kind, name in zip(rows["kind"], rows["name"], strict=True)
    ]
    rest = _REST if rows["momentum"].notna().any() else ()
    chart, scale = _bars(rows)
    title = caption_of("Forecasters and baselines", period, study) + scale
    return make_table(rows, (_NAME, _IC[0], chart, *_IC[1:-1], *rest), title, kind="sortable ranges")


def _factors(study: StudyTables, period: str) -> str:
    """Return the table of all factors in a period, best first."""
    rows = pd.DataFrame(study.skill_map.loc[period].loc["factor"]).reset_index()
    rows = rows.sort_values("ic_mean", ascending=False, kind="stable")
    rows["label"] = [name_factor(name, study.factor_labels) for name in rows["name"]]
    chart, scale = _bars(rows)
    title = caption_of("Every factor alone", period, study) + scale
    columns = (_NAME, _IC[0], chart, *_IC[1:], Column("n", "n", format_whole, hint="Rebalance days"))
    table = make_table(rows, columns, title, kind="sortable ranges")
    return f'<div class="boxed">{table}</div>'


def _bars(rows: pd.DataFrame) -> tuple[Column, str]:
    """Return a column of bars on one scale, and this scale in words."""
    ends = rows[["ic_mean", "low", "high"]].to_numpy(float)
    ends = np.clip(ends[np.isfinite(ends)], -1.0, 1.0)
    # Zero is always in sight; the ends are tenths.
    left, right = np.floor(10.0 * min([0.0, *ends])) / 10.0, np.ceil(10.0 * max([0.1, *ends])) / 10.0
    ends_told = {"low": format_number(left, 1), "high": format_number(right, 1)}
    scale = say("; bars range from {low} to {high}", **ends_told)
    draw = partial(_draw_bar, left=left, right=right)
    return Column("ic_mean", "Mean and interval", kind="range", draw=draw), scale


def _draw_bar(row: dict[Any, Any], left: float, right: float) -> str:
    """Return a bar from zero to the mean IC and a line for its interval, cut off at both ends."""
    if pd.isna(row["ic_mean"]):
        return ""
    ends = np.clip([0.0, row["ic_mean"], row["low"], row["high"]], left, right)
    zero, mean, low, high = _WIDTH * (ends - left) / (right - left)
    middle, top = 0.5 * _HEIGHT, 0.5 * (_HEIGHT - _BAR)
    line = "" if np.isnan(low) else f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
    kind = ' class="clear"' if row["low"] > 0.0 or row["high"] < 0.0 else ""
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" preserveAspectRatio="none" aria-hidden="true"{kind}>'
        f'<rect x="{min(zero, mean):.1f}" y="{top}" width="{abs(mean - zero):.1f}" height="{_BAR}"/>{line}'
        f'<line class="zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{_HEIGHT}"/></svg>'
    )


def _tell(study: StudyTables, period: str) -> str:
    """Return in words how many factors know something, and whether the best forecaster adds to momentum."""
    rows = pd.DataFrame(study.skill_map.loc[period])
    if rows["n"].max() < FEWEST:
        return say("The record is too short to tell.")
    told = [] if study.factor_ic.empty else [_tell_factors(study, period)]
    own = pd.DataFrame(rows.loc["forecaster"])
    own = own[own["rest_p"].notna()]
    if len(own):
        best = str(own["rest_ic"].idxmax())
        clear = own["rest_p"][best] < LEVEL and own["rest_ic"][best] > 0.0
        number = format_number(own["rest_ic"][best])
        told.append(say(_ADDS[clear], forecaster=name_forecaster(best), number=number))
    return say_all(*told)


# By whether what a forecaster adds to momentum is clear.
_ADDS = {
    True: phrase(
        "Of all forecasters, {forecaster} adds most to momentum: the rest has a mean IC of {number}, more "
        "than chance would produce, unless its settings were chosen on these data."
    ),
    False: phrase(
        "Of all forecasters, {forecaster} adds most to momentum: the rest has a mean IC of {number}, which "
        "may well be chance."
    ),
}


def _tell_factors(study: StudyTables, period: str) -> str:
    """Return in words how many factors alone know something, and which most."""
    alone = pd.DataFrame(study.skill_map.loc[period].loc["factor"])
    if alone["ic_mean"].isna().all():
        return say("No factor differs between the funds.")
    n = int((alone["p"] < LEVEL).sum())
    most = str(alone["ic_mean"].abs().idxmax())
    text = _ALONE[min(n, 2)]
    return say_all(
        say(text, period=say(PERIOD_PHRASES[period]), n=n, n_factors=len(alone)),
        say(
            "The strongest is {factor}, with {number}.",
            factor=name_factor(most, study.factor_labels),
            number=format_number(alone["ic_mean"][most]),
        ),
    )


# By how many factors know something: none, one, or more.
_ALONE = (
    phrase(
        "{period} none of the {n_factors} factors alone has an IC that differs from zero by more than chance."
    ),
    phrase(
        "{period} {n} of the {n_factors} factors alone has an IC that differs from zero by more than chance."
    ),
    phrase(
        "{period} {n} of the {n_factors} factors alone have ICs that differ from zero by more than chance."
    ),
)
