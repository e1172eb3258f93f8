"""`backtest`: the walk-forward study of the paper, from NAVs to books and a `Study`."""

from __future__ import annotations

import hashlib
import inspect
import io
import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any
from uuid import uuid4

import joblib
import pandas as pd

import geodual
from geodual.errors import DataError

from ..config import StudyConfig, check_names
from ..decisions.decision import Decision
from ..decisions.observations import Observations, observe, prepare_panel
from ..decisions.picking import Picks, pick_funds
from ..decisions.walk_forward import Checkpoints, digest_pasts, walk_forward
from ..evaluation.forecast_diagnostics import ic_decay
from ..evaluation.market import FeeRules, Market, make_fee_rules
from ..evaluation.random_portfolios import draw_random_portfolios
from ..evaluation.result_tables import (
    holdings_table,
    ic_table,
    neighbours_table,
    predictions_table,
    reasons_table,
    universe_table,
)
from ..evaluation.risk_free import RiskFree, rate_table, take_risk_free
from ..evaluation.skill import factor_ics
from ..evaluation.statistics import rank_by_ic
from ..evaluation.study_tables import no_curves
from ..evaluation.tuning import tune_forecasters
from ..factors.factor import FactorSet, take_factors
from ..forecasters.forecast import Forecaster, factors_asked
from ..forecasters.make import compared_settings, resolve_baselines, resolve_compared
from ..forecasters.registry import UNIVERSE
from ..panel import Finding, Panel
from ..run import DECISIONS, ProgressCallback, ignore_progress
from ..settings import takes_settings
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.nav_file import read_indices, read_nav
from ..sources.reading.quality import inspect_index
from .books import equal_weight_curve, equal_weights, rows_to_decide, run_ledgers, target_weights
from .folder_lock import keep_other_runs
from .index_mix import IndexMix, aligned_levels, each_index, mix_indices
from .notes import (
    note_concentration,
    note_data,
    note_decisions,
    note_index,
    note_portfolios,
    note_rows,
    note_universe,
)
from .study import Study

EQUAL_WEIGHT = "equal-weight universe"  # the index of a study without one
# Packages whose code does not change between two runs; the version of geodual is checked besides.
_INSTALLED = ("geodual", "sklearn", "numpy", "pandas", "scipy", "builtins")


def keep_ledgers(
    observations: Observations,
    decisions: Sequence[Decision],
    picked: Sequence[Picks],
    config: StudyConfig,
    fees: FeeRules,
    index: pd.Series[float],
    risk_free: RiskFree = 0.0,
) -> dict[str, Any]:
    """Return the tables of forecasts and portfolios by name, as `Study` has them."""
    nav = observations.panel.nav
    predictions = predictions_table(decisions, observations)
    holdings = holdings_table(picked, predictions, observations, config)
    books = run_ledgers(nav, holdings, config.compared, config, fees)
    equity = books["equity"]
    levels = index.reindex(equity.index)
    equity["index"] = levels / levels.iloc[0]
    universes, market = {decision.day: decision.funds for decision in decisions}, Market(nav, fees)
    return {
        **books,
        "predictions": predictions,
        "ic": ic_table(predictions, observations.types),
        "ic_decay": ic_decay(predictions, nav, types=observations.types),
        "holdings": holdings,
        "equity": equity.rename_axis(index="date", columns="forecaster"),
        "random_portfolios": draw_random_portfolios(
            market, universes, config, observations.facts, risk_free=risk_free
        ),
        "risk_free": rate_table(risk_free, nav.index[0]),
    }


