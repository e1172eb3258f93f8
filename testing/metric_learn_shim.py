"""Make metric-learn 0.7 run: it passes `force_all_finite` to scikit-learn, which renamed it."""

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

with warnings.catch_warnings():  # it imports names that scikit-learn will remove
    warnings.simplefilter("ignore", FutureWarning)
    import metric_learn
    import metric_learn._util


@contextmanager
def working_metric_learn() -> Iterator[ModuleType]:
    """Yield metric-learn; within the block, its calls to scikit-learn's validation are translated."""
    patches = {name: _translated(getattr(metric_learn._util, name)) for name in ("check_array", "check_X_y")}
    with patch.multiple(metric_learn._util, **patches):
        yield metric_learn


def _translated(check: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(check)
    def wrapper(*args: Any, **options: Any) -> Any:
        if "force_all_finite" in options:
            options["ensure_all_finite"] = options.pop("force_all_finite")
        return check(*args, **options)

    return wrapper
