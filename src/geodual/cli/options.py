"""Options that commands share; those for settings of a study are derived from `StudyConfig`."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from geodual.funds.config import read_config
from geodual.funds.settings import Setting, list_settings
from geodual.metric.registry import metric_names
from geodual.places import is_place

Nav = Annotated[
    Path,
    typer.Argument(metavar="NAV", help="NAV table: CSV (wide or long, also gzipped), Excel or Parquet."),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="TOML file with settings of the study; options override it.")
]
Index = Annotated[
    Path | None,
    typer.Option("--index", help="Index levels to compare with. (default: the equal-weight universe)"),
]
IndexColumn = Annotated[
    str | None, typer.Option(help="Column of the index file. (default: the only one, or 930950)")
]
Facts = Annotated[
    Path | None,
    typer.Option(
        "--meta",
        "--facts",
        help="Facts about funds: code, name, type, share group, company, fees; all but the code optional.",
    ),
]
Metric = Annotated[str, typer.Option(help=f"{', '.join(metric_names())}, or your own: package.module:Class.")]
ForecasterName = Annotated[
    str | None,
    typer.Option(
        "--forecaster",
        help="Forecast with momentum, ridge, factor:sharpe_90, a metric, or one of the configuration file. "
        "(default: the forecaster with the best past decisions)",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of worker processes; -1 for one per core.")]

Command = Callable[..., None]


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def find_own_modules(names: Iterable[str]) -> None:
    """Make modules in the current folder importable if a name is a place such as ``package.module:Class``."""
    if any(map(is_place, names)) and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def takes_settings(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command options for these settings of a study, by default for all.

    The command receives the settings that the user gave, by option or configuration file, as `settings`.
    """
    return functools.partial(_add_options, names)


def _add_options(names: tuple[str, ...], command: Command) -> Command:
    chosen = [setting for setting in list_settings() if not names or setting.name in names]
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "settings"]
    takes_config = "config" in signature.parameters

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        given = {setting.name: arguments.pop(setting.name) for setting in chosen}
        config = arguments.pop("config") if takes_config else None
        command(**arguments, **({"config": config} if takes_config else {}), settings=_merge(config, given))

    # typer reads both attributes, and lists the options in the order of the signature.
    parameters = [*own, *map(_option, chosen)]
    # Required options come first, as a signature demands; the sort keeps the order otherwise.
    parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _option(setting: Setting) -> inspect.Parameter:
    """Return a setting as a parameter for typer; the default None leaves it to the configuration file."""
    default = setting.default
    kind = str if isinstance(default, tuple) else type(default)
    shown = (",".join(default) or "none") if isinstance(default, tuple) else default
    option = typer.Option(
        f"--{setting.name.replace('_', '-')}",
        help=setting.text.replace("`", "") + ("" if kind is bool else f" (default: {shown})"),
        rich_help_panel="Settings of the study",
    )
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(setting.name, keyword, default=None, annotation=Annotated[kind | None, option])


def _merge(config: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a configuration file, overridden by the options given."""
    settings = read_config(config) if config else {}
    tables = settings.get("forecasters")
    settings |= {name: value for name, value in given.items() if value is not None}
    # An option gives a list as one text, a configuration file as a tuple.
    for name in (setting.name for setting in list_settings() if isinstance(setting.default, tuple)):
        if isinstance(settings.get(name), str):
            settings[name] = split_names(settings[name])
    find_own_modules(_texts(settings))
    if isinstance(tables, dict) and isinstance(settings["forecasters"], tuple):
        # The option names some of the forecasters that the file describes, or others.
        settings["forecasters"] = {name: tables.get(name, {}) for name in settings["forecasters"]}
    return settings


def _texts(settings: object) -> Iterator[str]:
    """Return all texts in nested tables and lists: the names of the tables, too."""
    if isinstance(settings, str):
        yield settings
    elif isinstance(settings, dict):
        yield from _texts([*settings, *settings.values()])
    elif isinstance(settings, list | tuple):
        for item in settings:
            yield from _texts(item)
