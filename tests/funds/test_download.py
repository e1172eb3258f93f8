"""Fund by fund: paced, retried, and resumed after any break."""

import os
from math import inf
from pathlib import Path

import pandas as pd
import pytest

from geodual.funds import DataError
from geodual.funds.sources.fetching.akshare_source import adjust_nav

from .fake_akshare import CODES, fetch, make_market, read_failures, replace_fund


def test_transient_errors_are_retried_with_growing_waits(tmp_path: Path):
    market, waits = make_market(n_funds=1), []
    market.failures["000001"] = 2
    summary = fetch(tmp_path, market, pause=0.5, sleep=waits.append)
    assert summary.fetched == 1
    assert market.asked() == ["000001"] * 3
    assert len(waits) == len(market.calls)
    assert waits[:-2] == [0.5] * (len(waits) - 2)
    assert 1.0 <= waits[-2] < 2.0 <= waits[-1] < 4.0


def test_a_fund_that_keeps_failing_is_recorded_and_tried_again_by_the_next_run(tmp_path: Path):
    market = make_market()
    market.failures["000002"] = inf
    summary = fetch(tmp_path, market, retries=3)
    assert (summary.fetched, summary.failed) == (5, 1)
    assert market.asked().count("000002") == 4
    assert list(read_failures(tmp_path)) == ["000002"]
    assert "ConnectionError" in read_failures(tmp_path)["000002"]
    assert "000002" not in pd.read_parquet(tmp_path / "nav.parquet")

    market.failures.clear()
    market.calls.clear()
    summary = fetch(tmp_path, market)
    assert market.asked() == ["000002"]
    assert (summary.resumed, summary.fetched, summary.failed) == (5, 1, 0)
    assert read_failures(tmp_path) == {}
    assert pd.read_parquet(tmp_path / "nav.parquet").columns.tolist() == CODES


def test_an_empty_answer_is_recorded_and_not_asked_again(tmp_path: Path):
    market = make_market()
    replace_fund(market, "000004", rows=[])
    replace_fund(market, "000005", rows=[("2015-01-05", 0.0, None)])
    for resumed in (0, 4):
        summary = fetch(tmp_path, market)
        assert (summary.empty, summary.failed, summary.resumed) == (2, 0, resumed)
    assert market.asked() == CODES
    assert pd.read_parquet(tmp_path / "nav.parquet").shape[1] == 4


def test_an_interrupted_run_is_resumed_and_ends_as_if_it_had_not_been(tmp_path: Path):
    market = make_market()
    market.interrupt_at = 4
    market.failures["000002"] = inf
    with pytest.raises(KeyboardInterrupt):
        fetch(tmp_path / "broken", market, retries=0)
    assert not (tmp_path / "broken" / "nav.parquet").exists()
    assert list(read_failures(tmp_path / "broken")) == ["000002"]

    market.interrupt_at = None
    market.failures.clear()
    market.calls.clear()
    fetch(tmp_path / "broken", market)
    assert market.asked() == ["000002", "000004", "000005", "000006"]
    fetch(tmp_path / "whole", make_market())
    for name in ("nav.parquet", "index.csv", "meta.csv", "failed.csv"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_kill_while_writing_leaves_no_file_that_looks_finished(tmp_path: Path, monkeypatch):
    def kill(source: Path, target: Path) -> None:
        if "000003" in str(target):
            raise KeyboardInterrupt
        move(source, target)

    move, market = os.replace, make_market()
    monkeypatch.setattr(os, "replace", kill)
    with pytest.raises(KeyboardInterrupt):
        fetch(tmp_path, market)
    monkeypatch.undo()
    market.calls.clear()
    fetch(tmp_path, market)
    assert market.asked() == CODES[2:]
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("damage", ["cut", "flip", "garbage", "nothing", "columns"])
def test_a_damaged_file_is_fetched_again(tmp_path: Path, damage: str):
    market = make_market()
    fetch(tmp_path, market)
    path = tmp_path / "funds" / "000005.parquet"
    content = path.read_bytes()
    flipped = content[:200] + bytes([content[200] ^ 1]) + content[201:]
    if damage == "columns":
        pd.DataFrame({"date": [1]}).to_parquet(path)
    else:
        path.write_bytes(
            {"cut": content[:-9], "flip": flipped, "garbage": b"PAR1" * 99, "nothing": b""}[damage]
        )
    market.calls.clear()
    fetch(tmp_path, market)
    assert market.asked() == ["000005"]
    assert path.read_bytes() == content


def test_the_file_of_a_fund_keeps_what_was_published(tmp_path: Path):
    market = make_market(n_funds=1)
    rows = [*market.funds["000001"].rows, ("2015-01-26", 0.0, None)]
    replace_fund(market, "000001", rows=rows)
    assert fetch(tmp_path, market).unusable_rows == 1
    table = pd.read_parquet(tmp_path / "funds" / "000001.parquet")
    expected = pd.DataFrame(rows, columns=["date", "unit_nav", "growth"]).assign(
        date=lambda frame: pd.to_datetime(frame["date"])
    )
    pd.testing.assert_frame_equal(table, adjust_nav(expected), check_dtype=False)


@pytest.mark.parametrize("how", ["empty", "failing"])
def test_a_site_that_blocks_ends_the_run_and_leaves_no_fund_marked_empty(tmp_path: Path, how: str):
    market = make_market(n_funds=40, periods=5)
    sound = dict(market.funds)
    for code in list(market.funds)[3:]:
        if how == "empty":
            replace_fund(market, code, rows=[])
        else:
            market.failures[code] = inf
    with pytest.raises(DataError, match="20 funds in a row"):
        fetch(tmp_path, market, retries=0)
    assert len(market.asked()) == 23
    market.funds, market.failures = sound, {}
    assert (fetch(tmp_path, market).resumed, len(market.asked())) == (3, 23 + 37)
