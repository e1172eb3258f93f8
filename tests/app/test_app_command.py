"""The command ``geodual app``."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from geodual.app import serve


def test_without_the_extra_it_says_what_to_install(geodual, monkeypatch):
    monkeypatch.setattr("geodual.extras.find_spec", lambda name: None if name == "tornado" else "found")
    for name in [name for name in sys.modules if name.startswith("geodual.app")]:
        monkeypatch.delitem(sys.modules, name)
    code, out, errors = geodual("app", "--no-browser")
    assert (code, out) == (2, "")
    assert (
        errors == "geodual: The app needs Tornado: run pip install 'geodual[app]' (not installed: tornado).\n"
    )


def test_a_file_is_no_folder_for_runs(geodual, tmp_path):
    (tmp_path / "runs").touch()
    code, _, errors = geodual("app", "--folder", "runs")
    assert code == 2
    assert "this is a file, not a folder" in errors


def test_the_browser_gets_the_key_and_not_the_token(tmp_path, monkeypatch):
    """Other users of the machine see the address that a browser is started with."""
    told, opened = [], []

    def start(address):
        opened.append(address)
        with urlopen(address) as page:  # as the browser does, before anybody else
            told.append(page.url)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", start)
    serve(tmp_path, 0, told.append)
    assert told[0] == told[1]
    token = told[0].split("/")[3]
    assert len(token) >= 32
    assert token not in opened[0]


@pytest.mark.skipif(sys.platform == "win32", reason="signals end a process at once")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_without_a_trace(tmp_path, number):
    process = subprocess.Popen(
        [sys.executable, "-m", "geodual", "app", "--no-browser"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    address = process.stdout.readline().split()[-1]
    with urlopen(address) as page:
        assert page.status == 200
    assert [path.name.startswith("geodual-app-") for path in Path(tmp_path).iterdir()] == [True]
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert list(tmp_path.iterdir()) == []
