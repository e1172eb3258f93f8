"""The summary of a study, for programs to read."""

from __future__ import annotations

import platform
from typing import Any, cast

import numpy as np
import pandas as pd
import sklearn

import geodual

from ..evaluation.study_tables import StudyTables


def summarise(study: StudyTables) -> dict[str, Any]:
    """Return the main results of a study, ready for JSON; unknown numbers are None."""
    table = study.table()
    by_period = {
        period: {
            name: {column: _plain(value) for column, value in table.loc[(period, name)].items()}
            for name in (*study.config.compared, "index")
        }
        for period in table.index.get_level_values("period").unique()
    }
    return {
        "source": study.source,
        "sha256": study.digest,
        "days": [str(study.equity.index[0].date()), str(study.equity.index[-1].date())],
        "rebalances": len(study.ic),
        "index": study.index_name,
        "index_sha256": study.index_digest,
        "facts_sha256": study.facts_digest,
        "table1": by_period,
        "baselines": _baselines(study),
        "factor_labels": dict(study.factor_labels),
        "chosen": study.chosen,
        "units": study.units,
        "notes": list(study.notes),
        "seconds": round(study.seconds, 1),
        "versions": versions(),
    }


def _baselines(study: StudyTables) -> dict[str, Any]:
    """Return the baselines by period and name, in the columns of Table 1."""
    found: dict[str, Any] = {}
    for name, row in study.baselines.to_dict("index").items():
        period, baseline = map(str, cast(tuple[Any, Any], name))
        found.setdefault(period, {})[baseline] = {column: _plain(value) for column, value in row.items()}
    return found


def versions() -> dict[str, str]:
    """Return the versions of the packages that results may depend on."""
    return {
        "geodual": geodual.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pandas": pd.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _plain(value: Any) -> float | int | None:
    if pd.isna(value):
        return None
    return int(value) if isinstance(value, int | np.integer) else float(value)
