"""The simulation without skill reads what a study claims, and goes on where it stopped."""

from dataclasses import replace

import pandas as pd
import pytest

from benchmarks import null_universes
from benchmarks.null_universes import NEVER, Claims, draw_universe, null_table, read_claims, split_headline
from geodual.funds import select
from geodual.funds.evaluation.track_record import measure_record
from geodual.funds.report.headline import write_headline
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

    def study(seed: int, forecasters: tuple[str, ...]) -> Claims:
        studied.append(seed)
        never = [False] * 4
        return Claims(
            seed, "test" if seed % 2 else "both", seed == 3, *never, rest=True, uncorrected=seed > 1
        )

    monkeypatch.setattr(null_universes, "study_universe", study)
    null_table(4, seed=2, jobs=1, kept=tmp_path / "new" / "kept.csv")
    table = null_table(6, seed=1, jobs=1, kept=tmp_path / "new" / "kept.csv")
    assert studied == [2, 3, 4, 5, 1, 6]
    assert "4 of 6 universes are taken from" in capsys.readouterr().out
    assert "16.7 % (0.4 … 64.1), 1 of 6" in table  # exact interval of 1 in 6, from tables
    assert "83.3 % (35.9 … 99.6), 5 of 6" in table
    assert "0.0 % (0.0 … 45.9), 0 of 6" in table
    assert "100.0 % (29.2 … 100.0), 3 of 3" in table


def test_a_file_of_an_earlier_version_is_refused(tmp_path):
    kept = tmp_path / "kept.csv"
    kept.write_text("seed,period,skill\n1,test,False\n")
    with pytest.raises(ValueError, match="earlier version; delete it"):
        null_table(1, jobs=1, kept=kept)


def test_the_lead_and_the_best_baseline_are_read_apart(study):
    """Whoever is ahead, each part of the headline has its own verdict."""
    ahead = study.ic + 2.0
    behind = study.ic - 2.0
    for ic, found in (
        (ahead, "above the best baseline, "),
        (behind, "a baseline that learns nothing did best"),
    ):
        sentence = write_headline(replace(study, ic=ic)).sentence
        on_lead, on_baseline = split_headline(sentence)
        assert found in on_baseline
        assert "next best" in on_lead
        assert "baseline" not in on_lead
        assert len(on_lead) + len(on_baseline) > len(sentence) - 30
    with pytest.raises(ValueError, match="LAST_WORDS"):
        split_headline("GMML did best. Nobody knows how it compares.")


def test_claims_of_the_skill_map_and_of_several_forecasters(study):
    changed = replace(
        study, config=replace(study.config, metrics=("euclidean",), forecasters=("gmml", "rpdml"))
    )
    claims = read_claims(changed, 0)
    assert not claims.record
    assert not claims.rest
    assert not claims.factor
    loud = replace(study)
    loud.__dict__["skill_map"] = study.skill_map.assign(p=0.01, rest_p=0.01)
    assert read_claims(loud, 0).factor
    assert read_claims(loud, 0).rest
