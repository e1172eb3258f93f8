"""
A survivorship experiment
=========================

Many tables of funds contain only funds that still exist. Poor funds close, so the remaining ones look better
than what an investor could have bought. How much better?

We create worlds in which no fund has any skill, let the poorest funds close, and compare the table of all
funds with that of the survivors. What to look for: survivors seem to earn more, although no fund has skill;
``measure_survivorship`` estimates how much from the full table, and detects that the other table lacks its
closed funds.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.funds import inspect_quality, measure_survivorship, synthetic_universe

FUNDS, SPAN, WORLDS = 120, ("2010-01-04", "2016-12-30"), 8

# %%
# Let poor funds close
# --------------------
# At the end of each year from the third on, half of the poorest tenth over two years close. (A few more funds
# close by chance, as always in the synthetic universe.)


def close_poor_funds(nav, rng):
    """Return the table with NaN after the closure of each closed fund."""
    nav = nav.copy()
    ends = nav.index[~nav.index.to_period("Y").duplicated(keep="last")]
    for start, end in zip(ends[:-2], ends[2:], strict=True):
        growth = (nav.loc[end] / nav.loc[start]).dropna().sort_values()
        poorest = growth.index[: len(growth) // 10].to_numpy()
        closed = rng.permutation(poorest)[: max(len(poorest) // 2, 1)]
        nav.loc[nav.index > end, closed] = np.nan
    return nav


# %%
# Eight worlds
# ------------
# The bias is the annual return of the survivors minus that of all funds, with equal weights.

measured, noticed = [], []
for seed in range(WORLDS):
    market = synthetic_universe(FUNDS, *SPAN, seed=seed, signal=0.0).panel.nav
    everyone = close_poor_funds(market, np.random.default_rng(seed))
    survivors = everyone.loc[:, everyone.iloc[-1].notna()]
    measured.append(measure_survivorship(everyone))
    noticed.append(measure_survivorship(survivors).seems_incomplete)
    if seed == 0:
        tables = {"all funds": everyone, "survivors": survivors}
    m = measured[-1]
    low, high = m.interval
    print(
        f"world {seed}: {m.closed} of {m.funds} funds close, {m.rate:.1%} per year; bias {m.bias:+.2%} "
        f"per year ({low:+.2%} to {high:+.2%}); survivors alone look incomplete: {noticed[-1]}"
    )
bias = np.array([m.bias for m in measured])
error = bias.std(ddof=1) / WORLDS**0.5
print(f"mean bias {bias.mean():.2%} per year, standard error {error:.2%}")

# %%
# What ``geodual check`` reports about the survivors of the first world:

warnings = [finding for finding in inspect_quality(tables["survivors"]) if finding.kind == "survivorship"]
print(warnings[0].message)

# %%
# The picture
# -----------

figure, (growth, biases) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
for (name, nav), color in zip(tables.items(), ("#0072B2", "#D55E00"), strict=True):
    daily = nav.pct_change(fill_method=None).mean(axis=1).fillna(0.0)
    growth.plot(nav.index, (1.0 + daily).cumprod(), color=color, label=f"{name} ({nav.shape[1]})")
growth.set(title="First world, equal weights", ylabel="value, start = 1")
growth.tick_params(axis="x", rotation=30)
growth.legend(frameon=False)
spans = 100.0 * np.abs(np.array([m.interval for m in measured]).T - bias)
biases.errorbar(range(WORLDS), 100.0 * bias, spans, fmt="o", color="#0072B2", capsize=3)
biases.axhline(100.0 * bias.mean(), color="black", linestyle="--", label="mean of the worlds")
biases.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
biases.set(title="Survivors less all funds", xlabel="world", ylabel="points per year (bars: 95 % interval)")
biases.set_xticks(range(WORLDS))
biases.legend(frameon=False)
for ax in (growth, biases):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Without any skill, the survivors earn more. Over all worlds, this is more than chance explains, although
# many single worlds do not show it. All tables without closed funds are detected.

assert bias.mean() > 2.0 * error
assert all(noticed)
