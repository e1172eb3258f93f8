"""The settings of a study in one frozen object, checked once and saved with every result.

The names, defaults, rules and meanings of the settings are defined here only. Signatures, docstrings and the
options of the command are derived from it (`settings.py`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from geodual.bounded_reading import parse_nested
from geodual.errors import DataError as DataError  # re-exported by the package
from geodual.metric.registry import metric_names
from geodual.old_names import warn_of_old_name

PAPER_FACTORS = "paper"  # stands for all factors of the paper
FREQUENCIES = {"monthly": "M", "quarterly": "Q", "yearly": "Y"}  # name → code of pandas

# What the settings are about, in the order in which help, documentation and form show them.
GROUPS = {
    "Essential": ("metrics", "forecasters", "top", "frequency", "test_start", "start", "end"),
    "Universe": ("types", "include", "exclude", "share_classes"),
    "Trading": (
        *("cost", "redemption_fees", "execution_lag", "settlement_lag"),
        *("weights", "max_weight", "max_type", "max_company", "keep_rank", "min_holding", "risk_free"),
    ),
    "Model": (
        *("k", "neighbors", "label", "relative_to", "train_quarters"),
        *("factors", "baselines", "tune"),
    ),
    "Machine": ("random_state",),
}
CHOICES = {
    "label": ("sign", "median"),
    "relative_to": ("type", "all"),
    "neighbors": ("train", "current"),
    "share_classes": ("one", "all"),
    "weights": ("equal", "forecast", "inverse-volatility", "minimum-variance"),
    "frequency": tuple(FREQUENCIES),
}
# The smallest value of each whole number.
# Limits of a watch list: a fall by a quartile, and a fall that shares call a bear market.
RANK_DROP, DRAWDOWN = 0.25, 0.2
_LEAST = dict.fromkeys(("k", "top", "train_quarters"), 1)
_LEAST |= dict.fromkeys(("execution_lag", "keep_rank", "min_holding", "random_state"), 0)
_CAPS = ("max_weight", "max_type", "max_company")
_RATES = (
    -0.1,
    1.0,
)  # risk-free rates lie between; others are percentages, such as 6 for 6 %
_MAX_COST = 0.1  # a higher cost is almost certainly a percentage, such as 0.15 for 0.15 %
# Settings that no forecast depends on: a change of them learns nothing anew.
AFTER_FORECASTS = (
    *("top", "weights", *_CAPS, "keep_rank", "min_holding"),
    *("cost", "redemption_fees", "settlement_lag", "execution_lag", "risk_free", "baselines"),
)
# Settings that what is known on a day does not depend on, besides: a change of them computes no factor anew.
_AFTER_OBSERVATIONS = (
    *("metrics", "forecasters", "k", "label", "neighbors", "train_quarters"),
    *("tune", "random_state", "start", "test_start"),
)
_OLD_NAMES = {"neighbours": "neighbors"}
_PERIODS = ("start", "end", "test_start")  # only tuning depends on these: it looks at the validation period


@dataclass(frozen=True)
class StudyConfig:
    """The settings of a study, checked on creation.

    Every setting has a default: give only those you want to change.

    Parameters
    ----------
    metrics : tuple of str
        Metrics to compare: registered names, or import paths such as ``package.module:Class``.
    forecasters : tuple of str, or mapping of str to mapping
        Forecasters to compare: registered names such as momentum or ridge, names of metrics, factor:NAME to
        rank by one factor, or import paths; as a mapping, with a table of settings for each.
    top : int
        Number of funds to hold.
    frequency : str
        How often to rebalance the portfolio: "monthly", "quarterly" or "yearly".
    test_start : str
        First day of the test period; the days before are the validation period.
    start : str
        First day on which to decide; empty for the first possible one. Earlier data are still used for
        learning.
    end : str
        Last day of the study; empty for the last row. Later data are not used.
    types : tuple of str
        Types of funds to choose from, as named in the fund facts; * matches any text. All by default.
    include : tuple of str
        Funds to choose from: codes or names; * matches any text. All by default.
    exclude : tuple of str
        Funds to leave out: codes or names; * matches any text.
    share_classes : str
        Whether to choose from "one" share class per group of the fund facts (the cheapest; among equally
        cheap ones, that with the longest history) or from "all".
    cost : float
        Cost of a trade per side, as a share of the value bought or sold, such as 0.0015 for 0.15 %. For funds
        whose facts give a purchase fee, purchases cost that fee instead.
    redemption_fees : tuple of str
        Redemption fees by days held, in place of `cost`: 7:0.015 and 365:0.005 mean 1.5 % below 7 days, 0.5 %
        below a year, then nothing. QDII:7:0.02 is a rule for one type of fund. Lots are sold first in, first
        out.
    execution_lag : int
        Trading days from a decision to its execution: 0 in the paper, 1 in practice. On a weekly or monthly
        table it counts rows.
    settlement_lag : tuple of str
        Additional trading days that orders take, by type of fund, such as QDII:2.
    weights : str
        Portfolio weights: "equal"; in proportion to the positive "forecast"; "inverse-volatility"; or
        "minimum-variance", with a shrunk covariance of daily returns.
    max_weight : float
        Largest share of the portfolio in one fund.
    max_type : float
        Largest share of the portfolio in the funds of one type.
    max_company : float
        Largest share of the portfolio in the funds of one company.
    keep_rank : int
        A fund that is held is sold only if its forecast ranks worse than this number; 0 for no such buffer.
    min_holding : int
        Smallest number of days that a fund stays among the picks, unless it has no forecast, for example
        because it has no value on the day. Weights by forecast or risk may still be 0.
    risk_free : float or str
        Risk-free rate per year, such as 0.06 for 6 %, or the path of a table with a column of days and one of
        such rates, each of which holds until the next. Sharpe and Sortino ratios and alphas are measured in
        excess of it.
    k : int
        Number of neighbors that a forecast averages.
    neighbors : str
        Where to look for neighbors: among the funds of the training data ("train"), or among the other funds
        of the same day ("current").
    label : str
        Classes to learn from: "sign" of the return, as in the paper, or above and below the "median". If one
        class would hold fewer than 5 % of the funds, the median is used and the study says so.
    relative_to : str
        Which funds a fund is compared with: those of the same "type", if the fund facts have types, or "all",
        as in the paper. Within types, factors are standardized, the excess over the mean of the type is
        learned and forecast, and ICs and picks go by the rank in the type. On each day, types with fewer than
        10 funds, and funds of unknown type, form one group. If all funds are of one type, "type" gives the
        same result as "all".
    train_quarters : int
        Number of holding intervals to learn from: quarters, unless `frequency` says otherwise. With more than
        one, excess returns over the mean of each interval are learned and forecast.
    factors : tuple of str
        Factors that describe funds: "paper" for all of the paper, names of single kinds such as "sharpe", or
        import paths such as ``package.module:factor``.
    baselines : tuple of str
        What every study is also compared with, in a separate table: forecasters that learn nothing, and
        "universe", all funds with equal weights.
    tune : bool
        Whether to choose hyper-parameters on the validation period.
    random_state : int
        Seed of the random numbers that metrics draw.

    See Also
    --------
    read_config : Read settings from a TOML file.

    Examples
    --------
    >>> from geodual.funds import StudyConfig
    >>> config = StudyConfig(metrics=("euclidean", "rpdml"), cost=0.0015)
    >>> print(config.to_toml().splitlines()[0], "|", config.k, config.frequency)
    metrics = ["euclidean", "rpdml"] | 10 quarterly
    """

    metrics: tuple[str, ...] = metric_names(in_paper=True)
    forecasters: tuple[str, ...] | Mapping[str, Mapping[str, Any]] = ()
    top: int = 10
    frequency: str = "quarterly"
    test_start: str = "2017-01-01"
    start: str = ""
    end: str = ""
    types: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    share_classes: str = "one"
    cost: float = 0.0
    redemption_fees: tuple[str, ...] = ()
    execution_lag: int = 0
    settlement_lag: tuple[str, ...] = ()
    weights: str = "equal"
    max_weight: float = 1.0
    max_type: float = 1.0
    max_company: float = 1.0
    keep_rank: int = 0
    min_holding: int = 0
    risk_free: float | str = 0.0
    k: int = 10
    neighbors: str = "train"
    label: str = "sign"
    relative_to: str = "type"
    train_quarters: int = 1
    factors: tuple[str, ...] = (PAPER_FACTORS,)
    baselines: tuple[str, ...] = ("momentum", "return_12m", "universe")
    tune: bool = False
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        if not isinstance(self.tune, bool):
            raise DataError(f"`tune` must be true or false, got {self.tune!r}; write it without quotes.")
        if not isinstance(self.cost, int | float) or not 0.0 <= self.cost < _MAX_COST:
            raise DataError(
                f"`cost` must be at least 0 and below {_MAX_COST}, got {self.cost}; write 0.15 % as 0.0015."
            )
        for name, value in self._checked().items():
            object.__setattr__(self, name, value)  # a frozen dataclass allows no assignment
        check_different("metrics` and `forecasters", self.compared, type(self).metrics)
        if self.max_weight * self.top < 1.0 - 1e-9:
            raise DataError(
                f"`max_weight` must be at least 1/`top`, {1.0 / self.top:g}, got {self.max_weight:g}; raise "
                "it, or hold more funds."
            )

    def _checked(self) -> dict[str, Any]:
        """Return the settings that have a usual form, in that form."""
        default: dict[str, Any] = {field.name: field.default for field in fields(self)}
        checked: dict[str, Any] = {"cost": float(self.cost), "risk_free": check_rate(self.risk_free)}
        for name, given in ((field.name, getattr(self, field.name)) for field in fields(self)):
            if name in _LEAST:
                checked[name] = check_integer(name, given, _LEAST[name], default[name])
            elif name in _CAPS:
                checked[name] = check_share(name, given)
            elif (
                name == "factors"
                or (given and name == "baselines")
                or (name == "metrics" and (given or not self.forecasters))
            ):
                checked[name] = check_different(name, given, default[name])
            elif name == "forecasters" and isinstance(given, Mapping):
                checked[name] = check_tables(name, given)
            elif isinstance(default[name], tuple):
                checked[name] = check_texts(name, given)
            elif name in ("start", "end") and given == "":
                checked[name] = ""
            elif name in ("start", "end", "test_start"):
                checked[name] = check_day(name, given)
        return checked

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of all that the study compares: metrics first, then forecasters."""
        return (*self.metrics, *self.forecasters)

    def for_forecasts(self) -> StudyConfig:
        """Return the settings with those that no forecast depends on at their defaults."""
        return self._without(AFTER_FORECASTS if self.tune else (*AFTER_FORECASTS, *_PERIODS))

    def for_observations(self) -> StudyConfig:
        """Return the settings with those at their defaults that what is known on a day does not depend on."""
        return self._without((*AFTER_FORECASTS, *_AFTER_OBSERVATIONS))

    def _without(self, names: Sequence[str]) -> StudyConfig:
        defaults: dict[str, Any] = {
            field.name: field.default for field in fields(self) if field.name in names
        }
        return replace(self, **defaults)

    def to_toml(self) -> str:
        """Return the settings as a TOML document that `read_config` reads."""
        return write_toml(asdict(self))


