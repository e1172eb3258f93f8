"""Fund selection: a table of net asset values → factors → forecasts → portfolios → report."""

from .backtest import backtest
from .config import StudyConfig, read_config
from .factors import compute_factors
from .fetch import fetch_universe
from .nav_file import read_index, read_nav
from .panel import DataError, Finding, Panel
from .quality import inspect_quality
from .study import Study
from .synthetic import Universe, synthetic_universe

__all__ = [
    "DataError",
    "Finding",
    "Panel",
    "Study",
    "StudyConfig",
    "Universe",
    "backtest",
    "compute_factors",
    "fetch_universe",
    "inspect_quality",
    "read_config",
    "read_index",
    "read_nav",
    "synthetic_universe",
]
