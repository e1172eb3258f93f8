"""Parts of the study by themselves: small errors in them that no other test noticed (docs/mutants.md)."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from geodual.funds import DataError
from geodual.funds.config import StudyConfig
from geodual.funds.decisions.checkpoints import Checkpoints
from geodual.funds.decisions.fund_filter import _check_known
from geodual.funds.decisions.fund_history import _lively_rows
from geodual.funds.decisions.observations import _ENOUGH_OF_TYPE, Observations
from geodual.funds.evaluation.ledger import run_ledger
from geodual.funds.evaluation.market import FeeRules
from geodual.funds.evaluation.periods import decisions_in, equity_in
from geodual.funds.evaluation.statistics import stationary_bootstrap_interval
from geodual.funds.evaluation.track_record import TrackRecord, measure_record

from .test_ledger import random_case, slow_ledger, table


def test_excess_over_the_own_type_or_over_all_if_it_is_rare_or_unknown() -> None:
    sizes = {"bond": _ENOUGH_OF_TYPE, "rare": _ENOUGH_OF_TYPE - 1, "": _ENOUGH_OF_TYPE + 3}
    kinds = [kind for kind, size in sizes.items() for _ in range(size)]
    funds = [str(number) for number in range(len(kinds))]
    returns = pd.Series(np.random.default_rng(0).standard_normal(len(kinds)), index=funds)
    known = {fund: kind for fund, kind in zip(funds, kinds, strict=True) if kind}
    excess = Observations._excess(SimpleNamespace(facts=SimpleNamespace(types=known)), returns)
    for fund, kind in zip(funds, kinds, strict=True):
        peers = [f for f in funds if kind != "bond" or known.get(f) == "bond"]
        assert np.isclose(excess[fund], returns[fund] - returns[peers].mean())


@pytest.mark.parametrize(
    ("n_moved", "n_funds", "lively"), [(1, 3, True), (1, 4, False), (2, 4, True), (0, 2, False)]
)
def test_a_row_is_lively_if_half_of_the_other_funds_moved(n_moved: int, n_funds: int, lively: bool) -> None:
    days = pd.bdate_range("2020-01-01", periods=3, name="date")
    nav = pd.DataFrame(1.0, index=days, columns=[f"F{number}" for number in range(n_funds)])
    nav.iloc[2, :n_moved] = 1.1
    assert _lively_rows(nav, [slice(0, 1), slice(1, n_funds)]).tolist() == [False, False, lively]


def test_a_track_record_day_by_day() -> None:
    rng, days = np.random.default_rng(0), pd.bdate_range("2020-01-01", periods=12)
    rows, ics, excess, beaten = [], [], [], []
    for day in days:
        forecast, realised = rng.standard_normal((2, 6))
        rows += [(day, "m", f"F{j}", forecast[j], realised[j]) for j in range(6)]
        ics.append(spearmanr(forecast, realised)[0])
        excess.append((3.0 * realised[0] + realised[1]) / 4.0 - realised.mean())
        beaten += [realised[j] > np.median(realised) for j in (0, 1)]
    predictions = pd.DataFrame(rows, columns=["date", "forecaster", "fund", "forecast", "realised"])
    held = [(day, fund, weight) for day in days for fund, weight in (("F0", 0.6), ("F1", 0.2), ("F2", 0.0))]
    record = measure_record(predictions, pd.DataFrame(held, columns=["date", "fund", "weight"]))
    assert (record.n, record.beat_median) == (12, pytest.approx(np.mean(beaten)))
    assert (record.ic, record.excess) == (pytest.approx(np.mean(ics)), pytest.approx(np.mean(excess)))
    assert (record.ic_low, record.ic_high) == pytest.approx(stationary_bootstrap_interval(np.array(ics)))
    assert (record.excess_low, record.excess_high) == pytest.approx(
        stationary_bootstrap_interval(np.array(excess))
    )
    assert record.ic_low < record.ic < record.ic_high


def test_an_unknown_period_is_named() -> None:
    days = pd.bdate_range("2020-01-01", periods=3)
    with pytest.raises(DataError, match=r"`period` must be one of .*, got 'training'"):
        decisions_in("training", days[:1], days, "2020-01-02")
    with pytest.raises(DataError, match="got 'training'"):
        equity_in("training", pd.DataFrame(1.0, index=days, columns=["m"]), "2020-01-02")


def test_the_seal_of_a_decision_covers_names_types_shapes_and_values(tmp_path: Path) -> None:
    kept, day = Checkpoints(tmp_path, ["data"]), pd.Timestamp("2020-01-31")
    arrays = {"a": np.arange(6.0), "b": np.zeros(2)}
    others = [
        {**arrays, "a": np.arange(6.0).reshape(2, 3)},
        {**arrays, "a": np.arange(6.0).view(np.int64)},
        {**arrays, "a": np.arange(1.0, 7.0)},
        {"a": arrays["a"], "c": arrays["b"]},
    ]
    seals = {kept._seal(day, "m", content) for content in (arrays, *others)}
    assert len(seals) == 5
    assert kept._seal(day, "m", dict(reversed(arrays.items()))) in seals
    assert kept._seal(day, "n", arrays) not in seals


def test_types_are_asked_for_only_if_a_setting_needs_them() -> None:
    facts = SimpleNamespace(types={"A": "bond", "B": "equity"}, companies={}, source="facts.csv")
    _check_known(StudyConfig(types=("bond",)), facts, ["A", "B"])
    _check_known(StudyConfig(types=("bond",)), facts, ["A", "C"])
    _check_known(StudyConfig(), facts, ["C"])
    with pytest.raises(DataError, match=r"facts.csv: the types are those of other funds, such as 'A'"):
        _check_known(StudyConfig(types=("bond",)), facts, ["C"])
    with pytest.raises(DataError, match="ask for the companies of funds, which are not known"):
        _check_known(StudyConfig(max_company=0.5), facts, ["A"])


@pytest.mark.parametrize("seed", [3, 13])
@pytest.mark.parametrize(("cost", "lag"), [(0.0, 0), (0.01, 1)])
def test_money_set_aside_is_not_spent_twice_where_many_values_are_missing(
    seed: int, cost: float, lag: int
) -> None:
    nav, targets = random_case(seed, missing=0.4)
    ledger = run_ledger(nav, targets, fees=FeeRules(cost), execution_lag=lag)
    np.testing.assert_allclose(ledger.equity, slow_ledger(nav, targets, cost, lag), rtol=1e-12)


def test_what_was_traded_is_a_share_of_the_equity_after_fees() -> None:
    nav = table({"A": [1.0, 1.0, 1.0], "B": [1.0, 1.0, 1.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5})}, fees=FeeRules(0.05))
    assert ledger.trades["traded"].tolist() == pytest.approx([1.0])
    assert ledger.equity.iloc[-1] == pytest.approx(1.0 / 1.05)


def test_a_fund_whose_sale_waited_in_vain_is_paid_out() -> None:
    nav = table({"A": [1.0, 1.0, 1.5, *[np.nan] * 9], "B": np.ones(12)})
    targets = {nav.index[0]: pd.Series({"A": 1.0}), nav.index[3]: pd.Series({"B": 1.0})}
    fills = run_ledger(nav, targets, wait=4).fills
    closed = fills[fills["side"] == "closure"]
    assert closed["fund"].tolist() == ["A"]
    assert closed["value"].tolist() == [1.5]


@pytest.mark.parametrize(
    ("n", "told"), [(3, "too short to judge; no IC."), (9, "of 9 past decisions: no IC; ")]
)
def test_a_record_of_forecasts_that_do_not_differ_has_no_ic(n: int, told: str) -> None:
    record = TrackRecord(n, *[np.nan] * 4, excess=0.0, excess_low=0.0, excess_high=0.0, beat_median=0.5)
    assert told in record.tell("quarter")
    assert "nan" not in record.tell("quarter")
