"""Parts of the study by themselves: small errors in them that no other test noticed (docs/mutants.md)."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError
from geodual.funds.config import StudyConfig
from geodual.funds.decisions.checkpoints import Checkpoints
from geodual.funds.decisions.fund_filter import _check_known
from geodual.funds.decisions.fund_history import _lively_rows
from geodual.funds.decisions.observations import _ENOUGH_OF_TYPE, Observations


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
