"""The result of a sweep: a table with a row per setting, its studies, and what the best of them is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..evaluation.overfitting import Trials, overfitting_probability, sharpe_ratios, spread_of_sharpe
from ..evaluation.performance import annual_return, sharpe
from ..evaluation.periods import PERIODS, equity_in
from ..evaluation.risk_free import rate_of_table
from ..evaluation.statistics import FEWEST, newey_west_t
from ..forecasters.registry import forecaster_label
from ..report.headline import LEVEL
from ..report.wording import (
    PERIOD_PHRASES,
    count_terms,
    format_equal_p,
    format_number,
    format_percent,
    format_two,
)
from .study import Study
from .sweep_grid import describe, show_value


def count_trials(studies: Sequence[Study]) -> Trials:
    """Return all that the studies of a sweep tried.

    Parameters
    ----------
    studies : sequence of Study
        The studies, each of which counts its own trials only.
    """
    curves = [study.equity[list(study.config.compared)] for study in studies]
    rates = [rate_of_table(study.risk_free) for study in studies]
    ratios = [sharpe_ratios(own, rate) for own, rate in zip(curves, rates, strict=True)]
    shared = pd.concat(curves, axis="columns", join="inner", ignore_index=True)
    return Trials(
        {period: sum(study.n_choices(period) for study in studies) for period in PERIODS},
        spread_of_sharpe(np.concatenate(ratios)),
        overfitting_probability(shared, risk_free=rates[0]),
    )


@dataclass(frozen=True, eq=False)
class Sweep:
    """The result of `sweep`: one study per combination of settings, and a table of them.

    All p-values, intervals and deflated Sharpe ratios, including those of the studies, count all forecasters
    in all settings.

    Parameters
    ----------
    settings : tuple of dict
        The settings that were tried, by row of the table.
    studies : tuple of Study
        Their studies.

    See Also
    --------
    sweep : Make one.

    Examples
    --------
    >>> from geodual.funds import sweep, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> tried = sweep(panel, {"top": [5, 10]}, metrics="gmml")
    >>> len(tried), tried.study(top=5).config.top
    (2, 5)
    """

    settings: tuple[Mapping[str, Any], ...]
    studies: tuple[Study, ...]

    def __len__(self) -> int:
        return len(self.studies)

    def study(self, **settings: Any) -> Study:
        """Return the study with the given settings, among those that were tried.

        Parameters
        ----------
        **settings
            As many as are needed to tell it from the others.
        """
        wanted = {name: show_value(value) for name, value in settings.items()}
        for name in wanted:
            if name not in self.settings[0]:
                tried = ", ".join(self.settings[0])
                raise DataError(f"Sweep.study: `{name}` was not tried; tried were {tried}.")
        found = [
            study
            for study, own in zip(self.studies, self.settings, strict=True)
            if all(show_value(own[name]) == value for name, value in wanted.items())
        ]
        if len(found) != 1:
            raise DataError(
                f"Sweep.study: {len(found)} studies have {describe(settings) or 'no settings'}; give values "
                "that one study has, as in `table`."
            )
        return found[0]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per combination of settings, in the order of the studies.

        Columns: the settings; forecaster (the one that the study names, with the highest mean IC); ic_mean;
        t (Newey–West); p (two-sided, corrected for all trials); n (number of ICs); annual_return (after
        costs); sharpe; deflated_sharpe (probability that the true Sharpe ratio over the whole study is above
        zero after all trials); trials (their number); overfitting (probability that the best of all
        portfolios on half of the days is not above the median on the others). All but the last three are of
        the period that verdicts are about: the whole study, or the test period if settings were tuned.
        """
        rows = zip(self.settings, self.studies, strict=True)
        return pd.DataFrame([_row(settings, study) for settings, study in rows])

    @property
    def best(self) -> int:
        """The row with the highest mean IC; among equals, the one with the highest Sharpe ratio.

        Rows with fewer than eight ICs come after the others.
        """
        rows = self.table.assign(judged=self.table["n"] >= FEWEST)
        order = rows.sort_values(["judged", "ic_mean", "sharpe"], ascending=False, kind="stable")
        return int(order.index[0])

    @property
    def headline(self) -> str:
        """How many trials were made, which did best, and whether it beats chance after correction."""
        best = self.table.to_dict("records")[self.best]
        study, trials = self.studies[self.best], int(best["trials"])
        name = f"{describe(self.settings[self.best])} with {forecaster_label(best['forecaster'])}"
        tried = f"{_count(trials, 'trial')} in {_count(len(self), 'setting')}"
        terms = count_terms(int(best["n"]), study.config.frequency)
        luck = format_percent(best["overfitting"], 0)
        return (
            f"{PERIOD_PHRASES[study.judged_period]}, of {tried}, {name} did best, with a mean IC of "
            f"{format_number(best['ic_mean'])} over {terms}: {_verdict(best)}. After costs it earned "
            f"{format_percent(best['annual_return'])} per year, with a Sharpe ratio of "
            f"{format_two(best['sharpe'])}, which is above zero with a probability of "
            f"{format_percent(best['deflated_sharpe'], 0)} after so many trials. The probability of "
            f"overfitting is {luck}."
        )

    def _repr_html_(self) -> str:
        """Return the headline and the table as HTML, for notebooks."""
        shown = self.table.to_html(float_format="{:.3f}".format, na_rep="")
        return f"<p>{escape(self.headline)}</p>{shown}"


def _row(settings: Mapping[str, Any], study: Study) -> dict[str, Any]:
    """Return the row of a study."""
    name, period, rate = study.strategy, study.judged_period, rate_of_table(study.risk_free)
    ic = study.ic.loc[study.decided(period), name]
    curve = equity_in(period, study.equity, study.config.test_start)[name]
    known = period in study.known_periods
    return {
        **{setting: show_value(value) for setting, value in settings.items()},
        "forecaster": name,
        "ic_mean": ic.mean(),
        "t": newey_west_t(ic),
        "p": study.skill["p"][period, name] if known else np.nan,
        "n": int(ic.count()),
        "annual_return": annual_return(curve),
        "sharpe": sharpe(curve, rate),
        "deflated_sharpe": study.overfitting["deflated_sharpe"][name],
        "trials": study.n_choices(period),
        "overfitting": study.overfitting_probability,
    }


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _verdict(best: Mapping[Any, Any]) -> str:
    """Return in words whether the best row beats chance, its choice counted."""
    if best["n"] < FEWEST or pd.isna(best["p"]):
        return "the record is too short to tell this from chance"
    counted = f"{format_equal_p(best['p'])}, corrected for all {int(best['trials'])}"
    if not best["ic_mean"] > 0.0:
        return "even the best mean IC is not above zero"
    if best["p"] < LEVEL:
        return f"better than chance ({counted})"
    return f"within what chance alone would produce ({counted})"
