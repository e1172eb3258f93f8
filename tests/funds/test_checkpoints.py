"""Finished decisions on disk: found again to the bit, never mistaken, never trusted when damaged."""

import importlib
import sys
from dataclasses import fields
from functools import partial

import numpy as np
import pandas as pd
import pytest

from geodual.funds import WindowedFactor
from geodual.funds import backtest as full_backtest
from geodual.funds.decisions.decision import Decision
from geodual.funds.decisions.walk_forward import Checkpoints
from geodual.funds.study.inputs import fingerprint
from geodual.metric import RPDML

pytestmark = pytest.mark.usefixtures("blank_figures", "blank_report")

backtest = partial(full_backtest, baselines=())  # nothing here is about baselines

DAY = pd.Timestamp("2016-12-30")


@pytest.fixture
def decision():
    rng = np.random.default_rng(0)
    return Decision(
        day=DAY,
        forecaster="mine: C=1/2, π",
        funds=pd.Index(["000001", "华夏", "C"], name="fund", dtype=str),
        forecast=rng.standard_normal(3),
        nearest=np.array([[2, 0], [1, 2], [0, 1]]),
        distances=rng.random((3, 2)),
        linear_map=rng.random((4, 2)),
        label="median",
        seconds=0.1 + 0.2,
        notes=("one", "zwei ü"),
    )


def is_same(one, other):
    for field in fields(Decision):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes(), field.name
        elif isinstance(left, pd.Index):
            pd.testing.assert_index_equal(left, right)
        else:
            assert left == right, field.name
    return True


def test_a_decision_comes_back_as_it_was(tmp_path, decision):
    kept = Checkpoints(tmp_path / "new" / "folder", ["data", "settings"])
    assert kept.load(DAY, decision.forecaster) is None
    kept.save(decision)
    assert is_same(kept.load(DAY, decision.forecaster), decision)
    again = Checkpoints(tmp_path / "new" / "folder", ["data", "settings"])
    assert is_same(again.load(DAY, decision.forecaster), decision)


def test_other_inputs_days_and_metrics_find_nothing(tmp_path, decision):
    Checkpoints(tmp_path, ["data", "settings"]).save(decision)
    assert Checkpoints(tmp_path, ["data", "other"]).load(DAY, decision.forecaster) is None
    assert Checkpoints(tmp_path, ["datas", "ettings"]).load(DAY, decision.forecaster) is None
    kept = Checkpoints(tmp_path, ["data", "settings"])
    assert kept.load(DAY, "other") is None
    assert kept.load(DAY + pd.Timedelta(days=1), decision.forecaster) is None


def only_file(folder):
    (file,) = folder.rglob("*.npz")
    return file


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip file" * 100])
def test_a_file_of_something_else_is_not_there(tmp_path, decision, content):
    kept = Checkpoints(tmp_path, [])
    kept.save(decision)
    only_file(tmp_path).write_bytes(content)
    assert kept.load(DAY, decision.forecaster) is None


def test_a_file_that_ends_early_is_not_there(tmp_path, decision):
    kept = Checkpoints(tmp_path, [])
    kept.save(decision)
    file = only_file(tmp_path)
    whole = file.read_bytes()
    for size in range(0, len(whole), 41):
        file.write_bytes(whole[:size])
        assert kept.load(DAY, decision.forecaster) is None


def test_a_file_without_one_of_its_parts_is_not_there(tmp_path, decision):
    kept = Checkpoints(tmp_path, [])
    kept.save(decision)
    file = only_file(tmp_path)
    with np.load(file) as stored:
        parts = {name: stored[name] for name in stored.files if name != "nearest"}
    np.savez(file, **parts)
    assert kept.load(DAY, decision.forecaster) is None