def read_config(path: str | Path) -> dict[str, Any]:
    r"""Read settings from a TOML file, to be passed to `StudyConfig` or `backtest` as keyword arguments.

    Parameters
    ----------
    path : str or Path
        A TOML file with any of the settings at its top level, such as the ``config.toml`` of a run folder.

    Returns
    -------
    dict
        Value of each setting in the file, by name; lists become tuples. Only the names are checked here; the
        values are checked by `StudyConfig`.

    Raises
    ------
    DataError
        If the file cannot be read, is not TOML, or has an unknown setting.

    See Also
    --------
    StudyConfig : All settings and what they mean.
    backtest : Run a study with these settings.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from geodual.funds import read_config
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "study.toml"
    ...     _ = path.write_text('k = 5\nmetrics = ["gmml"]\n')
    ...     read_config(path)
    {'k': 5, 'metrics': ('gmml',)}
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        settings = parse_nested(tomllib.loads, text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path.") from None
    except ValueError as error:  # of TOML, of UTF-8, or nested too deeply
        raise DataError(f"{path}: not a TOML file ({error}); write lines such as `k = 10`.") from None
    return check_names(settings, str(path))


def check_names(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return settings with lists as tuples; raise an error that begins with `where` if a name is unknown."""
    known = [field.name for field in fields(StudyConfig)]
    settings = {_new_name(name): value for name, value in settings.items()}
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise DataError(
            f"{where}: unknown setting `{unknown[0]}`; known are {', '.join(known)}. Check the spelling."
        )
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def _new_name(setting: str) -> str:
    if setting in _OLD_NAMES:
        warn_of_old_name(setting, _OLD_NAMES[setting])
    return _OLD_NAMES.get(setting, setting)


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise if a setting is none of the values allowed."""
    if value not in allowed:
        raise DataError(f"`{name}` must be one of {', '.join(allowed)}, got {value!r}; choose one of these.")


def check_integer(name: str, value: Any, least: int, default: Any) -> int:
    """Return a whole number that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:  # bool is an Integral
        raise DataError(
            f"`{name}` must be a whole number of at least {least}, got {value!r}; leave it out for the "
            f"default, {default}."
        )
    return int(value)


