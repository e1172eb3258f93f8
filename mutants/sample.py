"""Which mutants are tried: a sample with a seed, spread over the modules."""

from __future__ import annotations

import ast
import random
from itertools import groupby
from pathlib import Path

from .operators import Mutant, mutants_of

_SOURCES = Path("src/geodual")
_STATISTICS = (
    "forecast_diagnostics ledger market overfitting performance periods random_portfolios skill statistics "
    "study_tables track_record weights"
)
# What needs a cluster, torch or a picture to look at: tested elsewhere, or too slowly for a thousand runs.
_LEFT_OUT = {
    "cluster_fit.py",
    "cluster_pairs.py",
    "cluster_percentiles.py",
    "cluster_samples.py",
    "path_plot.py",
    "plots.py",
    "torch_autodiff.py",
}


def package_of(path: str) -> str:
    """Return the line of the table of scores that a module belongs to."""
    parts = Path(path).relative_to(_SOURCES).parts
    return "/".join(parts[:2]) if parts[0] == "funds" else parts[0]


def modules(root: Path) -> list[Path]:
    """Return the modules under test, relative to the project's folder."""
    found = [
        path
        for folder in ("optimize", "metric", "funds/decisions")
        for path in sorted((root / _SOURCES / folder).rglob("*.py"))
        if path.name not in _LEFT_OUT and path.name != "__init__.py"
    ]
    found += [root / _SOURCES / "funds/evaluation" / f"{name}.py" for name in _STATISTICS.split()]
    return [path.relative_to(root) for path in found]


def draw(root: Path, size: int, seed: int) -> list[Mutant]:
    """Draw mutants in random order: from each module in proportion to its places, one per place.

    Parameters
    ----------
    root
        The project's folder.
    size
        The number of mutants.
    seed
        Of the random numbers.
    """
    rng = random.Random(seed)
    places: list[Mutant] = []
    for path in modules(root):
        found = mutants_of(path.as_posix(), (root / path).read_bytes())
        for _, variants in groupby(found, key=lambda m: (m.start, m.end)):
            places.append(rng.choice(list(variants)))
    # Every k-th place in the order of the modules: proportional, and no module with k places is missed.
    step = len(places) / size
    first = rng.random() * step
    chosen = [places[int(first + step * number)] for number in range(size)]
    valid = [mutant for mutant in chosen if _compiles(mutant.apply((root / mutant.path).read_bytes()))]
    rng.shuffle(valid)
    return valid


def _compiles(text: bytes) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
