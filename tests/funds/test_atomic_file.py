"""Files whole or not at all, whoever else writes them, and errors that name the file asked for."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from geodual.atomic_file import write_atomically


def test_a_file_is_made_and_replaced(tmp_path):
    path = tmp_path / "a.csv"
    for text in ("one", "two"):
        write_atomically(path, lambda place, text=text: place.write_text(text))
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_the_place_of_writing_is_beside_hidden_and_of_the_same_kind(tmp_path):
    places = []

    def write(place):
        places.append(place)
        place.write_text("x")

    for _ in range(2):
        write_atomically(tmp_path / "a.csv.gz", write)
    assert places[0] != places[1]
    for place in places:
        assert place.parent == tmp_path
        assert place.name.startswith(".writing-")
        assert place.suffixes[-2:] == [".csv", ".gz"]


def test_two_writers_of_one_file_do_not_collide(tmp_path):
    """The second one writes from start to end while the first is in the middle."""
    path = tmp_path / "a.txt"

    def write_slowly(place):
        place.write_text("first, ")
        write_atomically(path, lambda other: other.write_text("second"))
        assert path.read_text() == "second"
        place.write_text(place.read_text() + "whole")

    write_atomically(path, write_slowly)
    assert path.read_text() == "first, whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("bad"), OSError(errno.ENOSPC, "full")])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(place):
        place.write_text("ne")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def write_csv(place: Path) -> None:
    pd.DataFrame({"a": [1]}).to_csv(place)


def write_parquet(place: Path) -> None:
    pd.DataFrame({"a": [1]}).to_parquet(place)


def write_text(place: Path) -> None:
    place.write_text("x")


@pytest.mark.parametrize("write", [write_csv, write_parquet, write_text])
def test_errors_name_the_file_asked_for(tmp_path, write, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "folder").mkdir()
    places = (tmp_path / "missing" / "a.txt", tmp_path / "file" / "a.txt", tmp_path / "folder", Path("."))
    for path in places:
        with pytest.raises(OSError, match=r".") as caught:
            write_atomically(path, write)
        assert caught.value.filename == str(path)
        assert caught.value.errno
        assert ".writing-" not in str(caught.value)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["file", "folder"]


KILLED = """
import os, signal, sys
from pathlib import Path
from geodual.atomic_file import write_atomically
def write(place):
    place.write_text(sys.argv[2])
    os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), write)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
@pytest.mark.parametrize("written", ["", "half"])
def test_what_a_killed_program_left_goes_with_the_next_write(tmp_path, written):
    path, other = tmp_path / "a[1].txt", tmp_path / ".writing-notes.txt"
    other.write_text("not ours")
    subprocess.run([sys.executable, "-c", KILLED, str(path), written], check=False)
    assert len(list(tmp_path.glob(".writing-*"))) == 2
    write_atomically(path, lambda place: place.write_text("whole"))
    assert sorted(tmp_path.iterdir()) == [other, path]
