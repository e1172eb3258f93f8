"""The registry of metrics by name: their constructors, parameter grids and labels.

Learners are imported only when needed, so that the command can list the names without delay.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from geodual.errors import DataError
from geodual.places import is_place, load_place, name_at, run_own

# Tight, so that tables of a study do not depend on the path of the solver. Of 32,328 forecasts of the demo by
# RPDML and ITML, 9 change from 1e-10 to 1e-8, and none between two solvers at 1e-10.
_TOL = 1e-10
FEATURED = "rpdml"  # the metric of the paper: the default, drawn with a thicker line
BASELINE = "euclidean"  # the plain distance, a baseline for learned metrics
FOR_NEIGHBORS = "neighbor_rpdml"  # the best metric for nearest neighbors, with its defaults


@dataclass(frozen=True)
class NamedMetric:
    """An entry in the registry.

    Attributes
    ----------
    name : str
        The name that users type.
    target : class, callable, transformer or str
        A scikit-learn transformer class, a function that returns a transformer, a transformer, or the place
        of one of these, ``"package.module:Class"``.
    label : str
        Label in tables and charts.
    parameters : mapping
        Arguments for the class or function.
    grid : tuple of mapping
        Parameter sets for tuning. The first is the default, which wins ties.
    in_paper : bool
        Whether the paper compares this metric.
    """

    name: str
    target: str | Callable[..., Any] | Any
    label: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[Mapping[str, Any], ...] = ()
    in_paper: bool = False

    def make(self, random_state: int = 0) -> Any:
        """Return the unfitted transformer, with the seed if it has a parameter `random_state`."""
        target = load_place(self.target, "metric") if isinstance(self.target, str) else self.target
        made = target
        if callable(target):
            # `parameters` come last, so that a seed given there wins.
            seed = {"random_state": random_state} if _takes(target, "random_state") else {}
            made = run_own(
                lambda: target(**seed | dict(self.parameters)),
                f"The metric {self.name!r} cannot be made",
                "pass a class or a function that needs no other parameters",
            )
        if not (hasattr(made, "fit") and hasattr(made, "transform")):
            raise DataError(
                f"The metric {self.name!r} must be a scikit-learn transformer, got {type(made).__name__}; it "
                "needs the methods `fit` and `transform`."
            )
        # Copy the transformer, so that fits do not change the registry.
        return made if callable(target) else importlib.import_module("sklearn.base").clone(made, safe=False)


METRICS: dict[str, NamedMetric] = {}


def register_metric(
    name: str,
    target: str | Callable[..., Any] | Any,
    *,
    label: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    grid: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Register your own metric under a name, for use in studies, tuning, reports and charts.

    The command needs no registration: ``--metrics euclidean,package.module:Class`` uses a class directly.

    Parameters
    ----------
    name : str
        The name, as in ``backtest(panel, metrics=["euclidean", name])``. It replaces an existing metric of
        this name. It must not contain a colon or comma, nor be "index".
    target : class, callable, transformer or str
        A scikit-learn transformer class, a function that returns a transformer, a transformer, or the place
        of one of these, ``"package.module:Class"``. A class or function with a parameter `random_state`
        receives the seed of the study.
    label : str, optional
        Label in tables and charts; by default the name.
    parameters : mapping, optional
        Arguments for the class or function; by default none.
    grid : iterable of mapping
        Parameter sets for ``tune=True``, with the default first. If empty, the metric is not tuned.

    See Also
    --------
    make_metric : Makes a metric by name.
    metric_names : Lists the registered names.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from geodual.metric import make_metric, register_metric
    >>> register_metric("pca", PCA, label="PCA", parameters={"n_components": 2})
    >>> make_metric("pca")
    PCA(n_components=2, random_state=0)
    """
    # A colon marks a place, a comma separates names on the command line, and "index" is a column of tables.
    if not isinstance(name, str) or not name or ":" in name or "," in name or name == "index":
        raise DataError(f"`name` must be a text without colon or comma, and not 'index', got {name!r}.")
    if not isinstance(parameters, Mapping | None):
        raise DataError(f"`parameters` must be a mapping, got {parameters!r}.")
    if parameters and not (callable(target) or isinstance(target, str)):
        raise DataError(f"`parameters` need a class or a function to give them to, got {target!r}.")
    choices = list(grid) if isinstance(grid, Iterable) else [grid]
    if not all(isinstance(choice, Mapping) for choice in choices):
        raise DataError(f"`grid` must hold mappings, got {grid!r}; give a list of them.")
    METRICS[name] = NamedMetric(name, target, label or name, dict(parameters or {}), tuple(choices))


