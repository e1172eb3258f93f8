"""The tables of a fact sheet: what one fund earned and risked, beside an index and its peers."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..calendar import half_gap, keep_trading_days
from ..config import PAPER_FACTORS
from ..decisions.universe import standardized
from ..factors.compute import compute_factors
from ..language import phrase
from ..panel import Panel
from ..sources.reading.fund_facts import FundFacts
from ..sources.reading.survivorship import DELAY_DAYS
from . import performance
from .persistence import fractions
from .risk_free import RiskFree
from .style import Style, style_regression
from .trailing import SPANS, since_start, trailing_returns, values_on, year_returns

_SUGGESTED = 3  # codes or names like an unknown one
_FEWEST_PEERS = 4  # for quartiles
_NEIGHBORS = 5
_KNOWN = 0.9  # share of a fund's factors from which it has neighbors
_START = "start"  # the span since the fund's first value
_YTD = "ytd"
_RANKED = ("value", "index", "peers", "quartile", "funds")


@dataclass(frozen=True, eq=False, kw_only=True)
class SheetTables:
    """What is known of one fund; `FundSheet` documents the fields."""

    code: str
    name: str
    facts: dict[str, Any]
    source: str
    first_day: pd.Timestamp
    last_day: pd.Timestamp
    closed: bool
    index_name: str
    peer_group: str
    curves: pd.DataFrame = field(repr=False)
    trailing: pd.DataFrame = field(repr=False)
    years: pd.DataFrame = field(repr=False)
    risk: pd.DataFrame = field(repr=False)
    factors: pd.DataFrame = field(repr=False)
    neighbors: pd.DataFrame = field(repr=False)
    style: Style | None = field(repr=False)
    rolling_style: Style | None = field(repr=False)
    findings: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name and code."""
        return f"{self.name} ({self.code})" if self.name else self.code


def find_fund(codes: pd.Index[str], facts: FundFacts, wanted: str) -> str:
    """Return the code of a fund, given its code or its name; raise with similar ones if there is none.

    Parameters
    ----------
    codes : Index
        Codes of all funds.
    facts : FundFacts
        Names of the funds.
    wanted : str
        A code, or a name that only one fund has.
    """
    wanted = str(wanted).strip()
    if wanted in codes:
        return wanted
    names = {code: name for code, name in facts.names.items() if code in codes}
    called = [code for code, name in names.items() if name == wanted]
    if len(called) == 1:
        return called[0]
    if called:
        raise DataError(
            f"{len(called)} funds are called {wanted!r}: {', '.join(called)}. Give one of these codes."
        )
    near = _near(wanted, [str(code) for code in codes], names)
    remedy = f"Did you mean {', '.join(near)}?" if near else f"The first of {len(codes)} funds is {codes[0]}."
    raise DataError(f"There is no fund {wanted!r} in the table. {remedy}")


def _near(wanted: str, codes: list[str], names: dict[str, str]) -> list[str]:
    by_name = {name.casefold(): f"{code} ({name})" for code, name in reversed(names.items())}
    key = wanted.casefold()
    within = [shown for name, shown in by_name.items() if key and key in name]
    alike = [by_name[name] for name in get_close_matches(key, by_name, _SUGGESTED)]
    bare = wanted.lstrip("0")
    cut = [code for code in codes if bare and code.lstrip("0") == bare]  # a spreadsheet may have cut zeros
    near = get_close_matches(wanted, codes, len(codes))
    near.sort(key=lambda code: (-SequenceMatcher(None, code, wanted).ratio(), code))
    return list(dict.fromkeys([*cut, *near[:_SUGGESTED], *within, *alike]))[:_SUGGESTED]


