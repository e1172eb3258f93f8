"""Confirm the simulation with fits on this machine, and predict fits to millions of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .cluster_fits import ClusterFit
from .rows import Row
from .simulation import Cluster, Cost, Passes, Prediction, simulate_fit

N_FEATURES = 70
SAMPLES = (1_000_000, 10_000_000)
WORKERS = (10, 100, 1_000)


def passes_of(fit: ClusterFit) -> Passes:
    """Count the passes of a fit on a cluster: those over all pairs, and those over a part of them."""
    all_pairs = max(record.n_pairs for record in fit.passes)

    def count(kind: str, of_all: bool) -> int:
        return sum(r.kind == kind and (r.n_pairs == all_pairs) == of_all for r in fit.passes)

    return Passes(
        count("evaluation", True), count("evaluation", False), count("product", False), count("moment", False)
    )


def confirm_rows(
    costs: Mapping[str, Cost], rows: Sequence[Row], fits: Sequence[ClusterFit]
) -> tuple[list[Row], dict[str, Any]]:
    """Compare simulated with measured fits; return the rows, and the constants to predict others.

    Parameters
    ----------
    costs : mapping from str to Cost
        Of the kinds of passes.
    rows : sequence of Row
        From `cluster_rows`: the overheads are among them.
    fits : sequence of ClusterFit
        The measured fits.
    """
    overhead = {row.name: row.value / 1e3 for row in rows if row.unit == "ms"}
    cluster = Cluster(costs, overhead["overhead per pass"], overhead["overhead per task"])
    found = []
    for fit in fits:
        guess = simulate_fit(fit.n_samples, len(fit.W), fit.n_workers, cluster, passes_of(fit))
        size = f"{fit.n_samples:,} × {len(fit.W)}, {fit.n_workers} workers"
        work = f"processor time of the workers: {guess.work:.2g} s simulated, {fit.processor:.2g} s measured"
        note = f"{guess.seconds:.3g} s simulated, {fit.seconds:.3g} s measured; {work}"
        found.append(Row("simulated ÷ measured", size, guess.seconds / fit.seconds, note=note))
    largest = max(fits, key=lambda fit: fit.n_samples)
    constants = {
        "costs": {kind: list(cost) for kind, cost in costs.items()},
        "overhead": [cluster.per_pass, cluster.per_task],
        "passes": list(passes_of(largest)),
    }
    return found, constants


def saved_cluster(part: Mapping[str, Any]) -> tuple[Cluster, Passes]:
    """Return what the simulation needs, from a saved part of the benchmark."""
    costs = {kind: Cost(*values) for kind, values in part["costs"].items()}
    return Cluster(costs, *part["overhead"]), Passes(*part["passes"])


def predictions(part: Mapping[str, Any]) -> dict[tuple[int, int], Prediction]:
    """Simulate fits to millions of samples on many workers."""
    cluster, passes = saved_cluster(part)
    return {(n, w): simulate_fit(n, N_FEATURES, w, cluster, passes) for n in SAMPLES for w in WORKERS}
