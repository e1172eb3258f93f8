"""Fund selection: a table of net asset values → factors → forecasts → portfolios → report.

Names are imported when they are first used; `__init__.pyi` lists them.
"""

import lazy_loader

from geodual.extras import require_extra

require_extra("funds", "pandas", "pyarrow", "matplotlib", "filelock", what="Fund studies need more packages")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
