"""Fund selection: a table of net asset values → factors → forecasts → portfolios → report.

Names are imported when they are first used; `__init__.pyi` lists them.
"""

from typing import Any

import lazy_loader

from geodual.extras import require_extra
from geodual.old_names import warn_of_old_name

require_extra("funds", "pandas", "pyarrow", "matplotlib", "filelock", what="Fund studies need more packages")
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "NeighbourForecaster":
        warn_of_old_name(name, "NeighborForecaster")
        name = "NeighborForecaster"
    return _load(name)
