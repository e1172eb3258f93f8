"""Chinese fund data from akshare as clean tables: every call is paced, retried and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError
from geodual.extras import import_extra

from .source import Pace

# Classes of funds whose sizes are published: equity, mixed, bond, and funds that invest abroad.
SIZE_CLASSES = ("股票型基金", "混合型基金", "债券型基金", "QDII基金")
# Errors that akshare's parsers raise for an empty answer.
_EMPTY_SIGNS = ("Length mismatch", "No tables found", "list index out of range", "out-of-bounds")
_REMEDY = "update akshare, and report the problem to geodual if that does not help"
# Growth is published with two decimals of a percent, NAVs with three or four: a larger difference between
# the two is a payment.
_ROUNDING = 5e-4
_JUMP = 0.1  # the daily limit of most Chinese stocks: a larger move that the NAV does not show is a misprint


class Akshare:
    """Chinese open-end funds and the CSI index of equity and mixed funds, through akshare.

    Parameters
    ----------
    pace : Pace
        How its sites are called.
    client : module, optional
        Stand-in for akshare.

    Raises
    ------
    MissingExtraError
        If akshare is not installed; the message has the command that installs it.
    """

    name = "akshare"
    index = "930950"  # the index that the paper compares with
    kinds = ("股票型", "混合型", "债券型", "指数型", "QDII")  # equity, mixed, bond, index, invested abroad

    def __init__(self, pace: Pace, client: Any = None) -> None:
        self._pace = pace
        self._client = client or import_extra("akshare", "data", "Fetching needs akshare")
        self.version: str = getattr(self._client, "__version__", "unknown")

    def list_funds(self, failures: dict[str, str]) -> pd.DataFrame:
        """Return all funds by code: `name`, `type`, `size` in yuan, and whether it `repeats` another code."""
        answer = self._call("fund_name_em")
        funds = _take(answer, {"基金代码": "code", "基金简称": "name", "基金类型": "type"}).astype(str)
        funds = funds.assign(code=_read_codes(funds["code"])).drop_duplicates("code").set_index("code")
        # Back-end classes repeat the NAVs of another code.
        return funds.assign(
            repeats=funds["name"].str.contains("后端"), size=self._sizes(failures).reindex(funds.index)
        )

    def _sizes(self, failures: dict[str, str]) -> pd.Series[float]:
        """Return the known sizes by code: units in circulation × unit NAV."""
        parts = [pd.Series(dtype=float, index=pd.Index([], dtype=str))]
        for size_class in SIZE_CLASSES:
            try:
                answer = self._call("fund_scale_open_sina", symbol=size_class)
                table = _take(answer, {"基金代码": "code", "单位净值": "unit_nav", "最近总份额": "units"})
            except DataError as error:
                failures[f"size {size_class}"] = str(error)
                continue
            size = _read_numbers(table["unit_nav"]) * _read_numbers(table["units"])
            parts.append(size.where(size > 0).set_axis(_read_codes(table["code"])).dropna())
        sizes: pd.Series[float] = pd.concat(parts)
        return sizes.loc[~sizes.index.duplicated()]

    def fetch_nav(self, code: str) -> pd.DataFrame:
        """Return `date`, `unit_nav` and `growth` (percent) as published since the start, and `adjusted`."""
        answer = self._fund(code, "单位净值走势")
        table = _take(answer, {"净值日期": "date", "单位净值": "unit_nav", "日增长率": "growth"})
        history = pd.DataFrame(
            {
                "date": _read_dates(table["date"]),
                "unit_nav": _read_numbers(table["unit_nav"]),
                "growth": _read_numbers(table["growth"]),
            }
        ).dropna(subset="date", ignore_index=True)
        return adjust_nav(history, self._events(code) if needs_events(history) else None)

    def _events(self, code: str) -> pd.DataFrame:
        """Return the payments and splits of a fund: `date`, `cash` per unit, `split` (new units for one)."""
        payments = _read_payments(self._fund(code, "分红送配详情"))
        splits = _read_splits(self._fund(code, "拆分详情"))
        return pd.concat([payments, splits], ignore_index=True).dropna()

    def fetch_index(self, first: pd.Timestamp, last: pd.Timestamp) -> pd.Series[float]:
        """Return the closing levels of the index between two days; days without a level are left out."""
        answer = self._call(
            "stock_zh_index_hist_csindex",
            symbol=self.index,
            start_date=f"{first:%Y%m%d}",
            end_date=f"{last:%Y%m%d}",
        )
        table = _take(answer, {"日期": "date", "收盘": "level"})
        level = _read_numbers(table["level"]).set_axis(_read_dates(table["date"]))
        return level[level > 0].sort_index().loc[first:last]

    def _fund(self, code: str, indicator: str) -> pd.DataFrame:
        return self._call("fund_open_fund_info_em", symbol=code, indicator=indicator, period="成立来")

    def _call(self, name: str, **arguments: str) -> pd.DataFrame:
        """Call akshare until it answers; an empty answer, even one that makes akshare fail, has no row."""
        function = getattr(self._client, name, None)
        if function is None:
            raise DataError(f"akshare has no `{name}`: {_REMEDY}.")

        def ask() -> pd.DataFrame:
            try:
                answer = function(**arguments)
            except Exception as error:
                if any(sign in str(error) for sign in _EMPTY_SIGNS):
                    return pd.DataFrame()
                raise
            return pd.DataFrame() if answer is None else answer

        answer: pd.DataFrame = self._pace.call(f"{name}({', '.join(arguments.values())})", ask)
        return answer


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


def adjust_nav(history: pd.DataFrame, events: pd.DataFrame | None = None) -> pd.DataFrame:
    r"""Chain the daily returns of a fund, with all distributions reinvested.

    With unit NAV :math:`u_t`, cash :math:`c_t` and split ratio :math:`s_t` recorded for day t, the return is

    .. math:: r_t = (s_t u_t + c_t)/u_{t-1} - 1, \qquad A_t = A_{t-1}(1 + r_t), \quad A_0 = 1.

    If the published growth differs from it by more than rounding, a payment or split is missing in the
    record, and the growth is taken as the return. A growth or a record that implies a move of more than 10 %
    which the unit NAV does not show is a misprint and is not used.

    Parameters
    ----------
    history : DataFrame
        Columns `date`, `unit_nav` and `growth` (percent, as published), in any order of days.
    events : DataFrame, optional
        Columns `date`, `cash` per unit and `split` (new units for one). An event counts on the first day with
        a NAV on or after its date.

    Returns
    -------
    DataFrame
        The rows in the order of days, with the additional column `adjusted`. It is missing in rows that have
        no positive NAV or are corrected by a later row; such rows are skipped.
    """
    table = history.sort_values("date", kind="stable", ignore_index=True)
    usable = _find_usable(table)
    rows = table[usable]
    unit = rows["unit_nav"].to_numpy(float)
    adjusted = np.full(len(table), np.nan)
    if len(rows):
        cash, split = _place_events(rows["date"], events)
        before = unit[:-1]
        plain = unit[1:] / before - 1
        recorded = (split[1:] * unit[1:] + cash[1:]) / before - 1
        growth = _read_growth(table, usable)[1:]
        returns = np.where(_is_plausible(recorded, plain), recorded, plain)
        published = _is_plausible(growth, plain) & (np.abs(growth - returns) > _ROUNDING)
        adjusted[usable] = np.cumprod(np.append(1.0, 1 + np.where(published, growth, returns)))
    return table.assign(adjusted=adjusted)


def needs_events(history: pd.DataFrame) -> bool:
    """Return whether the growth of a day is not published, so that only the record shows a payment or split.

    Parameters
    ----------
    history : DataFrame
        Columns `date`, `unit_nav` and `growth` (percent, as published).

    Returns
    -------
    bool
        Whether any day except the first has no growth.
    """
    table = history.sort_values("date", kind="stable", ignore_index=True)
    return bool(np.isnan(_read_growth(table, _find_usable(table))[1:]).any())


def _find_usable(table: pd.DataFrame) -> np.ndarray:
    """Mark the last row of each day, if its NAV is a positive number."""
    unit = table["unit_nav"].to_numpy(float)
    positive: np.ndarray = np.isfinite(unit) & (unit > 0)
    return positive & ~table["date"].where(positive).duplicated(keep="last").to_numpy(bool)


def _read_growth(table: pd.DataFrame, usable: np.ndarray) -> np.ndarray:
    """Return the growth of usable rows as a fraction; NaN if it is missing or refers to an unusable NAV."""
    unit = table["unit_nav"].to_numpy(float)
    follows_a_nav = np.append(True, (np.isfinite(unit) & (unit > 0))[:-1])
    growth = table["growth"].to_numpy(float)[usable] / 100
    return np.where(follows_a_nav[usable] & (growth > -1) & np.isfinite(growth), growth, np.nan)


def _place_events(days: pd.Series, events: pd.DataFrame | None) -> tuple[np.ndarray, np.ndarray]:
    """Return cash and split ratio for each day; events after the last day are not yet in the NAV."""
    cash, split = np.zeros(len(days)), np.ones(len(days))
    if events is not None:
        # `add.at` and `multiply.at`: several events may fall on one day.
        row = days.searchsorted(events["date"])
        counts = row < len(days)
        np.add.at(cash, row[counts], events["cash"].to_numpy(float)[counts])
        np.multiply.at(split, row[counts], events["split"].to_numpy(float)[counts])
    return cash, split


def _is_plausible(candidate: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Return which returns are known and show no jump that the unit NAV does not show."""
    plausible: np.ndarray = np.abs(candidate) <= np.maximum(np.abs(plain), _JUMP)
    return plausible
