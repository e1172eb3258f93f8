"""`backtest`: the walk-forward study of the paper, from NAVs to books and a `Study`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from geodual.errors import DataError

from ..decisions.observations import Observations
from ..decisions.walk_forward import Checkpoints, digest_pasts
from ..panel import Panel
from ..run import DECISIONS, ProgressCallback, ignore_progress
from ..settings import takes_settings
from ..sources.reading.fund_facts import FundFacts
from .books import rows_to_decide
from .continued_run import keep_other_runs
from .forecasts import make_forecasts
from .inputs import Inputs, take_inputs
from .study import Study
from .trading import find_benchmark, trade


@takes_settings()
def backtest(
    panel: Panel | pd.DataFrame | str | Path,
    index: pd.Series[float] | str | Path | Mapping[str, pd.Series[float] | str | Path] | None = None,
    metrics: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    forecasters: str | Sequence[str] | Mapping[str, Any] | None = None,
    facts: FundFacts | pd.DataFrame | str | Path | None = None,
    n_jobs: int | None = None,
    checkpoint_folder: str | Path | None = None,
    run: str | Path | None = None,
    progress: ProgressCallback = ignore_progress,
    **settings: Any,
) -> Study:
    """Run the study of the paper: at each quarter end, learn metrics, forecast all funds, and hold the best.

    Other forecasters can take the place of metrics with nearest neighbors. Baselines that learn nothing are
    computed as well, so the study shows whether learning adds anything. A decision uses only rows up to its
    day: the factors of that day, and holding intervals that have ended.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    index : Series, path, or mapping of str to Series or path, optional
        Index levels to compare with; as a mapping, an index per type of fund; * matches any text. The
        benchmark of a portfolio is then the mix of the indices that has its weights in the types, rebalanced
        with it. They must reach from the first trade to at most 5 rows before the last row of the data. By
        default the index is the universe with equal weights.
    metrics : str, sequence of str, or mapping of str to transformer
        Metrics to compare: registered names (`geodual.metric.metric_names` lists them), import paths such as
        ``package.module:Class``, or scikit-learn transformers by name. By default the six of the paper, or
        none if `forecasters` are given.
    forecasters : str, sequence of str, or mapping, optional
        Forecasters to compare: registered names (`forecaster_names` lists them), ``factor:sharpe_90`` to rank
        by one factor, import paths, or a mapping from names to forecasters, scikit-learn regressors or
        transformers, or tables of settings such as ``{"metric": "rpdml", "target": "rank", "window": 8}``.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads: names, types, share groups, companies,
        fees. They are used to filter, limit, charge and show funds, and are treated as constant over time.
    n_jobs : int, optional
        Number of worker processes, -1 for one per core. Results do not depend on it.
    checkpoint_folder : path, optional
        Folder that keeps finished decisions, so an interrupted run can resume. ``study.save`` clears it.
    run : path, optional
        Run folder that keeps its decisions, in place of `checkpoint_folder`, also after ``study.save(run)``.
        With the same settings and a longer table, decisions are made only for new days, and for days from the
        first revised value on.
    progress : callable
        Called after each decision with the number done, the total number, and a text on the last one.
    **settings
        All other settings of `StudyConfig`.

    Returns
    -------
    Study
        Tables and statistics, with methods to save and show them.

    See Also
    --------
    select : Choose the funds to hold next.
    check_leakage : Test whether decisions look ahead.
    read_study : Read a saved study.

    Examples
    --------
    >>> from geodual.funds import backtest, synthetic_universe
    >>> universe = synthetic_universe(20, "2014-01-02", "2015-06-30")
    >>> study = backtest(universe.panel, universe.index, metrics=["euclidean", "gmml"], top=5)
    >>> study.ic.shape, len(study.holdings)  # 2 rebalance days, 2 forecasters, 5 funds each
    ((2, 2), 20)
    """
    started = time.perf_counter()
    given = take_inputs(panel, index, (metrics, forecasters), facts, settings)
    observations = given.observe()
    rows = rows_to_decide(observations, given.config, given.fees)
    find_benchmark(given, observations, rows)  # a mistake in it shows before hours of learning
    checkpoints = _keep_decisions(given, observations, checkpoint_folder, run)
    if run is not None and checkpoints is not None:
        _check_run(Path(run), checkpoints, observations.days[rows[0]], given)
    forecasts = make_forecasts(
        given, observations, rows, n_jobs=n_jobs, checkpoints=checkpoints, progress=progress
    )
    parts = trade(forecasts)
    return Study(**parts, forecasts=forecasts, seconds=time.perf_counter() - started, checkpoints=checkpoints)


def _keep_decisions(
    given: Inputs, observations: Observations, folder: str | Path | None, run: str | Path | None
) -> Checkpoints | None:
    """Return where finished decisions are kept, if anywhere."""
    if run is None and not folder:
        return None
    if run is not None and folder:
        raise DataError("`run` and `checkpoint_folder` cannot be combined; give one of them.")
    if run is not None and given.config.tune:
        raise DataError(
            "A tuned study chooses its settings again on a longer table, and makes all decisions again. "
            "Leave out `run` (--update) or `tune`."
        )
    place = Path(folder) if run is None else Path(run, DECISIONS)  # type: ignore[arg-type]
    return Checkpoints(
        place, given.keys(observations.factors), digest_pasts(observations), keep=run is not None
    )


def _check_run(run: Path, checkpoints: Checkpoints, day: pd.Timestamp, given: Inputs) -> None:
    """Raise if a folder holds a run of other data: its first decision is not one of this study."""
    if checkpoints.load(day, next(iter(given.forecasters))) is None:
        keep_other_runs(run, given.panel, update=True)