def keep_baselines(
    observations: Observations,
    rows: Sequence[int],
    config: StudyConfig,
    fees: FeeRules,
    universe: pd.Series[float],
) -> dict[str, pd.DataFrame]:
    """Return the tables of the baselines by name, as `Study` has them; empty without baselines.

    The baselines pick funds under the same rules, and pay the same fees. The `universe` is that of
    `equal_weight_curve`.
    """
    nav, forecasters = observations.panel.nav, resolve_baselines(config)
    tables: dict[str, pd.DataFrame] = {}
    equity = pd.DataFrame(columns=[])
    if forecasters:
        decisions = walk_forward(observations, forecasters, rows)
        predictions = predictions_table(decisions, observations)
        picked = pick_funds(observations, decisions, forecasters, config)
        holdings = holdings_table(picked, predictions, observations, config)
        books = run_ledgers(nav, holdings, tuple(forecasters), config, fees)
        equity = books["equity"]
        tables = {"baseline_predictions": predictions, "baseline_trades": books["trades"]}
    if UNIVERSE in config.baselines:
        equity = equity.reindex(universe.index).assign(**{UNIVERSE: universe})
    return tables | {"baseline_equity": equity.rename_axis(index="date", columns="forecaster")}


def fingerprint(parts: object) -> str:
    """Return a text that identifies forecasters and factors; a unique one if they cannot be hashed.

    A pickle names classes and functions, but does not hold their code. So the source of the modules that
    define them is hashed too: after a change of it, no decision of before is reused.

    Parameters
    ----------
    parts : object
        Forecasters and factors.
    """
    try:
        code = _CodeFinder()
        code.dump(parts)
        return str(joblib.hash((parts, sorted(code.found.items()))))
    except (TypeError, AttributeError, pickle.PicklingError):
        return uuid4().hex  # matches no checkpoint, so that nothing wrong is reused


