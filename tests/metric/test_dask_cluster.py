"""Fits on a cluster of two processes: where the work is done, what comes back, and what if workers die."""

import os
import pickle
import signal
import sys
import time

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, get_task_stream

from geodual import cluster
from geodual.cluster import gathered, local_cluster, on_worker, summed
from geodual.metric import RPDML
from geodual.metric.geometry import sample_blocks
from geodual.metric.geometry.cluster_pairs import ClusterPairs

LEARNER = RPDML(pairs="all", bounds=(1.0, 30.0), tol=1e-2)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(sample_blocks, "_LEAST_ROWS", 100)
    monkeypatch.setattr(sample_blocks, "_ROWS", 0.0)


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as started, Client(started) as connected:
        yield connected


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 4)) + rng.normal(size=(3, 4))[y]
    return da.from_array(X, chunks=(80, 4)), y


@pytest.fixture
def expected(samples, small_blocks):
    """W of a fit in this process."""
    with dask.config.set(scheduler="synchronous"):
        return LEARNER.fit(*samples).W_


def kill_at_second_pass(monkeypatch, kill):
    """Call `kill` just before the second pass over the pairs."""
    evaluate, calls = ClusterPairs.evaluate, []

    def spy(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            kill()
        return evaluate(self, *arguments)

    monkeypatch.setattr(ClusterPairs, "evaluate", spy)
    return calls


def test_workers_do_the_work_and_send_small_results(client, samples, expected, monkeypatch):
    sizes, gather = [], Client.gather

    async def measured(gathering):
        results = await gathering
        sizes.extend(len(pickle.dumps(result)) for result in results)
        return results

    monkeypatch.setattr(Client, "gather", lambda *given, **options: measured(gather(*given, **options)))
    X, y = samples
    with get_task_stream(client) as stream:
        found = LEARNER.fit(X, da.from_array(y, chunks=80))
    assert np.array_equal(found.W_, expected)
    tasks = [row for row in stream.data if str(row["key"]).startswith("losses")]
    # A pass has a task per pair of the three blocks, and one per block.
    assert len(tasks) >= 6 * len(found.history_)
    assert len({row["worker"] for row in tasks}) == 2
    # Labels and sums of a few numbers come back, but no block of 100 samples.
    sizes.remove(len(pickle.dumps(y)))
    assert max(sizes) < 1000 < 100 * 4 * 8


def test_sums_in_groups_have_a_fixed_order(client):
    numbers = np.random.default_rng(0).normal(size=65)
    tasks = [on_worker(np.atleast_1d, number) for number in numbers]
    assert summed(tasks[:64]) == (sum(numbers[:64]),)
    groups = [sum(numbers[k : k + 32]) for k in (0, 32, 64)]
    assert summed(tasks) == (sum(groups),)
    assert sum(groups) != sum(numbers)


def test_killed_worker_changes_no_bit(client, samples, expected, monkeypatch):
    client.wait_for_workers(2, timeout=60)
    pid = next(iter(client.run(os.getpid).values()))
    calls = kill_at_second_pass(monkeypatch, lambda: os.kill(pid, signal.SIGKILL))
    assert np.array_equal(LEARNER.fit(*samples).W_, expected)
    assert len(calls) > 2
    client.wait_for_workers(2, timeout=60)
    assert pid not in client.run(os.getpid).values()


def test_no_workers_left_ends_in_an_error(samples, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as started, Client(started) as client:
        (worker,) = started.workers.values()
        killed = []

        def kill():
            killed.append(time.monotonic())
            client.sync(worker.close)

        kill_at_second_pass(monkeypatch, kill)
        with pytest.raises(RuntimeError, match=r"no progress for 1 s: it has no workers\. Start some, and"):
            LEARNER.fit(*samples)
        assert time.monotonic() - killed[0] < 60.0


def test_lost_scattered_data_end_in_an_error(client):
    client.wait_for_workers(2, timeout=60)
    scattered = client.scatter(np.ones(5))
    task = on_worker(np.sum, scattered)
    scattered.cancel()
    with pytest.raises(RuntimeError, match="The cluster lost work that it could not repeat"):
        gathered([task])


def test_a_lost_scheduler_is_one_line(samples, monkeypatch):
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0", "protocol": "tcp"}
    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with soon, LocalCluster(**options) as started, Client(started, timeout=1) as client:
        kill_at_second_pass(monkeypatch, lambda: client.sync(started.scheduler.close))
        with pytest.raises(
            RuntimeError, match=r"The scheduler at tcp://.* was lost .*run again\.$"
        ) as raised:
            LEARNER.fit(*samples)
    assert "memory" not in str(raised.value)


def test_errors_of_tasks_are_raised_here(client):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        gathered([on_worker(open, "nowhere")])


def test_workers_keep_freed_memory(client):
    environ = client.run(lambda: dict(os.environ))
    for values in environ.values():
        assert (values["MALLOC_TRIM_THRESHOLD_"], values["MALLOC_MMAP_THRESHOLD_"]) == (
            str(2**30),
            str(2**25),
        )


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install 'geodual\[dask\]'"):
        local_cluster(1)
