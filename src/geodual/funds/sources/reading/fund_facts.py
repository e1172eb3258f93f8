"""Facts about funds besides their values: names, types, share groups, companies, fees."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...csv_cells import unmark_text
from .raw_table import RawTable
from .table_file import find_named, open_source

# Known column names in order of preference, compared without case, spaces, signs and anything in brackets.
_CODE_NAMES = (
    *("code", "fundcode", "schemecode", "symbol", "ticker", "isin", "fundid", "id", "fund"),
    *("基金代码", "代码", "证券代码", "基金"),
)
_TEXT_NAMES = {
    "name": (
        *("name", "fundname", "schemename", "shortname", "fullname"),
        *("基金简称", "基金名称", "名称", "简称", "基金全称"),
    ),
    "type": (
        *("type", "fundtype", "category", "schemecategory", "assetclass", "class"),
        *("基金类型", "类型", "基金类别", "类别", "投资类型"),
    ),
    "group": (
        *("sharegroup", "group", "fundgroup", "portfolio", "masterfund"),
        *("份额组", "基金组", "组合", "主基金", "主代码"),
    ),
    "company": (
        *("company", "amc", "fundcompany", "fundhouse", "managementcompany", "provider", "issuer"),
        *("基金公司", "基金管理人", "管理人", "公司"),
    ),
    "redemption_fees": ("redemptionfees", "redemptionfee", "exitload", "赎回费率", "赎回费"),
}
_FEE_NAMES = (
    *("purchasefee", "frontendfee", "frontload", "entryload", "subscriptionfee", "buyfee", "fee"),
    *("申购费率", "申购费", "购买费率", "手续费", "费率"),
)
_COLUMNS = {**_TEXT_NAMES, "purchase_fee": _FEE_NAMES}
_MOST_PLAIN = 0.1  # without a percent sign, a fee from this one on may be meant as a percentage
_FEE = re.compile(r"(\d+\.?\d*(?:[eE]-?\d+)?|\.\d+)\s*([%％]?)")


@dataclass(frozen=True, eq=False)
class FundFacts:
    """Facts about funds; funds and facts may be missing.

    Parameters
    ----------
    table : DataFrame of shape (n_funds, 6)
        One row per fund, by code (text). Columns: name, type, group, company (texts), redemption_fees (rules
        by days held, such as 7:0.015;365:0.005) and purchase_fee (a share, 0.0015 for 0.15 %); missing where
        unknown.
    source : str
        Where the facts come from.

    See Also
    --------
    read_facts : Read facts from a file or a DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> from geodual.funds.sources.reading.fund_facts import read_facts
    >>> facts = read_facts(pd.DataFrame({
    ...     "code": ["000001", "000002", "000003"],
    ...     "name": ["Growth A", "Growth C", "Value"],
    ...     "share_group": ["Growth", "Growth", "Value"],
    ...     "purchase_fee": ["0.15%", "0%", None],
    ... }))
    >>> facts.names["000003"], facts.purchase_fees
    ('Value', {'000001': 0.0015, '000002': 0.0})
    >>> n_values = pd.Series({"000001": 900, "000002": 400, "900000": 700})
    >>> facts.one_per_group(n_values)  # the cheapest share class; a fund without facts stays
    ['000002', '900000']
    """

    table: pd.DataFrame
    source: str = "DataFrame"

    @cached_property
    def names(self) -> dict[str, str]:
        """Names by code, of the funds whose name is known."""
        return self._known("name")

    @cached_property
    def types(self) -> dict[str, str]:
        """Types by code, of the funds whose type is known."""
        return self._known("type")

    @cached_property
    def groups(self) -> dict[str, str]:
        """Share groups by code, of the funds whose group is known."""
        return self._known("group")

    @cached_property
    def companies(self) -> dict[str, str]:
        """Companies by code, of the funds whose company is known."""
        return self._known("company")

    @cached_property
    def purchase_fees(self) -> dict[str, float]:
        """Purchase fees by code, as shares, of the funds whose fee is known."""
        return self._known("purchase_fee")

    @cached_property
    def redemption_fees(self) -> dict[str, str]:
        """Redemption fees by code, as rules by days held, of the funds whose fees are known."""
        return self._known("redemption_fees")

    def _known(self, column: str) -> dict[str, Any]:
        return {str(code): value for code, value in self.table[column].dropna().items()}

    def one_per_group(self, n_values: pd.Series[int]) -> list[str]:
        """Return one fund per share group, in the order given.

        It is the one with the smallest known purchase fee; of several, or if no fee is known, the one with
        the longest history; of several, the one with the first code. Funds without a group are kept.

        Parameters
        ----------
        n_values : Series of int
            Number of values of each fund, by code.
        """
        groups, fees = self.groups, self.purchase_fees
        best: dict[str, tuple[float, int, str]] = {}
        for code, count in n_values.items():
            if code in groups:
                rank = (fees.get(str(code), np.inf), -int(count), str(code))
                best[groups[code]] = min(best.get(groups[code], rank), rank)
        return [code for code in n_values.index if code not in groups or best[groups[code]][2] == code]

    def of_funds(self, funds: pd.Index[str]) -> pd.DataFrame:
        """Return the facts about some funds, by fund; missing where unknown."""
        return self.table.reindex(funds).rename_axis("fund")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the table: the same facts have the same digest; "" if nothing is known."""
        return hashlib.sha256(self.table.to_csv().encode()).hexdigest() if len(self.table) else ""