class _CodeFinder(pickle.Pickler):
    """Finds the classes and functions that a pickle refers to, and their source."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.found: dict[str, str] = {}

    def reducer_override(self, thing: Any) -> Any:
        """Note the source of a class or function; it is pickled as usual."""
        if isinstance(thing, type | FunctionType) and thing.__module__.split(".")[0] not in _INSTALLED:
            self.found[f"{thing.__module__}.{thing.__qualname__}"] = _source(thing)
        return NotImplemented


def _source(thing: Any) -> str:
    """Return the source of the module that defines a class or function, or at least its own."""
    with suppress(OSError, TypeError):  # a notebook has no file
        return inspect.getsource(sys.modules[thing.__module__])
    try:
        return inspect.getsource(thing)
    except TypeError:  # compiled code
        return ""
    except OSError:  # typed at a prompt: nobody can tell whether it has changed
        return uuid4().hex


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

    Other forecasters can take the place of metrics with nearest neighbours. Baselines that learn nothing are
    computed besides, so that the study shows whether learning adds anything. A decision uses only rows up to
    its day: the factors of that day, and holding intervals that have ended.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    index : Series, path, or mapping of str to Series or path, optional
        Index levels to compare with; as a mapping, an index per type of funds, with * for any text. The
        benchmark of a portfolio is then the mix of the indices by its weights in the types, rebalanced with
        it. They must reach from the first trade to at most 5 rows before the last
        row of the data. By default the index is the universe with equal weights.
    metrics : str, sequence of str, or mapping of str to transformer
        Metrics to compare: registered names (`geodual.metric.metric_names` lists them), places such as
        ``package.module:Class``, or scikit-learn transformers by name. By default the six of the paper, or
        none if `forecasters` are given.
    forecasters : str, sequence of str, or mapping, optional
        Forecasters to compare: registered names (`forecaster_names` lists them), ``factor:sharpe_90`` to rank
        by one factor, places, or a mapping from names to forecasters, scikit-learn regressors or
        transformers, or tables of settings such as ``{"metric": "rpdml", "target": "rank", "window": 8}``.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads: names, types, share groups, companies,
        fees. They serve to filter, to limit, to charge and to show funds, and count as constant in time.
    n_jobs : int, optional
        Number of worker processes, -1 for one per core. Results do not depend on it.
    checkpoint_folder : path, optional
        Folder that keeps finished decisions, so that an interrupted run can resume. ``study.save`` clears it.
    run : path, optional
        Run folder that keeps its decisions, in place of `checkpoint_folder`, also after ``study.save(run)``.
        With the same settings and a longer table, only days that are new are decided, and days from the first
        value on that was revised.
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
    given = _take_inputs(panel, index, (metrics, forecasters), facts, settings)
    config, panel, compared = given.config, given.panel, given.forecasters
    observations = observe(given.prepared, config, given.factors, given.facts, asked=given.asked)
    rows = rows_to_decide(observations, config, given.fees)
    mix, (benchmark, filled) = _benchmark(given.levels, observations, rows, config)
    checkpoints = _keep_decisions(given, observations, checkpoint_folder, run)
    if run is not None and checkpoints is not None:
        _check_run(Path(run), checkpoints, observations.days[rows[0]], given)
    effort: dict[str, Any] = {"n_jobs": n_jobs, "checkpoints": checkpoints, "progress": progress}
    chosen = tune_forecasters(observations, compared, config, rows, **effort) if config.tune else {}
    decisions = walk_forward(observations, compared, rows, **effort)
    picked = pick_funds(observations, decisions, compared, config)
    equal = equal_weight_curve(observations, rows, config)
    levels = equal if benchmark is None else benchmark
    books = keep_ledgers(observations, decisions, picked, config, given.fees, levels, given.risk_free)
    universe = universe_table(decisions, observations)
    return Study(
        config=config,
        source=panel.source,
        digest=panel.digest,
        findings=(*panel.findings, *given.index_findings),
        index_name=EQUAL_WEIGHT if benchmark is None else str(benchmark.name),
        index_digest=_digest_of(given.levels),
        **books,
        benchmarks=_own_benchmarks(mix, books["holdings"], config),
        **keep_baselines(observations, rows, config, given.fees, equal),
        factor_ic=factor_ics(observations, rows),
        universe=universe,
        neighbours=neighbours_table(picked),
        reasons=reasons_table(picked, observations.factors.columns),
        factor_labels=observations.factors.labels,
        facts=given.facts.of_funds(observations.funds),
        facts_digest=given.facts.digest,
        chosen=chosen,
        units={decision.forecaster: decision.unit for decision in decisions},
        notes=_collect_notes(given, observations, rows, decisions, books, universe, filled),
        seconds=time.perf_counter() - started,
        checkpoints=checkpoints,
    )


def _keep_decisions(
    given: _Inputs, observations: Observations, folder: str | Path | None, run: str | Path | None
) -> Checkpoints | None:
    """Return where finished decisions are kept, if anywhere."""
    if run is None and not folder:
        return None
    if run is not None and folder:
        raise DataError("`run` and `checkpoint_folder` exclude each other; give one of them.")
    if run is not None and given.config.tune:
        raise DataError(
            "A tuned study chooses its settings again on a longer table, and decides all days again. Leave "
            "out `run` (--update) or `tune`."
        )
    place = Path(folder) if run is None else Path(run, DECISIONS)  # type: ignore[arg-type]
    return Checkpoints(place, given.keys(), digest_pasts(observations), keep=run is not None)


def _check_run(run: Path, checkpoints: Checkpoints, day: pd.Timestamp, given: _Inputs) -> None:
    """Raise if a folder holds a run of other data: its first decision is not one of this study."""
    if checkpoints.load(day, next(iter(given.forecasters))) is None:
        keep_other_runs(run, given.panel.digest)


def _collect_notes(
    given: _Inputs,
    observations: Observations,
    rows: list[int],
    decisions: list[Decision],
    books: dict[str, Any],
    universe: pd.DataFrame,
    filled: list[str],
) -> tuple[str, ...]:
    """Return what the reader of the study should know, from the data to the portfolios."""
    panel, config = given.panel, given.config
    return (
        *note_data(panel, config, given.fees),
        *note_rows(panel, observations, config, rows),
        *filled,
        *note_index(given.index_findings),
        *note_universe(observations, universe),
        *note_decisions(decisions, config),
        *note_portfolios(books["trades"], books["holdings"], config, panel.findings),
        *_note_last_picks(observations, books),
    )


def _own_benchmarks(mix: IndexMix | None, holdings: pd.DataFrame, config: StudyConfig) -> pd.DataFrame:
    """Return the mix of indices that each portfolio is compared with; no rows if all have the same index."""
    if mix is None:
        return no_curves()
    curves = {
        name: mix.follow(target_weights(holdings, name), config.execution_lag) for name in config.compared
    }
    return pd.DataFrame(curves).rename_axis(index="date", columns="forecaster")


def _note_last_picks(observations: Observations, books: dict[str, Any]) -> list[str]:
    """Return a note on the concentration of the last picks of the forecaster with the highest mean IC."""
    holdings, name = books["holdings"], next(iter(rank_by_ic(books["ic"])), "")
    own = holdings[holdings["forecaster"] == name]
    day = own["date"].max()
    funds = own.loc[own["date"] == day, "fund"].tolist()
    return note_concentration(funds, day, observations, name) if funds else []


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What the user gave, read and checked."""

    panel: Panel
    levels: pd.Series[float] | pd.DataFrame | None
    config: StudyConfig
    factors: FactorSet
    facts: FundFacts
    fees: FeeRules
    forecasters: dict[str, Forecaster]
    risk_free: RiskFree

    @property
    def asked(self) -> tuple[str, ...]:
        """The factors whose raw values forecasters and baselines want to see."""
        return factors_asked((*self.forecasters.values(), *resolve_baselines(self.config).values()))

    @cached_property
    def index_findings(self) -> tuple[Finding, ...]:
        """What was found in the levels of the index."""
        every = () if self.levels is None else each_index(self.levels)
        return tuple(found for own in every for found in inspect_index(own, self.panel.nav))

    @property
    def prepared(self) -> Panel:
        """The trading days and the funds of the study."""
        index_days = None if self.levels is None else self.levels.index
        return prepare_panel(self.panel, self.config, self.facts, index_days)

    def keys(self) -> list[str]:
        """Return all that a decision depends on besides its past: settings, forecasters, factors, version."""
        settings = self.config.for_forecasts().to_toml()
        parts = fingerprint((self.forecasters, self.factors))
        # What tuning chooses depends on the whole table.
        data = [self.panel.digest if self.config.tune else "", self.facts.digest]
        return [*data, settings, parts, geodual.__version__]


