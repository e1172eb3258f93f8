"""
A fund study with a metric of your own
======================================

From net asset values to the table of the paper and the next picks. At each quarter end, the study learns
metrics on 70 factors from the past quarter, forecasts every fund by its nearest neighbors, and holds the
best. Any scikit-learn transformer can be used as a metric; here it is PCA.

The funds are synthetic, with a strong skill planted in a few of the factors, so we know that there is
something to find. What to look for: the information coefficients (ICs, rank correlations of forecasts and
returns) of each metric, the returns of the portfolios, and their uncertainty after so few quarters.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from geodual.funds import backtest, select, synthetic_universe
from geodual.metric import RPDML, EuclideanMetric

# %%
# The study
# ---------
# The panel can also be a path, or a table with one row per day and one column per fund. Orders are filled a
# day after the decision, and each trade costs 0.15 %.

universe = synthetic_universe(n_funds=80, start="2013-01-02", end="2016-12-30", signal=2.0)
study = backtest(
    universe.panel,
    index=universe.index,
    metrics={"euclidean": EuclideanMetric(), "rpdml": RPDML(C=100.0, pairs="all"), "pca": PCA(10)},
    test_start="2016-01-01",
    cost=0.0015,
    execution_lag=1,
)
print(
    study.table()
    .loc["both", ["ic_mean", "ic_std", "t", "annual_return", "max_drawdown"]]
    .round(3)
    .to_string()
)
print(study.headline)

# %%
# The picture
# -----------
# ``study.plot_performance()`` and ``study.plot_ic()`` draw the figures of the report; here is a short version
# of both.

figure, (growth, skill) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
colors = {"euclidean": "#0072B2", "rpdml": "#D55E00", "pca": "#009E73", "index": "0.5"}
for name, color in colors.items():
    growth.plot(study.equity.index, study.equity[name], color=color, label=name)
growth.set(title="Value of the portfolios, after costs", ylabel="start = 1")
growth.tick_params(axis="x", rotation=30)
growth.legend(frameon=False, fontsize=8)
for place, name in enumerate(study.ic):
    values = study.ic[name]
    skill.scatter([place] * len(values), values, s=18, color=colors[name], alpha=0.6)
    error = 2.0 * values.std() / len(values) ** 0.5
    skill.errorbar(place + 0.2, values.mean(), error, fmt="s", color="black", capsize=4, markersize=5)
skill.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
skill.set_xticks(range(3), study.ic.columns)
skill.set(
    title=f"ICs of {len(study.ic)} quarters", ylabel="IC (bars: mean ± 2 standard errors)", xlim=(-0.5, 2.6)
)
for ax in (growth, skill):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The next picks
# --------------
# ``past_low`` and ``past_high`` are the range of past returns of picks with similar forecasts.

chosen = select(universe.panel, metric="rpdml", top=5)
print(chosen.picks[["rank", "fund", "forecast", "past_low", "past_high"]].round(3).to_string(index=False))

# %%
# The planted skill is found.

assert study.ic["rpdml"].mean() > 2.0 * study.ic["rpdml"].std() / len(study.ic) ** 0.5
assert len(chosen.picks) == 5
