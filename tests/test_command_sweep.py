"""``geodual sweep``, as its user meets it."""

import json

import pandas as pd
import pytest

from geodual.funds import sweep, synthetic_universe


@pytest.fixture(scope="module")
def nav(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "nav.csv"
    synthetic_universe(20, "2014-01-02", "2015-06-30").panel.nav.to_csv(path)
    return path


def test_the_table_is_printed_and_saved(geodual, nav, tmp_path):
    (tmp_path / "study.toml").write_text('k = 7\nmetrics = ["gmml"]\n', "utf-8")
    settings = ("--set", "k=3,5", "--set", "top=4", "--config", "study.toml", "--cost", "0.001")
    code, out, err = geodual("sweep", nav, *settings, "-j", "1")
    assert code == 0
    assert "sweep: 6/6 (k = 5, top = 4)" in err
    expected = sweep(nav, {"k": [3, 5], "top": [4]}, metrics="gmml", cost=0.001)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "geodual-sweep.csv"), expected.table, rtol=1e-12)
    assert "2 settings, 2 trials" in out
    assert expected.headline in out
    code, out, err = geodual("sweep", nav, *settings, "-j", "1", "--json", "-o", "mine.csv")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["headline"] == expected.headline
    assert [row["k"] for row in told["table"]] == [3, 5]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--set", "k"), "`--set k`: k has no values"),
        (("--set", "k=3", "--set", "k=5"), "`--set k=5`: k is given twice"),
        (("--set", "neighbors-of=3"), "unknown setting `neighbors_of`"),
        (("--set", "k=three"), "sweep, k = three: `k` must be a whole number"),
        (("--set", "tune=maybe"), "sweep, tune = maybe: `tune` must be true or false"),
        (("--set", "k="), "`k` has no values to try"),
    ],
)
def test_a_mistake_is_one_line(geodual, nav, given, told):
    code, out, err = geodual("sweep", nav, *given, "-j", "1", "-q")
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1
