"""The section on persistence: whether the best funds of a year were among the best of the next."""

from __future__ import annotations

from functools import partial

import pandas as pd

from ..evaluation.study_tables import StudyTables
from ..language import say
from .markup import (
    Column,
    Section,
    make_details,
    make_foot,
    make_pair,
    make_paragraph,
    make_section,
    make_table,
)
from .wording import count_things, format_number, format_percent, format_two, format_whole

_EVEN = 0.25  # share of each quartile if one year said nothing about the next
_BY_DECILE = (
    Column("decile", "Tenth", kind="text"),
    Column(
        "excess", "Next year", format_percent, hint="Return less that of the mean fund, mean of the years"
    ),
    Column("t", "t", format_two, hint="Newey–West, over the years"),
    Column("closed", "Gone", format_percent),
)
_BY_YEAR = (
    Column("year", "Year", kind="text"),
    Column("rank_correlation", "Rank correlation", format_two, hint="With the returns of the year before"),
    Column("funds", "number\x04Funds", format_whole),
    Column("closed", "Gone", format_percent),
    Column("stay_top", "Top stays top", format_percent),
    Column("stay_bottom", "Bottom stays bottom", format_percent),
    Column("top_to_bottom", "Top to bottom", format_percent),
)


def show_persistence(study: StudyTables) -> Section | None:
    """Return the section; None for a study without two complete calendar years."""
    years = study.persistence_by_year
    if years.empty:
        return None
    quartiles = ("1", "2", "3", "4")
    shown = [Column(name, name, partial(format_percent, digits=1), tint=_tint) for name in quartiles]
    columns = (Column("quartile", "Quartile", kind="text"), *shown, Column("closed", "Gone", format_percent))
    moves = make_table(study.persistence.reset_index(), columns, "Quartile of the next year", "heat sortable")
    deciles = make_table(study.persistence_by_decile.reset_index(), _BY_DECILE, "Tenths, best first")
    by_year = years.reset_index().assign(year=[str(year) for year in years.index])
    return make_section(
        "persistence",
        "Do the best funds of a year stay the best?",
        make_paragraph(_tell(study)),
        make_pair(moves, deciles),
        make_foot(
            make_details("Table by year", make_table(by_year, _BY_YEAR, "Persistence by year")),
            csv=["persistence", "persistence_by_year", "persistence_by_decile"],
        ),
        short="Persistence",
    )


def _tell(study: StudyTables) -> str:
    moves, correlation = study.persistence, study.persistence_by_year["rank_correlation"]
    stay, fall = moves.at["1", "1"], moves.at["1", "4"]
    mean = format_number(correlation.mean(), 2)
    pairs = count_things(len(correlation), "{n} pair", "{n} pairs")
    return say(
        "Of the best quarter of the funds of a calendar year, {stay} were among the best quarter of the "
        "next, and {fall} among the worst; 25\u202f% each would be no persistence. The mean rank correlation "
        "of {pairs} of years is {mean}. Funds that the study could not choose in all of the next year are "
        "gone: closed, or without values.",
        stay=format_percent(stay),
        fall=format_percent(fall),
        pairs=pairs,
        mean=mean,
    )


def _tint(share: float) -> str:
    if pd.isna(share) or abs(share - _EVEN) < 0.01:
        return "flat"
    size = 1 + (abs(share - _EVEN) >= 0.05) + (abs(share - _EVEN) >= 0.15)
    return f"{'gain' if share > _EVEN else 'loss'}{size}"
