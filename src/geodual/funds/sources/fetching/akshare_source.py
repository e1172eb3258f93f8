"""Chinese fund data from akshare as clean tables: every call is paced, retried and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError
from geodual.extras import import_extra

# Classes of funds whose sizes are published: equity, mixed, bond, and funds that invest abroad.
SIZE_CLASSES = ("股票型基金", "混合型基金", "债券型基金", "QDII基金")
# Errors that akshare's parsers raise for an empty answer.
_EMPTY_SIGNS = ("Length mismatch", "No tables found", "list index out of range", "out-of-bounds")
_REMEDY = "update akshare, and report the problem to geodual if that does not help"


def import_akshare() -> Any:
    """Import akshare.

    Returns
    -------
    module
        akshare.

    Raises
    ------
    MissingExtraError
        If akshare is not installed; the message has the command that installs it.
    """
    return import_extra("akshare", "data", "Fetching needs akshare")


@dataclass(frozen=True)
class Akshare:
    """The calls of akshare that a fund study needs.

    Parameters
    ----------
    client : module
        akshare, or a stand-in for tests.
    pause : float
        Seconds to wait before each call; before the k-th retry, `pause` · 2ᵏ · (1 + jitter).
    retries : int
        Number of times that a failing call is repeated.
    sleep : callable
        Waits the given number of seconds.
    rng : Generator
        Draws the jitter, uniform on [0, 1).
    """

    client: Any
    pause: float
    retries: int
    sleep: Callable[[float], None]
    rng: np.random.Generator

    def list_funds(self) -> pd.DataFrame:
        """Return all funds: `code`, `name` and `type`, one row per code."""
        answer = self._call("fund_name_em")
        funds = _take(answer, {"基金代码": "code", "基金简称": "name", "基金类型": "type"}).astype(str)
        return funds.assign(code=_read_codes(funds["code"])).drop_duplicates("code", ignore_index=True)

    def fetch_sizes(self, size_class: str) -> pd.Series:
        """Return the known sizes of a class of funds by code, in yuan: units in circulation × unit NAV."""
        answer = self._call("fund_scale_open_sina", symbol=size_class)
        table = _take(answer, {"基金代码": "code", "单位净值": "unit_nav", "最近总份额": "units"})
        size = _read_numbers(table["unit_nav"]) * _read_numbers(table["units"])
        return size.where(size > 0).set_axis(_read_codes(table["code"])).dropna()

    def fetch_history(self, code: str) -> pd.DataFrame:
        """Return `date`, `unit_nav` and `growth` (percent) of a fund since it started; no row if unknown."""
        answer = self._fund(code, "单位净值走势")
        table = _take(answer, {"净值日期": "date", "单位净值": "unit_nav", "日增长率": "growth"})
        return pd.DataFrame(
            {
                "date": _read_dates(table["date"]),
                "unit_nav": _read_numbers(table["unit_nav"]),
                "growth": _read_numbers(table["growth"]),
            }
        ).dropna(subset="date", ignore_index=True)

    def fetch_events(self, code: str) -> pd.DataFrame:
        """Return the payments and splits of a fund: `date`, `cash` per unit, `split` (new units for one)."""
        payments = _read_payments(self._fund(code, "分红送配详情"))
        splits = _read_splits(self._fund(code, "拆分详情"))
        return pd.concat([payments, splits], ignore_index=True).dropna()

    def fetch_index(self, code: str, first: pd.Timestamp, last: pd.Timestamp) -> pd.Series:
        """Return the closing levels of a CSI index between two days; days without a level are left out."""
        answer = self._call(
            "stock_zh_index_hist_csindex",
            symbol=code,
            start_date=f"{first:%Y%m%d}",
            end_date=f"{last:%Y%m%d}",
        )
        table = _take(answer, {"日期": "date", "收盘": code})
        level = _read_numbers(table[code]).set_axis(_read_dates(table["date"]))
        return level[level > 0].sort_index().loc[first:last]

    def _fund(self, code: str, indicator: str) -> pd.DataFrame:
        return self._call("fund_open_fund_info_em", symbol=code, indicator=indicator, period="成立来")

    def _call(self, name: str, **arguments: str) -> pd.DataFrame:
        """Call akshare until it answers; an empty answer, even one that makes akshare fail, has no row."""
        function = getattr(self.client, name, None)
        if function is None:
            raise DataError(f"akshare has no `{name}`: {_REMEDY}.")
        failure = Exception()
        for attempt in range(self.retries + 1):
            self.sleep(self.pause * (2**attempt * (1 + self.rng.random()) if attempt else 1))
            try:
                answer = function(**arguments)
            except Exception as error:  # the network, the site or akshare's parser may raise anything
                if any(sign in str(error) for sign in _EMPTY_SIGNS):
                    return pd.DataFrame()
                failure = error
            else:
                return pd.DataFrame() if answer is None else answer
        asked = ", ".join(arguments.values())
        raise DataError(
            f"{name}({asked}): {type(failure).__name__}: {failure}. Check the connection and run again later."
        ) from failure


def _take(answer: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Select and rename columns of an answer, which may be empty but must have these columns otherwise."""
    if answer.empty:
        return pd.DataFrame(columns=list(names.values()), dtype=object)
    missing = [name for name in names if name not in answer.columns]
    if missing:
        raise DataError(f"akshare answered {list(answer.columns)} without {missing}: {_REMEDY}.")
    return answer[list(names)].rename(columns=dict(names))


def _read_payments(answer: pd.DataFrame) -> pd.DataFrame:
    """Read texts such as 每份派现金0.0330元, "0.0330 yuan in cash for each unit", or for ten (每10份)."""
    # The name of the column varies, such as 每份分红 ("dividend for each unit").
    cash = next((name for name in answer.columns if "每" in str(name) and "分红" in str(name)), "每份分红")
    table = _take(answer, {"除息日": "date", cash: "cash"})
    text = table["cash"].astype(str).str.extract(r"每(\d*)份\D*([\d.]+)")
    per_unit = _read_numbers(text[1]) / _read_numbers(text[0]).fillna(1)
    return pd.DataFrame({"date": _read_dates(table["date"]), "cash": per_unit, "split": 1.0})


def _read_splits(answer: pd.DataFrame) -> pd.DataFrame:
    """Read texts such as 1:2.5212, new units for one."""
    table = _take(answer, {"拆分折算日": "date", "拆分折算比例": "split"})
    split = _read_numbers(table["split"].astype(str).str.extract(r":\s*([\d.]+)")[0])
    return pd.DataFrame({"date": _read_dates(table["date"]), "cash": 0.0, "split": split})


def _read_codes(column: pd.Series) -> pd.Series:
    return column.astype(str).str.zfill(6)  # a code read as a number has lost its leading zeros


def _read_dates(column: pd.Series) -> pd.Series:
    return pd.to_datetime(column, errors="coerce").astype("datetime64[ns]")


def _read_numbers(column: pd.Series) -> pd.Series:
    return pd.to_numeric(column, errors="coerce").astype(float)
