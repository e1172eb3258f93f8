"""`fund_sheet`: the fact sheet of one fund, as tables, a page and a record."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..evaluation.risk_free import take_risk_free
from ..evaluation.sheet_tables import DayFactors, SheetTables, find_fund, make_tables
from ..language import ENGLISH, in_language
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.nav_file import read_index, read_nav
from .fund_page import describe_returns, render_fund
from .render import write_page


@dataclass(frozen=True, eq=False, kw_only=True)
class FundSheet(SheetTables):
    """The fact sheet of a fund: tables, with methods to save and show them.

    Attributes
    ----------
    code, name : str
        Code, and name or "".
    facts : dict
        What is known about it: type, company, group, purchase_fee, redemption_fees.
    source : str
        Where the values come from.
    first_day, last_day : Timestamp
        Days of its first and last value. All spans end on the last.
    closed : bool
        Whether its last value is more than 31 days older than the table.
    index_name : str
        Name of the index; "" without one.
    peer_group : str
        Who its peers are, in words: funds of its type, if types are known, otherwise all; one share class of
        each group.
    curves : DataFrame
        Day × fund and index, starting at 1.
    trailing : DataFrame
        Returns by span (ytd, 1, 3, 5, 10 years and start; per year where longer than one): value, index,
        peers (their median), quartile (1 is best) and funds (their number).
    years : DataFrame
        The same by complete calendar year, the latest first.
    risk : DataFrame
        Measure × span: volatility, max_drawdown, sharpe and sortino of the fund and, named ``index_`` and the
        measure, of the index;
        alpha, beta, tracking_error, information_ratio, up_capture and down_capture.
    factors : DataFrame
        By factor: value, percentile (the share of the peers with a smaller value) and funds.
    neighbors : DataFrame
        The peers nearest in standardized factors: fund, name, distance, correlation and return over a year.
    style, rolling_style : Style or None
        Style over all months, and over windows of 36; None without indices.
    findings : DataFrame
        What was found in the values of the fund: kind, matters, date, count, message.
    notes : tuple of str
        What the reader should know in addition to the numbers.

    See Also
    --------
    fund_sheet : Make it.

    Examples
    --------
    >>> from geodual.funds import fund_sheet, synthetic_universe
    >>> sheet = fund_sheet(synthetic_universe(20, "2014-01-02", "2016-12-30").panel, "M00001")
    >>> sheet.years.index.tolist(), sheet.closed
    ([2016, 2015, 2014], False)
    """

    def to_html(self, path: str | Path, *, language: str = ENGLISH) -> Path:
        """Write the sheet as one HTML page, which needs no other files, no scripts and no network.

        Parameters
        ----------
        path : path
            File to create or replace.
        language : str
            "en" or "zh".

        Returns
        -------
        Path
            The file.
        """
        with in_language(language):
            return write_page(path, render_fund(self))

    def summary(self) -> dict[str, Any]:
        """Return all tables but the daily curves as a dictionary ready for JSON; unknown numbers are None."""
        tables = {
            name: _records(getattr(self, name))
            for name in ("trailing", "years", "risk", "factors", "neighbors")
        }
        styles = {
            name: None if style is None else {"weights": _records(style.weights), "fit": _records(style.fit)}
            for name, style in (("style", self.style), ("rolling_style", self.rolling_style))
        }
        return {
            "code": self.code,
            "name": self.name,
            "facts": self.facts,
            "source": self.source,
            "first_day": str(self.first_day.date()),
            "last_day": str(self.last_day.date()),
            "closed": self.closed,
            "index": self.index_name,
            "peers": self.peer_group,
            "headline": describe_returns(self),
            **tables,
            **styles,
            "findings": _records(self.findings),
            "notes": list(self.notes),
        }


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    named = table.reset_index() if any(name is not None for name in table.index.names) else table.copy()
    for column in named.select_dtypes("datetime"):
        named[column] = named[column].dt.strftime("%Y-%m-%d")
    records: list[dict[str, Any]] = json.loads(named.to_json(orient="records", double_precision=15))
    return records


def fund_sheet(
    panel: Panel | pd.DataFrame | str | Path,
    code: str,
    *,
    index: pd.Series[float] | str | Path | None = None,
    facts: FundFacts | pd.DataFrame | str | Path | None = None,
    style_indices: pd.DataFrame | str | Path | None = None,
    risk_free: float | str | Path | pd.Series[float] = 0.0,
) -> FundSheet:
    """Make the fact sheet of one fund: returns, risk, style, factors and neighbors, with index and peers.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values of all funds, in any form that `read_nav` reads.
    code : str
        Code of the fund; or its name, if no other fund has it.
    index : Series or path, optional
        Index levels to compare with.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads. Funds of the same type are peers.
    style_indices : DataFrame or path, optional
        Levels of indices, day × index, from which to estimate the style of the fund.
    risk_free : float, path or Series
        Risk-free rate per year, or such rates by day, for ratios and alpha.

    Returns
    -------
    FundSheet
        Tables, with `to_html` and `summary`.

    Raises
    ------
    DataError
        If there is no such fund; the message names similar ones.

    See Also
    --------
    style_regression : The style alone, with other settings.
    select : Choose the funds to hold next.

    Examples
    --------
    >>> from geodual.funds import fund_sheet, synthetic_universe
    >>> universe = synthetic_universe(20, "2014-01-02", "2016-12-30")
    >>> sheet = fund_sheet(universe.panel, "M00001", index=universe.index)
    >>> sheet.trailing.loc["1", ["value", "index", "quartile"]].round(3).tolist()
    [-0.134, -0.044, 4.0]
    """
    table = panel if isinstance(panel, Panel) else read_nav(panel)
    known = take_facts(facts)
    levels = None if index is None else read_index(index)
    indices = None if style_indices is None else read_nav(style_indices).nav
    found = find_fund(table.nav.columns, known, code)
    rate = take_risk_free(risk_free)
    return FundSheet(**make_tables(table, found, levels, known, indices, rate, DayFactors(table)))
