"""What programs read of a study: the data embedded in the report, and the summary as JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pandas as pd
import sklearn

import geodual
from geodual.metric.registry import FEATURED

from ..csv_cells import csv_text
from ..evaluation.study_tables import StudyTables
from ..language import phrase, reword, texts_of_scripts
from .curves import COLORS, color_map, compared_curves
from .wording import ALL_VIEWS, name_factor, name_forecaster, name_index

_KEY = ["date", "forecaster", "fund"]
_TRUE, _FALSE = phrase("True"), phrase("False")  # whether a finding matters
_SIGNIFICANT = 5  # digits of distances, returns and shares: more are never shown, and cost space


def make_payload(study: StudyTables, best: str) -> str:
    """Return the data of the report as JSON that is safe inside a script element.

    Parameters
    ----------
    study : StudyTables
        A finished study.
    best : str
        The forecaster whose picks are shown first; the last forecaster if "".
    """
    forecasters = list(study.config.compared)
    beside = [str(name) for name in compared_curves(study).columns.difference(study.equity.columns)]
    payload = {
        "forecasters": forecasters,
        "names": {name: name_forecaster(name) for name in [*forecasters, *beside]}
        | {"index": name_index(study.index_name)},
        "beside": beside,
        "colors": color_map([*forecasters, *beside]),
        "palette": COLORS,
        "testStart": study.config.test_start,
        "testDecision": _first_test_decision(study),
        "best": best or forecasters[-1],
        "featured": FEATURED,
        "units": study.units,
        "csv": _csv_texts(study),
        "facts": _known_facts(study),
        "reasons": _pick_reasons(study),
    }
    if texts := texts_of_scripts():
        payload["texts"] = texts
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # so that no name can close the script element


def _first_test_decision(study: StudyTables) -> str | None:
    """Return the day half-way between the last validation decision and the first test decision, if any."""
    before, after = study.decided("validation"), study.decided("test")
    if not len(before) or not len(after):
        return None
    return f"{before[-1] + (after[0] - before[-1]) / 2:%Y-%m-%d}"


def _csv_texts(study: StudyTables) -> dict[str, str]:
    """Return the tables as CSV, by name; those that a run folder also has are equal to the byte."""
    texts = {}
    for table in study.tables():
        if table.embedded:
            values = table.of(study)
            if table.file == "findings":
                shown = values[["kind", "matters", "message"]].astype(str)
                values = values.assign(**{str(name): shown[name].map(reword) for name in shown})
            rounded = values if table.decimals is None else values.round(table.decimals)
            texts[table.file] = csv_text(rounded, keep_index=table.indexed)
    return texts


def _known_facts(study: StudyTables) -> dict[str, list[str]]:
    """Return name and type of the funds that the page shows, by code; unknown ones are empty texts."""
    found = [finding.fund for finding in study.findings]
    shown = {*study.holdings["fund"], *study.neighbors["neighbor"], *found}
    facts = study.facts.reindex(columns=["name", "type"])
    facts = facts[facts.index.isin(shown)]
    texts = facts.astype(object).where(facts.notna(), "").astype(str)
    return {str(fund): list(row) for fund, *row in texts.itertuples(name=None) if any(row)}


def _pick_reasons(study: StudyTables) -> dict[str, Any]:
    """Return, for each row of `holdings`, the rank of its realized return, its neighbors and its factors.

    To save space, funds and factors are positions in a list of names, and the list of each row is flat:
    neighbor, distance, return, neighbor, …; factor, share, factor, …
    """
    holdings = study.holdings[_KEY]
    funds, fund_codes = np.unique(study.neighbors["neighbor"].to_numpy(str), return_inverse=True)
    factors, factor_codes = np.unique(study.reasons["factor"].to_numpy(str), return_inverse=True)
    neighbors = study.neighbors[_KEY].assign(name=fund_codes)
    neighbors[["distance", "earned"]] = _rounded(study.neighbors[["distance", "earned"]])
    reasons = study.reasons[[*_KEY, "view"]].assign(
        name=factor_codes, share=_rounded(study.reasons[["share"]])
    )
    return {
        "funds": funds.tolist(),
        "factors": [name_factor(name, study.factor_labels) for name in factors],
        "ranks": _ranks_afterward(study),
        "neighbors": _by_row(neighbors, holdings, ["name", "distance", "earned"]),
        **{
            view: _by_row(reasons[reasons["view"] == view], holdings, ["name", "share"]) for view in ALL_VIEWS
        },
    }


def _ranks_afterward(study: StudyTables) -> list[list[int] | None]:
    """Return the rank of each holding's realized return among all funds of the day, and their number."""
    # All forecasters forecast the same funds, so one row per day and fund is enough.
    every = study.predictions.drop_duplicates(["date", "fund"])[["date", "fund", "realized"]]
    by_day = every.groupby("date")["realized"]
    every = every.assign(rank=by_day.rank(ascending=False, method="min"), known=by_day.transform("count"))
    merged = study.holdings[_KEY].merge(every, on=["date", "fund"], how="left", validate="many_to_one")
    pairs = merged[["rank", "known"]].itertuples(index=False, name=None)
    return [None if pd.isna(rank) else [int(rank), int(known)] for rank, known in pairs]