def make_tables(
    panel: Panel,
    code: str,
    index: pd.Series[float] | None,
    facts: FundFacts,
    indices: pd.DataFrame | None,
    risk_free: RiskFree,
    factors: DayFactors,
) -> dict[str, Any]:
    """Return all fields of the sheet of a fund, by name.

    Parameters
    ----------
    panel : Panel
        Net asset values of all funds.
    code : str
        The fund.
    index : Series or None
        Levels to compare with.
    facts : FundFacts
        Facts about the funds.
    indices : DataFrame or None
        Levels of indices for its style.
    risk_free : float or Series
        Risk-free rate per year, or such rates by day.
    factors : DayFactors
        Factors of the panel, which the sheets of other funds may share.
    """
    own = panel.nav[code].dropna()
    if own.empty:
        raise DataError(f"The fund {code!r} has no value. Choose another fund, or fill in its values.")
    last = pd.Timestamp(own.index[-1])
    nav = panel.nav.loc[:last]
    nav = nav[_peers(nav, code, facts)]
    alive = nav.columns[values_on(nav, [last]).iloc[0].notna()]
    curves = _curves(own, index)
    whole = None if indices is None else style_regression(own, indices, window=None)
    delay = pd.Timedelta(days=DELAY_DAYS) + half_gap(panel.nav.index)
    closed = bool(last < panel.nav.index[-1] - delay)
    features = factors.of(nav[alive], code, index)
    kind = facts.types.get(code, "")
    fields = {
        "code": code,
        "name": facts.names.get(code, ""),
        "facts": _facts_of(facts, code),
        "source": panel.source,
        "first_day": pd.Timestamp(own.index[0]),
        "last_day": last,
        "closed": closed,
        "index_name": "" if "index" not in curves or index is None else str(index.name),
        "peer_group": _name_peers(len(alive), kind),
        "curves": curves,
        "trailing": trailing_table(nav, code, curves),
        "years": year_table(nav, code, curves),
        "risk": risk_table(curves, risk_free),
        "factors": rank_factors(features, code),
        "neighbors": find_neighbors(features, nav, code, facts),
        "style": whole,
        "rolling_style": None if indices is None else style_regression(own, indices, n_resamples=0),
        "findings": _findings_of(panel, code),
    }
    return fields | {"notes": tuple(_notes(fields, index, facts, risk_free))}


def _name_peers(n: int, kind: str) -> str:
    if not kind:
        return phrase("all {n:,} funds", n=n)
    if n > 1:
        return phrase("the {n:,} funds of type {kind}", n=n, kind=kind)
    return phrase("no other funds of type {kind}", kind=kind)


def _facts_of(facts: FundFacts, code: str) -> dict[str, Any]:
    if code not in facts.table.index:
        return {}
    row = facts.table.loc[code]
    return {str(key): value for key, value in row.items() if key != "name" and pd.notna(value)}


def _peers(nav: pd.DataFrame, code: str, facts: FundFacts) -> list[str]:
    """Return the funds of the same type, also those that closed, one per share group; and the fund."""
    kind, group = facts.types.get(code, ""), facts.groups.get(code)
    chosen = [fund for fund in map(str, nav) if not kind or facts.types.get(fund) == kind]
    one_each = set(facts.one_per_group(nav[chosen].notna().sum()))
    return [
        fund
        for fund in chosen
        if fund == code or (fund in one_each and (group is None or facts.groups.get(fund) != group))
    ]


def _curves(own: pd.Series[float], index: pd.Series[float] | None) -> pd.DataFrame:
    """Return fund and index, the fund from 1 on; without the index if it has no levels in that time."""
    curves = pd.DataFrame({"fund": own / own.iloc[0]})
    if index is None:
        return curves
    levels = index.reindex(index.index.union(own.index)).ffill().reindex(own.index)
    levels[own.index > index.index[-1] + pd.Timedelta(days=DELAY_DAYS)] = np.nan
    known = levels.dropna()
    if len(known) < 2:
        return curves
    # An index that begins later starts where the fund is then.
    return curves.assign(index=levels * (curves["fund"][known.index[0]] / known.iloc[0]))


