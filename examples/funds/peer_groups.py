"""
Bond funds and equity funds, each among their peers
===================================================

Which funds are best depends on the funds that they are compared with. A bond fund seldom earns as much as an
equity fund in a good quarter, and seldom loses as much in a bad one. Compared with all other funds, it wins
or loses with the market.

What to look for: the share of bond funds among the picks. With a comparison among all funds, it jumps between
none and all; within peer groups, it stays near their share of the universe.
"""

import matplotlib.pyplot as plt
import pandas as pd

from geodual.funds import backtest, synthetic_universe

# %%
# Funds of two types
# ------------------
# The first letter of a synthetic fund's name is its type: bond funds are calm, mixed funds are not.

universe = synthetic_universe(60, "2013-01-02", "2016-12-30", seed=1)
funds = universe.panel.nav.columns
types = pd.Series(["bond" if fund.startswith("B") else "other" for fund in funds], index=funds)
facts = pd.DataFrame({"code": funds, "type": types.to_numpy()})

# %%
# Two studies
# -----------

shares = {}
for label, rule in {"compared with all funds": "all", "within peer groups": "type"}.items():
    study = backtest(universe.panel, forecasters=["momentum"], facts=facts, relative_to=rule, n_jobs=1)
    weights = study.holdings[study.holdings["forecaster"] == "momentum"]
    shares[label] = (weights["fund"].map(types) == "bond").groupby(weights["date"]).mean()
    print(
        f"{label}: mean IC {study.ic['momentum'].mean():+.2f}, bond funds among the picks "
        f"{shares[label].min():.0%} to {shares[label].max():.0%}"
    )

# %%
# The picture
# -----------

figure, ax = plt.subplots(figsize=(8.0, 3.4), layout="constrained")
for (label, share), color in zip(shares.items(), ("#D55E00", "#0072B2"), strict=True):
    ax.plot(share.index, 100.0 * share, "o-", color=color, label=label)
ax.axhline(100.0 * (types == "bond").mean(), color="0.4", linestyle="--", label="in the universe")
ax.set(title="Bond funds among the ten picks", ylabel="percent", ylim=(-3, 103))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Within peer groups, the mix of the picks hardly changes; without them, the picks are a bet on one class.

all_funds, within = shares.values()
assert within.std() < 0.5 * all_funds.std()
