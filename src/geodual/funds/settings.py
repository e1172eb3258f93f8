"""Show the settings of `StudyConfig` wherever they can be given: in signatures, docstrings and options."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

from .config import GROUPS, StudyConfig

_ENTRY = re.compile(r"^(\w+) : (.+)\n((?: {4}.*\n?)+)", flags=re.M)  # name : type, then its indented text
# The entry `**settings` of a docstring, which the settings replace.
_PLACE = re.compile(r"^( *)\*\*settings\n(?: +.*\n)+", flags=re.M)
_WIDTH = 110  # characters per line of a docstring

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Setting:
    """One setting of a study.

    Attributes
    ----------
    name : str
        Name in signatures, files and options.
    kind : str
        Type, in words.
    default : object
        Default value.
    text : str
        Meaning, in one or two sentences.
    group : str
        What it is about, one of `GROUPS`.
    """

    name: str
    kind: str
    default: Any
    text: str
    group: str


def list_settings() -> tuple[Setting, ...]:
    """Return all settings, with their meanings from the docstring of `StudyConfig`."""
    entries = _ENTRY.findall(inspect.getdoc(StudyConfig) or "")
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    meaning = {name: (kind, " ".join(text.split())) for name, kind, text in entries}
    settings = []
    for field in fields(StudyConfig):
        kind, text = meaning.get(field.name, (str(field.type), ""))  # docstrings may be stripped (python -OO)
        settings.append(Setting(field.name, kind, field.default, text, group_of[field.name]))
    return tuple(settings)


def takes_settings(*, without: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Return a decorator that shows the settings of a study in the signature and docstring of a function.

    The function takes them as ``**settings``. Settings that are parameters of the function itself, or are
    listed in `without`, are not shown.
    """
    return partial(_show_settings, without)


def _show_settings(without: tuple[str, ...], function: Function) -> Function:
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    hidden = {*signature.parameters, *without}
    shown = [setting for setting in list_settings() if setting.name not in hidden]
    more = [
        inspect.Parameter(setting.name, inspect.Parameter.KEYWORD_ONLY, default=setting.default)
        for setting in shown
    ]
    function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    if function.__doc__:
        function.__doc__ = _PLACE.sub(lambda found: _entries(shown, found[1]), function.__doc__, count=1)
    return function


def _entries(settings: list[Setting], indent: str) -> str:
    return "".join(f"{indent}{s.name} : {s.kind}\n{_wrapped(s.text, indent + '    ')}\n" for s in settings)


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
