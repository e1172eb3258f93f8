"""Results are printed in any encoding, and to a standard output that is closed or that nobody reads."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from geodual.cli import main

NAME = "基金→Å"  # no encoding of the tests but UTF-8 has all of these


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write a table of net asset values with findings about a fund that many encodings cannot write."""
    monkeypatch.chdir(tmp_path)
    days = pd.bdate_range("2015-01-05", periods=160)
    values = np.exp(np.random.default_rng(0).normal(scale=0.01, size=(160, 2)).cumsum(axis=0))
    nav = pd.DataFrame(values, index=days, columns=[NAME, "B"])
    nav.iloc[20:60, 0] = nav.iloc[20, 0]  # stale
    nav.rename_axis("date").to_csv("nav.csv")
    return "nav.csv"


def run(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["geodual", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0


@pytest.mark.parametrize("encoding", ["cp1252", "cp936", "latin-1", "ascii", "utf-8"])
def test_a_result_is_printed_in_any_encoding(encoding, table, monkeypatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    assert run(monkeypatch, "check", table, "--all") in (0, 1)
    sys.stdout.flush()
    assert b"160 days" in written.getvalue()
    if encoding == "utf-8":
        assert NAME in written.getvalue().decode()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_json_loses_nothing_in_any_encoding(encoding, table, monkeypatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    assert run(monkeypatch, "check", table, "--json") in (0, 1)
    sys.stdout.flush()
    assert NAME in {finding["fund"] for finding in json.loads(written.getvalue())["findings"]}


def test_standard_output_may_be_that_of_a_notebook(table, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdout", written := io.StringIO())
    assert run(monkeypatch, "check", table) in (0, 1)
    assert "160 days" in written.getvalue()


def test_standard_output_may_be_closed(table, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)  # as Python sets it
    assert run(monkeypatch, "check", table) in (0, 1)


def test_the_reader_of_a_pipe_may_have_gone(table, monkeypatch) -> None:
    pd.read_csv(table)[["date", "B"]].to_csv(table, index=False)  # no finding, so the exit code is 0
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert run(monkeypatch, "check", table, "--all") == 0


def test_figures_do_not_depend_on_the_backend_of_the_user() -> None:
    code = (
        "from geodual.cli import main\n"
        "try:\n    main()\nfinally:\n    import matplotlib\n    print(matplotlib.get_backend())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        env=os.environ | {"MPLBACKEND": "nonsense"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[-1] == "agg"
