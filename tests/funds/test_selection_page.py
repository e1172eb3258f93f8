"""The page of picks: names, types, known factors and findings, where they are known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import select
from geodual.funds.report.picks_page import render_selection
from tests.browser.hostile_study import HOSTILE
from tests.funds.report_page import Page


@pytest.fixture(scope="module")
def selection(universe):
    return select(universe.panel, metric="euclidean", top=3)


def with_texts(selection, **texts):
    return replace(selection, picks=selection.picks.assign(**texts))


def first_cells(selection):
    return [row["Fund"] for row in Page(render_selection(selection)).table("Picks, best first")]


def test_what_is_known_about_a_pick_stands_below_its_code(selection):
    a, b, c = selection.picks["fund"]
    shown = with_texts(
        selection, name=["Alpha", "", None], type=["bond", pd.NA, "stock"], known=[1.0, 0.706, np.nan]
    )
    assert first_cells(shown) == [f"{a}Alpha · bond", f"{b}71\u202f% of its factors known", f"{c}stock"]
    assert f"<summary>{a} Alpha</summary>" in render_selection(shown)
    assert f"<summary>{b}</summary>" in render_selection(shown)


def test_a_selection_without_facts_shows_codes(selection):
    bare = selection.picks.drop(columns=["name", "type", "known", "finding"], errors="ignore")
    assert first_cells(replace(selection, picks=bare)) == bare["fund"].tolist()


def test_findings_have_a_column_if_there_are_any(selection):
    title = "Found in the data"
    assert title not in render_selection(with_texts(selection, finding=["", None, np.nan]))
    rows = Page(render_selection(with_texts(selection, finding=["", "It stands still.", ""])))
    assert [row[title] for row in rows.table("Picks")] == ["", "It stands still.", ""]


def test_hostile_texts_do_no_harm(selection):
    text = render_selection(with_texts(selection, name=HOSTILE, type=HOSTILE, finding=HOSTILE))
    assert HOSTILE not in text
    assert not [tag for tag, _ in Page(text).elements if tag == "script"]
