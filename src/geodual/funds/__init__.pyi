from .config import DataError as DataError
from .config import StudyConfig as StudyConfig
from .config import read_config as read_config
from .decisions.leakage import LeakageCheck as LeakageCheck
from .decisions.leakage import LeakageChecks as LeakageChecks
from .decisions.leakage import check_leakage as check_leakage
from .evaluation.alpha import FundAlphas as FundAlphas
from .evaluation.alpha import measure_alphas as measure_alphas
from .evaluation.orders import Orders as Orders
from .evaluation.persistence import Persistence as Persistence
from .evaluation.persistence import measure_persistence as measure_persistence
from .evaluation.style import Style as Style
from .evaluation.style import style_regression as style_regression
from .evaluation.trailing import rolling_returns as rolling_returns
from .evaluation.trailing import trailing_returns as trailing_returns
from .evaluation.trailing import underwater as underwater
from .evaluation.trailing import year_returns as year_returns
from .factors.compute import compute_factors as compute_factors
from .factors.factor import RecursiveFactor as RecursiveFactor
from .factors.factor import WindowedFactor as WindowedFactor
from .forecasters.forecast import Forecast as Forecast
from .forecasters.forecast import Today as Today
from .forecasters.forecast import Training as Training
from .forecasters.neighbors import NeighborForecaster as NeighborForecaster
from .forecasters.ranks import EnsembleForecaster as EnsembleForecaster
from .forecasters.ranks import FactorForecaster as FactorForecaster
from .forecasters.ranks import FactorSeries as FactorSeries
from .forecasters.registry import forecaster_names as forecaster_names
from .forecasters.registry import register_forecaster as register_forecaster
from .forecasters.regression import FactorICRegressor as FactorICRegressor
from .forecasters.regression import RegressorForecaster as RegressorForecaster
from .panel import Finding as Finding
from .panel import Panel as Panel
from .report.fund_sheet import FundSheet as FundSheet
from .report.fund_sheet import fund_sheet as fund_sheet
from .report.plots import draw_persistence as draw_persistence
from .sources.fetching.fetch import FetchSummary as FetchSummary
from .sources.fetching.fetch import fetch_universe as fetch_universe
from .sources.reading.fund_facts import FundFacts as FundFacts
from .sources.reading.fund_facts import read_facts as read_facts
from .sources.reading.holdings_file import Holdings as Holdings
from .sources.reading.holdings_file import read_holdings as read_holdings
from .sources.reading.nav_file import read_index as read_index
from .sources.reading.nav_file import read_nav as read_nav
from .sources.reading.quality import inspect_index as inspect_index
from .sources.reading.quality import inspect_quality as inspect_quality
from .sources.reading.survivorship import Survivorship as Survivorship
from .sources.reading.survivorship import measure_survivorship as measure_survivorship
from .sources.synthetic import Universe as Universe
from .sources.synthetic import synthetic_universe as synthetic_universe
from .study.backtest import backtest as backtest
from .study.saved_study import read_study as read_study
from .study.select_funds import Selection as Selection
from .study.select_funds import select as select
from .study.study import Study as Study
from .study.sweep import sweep as sweep
from .study.sweep_result import Sweep as Sweep
from .study.watch_list import WatchList as WatchList
from .study.watch_list import watch as watch

__all__ = [
    "DataError",
    "EnsembleForecaster",
    "FactorForecaster",
    "FactorICRegressor",
    "FactorSeries",
    "FetchSummary",
    "Finding",
    "Forecast",
    "FundAlphas",
    "FundFacts",
    "FundSheet",
    "Holdings",
    "LeakageCheck",
    "LeakageChecks",
    "NeighborForecaster",
    "Orders",
    "Panel",
    "Persistence",
    "RecursiveFactor",
    "RegressorForecaster",
    "Selection",
    "Study",
    "StudyConfig",
    "Style",
    "Survivorship",
    "Sweep",
    "Today",
    "Training",
    "Universe",
    "WatchList",
    "WindowedFactor",
    "backtest",
    "check_leakage",
    "compute_factors",
    "draw_persistence",
    "fetch_universe",
    "forecaster_names",
    "fund_sheet",
    "inspect_index",
    "inspect_quality",
    "measure_alphas",
    "measure_persistence",
    "measure_survivorship",
    "read_config",
    "read_facts",
    "read_holdings",
    "read_index",
    "read_nav",
    "read_study",
    "register_forecaster",
    "rolling_returns",
    "select",
    "style_regression",
    "sweep",
    "synthetic_universe",
    "trailing_returns",
    "underwater",
    "watch",
    "year_returns",
]