def _by_row(table: pd.DataFrame, holdings: pd.DataFrame, columns: list[str]) -> list[list[float]]:
    """Return the values of some columns as one flat list per holding."""
    # Keys stay in the order of the holdings, also those without rows.
    flat: dict[Any, list[float]] = {key: [] for key in _keys(holdings)}
    rows = zip(*(table[column].tolist() for column in columns), strict=True)
    for key, values in zip(_keys(table), rows, strict=True):
        flat[key] += values
    return list(flat.values())


def _keys(table: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    return table[_KEY].itertuples(index=False, name=None)


def _rounded(values: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return values rounded to five significant digits."""
    exact = values.to_numpy(float)
    # The power of ten of each value; 0 has none.
    size = np.floor(np.log10(np.where(exact == 0.0, 1.0, np.abs(exact))))
    scale = 10.0 ** (_SIGNIFICANT - 1 - size)
    return np.round(exact * scale) / scale


def summarize(study: StudyTables) -> dict[str, Any]:
    """Return the main results of a study, ready for JSON; unknown numbers are None."""
    table = study.table()
    by_period = {
        period: {
            name: {column: _plain(value) for column, value in table.loc[(period, name)].items()}
            for name in (*study.config.compared, "index")
        }
        for period in table.index.get_level_values("period").unique()
    }
    return {
        "source": study.source,
        "sha256": study.digest,
        "days": [str(study.equity.index[0].date()), str(study.equity.index[-1].date())],
        "rebalances": len(study.ic),
        "index": study.index_name,
        "index_sha256": study.index_digest,
        "facts_sha256": study.facts_digest,
        "table1": by_period,
        "baselines": _baselines(study),
        "factor_labels": dict(study.factor_labels),
        "chosen": study.chosen,
        "units": study.units,
        "notes": list(study.notes),
        "trials": _trials(study),
        "seconds": round(study.seconds, 1),
        "versions": versions(),
    }


def _trials(study: StudyTables) -> dict[str, Any] | None:
    """Return what else a sweep tried; None for a study of its own."""
    tried = study.trials
    if tried is None:
        return None
    choices = {period: int(number) for period, number in tried.choices.items()}
    spread, overfitting = _plain(tried.sharpe_spread), _plain(tried.overfitting_probability)
    return {"choices": choices, "sharpe_spread": spread, "overfitting_probability": overfitting}


def _baselines(study: StudyTables) -> dict[str, Any]:
    """Return the baselines by period and name, in the columns of Table 1."""
    found: dict[str, Any] = {}
    for name, row in study.baselines.to_dict("index").items():
        period, baseline = map(str, cast(tuple[Any, Any], name))
        found.setdefault(period, {})[baseline] = {column: _plain(value) for column, value in row.items()}
    return found


def versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    return {
        "geodual": geodual.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pandas": pd.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _plain(value: Any) -> float | int | None:
    if pd.isna(value):
        return None
    return int(value) if isinstance(value, int | np.integer) else float(value)
