"""The tables of a study, made from its decisions: predictions, ICs, holdings, neighbours, reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..config import StudyConfig
from ..decisions.decision import Decision
from ..decisions.observations import Observations
from ..decisions.picking import Picks
from ..forecasters.forecast import NO_LABEL
from .statistics import spearman_ic
from .weights import make_caps, portfolio_weights

_REASONS = 5  # number of factors listed per pick and view


def predictions_table(decisions: Sequence[Decision], observations: Observations) -> pd.DataFrame:
    """Return one row per decision and fund: date, forecaster, fund, forecast, realised (NaN if not known)."""
    # What a decision at day t forecasts is the return over the holding interval that ends at day t + 1.
    realised = {day: observations.returns(t + 1) for t, day in enumerate(observations.days[:-1])}
    nothing = pd.Series(dtype=float)
    tables = [
        pd.DataFrame(
            {
                "date": decision.day,
                "forecaster": decision.forecaster,
                "fund": decision.funds.to_numpy(),
                "forecast": decision.forecast,
                "realised": realised.get(decision.day, nothing).reindex(decision.funds).to_numpy(float),
            }
        )
        for decision in decisions
    ]
    return pd.concat(tables, ignore_index=True)


def ic_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the information coefficients, the rank correlations of forecast and realised returns.

    The table is rebalance day × forecaster, with the forecasters in the order of the predictions.
    """
    groups = predictions.groupby(["date", "forecaster"], sort=False)
    values = {key: spearman_ic(group["forecast"], group["realised"]) for key, group in groups}
    table = pd.Series(values).unstack()
    table.index.name, table.columns.name = "date", "forecaster"
    return table[list(dict.fromkeys(predictions["forecaster"]))]


def holdings_table(
    picked: Sequence[Picks], predictions: pd.DataFrame, observations: Observations, config: StudyConfig
) -> pd.DataFrame:
    """Return one row per holding: date, forecaster, fund, weight, forecast, known (factors), realised."""
    nav, caps = observations.panel.nav, make_caps(config, observations.facts)
    tables = [
        pd.DataFrame(
            {
                "date": picks.day,
                "forecaster": picks.forecaster,
                "fund": picks.funds.to_numpy(),
                "weight": portfolio_weights(
                    config.weights, pd.Series(picks.forecast, picks.funds), nav.loc[: picks.day], caps
                ),
                "forecast": picks.forecast,
                "known": picks.known,
            }
        )
        for picks in picked
    ]
    holdings = pd.concat(tables, ignore_index=True)
    key = ["date", "forecaster", "fund"]
    return holdings.merge(predictions[[*key, "realised"]], on=key, how="left", validate="one_to_one")


def neighbours_table(picked: Sequence[Picks]) -> pd.DataFrame:
    """Return one row per pick and neighbour: date, forecaster, fund, neighbour, distance, earned."""
    tables = [
        pd.DataFrame(
            {
                "date": picks.day,
                "forecaster": picks.forecaster,
                "fund": np.repeat(picks.funds.to_numpy(), picks.neighbours.shape[1]),
                "neighbour": picks.neighbours.ravel(),
                "distance": picks.distances.ravel(),
                "earned": picks.returns.ravel(),
            }
        )
        for picks in picked
    ]
    return pd.concat(tables, ignore_index=True)


def reasons_table(picked: Sequence[Picks], factor_names: Sequence[str]) -> pd.DataFrame:
    """Return the factors that matter most for each pick: date, forecaster, fund, view, factor, share.

    There are three views. "near" lists the factors in which the neighbours differ much less from the pick
    than all funds do. "apart" lists the factors that set the pick apart from the centre of the universe.
    "adds", for forecasts that are sums, lists the factors, or the members of an ensemble, that add most to
    the forecast. Within a view the largest shares come first. A metric that is not linear has no shares and
    gets no rows.
    """
    names, rows = np.array(factor_names), []
    for picks in picked:
        for i, fund in enumerate(picks.funds):
            for view, shares in (("near", picks.near[i]), ("apart", picks.apart[i])):
                if np.isfinite(shares).all():
                    order = np.argsort(-shares, kind="stable")[:_REASONS]
                    rows += [(picks.day, picks.forecaster, fund, view, names[j], shares[j]) for j in order]
            if picks.parts.size:
                pairs = zip(picks.part_names[i], picks.parts[i], strict=True)
                rows += [(picks.day, picks.forecaster, fund, "adds", name, share) for name, share in pairs]
    return pd.DataFrame(rows, columns=["date", "forecaster", "fund", "view", "factor", "share"])


def universe_table(decisions: Sequence[Decision], observations: Observations) -> pd.DataFrame:
    """Return the input of each decision: date, number of funds, share of factors known, label used."""
    sections = dict(zip(observations.days, observations.sections, strict=True))
    rows: dict[pd.Timestamp, tuple[int, float, str]] = {}
    for decision in decisions:  # forecasters that learn no classes have no label
        if decision.day not in rows or decision.label != NO_LABEL:
            coverage = sections[decision.day].coverage
            rows[decision.day] = (len(decision.funds), coverage, decision.label)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["funds", "coverage", "label"])
    return table.rename_axis("date").reset_index()
