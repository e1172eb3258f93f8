"""Options that commands share; those for settings of a study are derived from `StudyConfig`."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from geodual import funds
from geodual.errors import DataError
from geodual.extras import import_extra
from geodual.funds.config import read_config
from geodual.funds.language import LANGUAGES, check_language
from geodual.funds.run import CONFIG
from geodual.funds.settings import Setting, list_settings
from geodual.metric.registry import metric_names
from geodual.places import is_place

MACHINE = "Machine settings"  # the group of options on where the work is done
Nav = Annotated[
    Path,
    typer.Argument(metavar="NAV", help="NAV table: CSV (wide or long, also gzipped), Excel or Parquet."),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="TOML file with settings of the study; options override them.")
]
Index = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="FILE|TYPE=FILE,…",
        help="Index levels to compare with, or one file per type of fund; * matches any text. "
        "(default: the equal-weight universe)",
    ),
]
IndexColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|TYPE=NAME,…",
        help="Column of the index file, or one per type of fund. (default: the only one, or 930950)",
    ),
]
IndexName = Annotated[str | None, typer.Option(help="Name of the index in the report and on the page.")]
Title = Annotated[str, typer.Option(help="Title of the page.")]

Language = Annotated[
    str,
    typer.Option(
        metavar="|".join(LANGUAGES),
        callback=check_language,
        help="Language of the report, the pages and the workbook; the terminal stays English.",
    ),
]
Facts = Annotated[
    Path | None,
    typer.Option(
        "--meta",
        "--facts",
        help="Facts about the funds: code, name, type, share group, company, fees; only code is required.",
    ),
]
Metric = Annotated[str, typer.Option(help=f"{', '.join(metric_names())}, or your own: package.module:Class.")]
ForecasterName = Annotated[
    str | None,
    typer.Option(
        "--forecaster",
        help="Forecast with momentum, ridge, factor:sharpe_90, a metric, or one from the configuration file. "
        "(default: the one that the study names, with the highest mean IC)",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", help="Number of worker processes; -1 for one per core.", rich_help_panel=MACHINE
    ),
]

Command = Callable[..., None]
_MACHINE = ("jobs", "dask")  # shown beside the settings of the machine, which come last
ANSWER = 5.0  # seconds until the scheduler answers, and until it has a worker

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local",
        help="Make decisions on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or "
        "local for --jobs workers on this machine.",
        rich_help_panel=MACHINE,
    ),
]


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def by_type(text: str) -> dict[str, str]:
    """Return what a text such as equity=e.csv,bond=b.csv gives by type; nothing if it is one plain value."""
    pairs = [part.split("=", 1) for part in split_names(text)]
    if os.path.exists(text) or any(len(pair) < 2 for pair in pairs):
        return {}
    return {kind.strip(): value.strip() for kind, value in pairs}


def index_files(index: str | None) -> list[Path]:
    """Return the files that the option `--index` names."""
    return [] if index is None else [Path(file) for file in by_type(index).values() or [index]]


def read_index_option(index: str, column: str | None) -> Any:
    """Return the levels that `--index` and `--index-column` name: of one index, or of one per type."""
    files, columns = by_type(index), by_type(column or "")
    if files and columns and set(files) != set(columns):
        raise DataError("`--index` and `--index-column` name different types; give both for the same types.")
    kinds = files or columns
    if not kinds:
        return funds.read_index(index, column)
    return {kind: funds.read_index(files.get(kind, index), columns.get(kind, column)) for kind in kinds}


def read_given(
    index: str | None, index_column: str | None, facts: Path | None, index_name: str | None = None
) -> dict[str, Any]:
    """Return the index and the facts about funds as arguments of a study; None for what is not given."""
    if index_name is not None and index is None:
        raise DataError(
            "`--index-name` names the levels of `--index`; give both, or leave out `--index-name`."
        )
    levels = None if index is None else read_index_option(index, index_column)
    if index_name is not None and isinstance(levels, dict):
        raise DataError("`--index-name` names one index; indices by type take the names of their columns.")
    return {
        "index": levels if index_name is None or levels is None else levels.rename(index_name),
        "facts": None if facts is None else funds.read_facts(facts),
    }


def find_own_modules(names: Iterable[str]) -> None:
    """Make modules in the current folder importable if a name is a path such as ``package.module:Class``."""
    if any(map(is_place, names)) and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def find_modules_of_run(run: Path | None) -> None:
    """Make modules in the current folder importable if the settings of a run name some."""
    if run is not None and (run / CONFIG).is_file():
        find_own_modules(_texts(read_config(run / CONFIG)))


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
    machine = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own
        if parameter.name in _MACHINE
    ]
    parameters = [parameter for parameter in own if parameter.name not in _MACHINE]
    parameters += [*map(_option, chosen), *machine]
    # Required options come first, as a signature demands; the sort keeps the order otherwise.
    parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _option(setting: Setting) -> inspect.Parameter:
    """Return a setting as a parameter for typer; the default None leaves it to the configuration file."""
    default = setting.default
    kind = str if "str" in setting.kind else type(default)
    shown = (",".join(default) or "none") if isinstance(default, tuple) else default
    option = typer.Option(
        f"--{setting.name.replace('_', '-')}",
        help=setting.text.replace("`", "") + ("" if kind is bool else f" (default: {shown})"),
        rich_help_panel=f"{setting.group} settings",
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


def keep_inputs(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Raise if one of the files to write is one of those to read."""
    read = [path for path in inputs if path is not None and path.exists()]
    for path in outputs:
        if path is not None and path.exists() and any(map(path.samefile, read)):
            raise DataError(f"{path}: this file is an input and would be overwritten. Write to another file.")


