"""Studies on a cluster of Dask: the same tables to the byte, and each interval sent once."""

import sys
from collections import Counter

import joblib
import numpy as np
import pytest

from geodual.funds import backtest, select
from geodual.funds.decisions.observations import Interval
from geodual.funds.forecasters.forecast import Today
from tests.funds.test_walk_forward import TABLES

distributed = pytest.importorskip("distributed")
SETTINGS = {"metrics": ("euclidean", "gmml"), "tune": True, "test_start": "2014-01-01", "top": 5}


@pytest.fixture(scope="module")
def cluster():
    """Two workers in this process, which start at once; they talk as workers on other machines would."""
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    )
    with made, distributed.Client(made) as client:
        yield client


@pytest.fixture
def on_dask(cluster):
    with joblib.parallel_config("dask"):
        yield cluster


@pytest.fixture(scope="module")
def expected(universe):
    return backtest(universe.panel, universe.index, **SETTINGS)


def same_bytes(found, expected):
    return [name for name in TABLES if getattr(found, name).to_csv() != getattr(expected, name).to_csv()]


class StoppedError(Exception):
    pass


def test_a_study_on_dask_interrupted_and_resumed_has_the_same_tables(universe, expected, on_dask, tmp_path):
    told = []

    def interrupt(done, total, last):
        told.append(last)
        if done == 3:
            raise StoppedError

    given = (universe.panel, universe.index)
    with pytest.raises(StoppedError):
        backtest(*given, **SETTINGS, checkpoint_folder=tmp_path, progress=interrupt)
    n_saved = len(list(tmp_path.rglob("*.npz")))
    again = []
    found = backtest(
        *given, **SETTINGS, checkpoint_folder=tmp_path, progress=lambda *row: again.append(row[2])
    )
    assert n_saved == 3
    assert not set(told[:3]) & set(again), "saved decisions are not made again"
    assert same_bytes(found, expected) == []
    assert found.chosen == expected.chosen


def test_each_interval_and_each_day_is_sent_once(universe, on_dask, monkeypatch):
    sent = []
    submit = distributed.Client.submit

    def watch(self, function, *values, **named):
        sent.extend(values)
        return submit(self, function, *values, **named)

    monkeypatch.setattr(distributed.Client, "submit", watch)
    names = {name: {"metric": name, "window": "all"} for name in ("euclidean", "gmml")}
    study = backtest(universe.panel, forecasters=names, baselines=())
    count = Counter(type(data) for data in sent)
    # Every decision learns from all intervals so far; the first one, too, may learn from several.
    assert count[Today] == len(study.ic)
    assert len(study.ic) <= count[Interval] <= len(study.ic) + 4


def test_dask_is_told_how_big_intervals_and_days_are(universe):
    features = np.zeros((200, 70))
    interval = Interval(features, np.ones(200, bool), np.zeros(200), universe.panel.nav.columns, np.empty(0))
    today = Today(universe.panel.nav.index[0], universe.panel.nav.columns, features, np.ones(200))
    assert all(sys.getsizeof(piece) > features.nbytes for piece in (interval, today))


def test_select_on_dask_picks_the_same(universe, on_dask):
    found = select(universe.panel, metric="gmml", top=3, n_jobs=-1)
    with joblib.parallel_config("sequential"):
        expected = select(universe.panel, metric="gmml", top=3)
    assert found.picks.to_csv() == expected.picks.to_csv()
    assert found.record == expected.record
