"""
A fund that changes its style
=============================

A fund calls itself balanced: 60 % equity, 40 % bonds. Halfway through, its manager moves to 90 % equity
without saying so. The style of the fund, the mix of indices that moved most like it, reveals the change.

What to look for: the estimated weights follow the true ones with a delay, because each estimate needs 24
months, and the intervals show how uncertain each estimate is.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from geodual.funds import style_regression

# %%
# The indices and the fund
# ------------------------
# Three independent indices, and a fund with a little noise.

days = pd.bdate_range("2012-01-02", "2018-12-31")
rng = np.random.default_rng(0)
returns = rng.normal([0.0003, 0.0001, 0.0002], [0.010, 0.003, 0.009], (len(days), 3))
indices = pd.DataFrame((1.0 + returns).cumprod(axis=0), days, ["equity", "bonds", "gold"])
late = days >= "2015-07-01"
truth = np.where(late[:, None], [0.9, 0.1, 0.0], [0.6, 0.4, 0.0])
fund = pd.Series((1.0 + (returns * truth).sum(axis=1) + rng.normal(0.0, 0.001, len(days))).cumprod(), days)

# %%
# The style, every three months
# -----------------------------

style = style_regression(fund, indices, window=24, step=3, n_resamples=200)
weights = style.weights.unstack("index")
print(weights["weight"].round(2).iloc[[0, -1]].to_string())
print(style.fit[["r2", "selection"]].round(3).iloc[[0, -1]].to_string())

# %%
# The picture
# -----------

figure, ax = plt.subplots(figsize=(8.0, 3.4), layout="constrained")
for name, color in zip(indices, ("#0072B2", "#D55E00", "#009E73"), strict=True):
    ax.plot(weights.index, weights["weight", name], color=color, label=name)
    ax.fill_between(
        weights.index, weights["low", name], weights["high", name], color=color, alpha=0.2, linewidth=0
    )
ax.axvline(pd.Timestamp("2015-07-01"), color="0.4", linestyle="--", label="the manager moves")
ax.set(title="Style of the last 24 months, with 95 % intervals", ylabel="weight", ylim=(-0.02, 1.02))
ax.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.1))
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The first and the last estimate are correct, and their intervals do not overlap: the drift is not chance.

first, last = style.weights.xs("equity", level="index").iloc[[0, -1]].itertuples(index=False)
assert abs(first.weight - 0.6) < 0.05
assert abs(last.weight - 0.9) < 0.05
assert first.high < last.low
