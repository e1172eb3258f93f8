"""The simulation reads what a study and its selection claim, and goes on where it stopped."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import null_universes
from benchmarks.null_universes import (
    KINDS,
    Claims,
    claims_table,
    draw_universe,
    kind_of,
    read_claims,
    split_headline,
    study_universe,
)
from geodual.funds import select
from geodual.funds.report.headline import write_headline


def test_universes_are_of_all_kinds_and_sizes():
    drawn = [draw_universe(seed).nav for seed in range(10)]
    assert len({nav.shape for nav in drawn}) > 5
    assert [kind_of(seed) for seed in range(5)] == list(KINDS)
    for nav in drawn:
        assert np.isfinite(nav.to_numpy()).any(axis=0).all()


def test_skill_is_planted_and_lasts():
    """What is planted multiplies the same universe; a quarter of it resembles the quarter before."""
    plain, skilled = (draw_universe(3, planted).nav for planted in (0.0, 0.04))
    earned = np.log(skilled / plain).iloc[60::61].diff().iloc[1:]
    assert earned.to_numpy().std() == pytest.approx(0.04, rel=0.1)
    lasting = [
        np.corrcoef(a, b)[0, 1] for a, b in zip(earned.to_numpy(), earned.to_numpy()[1:], strict=False)
    ]
    assert np.mean(lasting) == pytest.approx(null_universes.LASTS, abs=0.1)


def test_the_claims_are_those_of_the_study_and_its_selection():
    claims = study_universe(3, planted=0.2)
    assert (claims.seed, claims.kind) == (3, "style clusters")
    assert claims.skill
    assert claims.record
    assert claims.factor


def test_funds_that_hold_the_same_shares_move_alike():
    nav = KINDS["overlapping holdings"](1, 40, 5)
    alone = null_universes.draw_table(1, 40, 5).nav
    assert nav.shape == alone.shape
    assert not np.allclose(nav, alone)


def test_the_record_is_that_of_select(universe, study):
    record = select(universe.panel, run=study).record
    assert (record.n, record.p) == (
        study.ic[study.strategy].count(),
        pytest.approx(study.skill["p"]["both", study.strategy]),
    )


def test_a_wording_that_is_not_known_is_no_denial(study, monkeypatch):
    monkeypatch.setattr(null_universes, "LEAD_WORDS", ("somewhat better", ("hardly better",)))
    with pytest.raises(ValueError, match="LEAD_WORDS"):
        read_claims(study, False, 0)


def test_what_is_finished_is_not_studied_again(tmp_path, monkeypatch, capsys):
    studied = []

    def study(seed: int, planted: float) -> Claims:
        studied.append(seed)
        never = [False] * 5
        return Claims(seed, kind_of(seed), seed == 3, *never, late=True, uncorrected=seed > 1)

    monkeypatch.setattr(null_universes, "study_universe", study)
    claims_table(4, seed=2, jobs=1, kept=tmp_path / "new" / "kept.csv")
    table = claims_table(6, seed=1, jobs=1, kept=tmp_path / "new" / "kept.csv")
    assert studied == [2, 3, 4, 5, 1, 6]
    assert "4 of 6 universes are taken from" in capsys.readouterr().out
    assert "16.7 % (0.4 … 64.1), 1 of 6" in table  # exact interval of 1 in 6, from tables
    assert "83.3 % (35.9 … 99.6), 5 of 6" in table
    assert "0.0 % (0.0 … 45.9), 0 of 6" in table
    assert "2 of 2" in table
    assert "(3; 40" in claims_table(3, seed=7, jobs=1, kept=tmp_path / "more.csv")
    assert "(0; 40" in claims_table(3, seed=7, jobs=1, minutes=0.0), "no time"


def test_a_file_of_an_earlier_version_is_refused(tmp_path):
    kept = tmp_path / "kept.csv"
    kept.write_text("seed,period,skill\n1,test,False\n")
    with pytest.raises(ValueError, match="earlier version; delete it"):
        claims_table(1, jobs=1, kept=kept)


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


def test_claims_of_the_skill_map(study):
    quiet = read_claims(study, False, 0)
    assert not quiet.rest
    assert not quiet.factor
    loud = replace(study)
    loud.__dict__["skill_map"] = study.skill_map.assign(p=0.01, rest_p=0.01)
    assert read_claims(loud, False, 0).factor
    assert read_claims(loud, False, 0).rest
