"""The registry of forecasters by name: what each is made of, what to tune, and its label.

A forecaster is described by a table of settings, as in a configuration file: ``metric``, ``factor``,
``estimator`` or ``members`` say of which kind it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from geodual.errors import DataError
from geodual.metric.registry import find_metric, metric_label, metric_names
from geodual.places import is_place, name_at

from ..language import phrase, phrases

FACTOR = "factor:"  # "factor:sharpe_90" ranks by this factor
UNIVERSE = "universe"  # the baseline that holds all funds with equal weights; it makes no forecasts


@dataclass(frozen=True)
class NamedForecaster:
    """An entry of the registry.

    Attributes
    ----------
    name : str
        The name that users type.
    target : mapping or object
        A table of settings; or a forecaster, transformer or regressor, a class or function that returns one,
        or the place of one of these.
    label : str
        Label in tables and charts.
    grid : tuple of mapping
        Changes of settings that tuning may choose from. The first is the default, which wins ties.
    """

    name: str
    target: Any
    label: str
    grid: tuple[Mapping[str, Any], ...] = field(default=())

    @property
    def learns(self) -> bool:
        """Whether it learns from the past; ranking by one factor does not."""
        return not (isinstance(self.target, Mapping) and "factor" in self.target)


FORECASTERS: dict[str, NamedForecaster] = {}
WORDY_LABELS = phrases("RPDML for neighbors")  # of metrics; all others are names, which stay


def register_forecaster(
    name: str, target: Any, *, label: str | None = None, grid: Iterable[Mapping[str, Any]] = ()
) -> None:
    """Register your own forecaster under a name, for use in studies, tuning, reports and charts.

    The command needs no registration: ``--forecasters momentum,package.module:Class`` uses a class directly.

    Parameters
    ----------
    name : str
        The name, as in ``backtest(panel, forecasters=["momentum", name])``. An existing forecaster of this
        name is replaced. It must not contain a colon or comma, nor be "index" or "universe".
    target : mapping or object
        A table of settings such as ``{"metric": "rpdml", "target": "rank", "window": "all"}``; or a
        forecaster, a scikit-learn transformer or regressor, a class or function that returns one, or the
        place of one of these, ``"package.module:Class"``.
    label : str, optional
        Label in tables and charts; by default the name.
    grid : iterable of mapping
        Changes of settings that ``tune=True`` may choose from, the default first. The key `parameters` holds
        those of the metric or estimator. If empty, the forecaster is not tuned.

    See Also
    --------
    forecaster_names : List the registered names.
    geodual.metric.register_metric : Register a metric; each is a forecaster, too.

    Examples
    --------
    >>> from geodual.funds import backtest, register_forecaster, synthetic_universe
    >>> register_forecaster("calm", {"factor": "stddev_90", "sign": -1}, label="low volatility")
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> list(backtest(panel, forecasters=["calm", "momentum"]).ic)
    ['calm', 'momentum']
    """
    # A colon marks a place, a comma separates names on the command line; two names mean something else.
    taken = ("index", UNIVERSE)
    if not isinstance(name, str) or not name or ":" in name or "," in name or name in taken:
        raise DataError(
            f"`name` must be a text without colon or comma, and not 'index' or 'universe', got {name!r}."
        )
    FORECASTERS[name] = NamedForecaster(name, target, label or name, tuple(grid))


def find_forecaster(name: str) -> NamedForecaster:
    """Return the forecaster of this name: a registered one, a metric, ``factor:NAME``, or an import path."""
    if name in FORECASTERS:
        return FORECASTERS[name]
    if name in metric_names():
        metric = find_metric(name)
        grid = tuple({"parameters": dict(parameters)} for parameters in metric.grid)
        return NamedForecaster(name, {"metric": name}, metric.label, grid)
    if name.startswith(FACTOR):
        return NamedForecaster(name, {"factor": name.removeprefix(FACTOR)}, name.removeprefix(FACTOR))
    if is_place(name):
        return NamedForecaster(name, name, label=name_at(name))
    raise DataError(
        f"`forecasters`: unknown forecaster {name!r}; known are {', '.join(forecaster_names())}. Rank by one "
        "factor with factor:sharpe_90, or give your own as package.module:Class."
    )


def is_known(name: str) -> bool:
    """Return whether a name is registered in this process, or says by itself what it stands for."""
    return name in FORECASTERS or name in metric_names() or name.startswith(FACTOR) or is_place(name)


def forecaster_names() -> tuple[str, ...]:
    """Return the names of all forecasters: the metrics, and those registered in addition.

    Returns
    -------
    tuple of str
        Names, metrics first.

    See Also
    --------
    register_forecaster : Register your own forecaster.
    geodual.metric.metric_names : List the metrics only.

    Examples
    --------
    >>> from geodual.funds import forecaster_names
    >>> {"rpdml", "momentum", "return_12m", "ridge"} <= set(forecaster_names())
    True
    """
    return (*metric_names(), *(name for name in FORECASTERS if name not in metric_names()))


def forecaster_label(name: str) -> str:
    """Return the label of a forecaster in tables and charts; the name itself if it is not registered."""
    if name == UNIVERSE:
        return phrase("Equal-weight universe")
    if name in FORECASTERS or name.startswith(FACTOR):
        return find_forecaster(name).label
    return metric_label(name)


def _parameters(key: str, *values: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({"parameters": {key: value}} for value in values)


for _forecaster in (
    NamedForecaster("momentum", {"factor": "sharpe_90"}, phrase("Momentum")),
    NamedForecaster("return_12m", {"factor": "return_12m"}, phrase("12-month return")),
    NamedForecaster(
        "ridge",
        {
            "estimator": "sklearn.linear_model:Ridge",
            "parameters": {"alpha": 1000.0},
            "target": "rank",
            "window": "all",
        },
        phrase("Ridge"),
        grid=_parameters("alpha", 1e3, 1e2, 1e4, 1e5),
    ),
    NamedForecaster(
        "factor_ic",
        {
            "estimator": "geodual.funds.forecasters.regression:FactorICRegressor",
            "target": "rank",
            "window": "all",
        },
        phrase("Factor ICs"),
        grid=_parameters("shrink", False, True),
    ),
):
    FORECASTERS[_forecaster.name] = _forecaster
