"""
Do last year's winners win again?
=================================

Many investors buy the best funds of last year. Whether this helps depends on what made them best. We create
two worlds of 150 synthetic funds: in one, all have the same expected return; in the other, each fund has its
own expected return, which never changes.

What to look for: with lasting skill, funds stay in the best quartile more often than a quarter of the time.
But single years mislead. Even if no fund has skill, winners win again in some years and lose in others,
because funds share markets and styles.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.funds import measure_persistence, synthetic_universe

# %%
# Two worlds
# ----------
# Lasting skill is added by hand: every fund gets its own drift, with a standard deviation of 6 % per year.

nothing = synthetic_universe(150, "2009-12-28", "2016-12-30", signal=0.0).panel.nav
drift = np.random.default_rng(0).normal(0.0, 0.06 / 244, nothing.shape[1])
lasting = nothing * np.exp(np.outer(np.arange(len(nothing)), drift))
found = {
    "all funds alike": measure_persistence(nothing),
    "lasting skill": measure_persistence(lasting),
}
for name, persistence in found.items():
    years = persistence.years
    print(
        f"{name}: {years['stay_top'].mean():.0%} of the best quartile stay in it, "
        f"rank correlation of years {years['rank_correlation'].mean():+.2f}"
    )

# %%
# The picture
# -----------

figure, (quartiles, years) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
for shift, (name, persistence), color in zip((-0.2, 0.2), found.items(), ("0.6", "#0072B2"), strict=True):
    best = persistence.counts.loc["1"]
    quartiles.bar(np.arange(5) + shift, 100.0 * best / best.sum(), 0.38, color=color, label=name)
    years.plot(persistence.years["rank_correlation"], "o-", color=color, label=name)
quartiles.axhline(25.0, color="black", linestyle=":", linewidth=1.0)
quartiles.set_xticks(range(5), ["best", "second", "third", "worst", "closed"])
quartiles.set(title="The best quartile, one year later", ylabel="percent")
quartiles.legend(frameon=False)
years.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
years.set(title="Rank correlation with the year before", ylim=(-1.0, 1.0))
for ax in (quartiles, years):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Lasting skill shows over six pairs of years. In single years, chance alone can look like skill, or like the
# opposite.

alike, skilled = (persistence.years for persistence in found.values())
assert skilled["stay_top"].mean() > alike["stay_top"].mean() + 0.1
assert (skilled["rank_correlation"] > alike["rank_correlation"]).all()
assert alike["rank_correlation"].max() > 0.3
assert alike["rank_correlation"].min() < -0.3