def check_different(setting: str, names: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return one or more different names."""
    remedy = f'write a list such as ["{default[0]}"]'
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DataError(f"`{setting}` must be a list of names, got {names!r}; {remedy}.")
    if not names or not all(isinstance(name, str) and name for name in names):
        raise DataError(f"`{setting}` must be one or more names in quotes, got {list(names)!r}; {remedy}.")
    # The equity curves of a study are columns named by forecaster; "index" is the column of the benchmark.
    if len(set(names)) < len(names) or "index" in names:
        raise DataError(
            f"`{setting}` must be different names, none of them 'index', got {', '.join(names)}; remove the "
            "repeated or reserved name."
        )
    return tuple(names)


def check_texts(setting: str, texts: Any) -> tuple[str, ...]:
    """Return a list of texts, which may be empty."""
    is_list = isinstance(texts, Sequence) and not isinstance(texts, str)
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise DataError(f"`{setting}` must be a list of texts, got {texts!r}; write [] for none.")
    return tuple(texts)


def check_tables(setting: str, tables: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """Return tables of settings by name."""
    for name, table in tables.items():
        if not isinstance(name, str) or not isinstance(table, Mapping):
            raise DataError(
                f"`{setting}` must be names or a table of settings per name, got {name!r} = {table!r}; write "
                f"[{setting}.mine] and the settings below it."
            )
    return {name: {key: _listed(each) for key, each in table.items()} for name, table in tables.items()}


def _listed(value: Any) -> Any:
    """Return a value with tuples as lists, as a TOML file has them."""
    return [_listed(each) for each in value] if isinstance(value, tuple | list) else value


def check_share(name: str, value: Any) -> float:
    """Return a share of a whole: above 0, at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
        raise DataError(
            f"`{name}` must be above 0 and at most 1, got {value!r}; write 30 % as 0.3, or 1 for no limit."
        )
    return float(value)


def check_rate(value: Any) -> float | str:
    """Return a risk-free rate: a number per year, also if it is written as text, or the path of a table."""
    path = str(value).strip() if isinstance(value, str | Path) else ""
    try:
        rate = float(path or value)
    except (TypeError, ValueError):
        rate = float("nan")
        if path:
            return path
    if isinstance(value, bool) or not _RATES[0] < rate < _RATES[1]:
        raise DataError(
            f"`risk_free` must be a share per year above {_RATES[0]:g} and below {_RATES[1]:g}, or the path "
            f"of a table of such shares, got {value!r}; write 6 % as 0.06."
        )
    return rate


def check_day(name: str, value: Any) -> str:
    """Return a day as text in the ISO format."""
    import pandas as pd  # only where a day is read: the help of the command must not wait for pandas

    problem = f"`{name}` must be a date, got {value!r}; write it as 2017-01-01."
    # pandas would read numbers as nanoseconds since 1970, and empty values as missing.
    if value is None or value == "" or isinstance(value, int | float) or str(value).isdigit():
        raise DataError(problem)
    try:
        day = pd.Timestamp(value)
        if not pd.isna(day):  # which pandas makes of "NaN" and the like
            return day.date().isoformat()
    except (ValueError, TypeError, NotImplementedError):  # the last for years before 1, such as "-1"
        pass
    raise DataError(problem)


def write_toml(settings: Mapping[str, Any]) -> str:
    """Return settings as a TOML document: one line per value, then the tables of mappings.

    Parameters
    ----------
    settings : mapping
        Texts, numbers, booleans, lists, and mappings from names to tables of these.
    """
    lines, tables = [], []
    for name, value in settings.items():
        if isinstance(value, Mapping):  # tables come last: in TOML all that follows belongs to them
            tables += [_table(f"{_key(name)}.{_key(entry)}", table) for entry, table in value.items()]
        else:
            lines.append(f"{_key(name)} = {_value(value)}\n")
    return "".join(lines + tables)


def _table(name: str, table: Mapping[str, Any]) -> str:
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in table.items()]
    return f"\n[{name}]\n{''.join(lines)}"


def _key(name: str) -> str:
    """Return a key, which needs quotes unless it is made of letters, digits, - and _."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())}}}"
    if isinstance(value, str):
        # A text in JSON is valid TOML too, except that TOML forbids a bare DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value) if isinstance(value, float) else value)  # a number of numpy is a float, too