def check_file(path: Path | None) -> Path | None:
    """Raise immediately if a file could not be written at the end; for options of typer, as `callback`."""
    if path is not None:
        if path.is_dir():
            raise DataError(f"{path}: this is a folder. Give the name of a file.")
        if not path.parent.is_dir():
            raise DataError(f"{path}: there is no folder {path.parent}. Create it, or write elsewhere.")
        if not os.access(path.parent, os.W_OK):
            raise DataError(f"{path}: no permission to write there. Choose another folder.")
    return path


def _check_excel(path: Path | None) -> Path | None:
    """Raise immediately if the Excel file could not be written at the end."""
    if path is not None:
        # Imported here, because the help must not wait for pandas.
        from geodual.funds.study.workbook import check_excel

        check_excel(path)
    return path


Excel = Annotated[
    Path | None,
    typer.Option(
        "--excel", callback=_check_excel, help="Also write the main tables to this Excel file (.xlsx)."
    ),
]
ExcelAll = Annotated[
    bool, typer.Option("--excel-all", help="Write every table to the Excel file, not only the main ones.")
]


@contextmanager
def use_cluster(address: str | None, jobs: int = -1) -> Iterator[None]:
    """Let decisions be made on a Dask cluster while a command does its work.

    Parameters
    ----------
    address : str, optional
        Address of a scheduler, or "local" for a cluster on this machine, which ends with the command. Nothing
        changes without it.
    jobs : int
        Number of workers of a local cluster; −1 for one per core, −2 for one less, and so on.
    """
    if address is None:
        yield
        return
    _check(address, jobs)
    import_extra("distributed", "dask", "`--dask` needs Dask")
    joblib, cluster = import_module("joblib"), import_module("geodual.cluster")
    with ExitStack() as stack:
        place = address
        if address == "local":
            place = stack.enter_context(cluster.local_cluster(joblib.effective_n_jobs(jobs)))
        stack.enter_context(_connect(place))
        stack.enter_context(joblib.parallel_config("dask"))
        yield


def _check(address: str, jobs: int) -> None:
    if not address.strip():
        raise DataError(
            "`--dask` is empty; give the address of a scheduler, such as tcp://host:8786, or local."
        )
    if jobs == 0:
        raise DataError("`--jobs` must not be 0; use 1 for one worker, or -1 for one per core.")


@contextmanager
def _connect(place: Any) -> Iterator[None]:
    """Make a cluster the active one; raise in one line if it does not answer or has no workers."""
    distributed = import_module("distributed")
    # Their logs would say the same in many lines, and what became of waiting that was given up.
    for name in ("asyncio", "distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(place, timeout=ANSWER)
    except Exception as error:  # what answers there may be anything
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(
            f"`--dask`: no Dask scheduler answers at {place} ({reason}). Start one with `dask scheduler`, "
            "and give its address, such as tcp://localhost:8786; or give local."
        ) from None
    try:
        try:
            client.wait_for_workers(1, timeout=ANSWER)
        except TimeoutError:
            raise DataError(
                f"`--dask`: the scheduler at {place} has no workers. Start some with `dask worker {place}`."
            ) from None
        yield
    finally:
        with suppress(TimeoutError):  # a scheduler that does not answer does not say goodbye either
            client.close(timeout=ANSWER)
