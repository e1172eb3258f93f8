"""The options of ``python -m benchmarks scale``; what it measures with is imported when it runs."""

from __future__ import annotations

from argparse import Namespace, _ArgumentGroup
from importlib import import_module
from pathlib import Path

from .older_sources import older_sources


def add_options(group: _ArgumentGroup) -> None:
    """Add the options of the section to a parser."""
    group.add_argument("--parts", nargs="*", default=[], metavar="part", help="some parts only, such as fits")
    group.add_argument("--old", metavar="PATH|COMMIT", help="older sources to compare with")
    group.add_argument("--large", action="store_true", help="also what takes long")
    group.add_argument("--results", type=Path, help="where to save the rows; by default with the page")


def run_with(arguments: Namespace) -> bool:
    """Run the section with the options given; return whether all bars are reached."""
    run, page = (import_module(f"benchmarks.scale.{name}") for name in ("run", "page"))
    with older_sources(arguments.old) as old:
        met = run.run_scale(arguments.parts, old, arguments.large, arguments.results or run.RESULTS)
    if arguments.results is None:
        page.main()
    return bool(met)
