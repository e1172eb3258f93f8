"""A run continued with a longer table: only new days are decided, and earlier decisions stay as they were."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Forecast, Panel, backtest

pytestmark = pytest.mark.usefixtures("blank_figures", "blank_report")

DECIDED: list[pd.Timestamp] = []
DAY = pd.Timestamp("2014-05-16")


class Counted:
    """Ranks funds by one factor, and notes each day on which it is asked."""

    window = 1

    def forecast(self, training, today):
        DECIDED.append(today.day)
        return Forecast(np.nan_to_num(today.features[:, 0] + 1e-3 * training.returns.mean()))


SETTINGS = {"top": 5, "baselines": (), "frequency": "monthly"}


def study_of(panel, folder, **settings):
    """Return the study, and the days that were decided for it."""
    DECIDED.clear()
    study = backtest(panel, forecasters={"mine": Counted()}, run=folder, **SETTINGS, **settings)
    study.save(folder)
    return study, list(DECIDED)


@pytest.fixture
def early(universe, tmp_path):
    return study_of(universe.panel.until(DAY), tmp_path)[0]


def test_only_new_days_are_decided_and_the_study_is_that_of_the_longer_table(universe, early, tmp_path):
    later, decided = study_of(universe.panel, tmp_path)
    assert decided == [day for day in later.ic.index if day > DAY]
    assert len(decided) == 7  # the ends of May to November; the last row decides nothing
    anew = backtest(universe.panel, forecasters={"mine": Counted()}, **SETTINGS)
    for table in ("predictions", "holdings", "equity", "ic", "trades", "reasons"):
        pd.testing.assert_frame_equal(getattr(later, table), getattr(anew, table), check_exact=True)
    before = later.predictions[later.predictions["date"] <= DAY].reset_index(drop=True)
    known = ["date", "forecaster", "fund", "forecast"]
    pd.testing.assert_frame_equal(before[known], early.predictions[known], check_exact=True)


def test_a_week_later_nothing_is_decided(universe, early, tmp_path):
    assert study_of(universe.panel.until(DAY + pd.Timedelta(days=7)), tmp_path)[1] == []


def test_a_fund_that_is_new_changes_no_earlier_decision(universe, early, tmp_path):
    nav = universe.panel.nav.copy()
    nav.insert(3, "new", nav.iloc[:, 0].where(nav.index > DAY))
    _, decided = study_of(Panel(nav), tmp_path)
    assert min(decided) > DAY


def test_from_a_revised_value_on_days_are_decided_again(universe, early, tmp_path):
    nav = universe.panel.nav.copy()
    fund = nav.columns[nav.notna().all()][0]
    nav.loc[nav.index[nav.index < "2014-02-15"][-1], fund] *= 1.001
    study, decided = study_of(Panel(nav), tmp_path)
    assert decided == [day for day in study.ic.index if day > pd.Timestamp("2014-02-15")]


def test_other_settings_decide_all_days_and_their_decisions_replace_the_others(universe, early, tmp_path):
    _, decided = study_of(universe.panel.until(DAY), tmp_path, label="median")
    assert decided == list(early.ic.index)
    assert len(list((tmp_path / "decisions").iterdir())) == 1
    assert study_of(universe.panel, tmp_path, label="median")[1][0] > DAY


def test_a_longer_table_with_other_settings_decides_all_days(universe, early, tmp_path):
    study, decided = study_of(universe.panel, tmp_path, label="median")
    assert decided == list(study.ic.index)


def test_a_run_that_kept_no_decisions_is_continued_all_the_same(universe, tmp_path):
    """The folder of a plain study, and a longer table with a fund that is new."""
    nav = universe.panel.nav.copy()
    new = nav.columns[3]
    nav.loc[:DAY, new] = np.nan
    first = Panel(nav.loc[:DAY].drop(columns=new))
    backtest(first, metrics="euclidean", top=3).save(tmp_path)
    study, decided = study_of(Panel(nav), tmp_path)
    assert decided == list(study.ic.index)


def test_a_run_of_other_data_is_not_replaced(universe, early, tmp_path):
    with pytest.raises(DataError, match="run of other data"):
        study_of(
            Panel(universe.panel.nav * np.linspace(1.0, 2.0, len(universe.panel.nav))[:, None]), tmp_path
        )
    assert (tmp_path / "summary.json").exists()


def test_what_cannot_be_continued_is_told(universe, tmp_path):
    with pytest.raises(DataError, match="tuned"):
        backtest(universe.panel, metrics="gmml", tune=True, run=tmp_path)
    with pytest.raises(DataError, match="cannot be combined"):
        backtest(universe.panel, metrics="gmml", run=tmp_path, checkpoint_folder=tmp_path)
