"""Run folders of earlier versions, which called the column of the forecasters `metric`, are still read."""

import json

import pytest

from geodual.funds import DataError, read_study

# A study of three funds and two decisions: the fund C is bought, and no value ever changes.
TABLES = {
    "predictions": """date,metric,fund,forecast,realized
2016-12-30,007,A,0.1,0.1
2016-12-30,007,B,0.2,0.2
2016-12-30,007,C,0.3,0.3
2017-03-31,007,A,0.1,
2017-03-31,007,B,0.2,
2017-03-31,007,C,0.3,
""",
    "ic": "date,007\n2016-12-30,1.0\n2017-03-31,\n",
    "holdings": """date,metric,fund,weight,forecast,known,realized
2016-12-30,007,C,1.0,0.3,1.0,0.3
2017-03-31,007,C,1.0,0.3,1.0,
""",
    "equity": "date,007,index\n2016-12-30,1.0,1.0\n2017-01-03,1.0,1.0\n2017-03-31,1.0,1.0\n",
    "cash": "date,007\n2016-12-30,0.0\n2017-01-03,0.0\n2017-03-31,0.0\n",
    "trades": """metric,decided,executed,turnover,traded,cost,n_held,unfilled,cash
007,2016-12-30,2016-12-30,0.5,1.0,0.0,1,0.0,0.0
007,2017-03-31,2017-03-31,0.0,0.0,0.0,1,0.0,0.0
""",
    "fills": """metric,decided,day,fund,side,price,units,value,fee
007,2016-12-30,2016-12-30,C,buy,1.0,1.0,1.0,0.0
""",
    "universe": "date,funds,coverage,label\n2016-12-30,3,1.0,sign\n2017-03-31,3,1.0,sign\n",
    "neighbors": """date,metric,fund,neighbor,distance,earned
2016-12-30,007,C,B,1.0,0.1
""",
    "reasons": "date,metric,fund,view,factor,share\n",
    "facts": "fund,name,type,company\nA,,,\nB,,,\nC,,,\n",
    "ic_decay": "months,007\n1,0.5\n",
    "random_portfolios": "annual_return,volatility,sharpe,max_drawdown\n0.0,0.0,,0.0\n",
    "findings": "kind,matters,fund,date,count,message\n",
}
MEASURES = {"annual_return": 0.0, "volatility": 0.0, "sharpe": None, "max_drawdown": 0.0}
SUMMARY = {
    "source": "nav.csv",
    "sha256": "",
    "index": "Index",
    "index_sha256": "",
    "facts_sha256": "",
    "table1": {"both": {"007": {"ic_mean": 1.0, **MEASURES}, "index": MEASURES}},
    "chosen": {},
    "notes": [],
    "factor_labels": {},
    "seconds": 1.0,
}


@pytest.fixture
def folder(tmp_path):
    for name, text in TABLES.items():
        (tmp_path / f"{name}.csv").write_text(text, "utf-8")
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY), "utf-8")
    (tmp_path / "config.toml").write_text('metrics = ["007"]\ntop = 1\n', "utf-8")
    return tmp_path


def test_an_old_run_folder_is_read_with_the_new_name(folder):
    study = read_study(folder)
    for name in ("predictions", "holdings", "trades", "fills", "neighbors"):
        table = getattr(study, name)
        assert set(table["forecaster"]) == {"007"}
        assert "metric" not in table
    assert list(study.reasons.columns)[:3] == ["date", "forecaster", "fund"]
    assert study.table().loc[("both", "007"), "ic_mean"] == 1.0


def test_saved_again_it_has_the_new_name(folder, tmp_path, blank_figures):
    again = read_study(folder).save(tmp_path / "new")
    assert (again / "trades.csv").read_text("utf-8").startswith("forecaster,decided,")
    assert read_study(again).table().equals(read_study(folder).table())


def test_a_table_with_neither_name_is_refused(folder):
    path = folder / "trades.csv"
    path.write_text(path.read_text("utf-8").replace("metric", "model"), "utf-8")
    with pytest.raises(DataError, match=r"trades\.csv: no column `forecaster`"):
        read_study(folder)
