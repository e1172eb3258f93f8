"""The command ``geodual learn``: metric learning from any labelled table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geodual.errors import DataError
from geodual.metric.registry import FOR_NEIGHBOURS

from . import options
from .console import format_percent, print_json, print_table, say

_SHOWN = 10  # features printed


def run_learn(
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="Table with a header: CSV (also gzipped), Excel or Parquet."),
    ],
    target: Annotated[str, typer.Option(help="Column with the classes.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=options.check_file, help="File to write, .npz.")
    ],
    metric: options.Metric = FOR_NEIGHBOURS,
    ignore: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    k: Annotated[int, typer.Option(help="Number of neighbours for the accuracy.")] = 5,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Learn a metric from a labelled table, save it, and compare its k-NN accuracy with the Euclidean metric.

    numpy.load opens the file. It contains W, components (transform features in their own units with
    X @ components.T), features (their names) and classes.

    [bold]Example[/bold]

    geodual learn wine.csv --target cultivar -o metric.npz
    """
    from .labelled_table import learn_from_table  # here, because scikit-learn takes a second to import

    if out.suffix != ".npz":
        raise DataError(f"{out}: the metric is saved as .npz. Choose a file name that ends in .npz.")
    options.find_own_modules([metric])
    result, importances = learn_from_table(table, target, options.split_names(ignore), metric, k, out)
    if as_json:
        print_json(result | {"feature_importances": importances, "file": str(out)})
    elif not quiet:
        _print_result(result, importances, out)


def _print_result(result: dict[str, Any], importances: dict[str, float], out: Path) -> None:
    if importances:
        largest = sorted(importances.items(), key=lambda item: -item[1])[:_SHOWN]
        rows = [{"feature": name, "share": format_percent(share)} for name, share in largest]
        print_table(rows, "Features that matter most", ["share"])
    if result["accuracy"] is None:
        say("No accuracy: there are too few samples per class to cross-validate.")
    else:
        say(
            f"k-NN accuracy, cross-validated: {result['accuracy']:.1%} "
            f"(Euclidean, standardised: {result['euclidean_accuracy']:.1%})"
        )
    if result["duality_gap"] is not None:
        say(f"Certified to a relative duality gap of {result['duality_gap']:.1e}")
    say(f"Saved: {out}")


COMMANDS = {"learn": run_learn}
