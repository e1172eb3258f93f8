"""The command ``geodual predict``: apply a model that ``geodual learn`` saved to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geodual.errors import DataError

from . import options
from .console import print_json, say
from .learn_command import print_score

_SUFFIXES = (".csv", ".csv.gz", ".xlsx", ".parquet")


def run_predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="File that geodual learn wrote, without --metric.")
    ],
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="Table with a header: CSV (also gzipped), Excel or Parquet."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            callback=options.check_file,
            help="File to write: .csv, .csv.gz, .xlsx or .parquet.",
        ),
    ],
    keep: Annotated[str, typer.Option(help="Columns of the table to copy, separated by commas.")] = "",
    nearest: Annotated[
        int,
        typer.Option(help="Also write this number of training rows, those nearest to each row."),
    ] = 0,
    coverage: Annotated[
        float, typer.Option(help="Share of the numbers that should lie within their intervals.")
    ] = 0.9,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Predict a column of a table with a model that geodual learn saved.

    Columns are found by name. For classes, it writes the likeliest one and the probability of each; for
    numbers, the prediction and an interval. If the table has the target, the score on it is reported.

    --nearest shows why: it adds rows of the table that the model learned from (row 1 is the first below the
    header) and their learned distances.

    [bold]Examples[/bold]

    geodual predict model.npz new.csv -o predictions.csv

    geodual predict model.npz new.csv --keep id --nearest 3 -o predictions.xlsx
    """
    suffix = "".join(out.suffixes[-2:]) if out.suffix == ".gz" else out.suffix
    if suffix not in _SUFFIXES:
        raise DataError(f"{out}: unknown file type. Name the file .csv, .csv.gz, .xlsx or .parquet.")
    if nearest < 0:
        raise DataError(f"`--nearest` must be at least 0, got {nearest}.")
    if not 0.0 < coverage < 1.0:
        raise DataError(f"`--coverage` must be between 0 and 1, got {coverage}.")
    options.keep_inputs([model, table], [out])
    from .model_use import predict_table, write_table  # here, because scikit-learn takes a second to import

    predictions, result = predict_table(model, table, options.split_names(keep), nearest, coverage)
    write_table(out, predictions)
    if as_json:
        print_json(result | {"file": str(out)})
    elif not quiet:
        _print_result(result, out)


def _print_result(result: dict[str, Any], out: Path) -> None:
    for note in result["notes"]:
        say(f"Note: {note}")
    if result["score"] is not None:
        print_score(result["score"], f"on {result['score']['samples']:,} rows")
    say(f"{result['rows']:,} predictions of {result['target']!r}: {out}")


COMMANDS = {"predict": run_predict}
