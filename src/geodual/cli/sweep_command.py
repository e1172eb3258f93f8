"""The command ``geodual sweep``: studies with all combinations of settings, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geodual import funds
from geodual.funds.settings import Setting, list_settings

from . import options
from .console import (
    format_number,
    format_percent,
    format_signed,
    plain_records,
    print_json,
    print_table,
    progress_of,
    say,
)

_RESULTS = ("IC", "t", "p", "return", "Sharpe", "deflated")

Grid = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE,…", help="Values of a setting to try; once per setting."),
]


@options.takes_settings()
def run_sweep(
    nav: options.Nav,
    grid: Grid,
    settings: dict[str, Any],
    index: options.Index = None,
    index_column: options.IndexColumn = None,
    facts: options.Facts = None,
    config: options.ConfigFile = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=options.check_file, help="File for the table (CSV).")
    ] = Path("geodual-sweep.csv"),
    jobs: options.Jobs = -1,
    dask: options.Dask = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Run the study with all combinations of some settings, and correct results for their number.

    [bold]Examples[/bold]

    geodual sweep nav.csv --set k=5,10,20 --set top=5,10,20

    geodual sweep nav.csv --metrics rpdml --set train-quarters=1,2,4 --execution-lag 1 --cost 0.0015

    geodual sweep nav.csv --set forecasters=momentum,return_12m,ridge --set weights=equal,inverse-volatility
    """
    from geodual.funds.csv_cells import write_csv  # here, because the help must not wait for pandas

    tried = read_grid(grid)
    options.find_own_modules(str(value) for values in tried.values() for value in values)
    options.keep_inputs([nav, *options.index_files(index), facts, config], [out])
    given = options.read_given(index, index_column, facts)
    given |= {name: value for name, value in settings.items() if name not in tried}
    panel = funds.read_nav(nav)
    with options.use_cluster(dask, jobs), progress_of("sweep", quiet or as_json) as progress:
        swept = funds.sweep(panel, tried, n_jobs=jobs, progress=progress, **given)
    write_csv(out, swept.table, keep_index=False)
    if as_json:
        print_json({"headline": swept.headline, "table": plain_records(swept.table)})
        return
    _print(swept, list(tried))
    if not quiet:
        say(f"Table: {out}")


def read_grid(texts: list[str]) -> dict[str, list[Any]]:
    """Return the values to try by setting, from texts such as "k=5,10,20"."""
    known = {setting.name: setting for setting in list_settings()}
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or name in grid:
            problem = "is given twice" if name in grid else "has no values"
            raise funds.DataError(
                f"`--set {text}`: {name} {problem}; write --set k=5,10,20, once per setting."
            )
        listed = options.split_names(values)
        grid[name] = [_value(each, known.get(name)) for each in listed]
    return grid


def _value(text: str, setting: Setting | None) -> Any:
    """Return a value of a setting from its text; what is wrong with it is said later."""
    if setting is None or "str" in setting.kind:
        is_list = setting is not None and isinstance(setting.default, tuple)
        return (text,) if is_list else text
    if isinstance(setting.default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return type(setting.default)(text)
    except ValueError:
        return text


def _print(swept: funds.Sweep, settings: list[str]) -> None:
    rows = [
        {
            **{name: row[name] for name in settings},
            "forecaster": row["forecaster"],
            "IC": format_signed(row["ic_mean"]),
            "t": format_number(row["t"]),
            "p": format_number(row["p"]),
            "return": format_percent(row["annual_return"]),
            "Sharpe": format_number(row["sharpe"]),
            "deflated": format_percent(row["deflated_sharpe"]),
        }
        for row in swept.table.to_dict("records")
    ]
    print_table(rows, f"{len(rows)} settings, {swept.table['trials'].iloc[0]} trials", _RESULTS)
    say("")
    say(swept.headline)


COMMANDS = {"sweep": run_sweep}
