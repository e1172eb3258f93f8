"""What a study is asked to do, in one frozen object: checked once, saved with every result."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from .decisions.named_metrics import NAMES
from .decisions.rebalance import FREQUENCIES

_CHOICES = {
    "label": ("sign", "median"),
    "neighbours": ("train", "current"),
    "weights": ("equal", "forecast"),
    "frequency": tuple(FREQUENCIES),
}
_INTEGERS = {"k": 1, "top": 1, "train_quarters": 1, "execution_lag": 0, "random_state": 0}  # and their least


@dataclass(frozen=True)
class StudyConfig:
    """The settings of a study.

    Parameters
    ----------
    metrics : tuple of str
        Names of the metrics compared.
    k : int
        Neighbours whose mean return is the forecast.
    top : int
        Funds held.
    label : str
        Classes to learn from: "sign" of the return (the paper) or above and below the "median". Where fewer
        than 5 % of the funds are in the smaller class, the median is used and the study says so.
    neighbours : str
        "train": the nearest points of the training cross-section; "current": of today's, the fund itself
        excluded.
    train_quarters : int
        Quarters (periods) of training data.
    weights : str
        "equal", or in proportion to a positive "forecast".
    frequency : str
        "monthly", "quarterly" or "yearly".
    test_start : str
        First day of the test period; what is before is the validation period.
    cost : float
        Cost of a trade as a share of its value.
    execution_lag : int
        Trading days from a decision to its execution: 0 as in the paper, 1 as in practice.
    tune : bool
        Whether hyper-parameters are chosen on the validation period.
    random_state : int
        Seed of what metrics draw.
    """

    metrics: tuple[str, ...] = NAMES
    k: int = 10
    top: int = 10
    label: str = "sign"
    neighbours: str = "train"
    train_quarters: int = 1
    weights: str = "equal"
    frequency: str = "quarterly"
    test_start: str = "2017-01-01"
    cost: float = 0.0
    execution_lag: int = 0
    tune: bool = False
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise DataError(f"`{name}` must be one of {', '.join(allowed)}, got {getattr(self, name)!r}.")
        for name, least in _INTEGERS.items():
            object.__setattr__(self, name, _integer(name, getattr(self, name), least))
        if not isinstance(self.cost, int | float) or not 0.0 <= self.cost < 0.1:
            raise DataError(
                f"`cost` must be at least 0 and below 0.1 (0.0015 means 0.15 %), got {self.cost}."
            )
        object.__setattr__(self, "cost", float(self.cost))
        if not isinstance(self.tune, bool):
            raise DataError(f"`tune` must be true or false, got {self.tune!r}.")
        object.__setattr__(self, "metrics", _names(self.metrics))
        object.__setattr__(self, "test_start", _day("test_start", self.test_start))

    def to_toml(self) -> str:
        """Return the settings as a TOML document that `read_config` reads."""
        return "".join(f"{name} = {_as_toml(value)}\n" for name, value in asdict(self).items())


def read_config(path: str | Path) -> dict[str, Any]:
    """Return the settings in a TOML file, as keyword arguments of `StudyConfig`.

    Parameters
    ----------
    path : str or Path
        A TOML file with any of the names above at its top level.

    Returns
    -------
    dict
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
    """Return settings with lists as tuples; raise if a name is unknown."""
    known = [field.name for field in fields(StudyConfig)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise DataError(f"{where}: unknown setting `{unknown[0]}`; known are {', '.join(known)}.")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def _integer(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise DataError(f"`{name}` must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def _names(metrics: Any) -> tuple[str, ...]:
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise DataError(f"`metrics` must be a list of names, got {metrics!r}.")
    if not metrics or not all(isinstance(name, str) and name for name in metrics):
        raise DataError(f"`metrics` must be names, at least one, got {list(metrics)!r}.")
    if len(set(metrics)) < len(metrics) or "index" in metrics:
        raise DataError(f"`metrics` must be different names, none of them 'index', got {', '.join(metrics)}.")
    return tuple(metrics)


def _day(name: str, value: Any) -> str:
    problem = f"`{name}` must be a date such as 2017-01-01, got {value!r}."
    if not isinstance(value, date | np.datetime64 | str) or str(value).isdigit() or value == "":
        raise DataError(problem)
    try:
        return pd.Timestamp(value).date().isoformat()
    except ValueError:
        raise DataError(problem) from None


def _as_toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_as_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)
