"""Run a fund study with a metric of your own: from net asset values to Table 1 and the next picks."""

from sklearn.decomposition import PCA

from geodual.funds import backtest, select, synthetic_universe
from geodual.metric import RPDML, EuclideanMetric

universe = synthetic_universe(n_funds=120, start="2013-01-02", end="2016-12-30", signal=2.0)
study = backtest(
    universe.panel,  # or a path, or a DataFrame with one row per day and one column per fund
    index=universe.index,
    metrics={"euclidean": EuclideanMetric(), "rpdml": RPDML(C=100.0, pairs="all"), "pca": PCA(10)},
    test_start="2016-01-01",
    cost=0.0015,
    execution_lag=1,
)
print(study.table().loc["both", ["ic_mean", "ic_std", "t", "annual_return", "max_drawdown"]].round(3))
print(study.comparisons().round(3))
study.plot_performance()  # Figure 1, for notebooks; study.save("runs/mine") also writes tables and report

chosen = select(universe.panel, metric="rpdml", top=5)
print(chosen.picks[["rank", "fund", "forecast", "past_low", "past_high"]].round(3))

ic = study.ic.mean()
assert ic["rpdml"] > 0.1, "the planted skill was not found"
assert len(chosen.picks) == 5
