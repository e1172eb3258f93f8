"""
Momentum against learning, in three worlds
==========================================

Momentum ranks funds by their past returns and learns nothing. Is a learner better? It depends on the world.
We create three worlds of synthetic funds, in which we know what can be forecast:

- nothing: all funds have the same expected return;
- persistent skill: each fund has its own expected return, which never changes;
- hidden skill: it changes every quarter, and shows in the differences between several factors.

What to look for: in each world, the mean information coefficient (IC) of momentum, of neighbors in a learned
metric and of a ridge regression. Real funds are a mixture of these worlds. In our tables of Indian funds,
momentum did better than learned metrics.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.funds import backtest, synthetic_universe

FUNDS, SPAN, SEED = 80, ("2013-01-02", "2016-12-30"), 0

# %%
# Three worlds
# ------------
# Persistent skill is added by hand: every fund without skill gets its own drift, with a standard deviation of
# 8 % per year.

nothing = synthetic_universe(FUNDS, *SPAN, seed=SEED, signal=0.0).panel.nav
drift = np.random.default_rng(SEED).normal(0.0, 0.08 / 244, FUNDS)
persistent = nothing * np.exp(np.outer(np.arange(len(nothing)), drift))
hidden = synthetic_universe(FUNDS, *SPAN, seed=SEED, hidden=True).panel.nav
worlds = {"nothing": nothing, "persistent": persistent, "hidden": hidden}

# %%
# One study per world
# -------------------
# ``comparisons`` tests all pairs of forecasters in the same quarters, and corrects for the number of tests.

names = ["momentum", "rpdml", "ridge"]
studies = {world: backtest(nav, forecasters=names) for world, nav in worlds.items()}
for world, study in studies.items():
    print(f"\n{world}, {len(study.ic)} quarters")
    print(study.comparisons()[["difference", "t", "p_holm"]].round(3).to_string())

# %%
# The picture
# -----------

figure, ax = plt.subplots(figsize=(8.0, 3.4), layout="constrained")
for shift, name, color, mark in zip(
    (-0.2, 0.0, 0.2), names, ("0.4", "#D55E00", "#0072B2"), "os^", strict=True
):
    means = [study.ic[name].mean() for study in studies.values()]
    errors = [2.0 * study.ic[name].std() / len(study.ic) ** 0.5 for study in studies.values()]
    ax.errorbar(np.arange(3) + shift, means, errors, fmt=mark, color=color, capsize=4, label=name)
ax.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
ax.set_xticks(range(3), ["nothing to forecast", "persistent skill", "hidden skill"])
ax.set(title="Mean ICs of 12 quarters", ylabel="IC (bars: ± 2 standard errors)", xlim=(-0.5, 2.5))
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Where there is nothing to find, the tests find nothing. Momentum is best at persistent skill; ridge
# regression, which learns from the entire past, is between momentum and the learned metric, which learns from
# one quarter. Hidden skill is found by both learners, but not by momentum.

assert (studies["nothing"].comparisons()["p_holm"] > 0.05).all()
for world, sign in (("persistent", 1.0), ("hidden", -1.0)):
    against = studies[world].comparisons().loc[("momentum", "rpdml")]
    assert sign * against["difference"] > 0.0
    assert against["p_holm"] < 0.05