@pytest.mark.parametrize("part", ["forecast", "nearest", "distances", "linear_map", "funds", "text"])
def test_a_file_that_looks_right_but_was_changed_is_not_there(tmp_path, decision, part):
    kept = Checkpoints(tmp_path, [])
    kept.save(decision)
    file = only_file(tmp_path)
    with np.load(file) as stored:
        parts = {name: stored[name] for name in stored.files}
    changed = parts[part]
    parts[part] = np.roll(changed, 1) if changed.ndim else np.array(str(changed).replace("median", "sign"))
    np.savez(file, **parts)
    assert kept.load(DAY, decision.forecaster) is None


@pytest.mark.parametrize("change", [lambda x: x[:, None], lambda x: x.view(np.int64), lambda x: x + 1.0])
def test_a_file_whose_values_have_another_shape_or_type_is_not_there(tmp_path, decision, change):
    kept = Checkpoints(tmp_path, [])
    kept.save(decision)
    file = only_file(tmp_path)
    with np.load(file) as stored:
        parts = {name: stored[name] for name in stored.files}
    np.savez(file, **parts | {"forecast": change(parts["forecast"])})
    assert kept.load(DAY, decision.forecaster) is None


def test_a_decision_under_the_name_of_another_is_not_there(tmp_path, decision):
    kept = Checkpoints(tmp_path, [])
    kept.save(decision)
    later = DAY + pd.Timedelta(days=91)
    file = only_file(tmp_path)
    file.rename(file.with_name(file.name.replace(str(DAY.date()), str(later.date()))))
    assert kept.load(later, decision.forecaster) is None


def test_a_flipped_bit_is_found_or_harmless(tmp_path, decision):
    kept = Checkpoints(tmp_path, [])
    kept.save(decision)
    file = only_file(tmp_path)
    whole = file.read_bytes()
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        file.write_bytes(damaged)
        found = kept.load(DAY, decision.forecaster)
        assert found is None or is_same(found, decision)


@pytest.fixture(scope="module")
def panel(universe):
    return universe.panel.until(pd.Timestamp("2013-06-28"))


def test_a_damaged_decision_is_made_again(panel, tmp_path):
    fresh = backtest(panel, metrics="euclidean", checkpoint_folder=tmp_path)
    for file in tmp_path.rglob("*.npz"):
        file.write_bytes(file.read_bytes()[:-30])
    told = []
    again = backtest(
        panel, metrics="euclidean", checkpoint_folder=tmp_path, progress=lambda *news: told.append(news)
    )
    assert len(told) == len(fresh.ic) > 1
    pd.testing.assert_frame_equal(fresh.predictions, again.predictions, check_exact=True)


@pytest.mark.parametrize(
    "change", [{"k": 3}, {"label": "median"}, {"train_quarters": 2}, {"neighbors": "current"}]
)
def test_other_settings_make_other_decisions(panel, tmp_path, change):
    backtest(panel, metrics="euclidean", checkpoint_folder=tmp_path)
    found = backtest(panel, metrics="euclidean", checkpoint_folder=tmp_path, **change)
    expected = backtest(panel, metrics="euclidean", **change)
    pd.testing.assert_frame_equal(found.predictions, expected.predictions, check_exact=True)


def test_other_parameters_make_other_decisions(panel, tmp_path):
    priors = [np.eye(70), np.eye(70)]
    priors[1][35, 35] = 50.0
    for prior in priors:
        metrics = {"mine": RPDML(prior=prior)}
        found = backtest(panel, metrics=metrics, checkpoint_folder=tmp_path)
        expected = backtest(panel, metrics=metrics)
        pd.testing.assert_frame_equal(found.predictions, expected.predictions, check_exact=True)


def test_a_saved_study_needs_its_decisions_no_more(panel, tmp_path):
    study = backtest(panel, metrics="euclidean", checkpoint_folder=tmp_path / "kept")
    assert list((tmp_path / "kept").rglob("*.npz"))
    study.save(tmp_path / "run")
    assert not list((tmp_path / "kept").rglob("*.npz"))


