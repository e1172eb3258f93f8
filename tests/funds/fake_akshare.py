"""A stand-in for akshare: its calls, Chinese columns, types, empty answers and errors, without a network."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from geodual.funds.sources.fetching.akshare_source import Akshare
from geodual.funds.sources.fetching.fetch import FetchSummary, fetch_universe
from geodual.funds.sources.fetching.source import Pace

CODES = [f"{number:06d}" for number in range(1, 7)]

DIVIDEND_COLUMNS = ["年份", "权益登记日", "除息日", "每份分红", "分红发放日"]
SPLIT_COLUMNS = ["年份", "拆分折算日", "拆分类型", "拆分折算比例"]
INDEX_COLUMNS = ["日期", "指数代码", "开盘", "收盘", "涨跌幅", "样本数量"]


@dataclass(frozen=True)
class FakeFund:
    """What the sites know of a fund; `units` is None where no size is published."""

    name: str
    kind: str
    rows: list[tuple]
    units: float | None = 3e8
    dividends: list[tuple] = field(default_factory=list)
    splits: list[tuple] = field(default_factory=list)


@dataclass
class FakeAkshare:
    """Answers from `funds` and `index`, counts calls, and misbehaves as told.

    `failures[key]` calls for a fund code, size class, index year or function fail with a ConnectionError;
    `interrupt_at` is the number of the NAV call at which the user presses Ctrl-C.
    """

    funds: dict[str, FakeFund]
    index: dict[str, float] = field(default_factory=dict)
    failures: dict[str, float] = field(default_factory=dict)
    interrupt_at: int | None = None
    calls: list[tuple[str, ...]] = field(default_factory=list)
    __version__ = "1.19.0"

    def asked(self, indicator: str = "单位净值走势") -> list[str]:
        """Return the fund codes that an indicator was asked for, in order."""
        return [
            call[1] for call in self.calls if call[0] == "fund_open_fund_info_em" and call[2] == indicator
        ]

    def fund_name_em(self) -> pd.DataFrame:
        self._receive("fund_name_em", key="fund_name_em")
        rows = [(code, "ABC", fund.name, fund.kind, "PINYIN") for code, fund in self.funds.items()]
        return pd.DataFrame(rows, columns=["基金代码", "拼音缩写", "基金简称", "基金类型", "拼音全称"])

    def fund_scale_open_sina(self, symbol: str) -> pd.DataFrame:
        self._receive("fund_scale_open_sina", symbol, key=symbol)
        rows = [
            (number, code, fund.name, fund.rows[-1][1] if fund.rows else None, 1e5, fund.units)
            for number, (code, fund) in enumerate(self.funds.items(), 1)
            if fund.units is not None and symbol.startswith(fund.kind[:3].replace("指数型", "股票型"))
        ]
        columns = ["序号", "基金代码", "基金简称", "单位净值", "总募集规模", "最近总份额"]
        return pd.DataFrame(rows, columns=columns)

    def fund_open_fund_info_em(self, symbol: str, indicator: str, period: str) -> pd.DataFrame:
        assert period == "成立来"
        self._receive("fund_open_fund_info_em", symbol, indicator, key=symbol)
        if len(self.asked()) == self.interrupt_at and indicator == "单位净值走势":
            raise KeyboardInterrupt
        fund = self.funds[symbol]
        rows, columns = {
            "单位净值走势": (fund.rows, ["净值日期", "单位净值", "日增长率"]),
            "分红送配详情": (fund.dividends, DIVIDEND_COLUMNS),
            "拆分详情": (fund.splits, SPLIT_COLUMNS),
        }[indicator]
        if not rows:
            return pd.DataFrame()
        answer = pd.DataFrame(rows, columns=columns)
        if indicator == "单位净值走势":
            answer["净值日期"] = pd.to_datetime(answer["净值日期"]).dt.date
        return answer

    def stock_zh_index_hist_csindex(self, symbol: str, start_date: str, end_date: str) -> pd.DataFrame:
        self._receive("stock_zh_index_hist_csindex", symbol, start_date, end_date, key=start_date[:4])
        first, last = pd.Timestamp(start_date), pd.Timestamp(end_date)
        assert first.year == last.year
        days = [day for day in self.index if first <= pd.Timestamp(day) <= last]
        answer = pd.DataFrame([(day, symbol, None, self.index[day], 0.1, 90) for day in days])
        answer.columns = INDEX_COLUMNS  # akshare does the same, and raises where nothing was answered
        answer["日期"] = pd.to_datetime(answer["日期"]).dt.date
        return answer

    def _receive(self, *call: str, key: str) -> None:
        self.calls.append(call)
        if self.failures.get(key, 0) > 0:
            self.failures[key] -= 1
            raise ConnectionError("Remote end closed connection without response")


def make_rows(days: pd.DatetimeIndex, seed: int) -> list[tuple]:
    """Return published rows: NAVs with four decimals, growth with two, none on the first day."""
    steps = np.random.default_rng(seed).normal(0.0005, 0.01, len(days) - 1)
    unit = np.round(np.append(1.0, np.cumprod(1 + steps)), 4)
    growth = np.append(np.nan, np.round(100 * (unit[1:] / unit[:-1] - 1), 2))
    return list(zip(days.strftime("%Y-%m-%d"), unit, growth, strict=True))


def make_market(n_funds: int = 6, periods: int = 60, start: str = "2014-11-03") -> FakeAkshare:
    """Return a small market of mixed funds 000001, 000002, … and the index on the same weekdays."""
    days = pd.bdate_range(start, periods=periods)
    funds = {
        f"{number:06d}": FakeFund(f"基金{number}", "混合型-偏股", make_rows(days, seed=number))
        for number in range(1, n_funds + 1)
    }
    index = {f"{day:%Y-%m-%d}": 1000.0 + step for step, day in enumerate(days)}
    return FakeAkshare(funds, index, failures=Counter())


def replace_fund(market: FakeAkshare, code: str, **changes) -> None:
    """Change what a market knows of a fund."""
    market.funds[code] = replace(market.funds[code], **changes)


def fetch(
    folder: Path, market: FakeAkshare, pause=0.5, retries=5, sleep=lambda seconds: None, **options
) -> FetchSummary:
    """Fetch a market of 2014 and 2015 without waiting."""
    options = {"start": "2014-01-01", "end": "2015-12-31"} | options
    return fetch_universe(folder, source=Akshare(Pace(pause, retries, sleep), market), **options)


def read_failures(folder: Path) -> dict[str, str]:
    """Return the errors of ``failed.csv`` by code."""
    return pd.read_csv(folder / "failed.csv", dtype=str).set_index("code")["error"].to_dict()