def no_facts() -> FundFacts:
    """Return facts in which nothing is known of any fund."""
    return FundFacts(pd.DataFrame(columns=list(_COLUMNS), index=pd.Index([], name="code", dtype=str)), "none")


def take_facts(facts: FundFacts | pd.DataFrame | str | Path | None) -> FundFacts:
    """Return facts in any form in which a user may give them; none for None."""
    if facts is None:
        return no_facts()
    return facts if isinstance(facts, FundFacts) else read_facts(facts)


def read_facts(source: str | Path | pd.DataFrame) -> FundFacts:
    r"""Read facts about funds: a table with one row per fund.

    The columns are recognized by their English or Chinese names: code, name, type (or category), share group,
    company (or amc), purchase fee and redemption fees. Only the code is required; other columns are ignored.

    Parameters
    ----------
    source : path or DataFrame
        CSV, Excel or Parquet, in the formats that `read_nav` reads; or a DataFrame. A purchase fee is written
        with a percent sign ("0.15%", or one in the header), or without one as a share below 0.1 (0.0015).

    Returns
    -------
    FundFacts
        The facts by code. Codes are texts, unchanged ("000001" keeps its zeros).

    Raises
    ------
    DataError
        If there is no column of codes, a fund has two rows that differ, or a fee cannot be read.

    See Also
    --------
    FundFacts : What is known, and how to look it up.
    read_nav : Read the net asset values of the funds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from geodual.funds.sources.reading.fund_facts import read_facts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "funds.csv"
    ...     _ = path.write_text("基金代码,基金简称,基金类型,手续费\n000001,华夏成长,混合型,0.15%\n", "utf-8")
    ...     facts = read_facts(path)
    >>> facts.names, facts.types, facts.purchase_fees
    ({'000001': '华夏成长'}, {'000001': '混合型'}, {'000001': 0.0015})
    """
    table = open_source(source)
    roles = {role: _first_named(table, known) for role, known in _COLUMNS.items()}
    code = _first_named(table, _CODE_NAMES)
    if code is None:
        raise table.error("there is no column of fund codes", "Name it 'code'")
    facts = pd.DataFrame({role: _read_column(table, role, at) for role, at in roles.items()})
    return FundFacts(_by_code(table, code, facts), table.source)


def _first_named(table: RawTable, known: tuple[str, ...]) -> int | None:
    return next(iter(find_named(table, known)), None)


def _read_column(table: RawTable, role: str, column: int | None) -> Any:
    texts = [None] * len(table.columns[0]) if column is None else table.known_texts(column).to_pylist()
    texts = [text and unmark_text(text) for text in texts]  # `geodual fetch` marks what looks like a formula
    if column is None or role != "purchase_fee":
        return pd.Series(texts, dtype=float if role == "purchase_fee" else object)
    return [_read_fee(table, row, column, text) for row, text in enumerate(texts)]


def _read_fee(table: RawTable, row: int, column: int, text: str | None) -> float:
    """Return a fee as a share; NaN if there is none."""
    if text is None:
        return np.nan
    match = _FEE.fullmatch(text.replace(",", ".") if table.decimal_comma else text)
    percent = match is not None and bool(match[2] or re.search("[%％]", table.names[column]))
    fee = float(match[1]) / (100.0 if percent else 1.0) if match else np.inf
    if fee < (1.0 if percent else _MOST_PLAIN):
        return fee
    unclear = "may be a share or a percentage" if match and not percent else "is not a fee"
    raise table.error(f"{table.shown(row, column)} {unclear}", "Write 0.15% or 0.0015", row, column)


def _by_code(table: RawTable, code: int, facts: pd.DataFrame) -> pd.DataFrame:
    """Return facts by code, one row per fund; rows that repeat another one are left out."""
    codes = pd.Index(table.fund_codes(code).to_pylist(), name="code")
    kept = ~codes.duplicated()
    first = np.flatnonzero(kept)[codes[kept].get_indexer(codes)]  # the first row of the same fund
    mine, other = facts.reset_index(drop=True), facts.iloc[first].reset_index(drop=True)
    differing = np.flatnonzero(~((mine == other) | (mine.isna() & other.isna())).all(axis=1))
    if len(differing):
        row = int(differing[0])
        problem = f"the fund {codes[row]!r} has other facts in {table.place(int(first[row]))}"
        raise table.error(problem, "Keep one row per fund", row, code)
    by_code: pd.DataFrame = facts.set_axis(codes).loc[kept]
    return by_code
