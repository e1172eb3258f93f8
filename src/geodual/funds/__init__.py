"""Fund selection: a table of net asset values → factors → forecasts → portfolios → report."""

from geodual.funds.panel import DataError, Finding, Panel

__all__ = ["DataError", "Finding", "Panel"]
