"""Two runs cannot write into one folder; a run that was killed leaves it free."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from geodual.funds import DataError, backtest, read_study, synthetic_universe
from geodual.funds.study.folder_lock import FileLock, hold_folder

pytestmark = pytest.mark.usefixtures("blank_figures", "blank_report")

# A program that takes the folder, says so, and waits until its input ends.
HOLDER = """
import sys
from pathlib import Path
from geodual.funds.study.folder_lock import hold_folder
with hold_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder `run`."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.fixture(scope="module")
def small_study():
    return backtest(synthetic_universe(20, "2014-01-02", "2015-06-30").panel, metrics="euclidean")


def run_command(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "geodual", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_second_run_ends_at_once_and_names_the_folder(holder, tmp_path):
    done = run_command("demo", "--funds", 20, "--start", "2014-01-02", "--out", tmp_path / "run")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"geodual: {tmp_path / 'run'}: another run is writing to this folder.")
    assert holder.poll() is None
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]


def test_saving_into_a_folder_in_use_is_refused(holder, small_study, tmp_path):
    with pytest.raises(DataError, match="another run is writing"):
        small_study.save(tmp_path / "run")
    holder.communicate("")
    assert not (tmp_path / "run").exists(), "it was made for the lock, and nothing came into it"
    small_study.save(tmp_path / "run")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_a_killed_run_frees_the_folder(holder, small_study, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait(10)
    assert (tmp_path / "run" / ".lock").exists()
    small_study.save(tmp_path / "run")
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_finished_folder_can_be_read_while_a_run_goes_on(small_study, tmp_path):
    small_study.save(tmp_path / "run")
    with hold_folder(tmp_path / "run"):
        assert read_study(tmp_path / "run").ic.equals(small_study.ic)
        done = run_command("report", tmp_path / "run", "--out", tmp_path / "report.html")
    assert done.returncode == 0


def test_the_holder_may_take_it_again(small_study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with hold_folder(tmp_path / "run"), hold_folder(Path("run")):
        small_study.save("run")
        assert (tmp_path / "run" / ".lock").exists()
    assert not list((tmp_path / "run").glob(".*"))


def test_another_thread_may_not(tmp_path):
    told = []

    def take():
        with pytest.raises(DataError) as error, hold_folder(tmp_path):
            pass
        told.append(str(error.value))

    with hold_folder(tmp_path):
        thread = threading.Thread(target=take)
        thread.start()
        thread.join(10)
    assert len(told) == 1


def test_folders_that_were_made_in_vain_are_removed(tmp_path):
    (tmp_path / "mine").mkdir()
    for folder in (tmp_path / "mine" / "a" / "b", tmp_path / "mine"):
        with pytest.raises(FileNotFoundError), hold_folder(folder):
            (folder / "not there").rmdir()
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]
    with hold_folder(tmp_path / "mine" / "a" / "b"):
        (tmp_path / "mine" / "a" / "b" / "file").touch()
    assert (tmp_path / "mine" / "a" / "b" / "file").exists()


def test_one_of_many_gets_it(tmp_path):
    """Twenty threads want the folder; never are two inside, also while the lock file comes and goes."""
    inside, most, entered = [], [0], [0]

    def work():
        for _ in range(20):
            try:
                with hold_folder(tmp_path):
                    inside.append(1)
                    most[0] = max(most[0], len(inside))
                    entered[0] += 1
                    time.sleep(0.001)
                    inside.pop()
            except DataError:
                pass

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1]
    assert entered[0] > 0


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="permissions do not bind")
def test_a_folder_that_is_read_only_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as error, hold_folder(tmp_path):
        pass
    assert error.value.filename == str(tmp_path)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(("number", "runs"), [(errno.ENOLCK, True), (errno.EACCES, False)])
def test_without_locks_of_the_file_system_it_runs_on(number, runs, tmp_path, monkeypatch):
    def fail(self):
        raise OSError(number, os.strerror(number), str(tmp_path / ".lock"))

    monkeypatch.setattr(FileLock, "acquire", fail)
    if not runs:
        with pytest.raises(PermissionError) as error, hold_folder(tmp_path):
            pass
        assert error.value.filename == str(tmp_path)
        return
    with hold_folder(tmp_path):
        (tmp_path / "file").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
