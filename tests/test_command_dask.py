"""The option --dask, as its user meets it: the same tables, and one line where the cluster cannot serve."""

import socket
import sys
import threading
from pathlib import Path

import joblib
import pytest

import geodual.cluster
from geodual.cli import cluster_option, study_commands
from geodual.funds import synthetic_universe

pytestmark = pytest.mark.usefixtures("blank_figures")

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def nav_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "nav.csv"
    synthetic_universe(40, "2014-01-02", "2015-06-30", seed=1).panel.nav.to_csv(path)
    return path


@pytest.fixture
def geodual_command(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Run the command as the fixture `geodual` does, but do not wait long for a scheduler."""
    monkeypatch.setattr(cluster_option, "_ANSWER", 0.3)
    return request.getfixturevalue("geodual")


def small_cluster(n_workers: int | None = 2) -> distributed.LocalCluster:
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    )


def test_select_on_a_local_cluster_prints_the_same(geodual_command, nav_file, monkeypatch) -> None:
    asked = []

    def start(n_workers):
        asked.append(n_workers)
        return small_cluster(n_workers)

    monkeypatch.setattr(geodual.cluster, "local_cluster", start)
    given = ("select", nav_file, "--metric", "gmml", "--json")
    expected = geodual_command(*given, "--jobs", 1)
    assert geodual_command(*given, "--jobs", 2, "--dask", "local") == expected
    assert expected[0] == 0
    assert asked == [2]


def test_backtest_runs_on_the_cluster_at_an_address(geodual_command, nav_file, monkeypatch) -> None:
    seen = []

    def run(*arguments):
        backend = joblib.parallel.get_active_backend()[0]
        seen.append(backend.client.scheduler.address)

    monkeypatch.setattr(study_commands, "_run", run)
    with small_cluster() as cluster:
        code, _, _ = geodual_command("backtest", nav_file, "--dask", cluster.scheduler_address)
        assert (code, seen) == (0, [cluster.scheduler_address])


def test_a_cluster_lost_in_mid_run_is_one_line(geodual_command, nav_file, monkeypatch) -> None:
    def fail(*arguments):
        raise distributed.CancelledError

    monkeypatch.setattr(study_commands, "_run", fail)
    with small_cluster() as cluster:
        code, _, told = geodual_command("backtest", nav_file, "--dask", cluster.scheduler_address)
    assert (code, told.count("\n")) == (2, 1)
    assert "was lost (CancelledError). Start it again, and run the same command" in told


@pytest.mark.parametrize("command", ["backtest", "select"])
def test_an_address_where_nobody_answers_is_one_line(geodual_command, nav_file, command) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        code, _, told = geodual_command(command, nav_file, "--dask", address)
    assert code == 2
    assert told.count("\n") == 1
    assert f"no scheduler of Dask answers at {address}" in told


def test_an_address_that_is_none_is_one_line(geodual_command, nav_file) -> None:
    code, _, told = geodual_command("backtest", nav_file, "--dask", "somewhere")
    assert (code, told.count("\n")) == (2, 1)
    assert "answers at somewhere (missing port number" in told


def test_a_scheduler_without_workers_is_one_line(geodual_command, nav_file) -> None:
    with small_cluster(0) as cluster:
        code, _, told = geodual_command("backtest", nav_file, "--dask", cluster.scheduler_address)
    assert (code, told.count("\n")) == (2, 1)
    assert "has no workers. Start some with `dask worker tcp://" in told


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--dask", "local", "--jobs", 0), "`--jobs` must not be 0; use 1 for one worker"),
        (("--dask", ""), "`--dask` is empty; give the address of a scheduler"),
        (("--dask", " "), "`--dask` is empty"),
    ],
)
def test_wrong_values_are_refused_before_a_cluster_starts(
    geodual_command, nav_file, monkeypatch, given, message
):
    monkeypatch.setattr(geodual.cluster, "local_cluster", None)
    code, _, told = geodual_command("backtest", nav_file, *given)
    assert (code, told.count("\n")) == (2, 1)
    assert message in told


def test_negative_jobs_are_counted_from_the_number_of_cores(geodual_command, nav_file, monkeypatch) -> None:
    asked = []

    def start(n_workers):
        asked.append(n_workers)
        return small_cluster(1)

    monkeypatch.setattr(geodual.cluster, "local_cluster", start)
    monkeypatch.setattr(study_commands, "_run", lambda *arguments: None)
    for jobs in (-1, -2, -1000):
        assert geodual_command("backtest", nav_file, "--dask", "local", "--jobs", jobs)[0] == 0
    n_cores = joblib.cpu_count()
    assert asked == [n_cores, max(n_cores - 1, 1), 1]


def test_without_dask_the_remedy_is_one_line(geodual_command, nav_file, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, told = geodual_command("backtest", nav_file, "--dask", "local")
    assert (code, told.count("\n")) == (2, 1)
    assert "pip install 'geodual[dask]'" in told


def test_a_connection_without_workers_is_closed_after_some_time(monkeypatch) -> None:
    monkeypatch.setattr(geodual.cluster, "POLL", 0.01)
    monkeypatch.setattr(geodual.cluster, "PATIENCE", 0.05)
    calls = []

    class Lost:
        def nthreads(self) -> dict[str, int]:
            calls.append("look")
            if len(calls) < 10:
                return {"a worker": 1}
            if len(calls) == 10:
                raise OSError
            return {}

        def close(self) -> None:
            calls.append("close")

    cluster_option._close_if_lost(Lost(), threading.Event())
    assert calls[-1] == "close"
    assert calls.count("close") == 1
    assert len(calls) > 12
