"""The simulation without skill reads what a study claims, and goes on where it stopped."""

import pandas as pd
import pytest

from benchmarks import null_universes
from benchmarks.null_universes import NEVER, Claims, draw_universe, null_table, read_claims
from geodual.funds import select
from geodual.funds.evaluation.track_record import measure_record
from geodual.metric.registry import FEATURED


def test_universes_differ_in_size_and_have_no_skill():
    drawn = [draw_universe(seed) for seed in range(8)]
    assert len({universe.panel.nav.shape for universe, _ in drawn}) > 5
    assert {start == NEVER for _, start in drawn} == {True, False}
    for universe, start in drawn:
        assert (universe.expected_returns.std(axis=1) < 1e-12).all()
        last = universe.panel.nav.index[-1]
        assert start == NEVER or pd.Timestamp(start) < last - pd.Timedelta(days=720)


def test_the_record_is_that_of_select(universe, study, monkeypatch):
    measured = []

    def measure(**tables):
        measured.append(measure_record(**tables))
        return measured[0]

    monkeypatch.setattr(null_universes, "measure_record", measure)
    read_claims(study, 0)
    record = select(universe.panel, metric=FEATURED, top=5).record
    assert (measured[0].n, measured[0].ic, measured[0].p) == (record.n, record.ic, record.p)
    assert measured[0].excess == record.excess


def test_a_wording_that_is_not_known_is_no_denial(study, monkeypatch):
    monkeypatch.setattr(null_universes, "LEAD_WORDS", ("somewhat better", ("hardly better",)))
    with pytest.raises(ValueError, match="LEAD_WORDS"):
        read_claims(study, 0)


def test_what_is_finished_is_not_studied_again(tmp_path, monkeypatch, capsys):
    studied = []

    def study(seed: int) -> Claims:
        studied.append(seed)
        return Claims(seed, "test" if seed % 2 else "both", seed == 3, False, True, seed > 1)

    monkeypatch.setattr(null_universes, "study_universe", study)
    null_table(4, seed=2, jobs=1, kept=tmp_path / "new" / "kept.csv")
    table = null_table(6, seed=1, jobs=1, kept=tmp_path / "new" / "kept.csv")
    assert studied == [2, 3, 4, 5, 1, 6]
    assert "4 of 6 universes are taken from" in capsys.readouterr().out
    assert "16.7 % (0.4 … 64.1), 1 of 6" in table  # exact interval of 1 in 6, from tables
    assert "83.3 % (35.9 … 99.6), 5 of 6" in table
    assert "0.0 % (0.0 … 45.9), 0 of 6" in table
    assert "100.0 % (29.2 … 100.0), 3 of 3" in table