def test_what_an_interrupted_run_with_other_settings_left_goes_too(panel, tmp_path):
    kept = tmp_path / "run" / ".finished"
    backtest(panel, metrics="euclidean", k=3, checkpoint_folder=kept)
    study = backtest(panel, metrics="euclidean", checkpoint_folder=kept)
    study.save(tmp_path / "run")
    assert not kept.exists()


def test_a_folder_that_another_run_cleared_does_not_stop_this_one(tmp_path, decision, monkeypatch):
    ours, other = (Checkpoints(tmp_path / ".finished", [name]) for name in ("ours", "other"))
    save = np.savez

    def clear_while_saving(place, **arrays):
        save(place, **arrays)
        other.clear()

    monkeypatch.setattr(np, "savez", clear_while_saving)
    ours.save(decision)
    assert ours.load(DAY, decision.forecaster) is None


def test_saving_removes_nothing_but_the_decisions_of_the_study(panel, tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    other = backtest(panel, metrics="euclidean", k=3, checkpoint_folder=tmp_path)
    study = backtest(panel, metrics="euclidean", checkpoint_folder=tmp_path)
    study.save(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert (tmp_path / "summary.json").exists()
    assert len(list(tmp_path.rglob("*.npz"))) == len(other.ic)


@pytest.fixture(scope="module")
def decided(panel, tmp_path_factory):
    """The checkpoints of a study with default settings, and the names of its decisions."""
    folder, made = tmp_path_factory.mktemp("decided"), []
    backtest(
        panel, metrics="euclidean", checkpoint_folder=folder, progress=lambda *told: made.append(told[2])
    )
    assert len(made) == len(set(made)) > 1
    return folder, set(made)


@pytest.mark.parametrize(
    "changed",
    [
        {"cost": 0.0015},
        {"execution_lag": 1},
        {"weights": "forecast"},
        {"top": 5},
        {"keep_rank": 15},
        {"end": "2013-05-31"},
        {"redemption_fees": ["7:0.015"]},
        {"test_start": "2013-06-01"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_only_trading_depends_on_learns_nothing_anew(panel, decided, changed):
    """Cost, lag and weights belong to the ledger: decisions that are finished serve for all of them."""
    folder, finished = decided
    made = []
    backtest(
        panel,
        metrics="euclidean",
        checkpoint_folder=folder,
        progress=lambda done, total, last: made.append(last),
        **changed,
    )
    assert not set(made) & finished, "no decision is made twice"


@pytest.mark.parametrize(
    "changed",
    [{"test_start": "2014-01-01"}, {"start": "2013-06-01"}, {"end": "2014-10-15"}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_period_that_tuning_depends_on_does_learn_anew(universe, tmp_path, changed):
    made = []
    for given in ({}, changed):
        settings = {"tune": True, "test_start": "2013-10-01", "checkpoint_folder": tmp_path, **given}
        backtest(universe.panel, metrics="gmml", progress=lambda *told: made.append(told[2]), **settings)
    assert len(made) > len(set(made))


def test_a_change_of_ones_own_code_matches_no_checkpoint(tmp_path, monkeypatch):
    """A pickle holds the name of a function only: the source must be heeded, too."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = []
    for line in ("return trail.nav[0]", "return -trail.nav[0]", "return trail.nav[0]"):
        (tmp_path / "own_measure.py").write_text(f"def measure(trail, w):\n    {line}\n")
        monkeypatch.delitem(sys.modules, "own_measure", raising=False)
        importlib.invalidate_caches()
        own = importlib.import_module("own_measure")
        found.append(fingerprint({"x": WindowedFactor("x", own.measure, "x")}))
    assert found[0] == found[2] != found[1]
    assert fingerprint(RPDML()) == fingerprint(RPDML()) != fingerprint(RPDML(C=2.0))
    assert fingerprint(lambda: 0) != fingerprint(lambda: 0), "what cannot be hashed matches nothing"
