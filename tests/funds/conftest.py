"""A small universe with births, closures and holes, and one study of it, made once."""

import numpy as np
import pytest

from geodual.funds import Panel, backtest, synthetic_universe


@pytest.fixture(scope="session")
def universe():
    """Fifty funds over three years; five start late, three close, none on the last day of a quarter."""
    return synthetic_universe(50, "2012-01-04", "2014-12-31", seed=3)


@pytest.fixture(scope="session")
def rough_panel(universe):
    """The same with a fund that stands still, one with a hole on a quarter end, one that closes on one."""
    nav = universe.panel.nav.copy()
    steady = [fund for fund in nav if nav[fund].notna().all()]
    nav.loc["2013-02-01":"2013-04-15", steady[0]] = nav.at["2013-02-01", steady[0]]
    nav.loc["2013-06-26":"2013-07-02", steady[1]] = np.nan
    nav.loc["2014-04-01":, steady[2]] = np.nan
    return Panel(nav)


@pytest.fixture(scope="session")
def study(universe):
    """A study with both periods; the label falls back to the median twice."""
    return backtest(
        universe.panel, universe.index, ("euclidean", "gmml", "rpdml"), top=5, test_start="2014-01-01"
    )


@pytest.fixture(scope="session")
def plain_study(universe):
    """A study of the same funds with one metric and the settings of the paper."""
    return backtest(universe.panel, metrics="euclidean")
