"""The option --dask, as its user meets it: the same tables, and one line where the cluster cannot serve."""

import re
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import joblib
import pytest

import geodual.cluster
from geodual.cli import options, study_commands
from geodual.funds import synthetic_universe
from geodual.funds.decisions.walk_forward import Checkpoints
from tests.dask_processes import DaskProcesses
from tests.trust.kills import read_files

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
    monkeypatch.setattr(options, "ANSWER", 0.3)
    return request.getfixturevalue("geodual")


def small_cluster(n_workers: int | None = 2) -> distributed.LocalCluster:
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
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


@pytest.mark.parametrize("command", ["backtest", "select"])
def test_an_address_where_nobody_answers_is_one_line(geodual_command, nav_file, command) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        code, _, told = geodual_command(command, nav_file, "--dask", address)
    assert code == 2
    assert told.count("\n") == 1
    assert f"no Dask scheduler answers at {address}" in told


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
    monkeypatch.setattr(study_commands, "run_study", lambda *arguments, **options: None)
    for jobs in (-1, -2, -1000):
        assert geodual_command("backtest", nav_file, "--dask", "local", "--jobs", jobs)[0] == 0
    n_cores = joblib.cpu_count()
    assert asked == [n_cores, max(n_cores - 1, 1), 1]


def test_without_dask_the_remedy_is_one_line(geodual_command, nav_file, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, told = geodual_command("backtest", nav_file, "--dask", "local")
    assert (code, told.count("\n")) == (2, 1)
    assert "pip install 'geodual[dask]'" in told


@pytest.fixture
def backtest(geodual, nav_file, tmp_path, monkeypatch, blank_report):
    """Run a backtest in a folder, and do something when some decisions are saved.

    Return the exit code, what was told, and the number of decisions that were saved.
    """
    save = Checkpoints.save

    def run(folder: str, *given: object, when_saved: dict[int, Callable[[], object]]) -> tuple[int, str, int]:
        saved = []

        def spy(self, decision) -> None:
            save(self, decision)
            saved.append(decision)
            when_saved.get(len(saved), int)()

        monkeypatch.setattr(Checkpoints, "save", spy)
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        settings = ("--metrics", "euclidean,gmml", "--top", 3, "--out", "run", "--json")
        code, _, told = geodual("backtest", nav_file, *settings, *given)
        return code, told, len(saved)

    return run


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no such signal")
def test_killed_workers_and_a_killed_or_frozen_scheduler(backtest, tmp_path, monkeypatch) -> None:
    code, told, n_decisions = backtest("alone", "--jobs", 1, when_saved={})
    assert (code, told, n_decisions >= 4) == (0, "", True)
    expected = read_files(tmp_path / "alone")

    with DaskProcesses(tmp_path, 2) as dask:
        given, (first, second) = ("--dask", dask.address), dask.workers
        monkeypatch.setattr(options, "ANSWER", 60.0)  # processes take time to start
        monkeypatch.setattr(geodual.cluster, "PATIENCE", 300.0)

        # One of two workers is killed: the other one does its work again.
        assert backtest("one", *given, when_saved={1: first.kill}) == (0, "", n_decisions)
        assert read_files(tmp_path / "one") == expected

        def freeze() -> None:
            dask.scheduler.send_signal(signal.SIGSTOP)
            monkeypatch.setattr(geodual.cluster, "PATIENCE", 2.0)
            monkeypatch.setattr(options, "ANSWER", 1.0)  # to close the connection

        again = "Start it again with its workers, and run again. Finished decisions are kept.\n"
        ended = backtest("stopped", *given, when_saved={1: freeze})
        no_progress = "has made no progress for 2 s: its scheduler does not answer."
        assert ended == (2, f"geodual: The cluster at {dask.address} {no_progress} {again}", 1)

        def replace() -> None:
            second.kill()
            dask.workers.append(dask.add_worker())

        # The last worker is killed, and another one comes: the run goes on until the scheduler is killed.
        dask.scheduler.send_signal(signal.SIGCONT)
        monkeypatch.setattr(options, "ANSWER", 60.0)
        monkeypatch.setattr(geodual.cluster, "PATIENCE", 300.0)
        code, told, n_saved = backtest("stopped", *given, when_saved={1: replace, 2: dask.scheduler.kill})
        assert (code, n_saved) == (2, 2)
        assert re.fullmatch(rf"geodual: The scheduler at {dask.address} was lost \(\w+\)\. {again}", told)
    assert backtest("stopped", "--jobs", 1, when_saved={}) == (0, "", n_decisions - 3)
    assert read_files(tmp_path / "stopped") == expected
