"""A small study whose names, wherever a user can give one, are markup; it has all sections of a report."""

from functools import cache

import pandas as pd

from geodual.funds import Finding, Panel, Study, backtest, synthetic_universe
from geodual.metric import RPDML, EuclideanMetric

HOSTILE = "<script>alert(1)</script>"
QUOTED = "\"><img src=x onerror='alert(2)'>, & Söhne 基金"


@cache
def hostile_study() -> Study:
    """Return a study of forty funds over four years, with a test period and two types of funds."""
    universe = synthetic_universe(40, "2012-01-04", "2015-12-31", seed=1)
    names = {fund: f"{QUOTED} {fund}" for fund in universe.panel.nav}
    names[universe.panel.nav.columns[0]] = HOSTILE
    nav: pd.DataFrame = universe.panel.nav.rename(columns=names)
    finding = Finding("gap", True, HOSTILE, "2013-01-04", 2, f"Two values of {HOSTILE} are missing.")
    facts = pd.DataFrame({"code": list(nav), "name": [f"name {fund}" for fund in nav]})
    facts["type"] = [f"type {QUOTED}", "index"] * (len(facts) // 2)  # a type may be called like a column
    return backtest(
        Panel(nav, source=f"{HOSTILE} {QUOTED}.csv", findings=(finding,)),
        universe.index.rename(f"index {HOSTILE}"),
        {"euclidean": EuclideanMetric(), "rpdml": RPDML(random_state=0), QUOTED: EuclideanMetric()},
        facts=facts,
        top=30,
        test_start="2014-07-01",
        cost=0.001,
    )
