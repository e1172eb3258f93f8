"""The headline and what it rests on: no claim that the corrected tests do not bear out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import Finding, backtest
from geodual.funds.report.headline import write_headline
from geodual.funds.report.render import render_report
from geodual.funds.report.summary_sections import list_trust_facts
from tests.funds.report_page import reworded

WAVE = np.array([0.03, -0.01, 0.02, -0.04, 0.01, -0.02, 0.04, -0.03])  # of mean zero
YES = "Its forecasts ranked funds better than chance."


def with_ic(study, euclidean, gmml, rpdml):
    """Return the study with other coefficients of its eight quarters, all of them in the test period."""
    ic = pd.DataFrame({"euclidean": euclidean, "gmml": gmml, "rpdml": rpdml}, index=study.ic.index)
    return replace(study, ic=ic, config=replace(study.config, test_start="2012-01-01"))


def plain(text):
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def trust_in(study):
    return {fact.label: fact for fact in list_trust_facts(study, write_headline(study))}


def test_a_clear_lead(study):
    headline = write_headline(with_ic(study, 0.1 + WAVE, 0.2 - WAVE, 0.3 + WAVE[::-1]))
    assert (headline.period, headline.best, headline.verdict) == ("both", "rpdml", YES)
    assert "RPDML did best, with a mean IC of 0.300 over 8 quarters" in headline.sentence
    lead = "This is 0.100 above GMML (next best) and 0.200 above Euclidean (plain distance)"
    assert f"{lead}: more than chance alone would produce (p" in headline.sentence
    assert "Its IC differs from zero" in headline.notes[0]


def test_a_baseline_that_wins_within_noise(study):
    headline = write_headline(with_ic(study, 0.21 + WAVE, 0.1 - 9 * WAVE, 0.2 - 9 * WAVE))
    assert headline.best == "euclidean"
    assert "0.010 above RPDML (next best): within what chance alone would produce (p" in headline.sentence


@pytest.mark.parametrize(("first", "is_said"), [(-0.7, True), (0.2, False)])
def test_a_baseline_that_is_best_on_shared_days_only_says_so(study, first, is_said):
    """Over all its days the mean of momentum is below that of the other, which lacks the first day."""
    judged = with_ic(study, WAVE, WAVE - 0.1, WAVE - 0.2)
    index = study.ic.index
    momentum, other = pd.Series(0.2 + WAVE, index), pd.Series(0.15 + WAVE, index)
    momentum.iloc[0], other.iloc[0] = first, np.nan
    judged.__dict__["baseline_ic"] = pd.DataFrame({"momentum": momentum, "return_12m": other})
    sentence = write_headline(judged).sentence
    assert "did best: Momentum" in sentence
    assert ("The best is chosen over the 7 quarters that all of them have." in sentence) == is_said


def test_the_one_lead_that_is_clear(study):
    headline = write_headline(with_ic(study, 0.1 + WAVE, 0.299 - WAVE, 0.3 + 0.5 * WAVE))
    assert "only the lead over Euclidean is more than chance alone would produce" in headline.sentence


@pytest.mark.parametrize(
    ("mean", "p", "verdict"),
    [
        (0.3, 0.049, YES),
        (0.3, 0.051, "Not shown: the result may well be chance."),
        (0.3, np.nan, "It is too early to tell."),
        (-0.3, 0.001, "No: even the best mean IC is not above zero."),
    ],
)
def test_skill_is_claimed_only_if_the_corrected_p_says_so(study, mean, p, verdict):
    judged = with_ic(study, mean - 0.2 + WAVE, mean - 0.1 + WAVE, mean + WAVE)
    skill = judged.skill.copy()
    skill.loc[("both", "rpdml"), "p"] = p
    judged.__dict__["skill"] = skill
    headline = write_headline(judged)
    assert headline.verdict == verdict
    assert ("Its IC differs from zero" in headline.notes[0]) == (p < 0.05)
    assert trust_in(judged)["p-value"].caution == (not (p < 0.05 and mean > 0.0))


def test_settings_that_were_tuned_count_in_every_claim(study):
    config = replace(study.config, tune=True, test_start="2030-01-01")
    untuned = replace(study, config=replace(config, tune=False))
    tuned = replace(study, config=config, chosen={"gmml": {"t": 0.5}})
    assert "corrected for the choice among 3" in write_headline(untuned).notes[0]
    assert "corrected for the choice among 6" in write_headline(tuned).notes[0], "three candidates"
    assert "Holm-corrected for 3 comparisons" in write_headline(untuned).sentence
    assert "Holm-corrected for 15 comparisons" in write_headline(tuned).sentence


def test_more_comparisons_make_a_lead_less_clear(study):
    """Three metrics and three candidates make 15 pairs in place of 3, so p is five times as large."""
    few = with_ic(study, 0.0 + WAVE, 0.278 - WAVE, 0.3 + 0.5 * WAVE[::-1])
    p = few.comparisons("both")["p_holm"]["gmml", "rpdml"]
    assert 0.01 < p < 0.05
    assert ": more than chance alone would produce" in write_headline(few).sentence
    config = replace(few.config, tune=True, test_start="2030-01-01")
    many = write_headline(replace(few, config=config, chosen={"gmml": {"t": 0.5}}))
    assert 0.1 < 5 * p < 0.25
    assert f"p = {5 * p:.2f} and" in plain(many.sentence)
    assert "only the lead over Euclidean" in many.sentence


def test_a_run_tuned_with_a_metric_that_is_registered_no_more_still_has_its_headline(study):
    """As in `geodual report` on a run whose metric was registered in a notebook."""
    config = replace(study.config, tune=True, test_start="2030-01-01")
    headline = write_headline(replace(study, config=config, chosen={"of a notebook": {"t": 0.5}}))
    assert "corrected for the choice among 4" in headline.notes[0]


def test_two_quarters_claim_nothing(study):
    late = study.ic.copy()
    late.iloc[:-2] = np.nan
    short = replace(study, ic=late)
    headline = write_headline(short)
    assert headline.verdict == "It is too early to tell."
    assert "the record is too short to tell this from chance" in headline.sentence
    few = trust_in(short)["Record"]
    assert few.caution
    assert few.note == "With only 2 quarters, p-values and intervals are too optimistic."


def test_seven_quarters_claim_nothing_however_good(study):
    ic = study.ic * 0.0 + np.array([0.1, 0.2, 0.9])
    ic.iloc[0] = np.nan
    judged = replace(
        study, ic=ic + 0.001 * WAVE[:, None], config=replace(study.config, test_start="2012-01-01")
    )
    assert judged.skill["p"]["test", "rpdml"] < 0.05
    headline = write_headline(judged)
    assert headline.verdict == "It is too early to tell."
    assert "does not clearly differ" in headline.notes[0]
    assert "the record is too short" in headline.sentence


def tuned(study, **settings):
    """Return the study as if settings had been chosen on its validation period."""
    return replace(study, config=replace(study.config, tune=True, **settings), chosen={"gmml": {"t": 0.5}})


def test_all_decisions_count_unless_settings_were_tuned(study):
    """A walk-forward decision is out of sample, whichever period it falls in."""
    assert write_headline(study).period == study.judged_period == "both"
    assert write_headline(tuned(study)).period == tuned(study).judged_period == "test"
    assert write_headline(study).sentence.startswith("Over the whole study")
    assert " In the test period RPDML did best" in write_headline(tuned(study)).sentence
    # Asked to tune, but nothing had candidates.
    assert replace(study, config=replace(study.config, tune=True)).judged_period == "both"


def test_the_forecaster_that_is_named_is_the_best_of_the_decisions_that_count(study):
    ic = study.ic * 0.0 + [0.0, 0.1, 0.2] + WAVE[:, None]
    ic.loc["2014-01-01":] += [0.0, 0.4, 0.0]  # three quarters
    early = replace(study, ic=ic)
    means = ic.mean()
    assert early.strategy == write_headline(early).best == means.idxmax()
    late = replace(tuned(study), ic=ic)
    assert late.strategy == write_headline(late).best == "gmml"


def test_few_lucky_decisions_do_not_make_a_strategy(study):
    """As in `select`: a forecaster with ICs on fewer than eight days comes after those with enough."""
    lucky = study.ic * 0.0 + [0.0, 0.9, 0.1] + WAVE[:, None]
    lucky.iloc[0, 1] = np.nan
    assert replace(study, ic=lucky).strategy == write_headline(replace(study, ic=lucky)).best == "rpdml"


def test_the_two_periods_are_told_apart_as_a_check(study):
    note = next(note for note in write_headline(study).notes if note.startswith("In the validation period"))
    best, table = study.strategy, study.table()
    for part, days in (("validation", study.decided("validation")), ("test", study.decided("test"))):
        mean, n = study.ic.loc[days, best].mean(), study.ic.loc[days, best].count()
        assert table.loc[(part, best), "ic_mean"] == pytest.approx(mean)
        assert f"its mean IC was {mean:.3f} over {n} quarter".replace("-", "−") in note
    for means, caution in (((0.1, 0.1), False), ((0.3, -0.1), True)):
        in_test = study.ic.index.isin(study.decided("test"))
        ic = study.ic * 0.0 + np.where(in_test, means[1], means[0])[:, None] + WAVE[:, None] / 100
        assert trust_in(replace(study, ic=ic))["Both periods"].caution is caution
    assert "Both periods" not in trust_in(tuned(study))


def test_a_tuned_study_without_a_test_period_says_so(study):
    validation = tuned(study, test_start="2020-01-01")
    assert write_headline(validation).period == "both"
    fact = trust_in(validation)["Test period"]
    assert fact.caution
    assert "on which settings were chosen" in fact.note
    untuned = replace(study, config=replace(study.config, test_start="2020-01-01"))
    assert "Table 1, test period" not in render_report(untuned)
    assert {"Test period", "Both periods"}.isdisjoint(trust_in(untuned))


def test_nothing_is_said_about_what_is_not_known_yet(study):
    unknown = replace(study, ic=study.ic * np.nan, predictions=study.predictions.assign(realized=np.nan))
    headline = write_headline(unknown)
    assert headline.verdict == "It cannot be judged yet."
    assert "No quarter with a forecast has ended yet" in headline.sentence
    assert {"p-value", "Record", "Sharpe ratio"}.isdisjoint(trust_in(unknown))


def test_one_metric_has_no_lead(universe):
    single = backtest(universe.panel, metrics="rpdml", top=5, test_start="2014-01-01")
    assert "RPDML had a mean IC of" in write_headline(single).sentence
    assert "corrected" not in write_headline(single).notes[0]
    assert "Overfitting" not in trust_in(single), "it takes two metrics"


def test_survivorship_is_told_as_it_was_found(study):
    others = tuple(finding for finding in study.findings if finding.kind not in ("survivorship", "early-end"))
    none = trust_in(reworded(study, findings=others))["Survivorship"]
    assert (none.text, none.caution) == ("no sign of it in the data", False)
    closed = Finding("early-end", False, "", "2013-01-01", 3, "3 of 50 funds end before the last day.")
    included = trust_in(reworded(study, findings=(*others, closed)))["Survivorship"]
    assert (included.text, included.caution) == ("closed funds are included", False)
    assert included.note == closed.message
    missing = Finding("survivorship", True, "", "", 50, "Every fund lives to the last day.")
    found = trust_in(reworded(study, findings=(*others, missing)))["Survivorship"]
    assert (found.text, found.caution, found.note) == ("likely", True, missing.message)
    assert missing.message in render_report(reworded(study, findings=(missing,)))


def test_trading_that_cannot_be_had_is_told(study, universe):
    free = trust_in(study)["Trading"]
    assert free.text == "on the day of the decision, no fees"
    assert free.note == "Neither is possible in practice."
    metrics, settings = ("euclidean",), {"top": 5, "test_start": "2014-01-01"}
    dear = backtest(universe.panel, None, metrics, execution_lag=1, cost=0.001, **settings)
    paid = trust_in(dear)["Trading"]
    assert paid.text.startswith("1 day after the decision, fees of ")
    assert (paid.caution, paid.note) == (False, "")
    lagged = trust_in(backtest(universe.panel, None, metrics, execution_lag=2, **settings))["Trading"]
    assert (lagged.text, lagged.note) == (
        "2 days after the decision, no fees",
        "In practice, trading is not free.",
    )


def test_findings_that_matter_are_counted(study):
    minor, major = (Finding("gap", matters, "F", "2013-01-04", 2, "Two.") for matters in (False, True))
    assert trust_in(reworded(study, findings=()))["Data"].text == "no findings"
    assert trust_in(reworded(study, findings=(minor,)))["Data"].text == "1 finding, none of which matters"
    data = trust_in(reworded(study, findings=(minor, major, minor)))["Data"]
    assert (data.text, data.caution) == ("1 of 3 findings can change a result", True)


def test_unlikely_sharpe_ratios_and_likely_overfitting_speak_for_caution(study):
    for deflated, probability, caution in ((0.96, 0.49, False), (0.94, 0.51, True)):
        weighed = reworded(study)
        weighed.__dict__["overfitting"] = study.overfitting.assign(deflated_sharpe=deflated)
        weighed.__dict__["overfitting_probability"] = probability
        facts = trust_in(weighed)
        assert facts["Sharpe ratio"].caution == facts["Overfitting"].caution == caution
        assert plain(facts["Overfitting"].text) == f"{100 * probability:.0f} % probability"
