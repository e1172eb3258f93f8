"""Do forecasts have skill? Tests of the best of several forecasters, and the set that may be the best.

The values are information coefficients (ICs), rebalance day × forecaster. Only days on which all forecasters
have an IC count in the tests that compare forecasters. The bootstraps are those of the package arch, with
fixed seeds.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..config import StudyConfig
from .statistics import corrected_p
from .tuning import count_candidates

_FEWEST = 8  # rebalance days for a bootstrap: of fewer, too few different resamples can be made
_RESAMPLES = 2000
_SEED = 0
_NOISE = 1e-9
_LEVEL = 0.10  # at which forecasters are excluded from the set that may be the best


def count_choices(n_forecasters: int, tuned: Iterable[str] = (), config: StudyConfig | None = None) -> int:
    """Return the number of forecasters and settings that the best was chosen from.

    Parameters
    ----------
    n_forecasters : int
        Number of forecasters compared.
    tuned : iterable of str
        Those whose settings were chosen on the period in question. Each adds its candidates, or one if it is
        not known in this process.
    config : StudyConfig, optional
        Settings of the study, which may declare candidates.

    Returns
    -------
    int
    """
    return n_forecasters + sum(count_candidates(name, config) for name in tuned)


def superior_ability_p(ic: pd.DataFrame) -> float:
    """Return the p-value of superior predictive ability: that not even the best forecaster has skill.

    Hansen's test (2005) with the loss −IC, against forecasts without skill (IC 0); his consistent p-value,
    by the stationary bootstrap with blocks of mean length n^{1/3}. It heeds that the forecasters resemble
    each other. With few days it is too small: of 1,500 sets of six series without skill (correlations 0.3 to
    0.95), up to 13 % had p < 0.05 for n = 8, 11 % for n = 16, 9 % for n = 24, and 8 % for n = 36. So judge by
    `judge_skill`.

    Parameters
    ----------
    ic : DataFrame
        Rebalance day × forecaster, in order of time.

    Returns
    -------
    float
        NaN for fewer than eight days.
    """
    shared = _shared_days(ic)
    if len(shared) < _FEWEST:
        return np.nan
    from arch.bootstrap import SPA  # its import takes more than a second, and not all runs need it

    losses = -shared.to_numpy(float)
    test = SPA(np.zeros(len(losses)), losses, _block(len(losses)), reps=_RESAMPLES, seed=_SEED)
    test.compute()
    return float(test.pvalues["consistent"])


def confidence_set(ic: pd.DataFrame) -> list[str]:
    """Return the forecasters that may be the best: a 90 % model confidence set.

    The set is that of Hansen, Lunde and Nason (2011). With few days the set of arch is too small: where six
    forecasters are equally good, it should exclude any of them in 10 % of the cases, but did so in 60 % for 8
    days and in 29 % for 36 days. Therefore one is excluded only if, besides, its paired difference to the one
    with the highest mean IC has a `corrected_p`, for all pairs of forecasters, of at most 0.10. Then it was 7
    % at most, for 8 to 36 days and correlations of 0.3 to 0.95 (1,500 sets each).

    Parameters
    ----------
    ic : DataFrame
        Rebalance day × forecaster, in order of time.

    Returns
    -------
    list of str
        All forecasters with fewer than eight days: none can be excluded.
    """
    shared, names = _shared_days(ic), [str(name) for name in ic.columns]
    if len(shared) < _FEWEST or shared.shape[1] < 2:
        return names
    from arch.bootstrap import MCS  # its import takes more than a second, and not all runs need it

    # arch fails if two differences are equal or constant. Noise far below any meaning keeps them apart.
    noise = _NOISE * np.random.default_rng(_SEED).standard_normal(shared.shape)
    test = MCS(noise - shared, _LEVEL, _RESAMPLES, _block(len(shared)), seed=_SEED)
    test.compute()
    best, n_pairs = ic[shared.mean().idxmax()], len(names) * (len(names) - 1) // 2
    excluded = [name for name in names if corrected_p(best - ic[name], n_pairs) <= _LEVEL]
    return [name for name in names if name in test.included or name not in excluded]


def judge_skill(ic: pd.DataFrame, n_choices: int, spa: float) -> pd.DataFrame:
    """Return for each forecaster whether its mean IC differs from zero, and whether it may be the best.

    The p-value is `corrected_p`, multiplied by the number of choices. The forecaster with the highest mean IC
    was chosen because of it; it gets the larger of that and of the p-value of superior predictive ability. Of
    1,500 sets of six series without skill (8 to 36 values, correlations 0.3 to 0.95), at most 1.9 % had a
    best series with p < 0.05.

    Parameters
    ----------
    ic : DataFrame
        Rebalance day × forecaster, in order of time.
    n_choices : int
        Number of forecasters and settings that the best was chosen from.
    spa : float
        From `superior_ability_p`.

    Returns
    -------
    DataFrame
        By forecaster: `ic_mean`; `p`, NaN if it cannot be known; `in_set`, whether the forecaster is in
        `confidence_set`.
    """
    table = pd.DataFrame({"ic_mean": ic.mean(), "p": [corrected_p(ic[name], n_choices) for name in ic]})
    known = table["ic_mean"].dropna()
    if len(known):
        is_best = table.index == known.idxmax()
        table["p"] = table["p"].mask(is_best, np.maximum(table["p"], np.nan_to_num(spa)))
    return table.assign(in_set=table.index.isin(confidence_set(ic)))


def _shared_days(ic: pd.DataFrame) -> pd.DataFrame:
    """Return the rebalance days on which all forecasters have an IC; a forecaster without any is left out."""
    known = ic.dropna(axis="columns", how="all")
    return known.dropna() if known.shape[1] else known.iloc[:0]


def _block(n: int) -> int:
    """Return the mean length of a block of the bootstrap, n^{1/3}."""
    return max(1, round(float(np.cbrt(n))))
