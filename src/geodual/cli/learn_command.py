"""The command ``geodual learn``: a model that predicts a column of any table, or a metric for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from geodual.errors import DataError
from geodual.metric.registry import metric_names

from . import options
from .console import format_percent, print_json, print_table, progress_of, say

_SHOWN = 10  # features printed
_TASKS = ("classes", "numbers")


def run_learn(
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="Table with a header: CSV (also gzipped), Excel or Parquet."),
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=options.check_file, help="File to write, .npz.")
    ],
    task: Annotated[
        str | None,
        typer.Option(
            metavar="classes|numbers",
            help="What the target holds. (default: classes if it holds texts or few whole numbers)",
        ),
    ] = None,
    ignore: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    metric: Annotated[
        str | None,
        typer.Option(
            help="Learn only a metric for classes, for use elsewhere, and compare k-NN with and without it: "
            f"{', '.join(metric_names())}, or your own: package.module:Class."
        ),
    ] = None,
    k: Annotated[int | None, typer.Option(help="With --metric, number of neighbors. (default: 5)")] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Learn to predict a column of a table: classes or numbers. Report how well, and save the model.

    Texts become categories, and dates numbers; values may be missing. Scores are by leave-one-out, with 95 %
    intervals, next to those of simple rules on the same rows. geodual predict applies the model.

    With --metric, numpy.load opens the file. It contains W, components (transform features in their own units
    with X @ components.T), features (their names) and classes.

    [bold]Examples[/bold]

    geodual learn customers.csv --target churned -o model.npz

    geodual learn houses.xlsx --target price --ignore id,address -o model.npz

    geodual learn wine.csv --target cultivar --metric neighbor_rpdml -o metric.npz
    """
    if out.suffix != ".npz":
        raise DataError(f"{out}: the result is saved as .npz. Choose a file name that ends in .npz.")
    if task not in (None, *_TASKS):
        raise DataError(f"`--task` must be classes or numbers, got {task!r}.")
    options.keep_inputs([table], [out])
    ignored = options.split_names(ignore)
    if metric is not None:
        _learn_metric(table, target, ignored, metric, k, out, quiet, as_json)
        return
    if k is not None:
        raise DataError("`--k` is for --metric; a model chooses its own settings. Leave it out.")
    from .model_training import learn_model  # here, because scikit-learn takes a second to import

    with progress_of("learning", quiet or as_json) as progress:
        result = learn_model(table, target, ignored, task, out, progress)
    if as_json:
        print_json(result | {"file": str(out)})
    elif not quiet:
        _print_model(result)
        say(f"Saved: {out}")


def _learn_metric(
    table: Path,
    target: str,
    ignored: tuple[str, ...],
    metric: str,
    k: int | None,
    out: Path,
    quiet: bool,
    as_json: bool,
) -> None:
    from .labeled_table import learn_from_table  # here, because scikit-learn takes a second to import

    options.find_own_modules([metric])
    result, importances = learn_from_table(table, target, ignored, metric, 5 if k is None else k, out)
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
            f"(Euclidean, standardized: {result['euclidean_accuracy']:.1%})"
        )
    if result["duality_gap"] is not None:
        say(f"Certified to a relative duality gap of {result['duality_gap']:.1e}")
    say(f"Saved: {out}")


def _print_model(result: dict[str, Any]) -> None:
    """Print what was learned, and how well it predicts."""
    for note in result["notes"]:
        say(f"Note: {note}")
    what = f"{result['classes']} classes" if result["task"] == "classes" else "numbers"
    say(
        f"Target {result['target']!r}: {what} ({result['task_reason']}), {result['rows']:,} rows, "
        f"{result['features']} features."
    )
    shown = list(result["feature_weights"].items())[:_SHOWN]
    if shown:
        rows = [{"feature": name, "weight": f"{weight:.2f}"} for name, weight in shown]
        say("Features that matter most:")
        print_table(rows, numeric=["weight"])
    say("Mixture of machines, chosen by leave-one-out:")
    for part in result["mixture"]:
        say(f"  {part}")
    say(f"Certificates: {_certificates(result)}")
    print_score(result["score"], "by leave-one-out")
    if result["metric_gain"] is not None:
        say(f"The learned metric adds {100.0 * result['metric_gain']:+.1f} points of accuracy.")


def _certificates(result: dict[str, Any]) -> str:
    names = {"metric_gap": "gap of the metrics", "mixture_gap": "of the mixture"}
    names["ridge_residual"] = "residual of the kernel machines"
    known = {names[name]: value for name, value in result["certificates"].items() if value is not None}
    return ", ".join(f"{name} {value:.1e}" for name, value in known.items())


def print_score(score: dict[str, Any], how: str) -> None:
    """Print a score with its interval, and how far it is above those of baselines."""
    if "accuracy" in score:
        low, high = score["interval"]
        say(f"Accuracy {how}: {score['accuracy']:.1%} (95 % by Wilson: {low:.1%} to {high:.1%})")
        for row in score["baselines"]:
            low, high = (100.0 * end for end in row["interval"])
            say(
                f"  {row['baseline']}: {row['accuracy']:.1%}; the model is {100.0 * row['difference']:+.1f} "
                f"points above (95 %, paired: {low:+.1f} to {high:+.1f})"
            )
        return
    low, high = score["rmse_interval"]
    say(f"RMSE {how}: {score['rmse']:.4g} (95 % by the bootstrap: {low:.4g} to {high:.4g})")
    if score["r2"] is not None:
        low, high = score["r2_interval"]
        say(f"R² {how}: {score['r2']:.3f} (95 % by the bootstrap: {low:.3f} to {high:.3f})")
    for row in score["baselines"]:
        low, high = row["interval"]
        say(
            f"  {row['baseline']}: RMSE {row['rmse']:.4g}; the model is {row['difference']:.4g} below (95 %, "
            f"paired: {low:.4g} to {high:.4g})"
        )


COMMANDS = {"learn": run_learn}
