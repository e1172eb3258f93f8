"""Predict the time of a fit on a cluster that we do not have: a simulation of the schedule of its passes.

A pass is one task per pair of blocks of samples. The scheduler hands out tasks one after the other, each to
the worker that is free first. A worker fetches the blocks that it does not have and keeps them. Sums of the
size of a metric go back, in groups if there are many. Everything is deterministic.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

_BLOCK_LEAST, _BLOCK_ROOT = 2_000, 30.0  # rows of a block, as in `sample_blocks`
_MANY, _GROUP = 64, 32  # sums that are added up on the workers first, as in `geodual.cluster`
_PART, _PER_FEATURE = 0.3, 15  # samples that stand for all in Hessian products, as in `thinned_pairs`
_KEPT = 1e9  # pairs whose curvatures are kept, as in `tiles`
_NUMBER = 8  # bytes


class Cost(NamedTuple):
    """Processor seconds per pair: ``fixed + per_feature * n_features``."""

    fixed: float
    per_feature: float

    def per_pair(self, n_features: int) -> float:
        """Return the processor seconds of one pair."""
        return self.fixed + self.per_feature * n_features


class Cluster(NamedTuple):
    """What tasks cost.

    Attributes
    ----------
    costs : mapping from str to Cost
        Of the kinds of passes: evaluation, product, moment, count and collect (the last two for the bounds).
    per_pass, per_task : float
        Seconds of overhead; that of tasks is spent one after the other, by the scheduler.
    bandwidth, latency : float
        Bytes per second of each worker, and seconds until the first byte: assumed, not measured.
    """

    costs: Mapping[str, Cost]
    per_pass: float
    per_task: float
    bandwidth: float = 1.25e9  # 10 Gbit/s
    latency: float = 5e-4


class Passes(NamedTuple):
    """How many passes a fit takes: over all pairs, and over the part of them that Hessian products need."""

    evaluations: int = 6
    part_evaluations: int = 10
    part_products: int = 9
    part_moments: int = 9
    counts: int = 1
    collections: int = 1
    rounds: int = 8  # one task per block each: to load, sort and centre the samples


class Prediction(NamedTuple):
    """A simulated pass or fit.

    Attributes
    ----------
    seconds : float
        Until the result is there.
    work : float
        Processor seconds of all workers.
    moved : float
        Bytes that went over the network.
    tasks : int
        Number of tasks.
    """

    seconds: float
    work: float
    moved: float
    tasks: int

    def plus(self, other: Prediction, times: int = 1) -> Prediction:
        """Add another prediction, which happens some times."""
        return Prediction(*(a + times * b for a, b in zip(self, other, strict=True)))

    def busy(self, workers: int) -> float:
        """Return the share of their time for which the workers compute."""
        return self.work / (workers * self.seconds)


def block_rows(n_samples: int) -> list[int]:
    """Return the number of samples in each block."""
    size = max(_BLOCK_LEAST, _BLOCK_ROOT * math.sqrt(n_samples))
    count = math.ceil(n_samples / size)
    edges = [n_samples * k // count for k in range(count + 1)]
    return [stop - start for start, stop in pairwise(edges)]


def part_of(n_samples: int, n_features: int) -> int:
    """Return the number of samples that stand for all in Hessian products."""
    return int(max(_PART * n_samples, _PER_FEATURE * n_features))


def simulate_pass(
    n_samples: int, n_features: int, workers: int, cost: Cost, cluster: Cluster, *, is_first: bool = False
) -> Prediction:
    """Simulate one pass over all pairs of samples.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the samples.
    workers : int
        Number of workers, with one thread each.
    cost : Cost
        Of a pair.
    cluster : Cluster
        Overheads and network.
    is_first : bool
        Whether blocks are still where they were loaded, one after the other on all workers. Later, each
        worker has the blocks of its tasks.
    """
    rows = block_rows(n_samples)
    couples = [(a, b) for a in range(len(rows)) for b in range(a + 1, len(rows))]
    couples += [(a, a) for a in range(len(rows))]
    metric = _NUMBER * n_features**2
    has = [{block for block in range(len(rows)) if block % workers == k} for k in range(workers)]
    # The metric is passed on from worker to worker, so the number of those that have it doubles each time.
    spread = math.ceil(math.log2(workers + 1)) * (cluster.latency + metric / cluster.bandwidth)
    free = [(spread, worker) for worker in range(workers)]
    moved, work, end = float(metric * workers), 0.0, spread
    for k, (a, b) in enumerate(couples):
        ready, worker = heapq.heappop(free)
        missing = ({a, b} - has[worker]) if is_first else set()
        has[worker] |= missing
        fetched = sum(rows[block] for block in missing) * n_features * _NUMBER
        seconds = (rows[a] * (rows[a] - 1) / 2 if a == b else rows[a] * rows[b]) * cost.per_pair(n_features)
        begin = max(ready, spread + (k + 1) * cluster.per_task)
        done = begin + len(missing) * cluster.latency + fetched / cluster.bandwidth + seconds
        heapq.heappush(free, (done, worker))
        moved, work, end = moved + fetched, work + seconds, max(end, done)
    sums = _simulate_sums(len(couples), metric, cluster)
    total = Prediction(cluster.per_pass + end, work, moved, len(couples))
    return total.plus(sums)


def _simulate_sums(n_sums: int, size: int, cluster: Cluster) -> Prediction:
    """Simulate how sums are added up: in groups on the workers while there are many, then by the solver."""
    seconds, moved, tasks, left = 0.0, 0.0, 0, n_sums
    while left > _MANY:
        seconds += cluster.latency + _GROUP * size / cluster.bandwidth
        moved += left * size
        left = math.ceil(left / _GROUP)
        seconds += left * cluster.per_task
        tasks += left
    return Prediction(
        seconds + cluster.latency + left * size / cluster.bandwidth, 0.0, moved + left * size, tasks
    )


def simulate_fit(
    n_samples: int, n_features: int, workers: int, cluster: Cluster, passes: Passes | None = None
) -> Prediction:
    """Simulate a whole fit to all pairs: loading, bounds, and the passes of the solver.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the samples.
    workers : int
        Number of workers.
    cluster : Cluster
        What tasks cost.
    passes : Passes, optional
        How many passes there are.
    """
    passes, costs = passes or Passes(), cluster.costs
    part = part_of(n_samples, n_features)
    if part**2 / 2 > _KEPT:
        # Curvatures are not kept, so products compute distances and losses again; moments are estimated.
        again = Cost(*(sum(pair) for pair in zip(costs["product"], costs["evaluation"], strict=True)))
        costs = {**costs, "product": again, "moment": Cost(0.0, 0.0)}
    total = _simulate_rounds(n_samples, passes.rounds, cluster)
    steps = [
        (n_samples, "count", passes.counts),
        (n_samples, "collect", passes.collections),
        (n_samples, "evaluation", passes.evaluations),
        (part, "evaluation", passes.part_evaluations),
        (part, "product", passes.part_products),
        (part, "moment", passes.part_moments),
    ]
    loaded: set[int] = set()  # samples whose blocks are where they are needed
    for n, kind, times in steps:
        if times and n not in loaded:
            first = simulate_pass(n, n_features, workers, costs[kind], cluster, is_first=True)
            total, times = total.plus(first), times - 1
            loaded.add(n)
        total = total.plus(simulate_pass(n, n_features, workers, costs[kind], cluster), times)
    return total


def _simulate_rounds(n_samples: int, rounds: int, cluster: Cluster) -> Prediction:
    blocks = len(block_rows(n_samples))
    return Prediction(rounds * (cluster.per_pass + blocks * cluster.per_task), 0.0, 0.0, rounds * blocks)
