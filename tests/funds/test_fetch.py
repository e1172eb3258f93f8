"""The folder of a download: what is asked for, what is left, and honesty about what did not come."""

import json
import sys
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError
from geodual.funds.sources.reading.nav_file import read_index, read_nav

from .fake_akshare import (
    CODES,
    FakeAkshare,
    FakeFund,
    fetch,
    make_market,
    make_rows,
    read_failures,
    replace_fund,
)


def test_a_run_leaves_a_folder_that_a_study_can_start_from(tmp_path: Path):
    market = make_market()
    summary = fetch(tmp_path / "new" / "folder", market)
    folder = tmp_path / "new" / "folder"
    nav = read_nav(folder / "nav.parquet").nav
    assert nav.columns.tolist() == CODES
    assert (nav.index.name, str(nav.index[0].date()), len(nav)) == ("date", "2014-11-03", 60)
    unit = np.array([row[1] for row in market.funds["000003"].rows])
    np.testing.assert_allclose(nav["000003"], unit / unit[0], rtol=1e-12)
    assert read_index(folder / "index.csv").tolist() == list(market.index.values())
    meta = pd.read_csv(folder / "meta.csv", dtype={"code": str})
    assert meta["code"].tolist() == CODES
    np.testing.assert_allclose(meta["size"], [3e8 * fund.rows[-1][1] for fund in market.funds.values()])
    report = json.loads((folder / "fetch.json").read_text("utf-8"))
    assert report["akshare"] == "1.19.0"
    assert report["settings"]["minimum_size"] == 1e8
    assert report["summary"]["fetched"] == summary.fetched == 6
    assert "size" in report["note"]
    assert not list(folder.rglob("*.tmp"))


def test_the_index_is_asked_year_by_year_and_an_empty_year_is_no_error(tmp_path: Path):
    market = make_market()
    summary = fetch(tmp_path, market, start="2013-05-01", end="2015-06-30")
    asked = [call[2:] for call in market.calls if call[0] == "stock_zh_index_hist_csindex"]
    assert asked == [("20130501", "20131231"), ("20140101", "20141231"), ("20150101", "20150630")]
    assert summary.incomplete == ()


def test_dates_cut_the_table_and_not_the_files(tmp_path: Path):
    fetch(tmp_path, make_market(), start="2014-12-01", end="2014-12-31")
    nav = pd.read_parquet(tmp_path / "nav.parquet")
    assert (str(nav.index[0].date()), str(nav.index[-1].date())) == ("2014-12-01", "2014-12-31")
    assert len(pd.read_parquet(tmp_path / "funds" / "000001.parquet")) == 60


def test_only_wanted_kinds_and_sizes_are_asked_for(tmp_path: Path):
    market = make_market()
    rows = market.funds["000001"].rows
    replace_fund(market, "000002", kind="货币型-普通货币")
    replace_fund(market, "000003", name="基金3(后端)")
    replace_fund(market, "000004", units=5e7)
    replace_fund(market, "000005", units=None)
    market.funds["000007"] = FakeFund("海外", "QDII-普通股票", rows)
    market.funds["000008"] = FakeFund("指数", "指数型-股票", rows)
    summary = fetch(tmp_path, market)
    assert market.asked() == ["000001", "000005", "000006", "000007", "000008"]
    assert (summary.listed, summary.unwanted, summary.small) == (8, 2, 1)
    assert (summary.unknown_size, summary.wanted) == (1, 5)
    meta = pd.read_csv(tmp_path / "meta.csv", dtype={"code": str}).set_index("code")
    assert meta["size"].isna().to_dict()["000005"]


def test_dividends_and_splits_come_back_as_the_published_growth(tmp_path: Path):
    market = make_market(n_funds=2)
    rows = market.funds["000001"].rows
    fallen = [(day, round(unit - 0.2, 4), growth) for day, unit, growth in rows[30:]]
    halved = [(day, round(unit / 2, 4), growth) for day, unit, growth in rows[30:]]
    replace_fund(market, "000001", rows=rows[:30] + fallen)
    replace_fund(market, "000002", rows=rows[:30] + halved)
    fetch(tmp_path, market)
    returns = pd.read_parquet(tmp_path / "nav.parquet").pct_change().iloc[30]
    np.testing.assert_allclose(returns, rows[30][2] / 100, rtol=1e-9)
    assert market.asked("分红送配详情") == []


def test_the_record_is_asked_for_where_a_growth_is_missing(tmp_path: Path):
    market = make_market(n_funds=3)
    days = [row[0] for row in market.funds["000001"].rows]
    day = days[30]
    rows = (
        [(when, 1.0, 0.0) for when in days[:30]]
        + [(day, 0.8, None)]
        + [(when, 0.8, 0.0) for when in days[31:]]
    )
    replace_fund(
        market,
        "000002",
        rows=rows,
        dividends=[
            ("2014年", day, day, "每份派现金0.1500元", day),
            ("2014年", day, day, "每10份派现金0.5000元", day),
            ("2014年", "暂无", "暂无", "暂无", "暂无"),
        ],
    )
    replace_fund(market, "000003", rows=rows, splits=[("2014年", day, "份额折算", "1:1.2500")])
    fetch(tmp_path, market)
    assert market.asked("分红送配详情") == market.asked("拆分详情") == ["000002", "000003"]
    np.testing.assert_allclose(
        pd.read_parquet(tmp_path / "nav.parquet")[["000002", "000003"]], 1.0, rtol=1e-12
    )


