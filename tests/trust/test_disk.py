"""A full disk, or a folder that cannot be written, is one line; no half-written file is left."""

import errno
import os
import sys
from pathlib import Path

import pytest

from geodual.cli import main
from geodual.funds import synthetic_universe
from tests.funds.fake_akshare import make_market


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    synthetic_universe(20, "2014-01-02", "2015-03-31", seed=3).panel.nav.to_csv(folder / "nav.csv")
    (folder / "labels.csv").write_text("a,b,class\n1,2,x\n2,1,y\n3,4,x\n4,3,y\n")
    return folder


COMMANDS = {
    "backtest": ["backtest", "nav.csv", "--metrics", "euclidean", "--top", "3", "--out", "{out}/run"],
    "select": ["select", "nav.csv", "--metric", "euclidean", "--top", "3", "--csv", "{out}/picks.csv"],
    "page": ["select", "nav.csv", "--metric", "euclidean", "--top", "3", "--html", "{out}/picks.html"],
    "factors": ["factors", "nav.csv", "--factors", "roc", "--out", "{out}/factors.csv"],
    "fetch": [
        "fetch",
        "--out",
        "{out}/cn-funds",
        "--start",
        "2014-11-03",
        "--end",
        "2015-03-31",
        "--pause",
        "0",
    ],
    "learn": ["learn", "labels.csv", "--target", "class", "--metric", "gmml", "--out", "{out}/metric.npz"],
}


def run(name: str, out: Path, data: Path, monkeypatch, capsys) -> str:
    """Run a command that must fail with exit code 2, and return its one line."""
    monkeypatch.chdir(data)
    monkeypatch.setitem(sys.modules, "akshare", make_market(2))
    arguments = [part.format(out=out) for part in COMMANDS[name]]
    monkeypatch.setattr(sys, "argv", ["geodual", *arguments, "--quiet"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_line_and_leaves_no_half_file(name, data, tmp_path, monkeypatch, capsys):
    def refuse(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source))

    monkeypatch.setattr("geodual.atomic_file.os.replace", refuse)
    line = run(name, tmp_path, data, monkeypatch, capsys)
    assert "No space left on device. Make room, and run again." in line
    assert ".writing-" not in line
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_cannot_be_written_is_one_line(name, data, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("a file is no folder")
    line = run(name, tmp_path / "file", data, monkeypatch, capsys)
    assert str(tmp_path / "file") in line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