def find_metric(name: str) -> NamedMetric:
    """Return the registered metric of this name, or the one at the place ``package.module:Class``."""
    if isinstance(name, str) and name in METRICS:
        return METRICS[name]
    if is_place(name):
        return NamedMetric(name, name, label=name_at(name))
    raise DataError(
        f"`metrics`: unknown metric {name!r}; known are {', '.join(METRICS)}. Give your own metric as "
        "package.module:Class."
    )


def make_metric(name: str, random_state: int = 0) -> Any:
    """Make a metric by name, with the parameters used in the fund study.

    Parameters
    ----------
    name : str
        A name from `metric_names`, or the place of a scikit-learn transformer, as in
        ``"package.module:Class"``.
    random_state : int
        Seed, for metrics that have a parameter `random_state`.

    Returns
    -------
    transformer
        An unfitted scikit-learn transformer.

    See Also
    --------
    metric_names : Lists the registered names.
    register_metric : Registers your own metric.

    Examples
    --------
    >>> from geodual.metric import make_metric
    >>> make_metric("gmml")
    GMML(reg=0.1)
    >>> make_metric("sklearn.decomposition:PCA")
    PCA(random_state=0)
    """
    return find_metric(name).make(random_state)


def metric_names(*, in_paper: bool = False) -> tuple[str, ...]:
    """Return the names of the registered metrics.

    Parameters
    ----------
    in_paper : bool
        Whether to list only the six metrics compared in the paper.

    Returns
    -------
    tuple of str
        Names in the order of registration.

    See Also
    --------
    make_metric : Makes a metric by name.
    register_metric : Registers your own metric.

    Examples
    --------
    >>> from geodual.metric import metric_names
    >>> metric_names(in_paper=True)
    ('euclidean', 'mahalanobis', 'lmnn', 'itml', 'gmml', 'rpdml')
    """
    return tuple(name for name, metric in METRICS.items() if metric.in_paper or not in_paper)


def metric_label(name: str) -> str:
    """Return the label of a metric in tables and charts; the name itself if it is not registered."""
    return find_metric(name).label if name in METRICS or is_place(name) else name


def _takes(target: Callable[..., Any], parameter: str) -> bool:
    try:
        return parameter in inspect.signature(target).parameters
    except (TypeError, ValueError):  # some built-in callables have no signature
        return False


for _metric in (
    NamedMetric("euclidean", "geodual.metric.estimators.fixed:EuclideanMetric", "Euclidean", in_paper=True),
    NamedMetric(
        "mahalanobis", "geodual.metric.estimators.fixed:MahalanobisMetric", "Mahalanobis", in_paper=True
    ),
    NamedMetric(
        "lmnn",
        "geodual.metric.estimators.lmnn:LMNN",
        "LMNN",
        grid=tuple({"regularization": value} for value in (0.5, 0.1, 0.9)),
        in_paper=True,
    ),
    NamedMetric(
        "itml",
        "geodual.metric.estimators.itml:ITML",
        "ITML",
        parameters={"gamma": 1e-3, "pairs": "all", "tol": _TOL},
        grid=tuple({"gamma": value} for value in (1e-3, 1e-4, 1e-2)),
        in_paper=True,
    ),
    NamedMetric(
        "gmml",
        "geodual.metric.estimators.gmml:GMML",
        "GMML",
        parameters={"reg": 0.1},
        grid=tuple({"t": value} for value in (0.5, 0.25, 0.75)),
        in_paper=True,
    ),
    NamedMetric(
        "rpdml",
        "geodual.metric.estimators.rpdml:RPDML",
        "RPDML",
        parameters={"pairs": "all", "tol": _TOL},
        grid=(
            *({"C": value, "pairs": "all"} for value in (100.0, 1.0, 1000.0)),
            *({"C": value, "pairs": "local"} for value in (100.0, 1000.0)),
        ),
        in_paper=True,
    ),
    NamedMetric(
        "neighbor_rpdml", "geodual.metric.estimators.neighbor_rpdml:NeighborRPDML", "RPDML for neighbors"
    ),
):
    METRICS[_metric.name] = _metric
