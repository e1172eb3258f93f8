"""The settings of a study in one frozen object, checked once and saved with every result.

The names, defaults, rules and meanings of the settings are defined here only. Signatures, docstrings and the
options of the command are derived from it (`settings.py`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from geodual.errors import DataError as DataError  # re-exported by the package
from geodual.metric.registry import metric_names

PAPER_FACTORS = "paper"  # stands for all factors of the paper
FREQUENCIES = {"monthly": "M", "quarterly": "Q", "yearly": "Y"}  # name → code of pandas

CHOICES = {
    "label": ("sign", "median"),
    "neighbours": ("train", "current"),
    "weights": ("equal", "forecast"),
    "frequency": tuple(FREQUENCIES),
}
# The smallest value of each whole number.
_LEAST = {"k": 1, "top": 1, "train_quarters": 1, "execution_lag": 0, "random_state": 0}
_MAX_COST = 0.1  # a higher cost is almost certainly a percentage, such as 0.15 for 0.15 %


@dataclass(frozen=True)
class StudyConfig:
    """The settings of a study, checked when they are made.

    Every setting has a default: give only those you want to change.

    Parameters
    ----------
    metrics : tuple of str
        Metrics to compare: registered names, or places such as ``package.module:Class``.
    factors : tuple of str
        Factors that describe funds: "paper" for all of the paper, names of single kinds such as "sharpe", or
        places such as ``package.module:factor``.
    k : int
        Number of neighbours that a forecast averages.
    top : int
        Number of funds to hold.
    label : str
        Classes to learn from: "sign" of the return, as in the paper, or above and below the "median". If one
        class would hold fewer than 5 % of the funds, the median is used and the study says so.
    neighbours : str
        Where to look for neighbours: among the funds of the training data ("train"), or among the other funds
        of the same day ("current").
    train_quarters : int
        Number of holding intervals to learn from: quarters, unless `frequency` says otherwise.
    weights : str
        Portfolio weights: "equal", or in proportion to the positive "forecast".
    frequency : str
        How often to rebalance the portfolio: "monthly", "quarterly" or "yearly".
    test_start : str
        First day of the test period; the days before are the validation period.
    cost : float
        Cost of a trade per side, as a share of the value bought or sold, such as 0.0015 for 0.15 %.
    redemption_fees : tuple of str
        Redemption fees by days held, in place of `cost`: 7:0.015 and 365:0.005 mean 1.5 % below 7 days, 0.5 %
        below a year, then nothing. Lots are sold first in, first out.
    execution_lag : int
        Trading days from a decision to its execution: 0 in the paper, 1 in practice.
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
    factors: tuple[str, ...] = (PAPER_FACTORS,)
    k: int = 10
    top: int = 10
    label: str = "sign"
    neighbours: str = "train"
    train_quarters: int = 1
    weights: str = "equal"
    frequency: str = "quarterly"
    test_start: str = "2017-01-01"
    cost: float = 0.0
    redemption_fees: tuple[str, ...] = ()
    execution_lag: int = 0
    tune: bool = False
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                known = ", ".join(allowed)
                raise DataError(f"`{name}` must be one of {known}, got {value!r}; choose one of these.")
        if not isinstance(self.cost, int | float) or not 0.0 <= self.cost < _MAX_COST:
            raise DataError(
                f"`cost` must be at least 0 and below {_MAX_COST}, got {self.cost}; write 0.15 % as 0.0015."
            )
        if not isinstance(self.tune, bool):
            raise DataError(f"`tune` must be true or false, got {self.tune!r}; write it without quotes.")
        checked: dict[str, Any] = {
            name: _integer(name, getattr(self, name), least) for name, least in _LEAST.items()
        }
        checked |= {name: _names(name, getattr(self, name)) for name in ("metrics", "factors")}
        checked |= {"cost": float(self.cost), "test_start": _day("test_start", self.test_start)}
        checked["redemption_fees"] = _texts("redemption_fees", self.redemption_fees)
        for name, value in checked.items():
            object.__setattr__(self, name, value)  # a frozen dataclass allows no assignment

    def without_trading(self) -> StudyConfig:
        """Return the settings with those that no decision depends on at their defaults."""
        trading = ("cost", "redemption_fees", "execution_lag", "weights")
        periods = () if self.tune else ("test_start",)  # tuning looks at the validation period
        defaults: dict[str, Any] = {
            field.name: field.default for field in fields(self) if field.name in (*trading, *periods)
        }
        return replace(self, **defaults)

    def to_toml(self) -> str:
        """Return the settings as a TOML document that `read_config` reads."""
        return "".join(f"{name} = {_as_toml(value)}\n" for name, value in asdict(self).items())


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
        text = Path(path).read_text(encoding="utf-8")
        settings = tomllib.loads(text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a TOML file ({error}); write lines such as `k = 10`.") from None
    return check_names(settings, str(path))


def check_names(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return settings with lists as tuples; raise an error that begins with `where` if a name is unknown."""
    known = [field.name for field in fields(StudyConfig)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise DataError(
            f"{where}: unknown setting `{unknown[0]}`; known are {', '.join(known)}. Check the spelling."
        )
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def _integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:  # bool is an Integral
        default = getattr(StudyConfig, name)
        raise DataError(
            f"`{name}` must be a whole number of at least {least}, got {value!r}; leave it out for the "
            f"default, {default}."
        )
    return int(value)


def _names(setting: str, names: Any) -> tuple[str, ...]:
    remedy = f'write a list such as ["{getattr(StudyConfig, setting)[0]}"]'
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DataError(f"`{setting}` must be a list of names, got {names!r}; {remedy}.")
    if not names or not all(isinstance(name, str) and name for name in names):
        raise DataError(f"`{setting}` must be one or more names in quotes, got {list(names)!r}; {remedy}.")
    # The equity curves of a study are columns named by metric; "index" is the column of the benchmark.
    if len(set(names)) < len(names) or "index" in names:
        raise DataError(
            f"`{setting}` must be different names, none of them 'index', got {', '.join(names)}; remove the "
            "repeated or reserved name."
        )
    return tuple(names)


def _texts(setting: str, texts: Any) -> tuple[str, ...]:
    is_list = isinstance(texts, Sequence) and not isinstance(texts, str)
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise DataError(f"`{setting}` must be a list of texts, got {texts!r}; write [] for none.")
    return tuple(texts)


def _day(name: str, value: Any) -> str:
    import pandas as pd  # only where a day is read: the help of the command must not wait for pandas

    problem = f"`{name}` must be a date, got {value!r}; write it as 2017-01-01."
    # pandas would read numbers as nanoseconds since 1970, and empty values as missing.
    if value is None or value == "" or isinstance(value, int | float) or str(value).isdigit():
        raise DataError(problem)
    try:
        return pd.Timestamp(value).date().isoformat()
    except (ValueError, TypeError):
        raise DataError(problem) from None


def _as_toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_as_toml, value))}]"
    if isinstance(value, str):
        # A text in JSON is valid TOML too, except that TOML forbids a bare DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)