def test_numbers_as_text_and_codes_without_zeros_are_read(tmp_path: Path):
    class Texts(FakeAkshare):
        def fund_name_em(self) -> pd.DataFrame:
            answer = super().fund_name_em()
            return answer.assign(基金代码=answer["基金代码"].astype(int))

        def fund_open_fund_info_em(self, symbol: str, indicator: str, period: str) -> pd.DataFrame:
            return super().fund_open_fund_info_em(symbol, indicator, period).astype(str)

    market = make_market()
    fetch(tmp_path / "typed", market)
    fetch(tmp_path / "texts", Texts(market.funds, market.index))
    paths = [tmp_path / name / "nav.parquet" for name in ("typed", "texts")]
    pd.testing.assert_frame_equal(*map(pd.read_parquet, paths))


def test_days_on_which_the_exchange_is_closed_are_left_out(tmp_path: Path):
    """A Sunday, and a New Year's Eve between two days of the index; days before and after the index stay."""
    days = pd.DatetimeIndex(
        [*pd.bdate_range("2014-12-22", "2015-01-09"), pd.Timestamp("2014-12-28")]
    ).sort_values()
    market = make_market(n_funds=2)
    replace_fund(market, "000001", rows=make_rows(days, seed=1))
    replace_fund(market, "000002", rows=make_rows(days, seed=2))
    closed = ["2014-12-28", "2014-12-31", "2015-01-01"]
    open_days = [f"{day:%Y-%m-%d}" for day in days if f"{day:%Y-%m-%d}" not in closed]
    market.index = dict.fromkeys(open_days[2:-2], 1000.0)
    fetch(tmp_path / "index", market)
    assert (
        pd.read_parquet(tmp_path / "index" / "nav.parquet").index.strftime("%Y-%m-%d").tolist() == open_days
    )
    market.index = {}
    fetch(tmp_path / "none", market)
    weekdays = [f"{day:%Y-%m-%d}" for day in days if day.weekday() < 5]
    assert pd.read_parquet(tmp_path / "none" / "nav.parquet").index.strftime("%Y-%m-%d").tolist() == weekdays
    assert not (tmp_path / "none" / "index.csv").exists()


def test_a_failing_year_of_the_index_stays_as_an_earlier_run_knew_it(tmp_path: Path):
    market = make_market()
    fetch(tmp_path, market)
    before = (tmp_path / "index.csv").read_bytes()
    market.failures |= {"2014": inf, "债券型基金": inf}
    summary = fetch(tmp_path, market)
    assert summary.incomplete == ("size 债券型基金", "index 2014")
    assert list(read_failures(tmp_path)) == list(summary.incomplete)
    assert summary.failed == 0
    assert (tmp_path / "index.csv").read_bytes() == before


def test_progress_and_limit(tmp_path: Path):
    steps = []
    summary = fetch(tmp_path, make_market(), limit=2, progress=lambda *step: steps.append(step))
    assert steps == [(1, 2, "000001"), (2, 2, "000002")]
    assert (summary.wanted, summary.funds) == (2, 2)


def test_the_counts_add_up(tmp_path: Path):
    market = make_market()
    replace_fund(market, "000001", rows=[])
    market.failures["000002"] = inf
    fetch(tmp_path, market, retries=0, limit=3)
    summary = fetch(tmp_path, market, retries=0)
    assert (summary.resumed, summary.fetched, summary.empty, summary.failed) == (1, 3, 1, 1)
    assert summary.wanted == 6
    assert (summary.funds, summary.days, summary.first_day) == (4, 60, "2014-11-03")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "2016-01-01"}, "`start` must not be after `end`.*swap them"),
        ({"start": "soon"}, "`start` must be a date, got 'soon'; write it as 2017-01-01"),
        ({"pause": -1.0}, "`pause` must be at least 0, got -1.0; leave it out for the default"),
        ({"retries": -1}, "`retries` must be at least 0"),
        ({"minimum_size": float("nan")}, "`minimum_size` must be at least 0"),
        ({"limit": 0}, "`limit` must be at least 1"),
        ({"kinds": ["期货型"]}, "None of the 6 listed funds is of the kinds 期货型; change `kinds`"),
        ({"start": "2010-01-01", "end": "2010-12-31"}, "No fund had a NAV from 2010-01-01 to 2010-12-31"),
        ({"minimum_size": 1e12}, "No fund had a NAV.*failed.csv, or change .*`minimum_size`"),
    ],
)
def test_bad_requests_are_refused_with_one_clear_line(tmp_path: Path, options: dict, message: str):
    with pytest.raises(DataError, match=message) as caught:
        fetch(tmp_path, make_market(), **options)
    assert "\n" not in str(caught.value)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(DataError, match="taken cannot be used as a folder"):
        fetch(tmp_path / "taken", make_market())


def test_no_list_no_run(tmp_path: Path):
    market = make_market()
    market.failures["fund_name_em"] = inf
    with pytest.raises(DataError, match=r"fund_name_em.*ConnectionError.*Check the connection and run again"):
        fetch(tmp_path, market, retries=1)


def test_another_akshare_is_noticed(tmp_path: Path):
    class Renamed(FakeAkshare):
        def fund_name_em(self) -> pd.DataFrame:
            return super().fund_name_em().rename(columns={"基金代码": "代码"})

    with pytest.raises(DataError, match=r"without \['基金代码'\]: update akshare"):
        fetch(tmp_path, Renamed(make_market().funds))
    with pytest.raises(DataError, match="akshare has no `fund_name_em`"):
        fetch(tmp_path, object())


def test_without_akshare_the_command_that_installs_it_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "akshare", None)
    with pytest.raises(DataError, match=r"pip install 'geodual\[data\]'"):
        fetch(tmp_path, None)


def test_a_single_kind_may_be_a_text(tmp_path: Path):
    assert fetch(tmp_path / "one", make_market(), kinds="混合型").wanted == len(CODES)
    with pytest.raises(DataError, match=r"listed funds is of the kinds 混x; change"):
        fetch(tmp_path / "none", make_market(), kinds="混x")
