"""Charts of pages without scripts: curves stand where their axes say, and gaps stay gaps."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from geodual.funds.report.line_chart import day_ticks, draw_lines, draw_record, draw_style, round_ticks

DAYS = pd.bdate_range("2015-01-01", "2018-06-29", name="date")
VALUES = 1.0 + 0.3 * np.sin(np.arange(len(DAYS)) / 90.0)
NUMBER = r"(-?[\d.]+)"


def read(svg):
    """Return the texts with their places, and the points of each curve with its stroke."""
    root = ElementTree.fromstring(svg)
    texts = [(node.text, float(node.get("x")), float(node.get("y"))) for node in root.iter() if node.text]
    curves = {
        node.get("stroke"): re.findall(rf"([ML]){NUMBER} {NUMBER}", node.get("d"))
        for node in root.iter()
        if node.get("fill") == "none" and "L" in node.get("d")
    }
    return texts, curves


@pytest.mark.parametrize("narrow", [False, True])
def test_a_curve_stands_where_the_axes_say(narrow):
    svg = draw_lines(pd.DataFrame({"fund": VALUES - 1.0}, DAYS), {"fund": "A <fund>"}, narrow=narrow)
    texts, curves = read(svg)
    places = {text: (x, y) for text, x, y in texts}
    assert "A <fund>" in places
    (points,) = curves.values()
    x, y = np.array([point[1:] for point in points], dtype=float).T
    # Values lie on the line through two ticks, and so do days.
    (_, zero), (_, tenth) = places["0\u202f%"], places["20\u202f%"]
    shown = 0.2 * ((y + 0.35 * 9.0) - zero) / (tenth - zero)
    kept = (VALUES - 1.0)[::-1][:: -(-len(DAYS) // 600)][::-1]
    assert np.allclose(shown, kept, atol=2e-3)
    (early, _), (late, _) = places["2016"], places["2018"]
    new_year = (pd.to_datetime(["2016-01-01", "2018-01-01"]) - DAYS[0]).days
    assert np.allclose(early - x[0], (late - x[0]) * new_year[0] / new_year[1], atol=0.3)
    assert x.max() < float(ElementTree.fromstring(svg).get("width"))


def test_a_gap_is_not_bridged_and_the_index_is_gray():
    curves = pd.DataFrame({"gmml": VALUES, "index": VALUES[::-1]}, DAYS)[:500]
    curves.iloc[100:150, 0] = np.nan
    _, drawn = read(draw_record(curves, {"gmml": "Picks", "index": "CSI"}))
    assert [kind for kind, *_ in drawn["#0072B2"]].count("M") == 2
    assert len(drawn["#0072B2"]) == 450
    assert [kind for kind, *_ in drawn["#6B6B6B"]].count("M") == 1


def test_areas_of_a_style_are_stacked_to_one():
    weights = pd.DataFrame(
        {"a": [0.25, 0.5], "b": [0.75, 0.5]}, pd.DatetimeIndex(["2015-01-31", "2018-01-31"])
    )
    root = ElementTree.fromstring(draw_style(weights))
    low, high = (
        [float(y) for _, y in re.findall(rf"[ML]{NUMBER} {NUMBER}", node.get("d"))]
        for node in root.iter()
        if node.get("fill", "").startswith("#")
    )
    bottom, top = max(low), min(high)
    assert np.allclose([(bottom - y) / (bottom - top) for y in low], [0.25, 0.5, 0.0, 0.0], atol=1e-3)
    assert np.allclose([(bottom - y) / (bottom - top) for y in high], [1.0, 1.0, 0.5, 0.25], atol=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-0.12, 0.31, [-0.1, 0.0, 0.1, 0.2, 0.3]),
        (-7.0, 0.0, [-6, -4, -2, 0]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert np.allclose(round_ticks(low, high, 5), expected)


def test_days_are_marked_by_years_months_or_ends():
    first = pd.Timestamp("2015-02-10")
    years = day_ticks(first, pd.Timestamp("2040-06-01"), 10)
    assert list(years.values()) == [str(year) for year in range(2016, 2041, 3)]
    months = day_ticks(first, pd.Timestamp("2015-09-20"), 10)
    assert list(months.values()) == ["Mar 2015", "May 2015", "Jul 2015", "Sep 2015"]
    assert list(day_ticks(first, pd.Timestamp("2015-02-27"), 10).values()) == ["2015-02-10", "2015-02-27"]