def _take_inputs(
    panel: Any, index: Any, compared: tuple[Any, Any], facts: Any, settings: dict[str, Any]
) -> _Inputs:
    read = panel if isinstance(panel, Panel) else read_nav(panel)
    factors, settings = take_factors(settings)
    config = StudyConfig(**compared_settings(*compared), **check_names(settings, "backtest"))
    known = take_facts(facts)
    return _Inputs(
        panel=read,
        levels=None if index is None else read_indices(index),
        config=config,
        factors=factors,
        facts=known,
        fees=make_fee_rules(config, known),
        forecasters=resolve_compared(*compared, config),
        risk_free=take_risk_free(config.risk_free),
    )


def _benchmark(
    levels: pd.Series[float] | pd.DataFrame | None,
    observations: Observations,
    rows: list[int],
    config: StudyConfig,
) -> tuple[IndexMix | None, tuple[pd.Series[float] | None, list[str]]]:
    """Return the indices by type, if given; the index, or their mix by the universe; notes on missing levels.

    The index begins with the execution of the first decision.
    """
    if levels is None:
        return None, (None, [])
    if isinstance(levels, pd.DataFrame):
        mix = mix_indices(levels, observations, rows[0])
        curve = mix.follow(equal_weights(observations, rows), config.execution_lag)
        return mix, (curve.rename(mix.name), [])
    nav = observations.panel.nav
    first = nav.index.searchsorted(observations.days[rows[0]]) + config.execution_lag
    return None, aligned_levels(levels, pd.DatetimeIndex(nav.index[first:]))


def _digest_of(levels: pd.Series[float] | pd.DataFrame | None) -> str:
    """Return the SHA-256 of an index, days and levels; nothing without one."""
    if levels is None:
        return ""
    hasher = hashlib.sha256(levels.index.to_numpy("datetime64[ns]").tobytes())
    hasher.update(levels.to_numpy(float).tobytes())
    if isinstance(levels, pd.DataFrame):
        hasher.update("\n".join(levels.columns).encode())
    return hasher.hexdigest()
