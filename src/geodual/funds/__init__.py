"""Fund selection: a table of net asset values → factors → forecasts → portfolios → report."""

from geodual.errors import DataError

from .backtest import backtest
from .config import StudyConfig, read_config
from .decisions.leakage import LeakageCheck, check_leakage
from .factors.registry import compute_factors
from .fetching.fetch import fetch_universe
from .panel import Finding, Panel
from .reading.nav_file import read_index, read_nav
from .reading.quality import inspect_quality
from .saved_study import read_study
from .selection import Selection, select
from .study import Study
from .synthetic import Universe, synthetic_universe

__all__ = [
    "DataError",
    "Finding",
    "LeakageCheck",
    "Panel",
    "Selection",
    "Study",
    "StudyConfig",
    "Universe",
    "backtest",
    "check_leakage",
    "compute_factors",
    "fetch_universe",
    "inspect_quality",
    "read_config",
    "read_index",
    "read_nav",
    "read_study",
    "select",
    "synthetic_universe",
]