def trailing_table(nav: pd.DataFrame, code: str, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the returns of a fund over spans that end on its last day, beside index and peers.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        The fund and its peers, up to the fund's last day.
    code : str
        The fund.
    curves : DataFrame
        Day × fund, and index if there is one.

    Returns
    -------
    DataFrame
        By span (ytd, 1, 3, 5, 10 and start; per year where longer than one): value, index, peers (their
        median), quartile (1 is best) and funds (their number).
    """
    end = pd.Timestamp(curves.index[-1])
    starts = {_YTD: pd.Timestamp(end.year - 1, 12, 31)}
    starts |= {str(span): end - pd.DateOffset(years=span) for span in SPANS}
    funds, both = (_returns_since(table, starts, end) for table in (nav, curves))
    table = _rank_rows(funds, both, code)
    same = "index" in curves and bool(curves["index"].notna().all()) and len(curves) > 1
    index = since_start(curves["index"]) if same else np.nan
    table.loc[_START] = [since_start(curves["fund"]), index, np.nan, np.nan, np.nan]
    return table.rename_axis("span")


def _returns_since(nav: pd.DataFrame, starts: dict[str, pd.Timestamp], end: pd.Timestamp) -> pd.DataFrame:
    """Return what funds earned from each start to the end, span × fund; per year for spans of years."""
    last = values_on(nav, [end]).to_numpy()
    years = np.array([1.0 if span == _YTD else float(span) for span in starts])
    growth = last / values_on(nav, starts.values()).to_numpy()
    return pd.DataFrame(growth ** (1.0 / years[:, None]) - 1.0, list(starts), nav.columns)


def year_table(nav: pd.DataFrame, code: str, curves: pd.DataFrame) -> pd.DataFrame:
    """Return the same by complete calendar year, the latest first."""
    both = year_returns(curves).dropna(subset=["fund"])
    return _rank_rows(year_returns(nav).loc[both.index[::-1]], both, code)


def _rank_rows(funds: pd.DataFrame, both: pd.DataFrame, code: str) -> pd.DataFrame:
    """Return the place of a fund among the returns of its peers, beside that of the index, row by row."""
    rows = [_rank_row(returns, code) for _, returns in funds.iterrows()]
    table = pd.DataFrame(rows, funds.index, ["value", "peers", "quartile", "funds"], dtype=float)
    return table.assign(index=both.get("index", np.nan))[list(_RANKED)]


def _rank_row(returns: pd.Series[float], code: str) -> tuple[float, ...]:
    known = returns.dropna()
    if code not in known.index:
        return (np.nan,) * 4
    quartile, others = np.nan, known.drop(code)
    if len(known) >= _FEWEST_PEERS:
        quartile = float(fractions(known, 4)[code])
    return float(known[code]), float(others.median()) if len(others) else np.nan, quartile, float(len(known))


def risk_table(curves: pd.DataFrame, risk_free: RiskFree) -> pd.DataFrame:
    """Return measures of risk, measure × span, over the last 1, 3, 5 and 10 years and since the start.

    The rows that begin with "index" are of the index; alpha, beta and the like compare the two.
    """
    end, known = pd.Timestamp(curves.index[-1]), trailing_returns(curves[["fund"]]).loc["fund"].dropna()
    columns = {}
    for span in SPANS:
        if span in known.index:
            day = end - pd.DateOffset(years=span) + half_gap(curves.index)
            start = int(curves.index.searchsorted(day, side="right")) - 1
            columns[str(span)] = _measure(curves.iloc[start:], risk_free)
    columns[_START] = _measure(curves, risk_free)
    return pd.DataFrame(columns).rename_axis(index="measure", columns="span")


def _measure(curves: pd.DataFrame, risk_free: RiskFree) -> dict[str, float]:
    measured: dict[str, float] = {}
    for name in curves:
        curve = curves[name]
        known = len(curve) > 2 and curve.notna().all()
        of_curve = {
            "volatility": performance.volatility(curve) if known else np.nan,
            "max_drawdown": performance.max_drawdown(curve) if known else np.nan,
            "sharpe": performance.sharpe(curve, risk_free) if known else np.nan,
            "sortino": performance.sortino(curve, risk_free) if known else np.nan,
        }
        measured |= {key if name == "fund" else f"index_{key}": value for key, value in of_curve.items()}
    if "index" in curves and len(curves) > 2 and curves["index"].notna().all():
        measured |= performance.compare(curves["fund"], curves["index"], risk_free)
    return measured


class DayFactors:
    """The factors of all funds on the last trading day of a fund; those of a day are computed once.

    Parameters
    ----------
    panel : Panel
        Net asset values of all funds.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._known: dict[tuple[Any, bytes], pd.DataFrame] = {}

    def of(self, nav: pd.DataFrame, code: str, index: pd.Series[float] | None) -> pd.DataFrame:
        """Return the factors of a fund and its peers, fund × factor.

        Parameters
        ----------
        nav : DataFrame of shape (n_days, n_funds)
            The fund and its peers.
        code : str
            The fund.
        index : Series or None
            Levels of an index; on its days fewer values make a trading day.
        """
        traded = keep_trading_days(self._panel, None if index is None else index.index).nav
        day = traded[code].loc[: nav.index[-1]].last_valid_index()
        if day is None:
            return pd.DataFrame(index=nav.columns)
        past = traded.loc[:day]
        key = day, past.index.to_numpy().tobytes()
        if key not in self._known:
            table = compute_factors(Panel(past), [day], PAPER_FACTORS)
            self._known[key] = table.droplevel("date").replace([np.inf, -np.inf], np.nan)
        return self._known[key].loc[nav.columns]


def rank_factors(features: pd.DataFrame, code: str) -> pd.DataFrame:
    """Return the factors of a fund: value, and percentile, the share of its peers with a smaller one.

    Parameters
    ----------
    features : DataFrame of shape (n_funds, n_factors)
        Factors of the fund and its peers; NaN where unknown.
    code : str
        The fund.

    Returns
    -------
    DataFrame
        By factor: value, percentile (peers with an equal value count as half) and funds (peers with a value).
    """
    own, others = features.loc[[code]].to_numpy(float)[0], features.drop(index=code).to_numpy(float)
    below = (others < own).sum(axis=0) + 0.5 * (others == own).sum(axis=0)
    funds = np.isfinite(others).sum(axis=0)
    percentile = np.where(np.isfinite(own) & (funds > 0), below / np.maximum(funds, 1), np.nan)
    table = {"value": own, "percentile": percentile, "funds": funds}
    return pd.DataFrame(table, index=features.columns.rename("factor"))


def find_neighbors(features: pd.DataFrame, nav: pd.DataFrame, code: str, facts: FundFacts) -> pd.DataFrame:
    """Return the peers that are nearest in standardized factors.

    Parameters
    ----------
    features : DataFrame of shape (n_funds, n_factors)
        Factors of the fund and its peers.
    nav : DataFrame of shape (n_days, n_funds)
        Their values up to the day.
    code : str
        The fund.
    facts : FundFacts
        Names of the funds.

    Returns
    -------
    DataFrame
        Nearest first: fund, name, distance (Euclidean, of z-scores clipped to ±3), correlation (of daily
        returns over the last year) and return (of the last year). Without rows if fewer than 90 % of the
        fund's factors are known; peers with fewer are left out.
    """
    columns = ["fund", "name", "distance", "correlation", "return"]
    known = features.notna().mean(axis=1) if features.shape[1] else pd.Series(0.0, index=features.index)
    if known[code] < _KNOWN:
        return pd.DataFrame(columns=columns)
    kept = features[known >= _KNOWN]
    z = pd.DataFrame(standardized(kept.to_numpy(float)), index=kept.index)
    distance = np.sqrt(((z - z.loc[code]) ** 2).sum(axis=1)).drop(code)
    nearest = distance.sort_values(kind="stable").head(_NEIGHBORS)
    year = nav.loc[nav.index >= nav.index[-1] - performance.WINDOW, [code, *nearest.index]]
    correlation = year.pct_change(fill_method=None).corr()[code].drop(code)
    earned = trailing_returns(nav[nearest.index], years=(1,))[1]
    table = pd.DataFrame({"distance": nearest, "correlation": correlation, "return": earned})
    names = [facts.names.get(fund, "") for fund in nearest.index]
    return table.reindex(nearest.index).assign(name=names).rename_axis("fund").reset_index()[columns]


def _findings_of(panel: Panel, code: str) -> pd.DataFrame:
    columns = ["kind", "matters", "date", "count", "message"]
    found = [finding for finding in panel.findings if finding.fund == code]
    rows = [[getattr(finding, name) for name in columns] for finding in found]
    return pd.DataFrame(rows, columns=columns)


def _notes(
    fields: dict[str, Any], index: pd.Series[float] | None, facts: FundFacts, risk_free: RiskFree
) -> list[str]:
    """Return what the reader should know in addition to the numbers."""
    code, last, notes = fields["code"], fields["last_day"], []
    if fields["closed"]:
        notes.append(
            phrase(
                "The fund has no value after {date} and seems to be closed; all spans end there.",
                date=f"{last:%Y-%m-%d}",
            )
        )
    if np.isnan(fields["trailing"].at["1", "value"]):
        notes.append(phrase("The fund has less than a year of values: little can be said about it."))
    if not facts.types.get(code):
        notes.append(phrase("The type of the fund is not known, so its peers are all funds."))
    if index is not None and "index" not in fields["curves"]:
        notes.append(phrase("The index has no levels in the time of the fund."))
    if isinstance(risk_free, pd.Series) or risk_free:
        rate = phrase("the rates given")
        if not isinstance(risk_free, pd.Series):
            rate = phrase("{n:g} % per year", n=100.0 * risk_free)
        notes.append(
            phrase(
                "Sharpe and Sortino ratios and alpha are measured beyond a risk-free rate of {rate}.",
                rate=rate,
            )
        )
    if fields["style"] is not None and fields["style"].weights.empty:
        notes.append(
            phrase("Too few months are known of the fund and all style indices to estimate its style.")
        )
    return notes
