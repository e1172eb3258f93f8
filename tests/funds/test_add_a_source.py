"""The source of docs/add_a_source.md, from its own text, in Python and in the command; sources that err."""

import re

import pandas as pd
import pytest

from geodual.funds import DataError, fetch_universe
from tests.guides import run_command, run_guide


@pytest.fixture
def guide(tmp_path, monkeypatch):
    return run_guide("add_a_source.md", tmp_path, monkeypatch)


def test_the_command_fetches_from_it(guide, tmp_path):
    with (tmp_path / "house_site.py").open("a") as file:
        file.write(f"\n\nHouseSite.site = {guide['HouseSite'].site!r}\n")
    dates = ("--start", "2015-01-01", "--end", "2015-12-31")
    out = run_command(
        tmp_path, "fetch", "--source", "house_site:HouseSite", "-o", "d", "--pause", "0", *dates
    )
    assert "2 funds, 60 days" in out
    for name in ("nav.parquet", "funds/A1.parquet"):
        found = [pd.read_parquet(folder / name) for folder in (tmp_path / "d", guide["folder"] / "data")]
        pd.testing.assert_frame_equal(*found)
    assert (tmp_path / "d" / "index.csv").read_text() == (guide["folder"] / "data" / "index.csv").read_text()


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"date": ["2015-01-05"] * 2, "adjusted": [1.0, 1.1]}, "one positive value per day"),
        ({"date": ["2015-01-05", "2015-01-06"], "adjusted": [1.0, -1.1]}, "one positive value per day"),
        ({"date": ["2015-01-05"], "nav": [1.0]}, "adjusted"),
    ],
)
def test_a_history_of_another_form_is_a_failure_of_its_fund(guide, tmp_path, table, error):
    class Wrong(guide["HouseSite"]):
        def fetch_nav(self, code):
            frame = pd.DataFrame(table).assign(date=lambda frame: pd.to_datetime(frame["date"]))
            return super().fetch_nav(code) if code == "A1" else frame

    source = Wrong(guide["Pace"](pause=0.0))
    summary = fetch_universe(tmp_path / "data", source=source, start="2015-01-01", end="2015-12-31")
    assert (summary.fetched, summary.failed) == (1, 1)
    assert re.search(f"B2,.*{error}", (tmp_path / "data" / "failed.csv").read_text())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nobody", "unknown source 'nobody'; known are akshare. Give your own as package.module:Class."),
        ("house_site:Nobody", "house_site has no 'Nobody'"),
        ("house_site:HouseSite.site", "cannot be made .*its class must take one argument, a `Pace`"),
    ],
)
@pytest.mark.usefixtures("guide")
def test_an_unknown_source_is_named(tmp_path, source, message):
    with pytest.raises(DataError, match=message):
        fetch_universe(tmp_path / "data", source=source)
