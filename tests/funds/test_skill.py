"""Tests of skill: no claim where there is none, a claim where there is some, and awkward tables."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.evaluation import skill
from geodual.funds.evaluation.statistics import corrected_p
from geodual.metric.registry import find_metric


def random_ics(n, k=6, seed=0, mean=0.0, rho=0.6):
    rng = np.random.default_rng(seed)
    noise = np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1.0 - rho) * rng.standard_normal((n, k))
    return pd.DataFrame(0.25 * noise + np.asarray(mean), columns=list("abcdefgh")[:k])


def judged(ic, n_choices=None):
    return skill.judge_skill(ic, n_choices or ic.shape[1], skill.superior_ability_p(ic))


@pytest.mark.parametrize("n", [8, 24])
def test_skill_is_seldom_claimed_where_there_is_none(n, monkeypatch):
    monkeypatch.setattr(skill, "_RESAMPLES", 100)
    claims, excluded = [], []
    for seed in range(60):
        found = judged(random_ics(n, seed=seed))
        claims.append(((found["p"] < 0.05) & (found["ic_mean"] > 0.0)).any())
        excluded.append(not found["in_set"].all())
    assert np.mean(claims) <= 0.05
    assert np.mean(excluded) <= 0.10


def test_skill_is_found_where_there_is_some():
    found = judged(random_ics(36, mean=[0.0, 0.0, 0.25, 0.0, 0.0, 0.0], rho=0.3))
    assert found["ic_mean"].idxmax() == "c"
    assert found.loc["c", "p"] < 0.01
    assert found["in_set"].tolist() == [False, False, True, False, False, False]


def test_the_best_metric_gets_the_larger_p_value():
    ic = random_ics(20, 3, seed=4, mean=[0.0, 0.3, 0.2])
    alone = [corrected_p(ic[name], 9) for name in ic]
    best = int(ic.mean().argmax())
    for spa in (0.0, 0.3):
        expected = alone.copy()
        expected[best] = max(alone[best], spa)
        assert skill.judge_skill(ic, 9, spa)["p"].tolist() == expected


def test_bad_forecasts_are_no_skill():
    ic = random_ics(30, 3, mean=-0.3)
    assert skill.superior_ability_p(ic) > 0.5
    assert judged(ic)["p"].max() > 0.5  # that of the best of the three


def test_results_are_the_same_every_time():
    ic = random_ics(16, mean=0.05)
    first = (skill.superior_ability_p(ic), skill.confidence_set(ic))
    assert (skill.superior_ability_p(ic), skill.confidence_set(ic)) == first


def test_one_metric_is_always_in_the_set():
    assert judged(random_ics(20, 1))["in_set"].tolist() == [True]


def test_few_days_exclude_nothing():
    ic = random_ics(7, 3, mean=[-5.0, 0.0, 5.0])
    assert np.isnan(skill.superior_ability_p(ic))
    found = judged(ic)
    assert found["in_set"].all()
    assert found["p"].tolist() == [corrected_p(ic[name], 3) for name in ic]
    assert judged(ic[:2])["p"].isna().all()


def test_twins_are_judged_alike():
    ic = random_ics(24, 2, mean=[0.0, 0.5])
    table = ic.assign(c=ic["a"], d=ic["b"], e=ic["b"] - 0.01)  # the last differs by a constant
    found = judged(table)["in_set"]
    assert found.drop("e").to_dict() == {"a": False, "b": True, "c": False, "d": True}


def test_ties_between_coarse_ics():
    """The ICs of three funds have four values only, so that differences are often equal."""
    values = np.random.default_rng(0).choice([-1.0, -0.5, 0.5, 1.0], (9, 6))
    values[:, 3] = values[::-1, 0]
    assert len(skill.confidence_set(pd.DataFrame(values, columns=list("abcdef")))) >= 1


def test_missing_ics():
    ic = random_ics(20, 3, mean=[0.2, 0.0, 0.1])
    holes = ic.copy()
    holes.iloc[3, 1] = holes.iloc[7, 0] = np.nan
    assert skill.superior_ability_p(holes) == skill.superior_ability_p(holes.dropna())
    found = judged(holes.assign(d=np.nan), 3)
    assert np.isnan(found.loc["d", "p"])
    assert found.loc["d", "in_set"]  # nothing speaks against it
    pd.testing.assert_frame_equal(found.drop(index="d"), judged(holes, 3))
    nothing = judged(ic * np.nan)
    assert nothing[["ic_mean", "p"]].isna().all(axis=None)
    assert nothing["in_set"].all()


def test_constant_ics_cannot_be_judged():
    ic = pd.DataFrame({"a": np.ones(20), "b": np.zeros(20)})
    found = judged(ic)
    assert found["p"].isna().all()
    assert found["in_set"].all()


def test_choices():
    grid = len(find_metric("rpdml").grid)
    assert grid > 1
    assert skill.count_choices(3) == 3
    assert skill.count_choices(3, {"rpdml": {"C": 1.0}}) == 3 + grid
    assert skill.count_choices(3, ["rpdml", "a metric of another process"]) == 4 + grid
