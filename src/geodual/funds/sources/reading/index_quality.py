"""Find what can mislead a study in the levels of an index: it is inspected as one more fund."""

from __future__ import annotations

import pandas as pd

from ...panel import Finding
from .quality import inspect_quality

_BESIDE = 100  # funds to compare the index with: enough to find similar ones among them, and quick


def inspect_index(levels: pd.Series[float], nav: pd.DataFrame) -> tuple[Finding, ...]:
    """Find gaps, stale levels and jumps in an index, by the rules for funds.

    Parameters
    ----------
    levels : Series
        Levels by day, such as `read_index` returns. Those on other days than `nav` has are not looked at.
    nav : DataFrame of shape (n_days, n_funds)
        NAVs of the funds that the index is compared with, such as the `nav` of a `Panel`.

    Returns
    -------
    tuple of Finding
        Their fund is the word "index", followed by the name of the index.

    See Also
    --------
    inspect_quality : The rules, and findings about the funds.
    read_index : Read the levels of an index.

    Examples
    --------
    >>> from geodual.funds import inspect_index, synthetic_universe
    >>> universe = synthetic_universe(12, "2014-01-02", "2014-12-31")
    >>> levels = universe.index.copy()
    >>> levels.iloc[100:] /= 1000.0  # 1.003 in place of 1,003
    >>> for finding in inspect_index(levels, universe.panel.nav):
    ...     print(finding.kind, finding.fund, finding.date, finding.matters)
    jump index 2014-06-05 True
    """
    name = "index" if levels.name in (None, "index") else f"index {levels.name}"
    beside = nav.iloc[:, :: max(nav.shape[1] // _BESIDE, 1)]
    table = pd.concat([levels.reindex(nav.index).rename(name), beside], axis=1)
    return tuple(finding for finding in inspect_quality(table) if finding.fund == name)
