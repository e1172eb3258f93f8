"""
From holdings to orders
=======================

A study selects the funds to hold. An investor already holds others, bought at different times, and selling
young lots costs more. ``select`` turns both into orders.

What to look for: which funds are sold, kept and bought, the cost of the orders, and a lot that is too young
to sell, which stays although its fund is no longer picked.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from geodual.funds import select, synthetic_universe

# %%
# What is held
# ------------
# Three lots of three funds, and cash. One lot is ten days old.

universe = synthetic_universe(30, "2014-01-02", "2015-06-30", seed=3)
last = universe.panel.nav.index[-1]
held = pd.DataFrame(
    {
        "code": ["M00001", "E00003", "B00002"],
        "value": [4_000.0, 3_000.0, 3_000.0],
        "bought": [
            last - pd.Timedelta(days=400),
            last - pd.Timedelta(days=200),
            last - pd.Timedelta(days=10),
        ],
    }
)

# %%
# The orders
# ----------
# A sale costs 1.5 % in the first week, 0.5 % in the first year, and nothing after that. A lot must be held
# for 30 days.

orders = select(
    universe.panel,
    metric="gmml",
    top=4,
    redemption_fees=["7:0.015", "365:0.005"],
    min_holding=30,
    holdings=held,
    cash=1_000.0,
).orders
columns = ["fund", "action", "value", "fee", "weight_before", "weight_after", "why"]
print(orders.table[columns].round(3).to_string(index=False))
print(f"fees {orders.fees:.2f}, cash left {orders.cash_left:.2f}, turnover {orders.turnover:.0%}")

# %%
# The picture
# -----------

table = orders.table.dropna(subset="weight_after").iloc[::-1]
places = np.arange(len(table))
figure, ax = plt.subplots(figsize=(8.0, 3.4), layout="constrained")
ax.barh(places + 0.2, 100.0 * table["weight_before"], 0.36, color="0.7", label="before")
ax.barh(places - 0.2, 100.0 * table["weight_after"], 0.36, color="#0072B2", label="after")
ax.set_yticks(
    places, [f"{fund}: {action}" for fund, action in zip(table["fund"], table["action"], strict=True)]
)
ax.set(title="Weights before and after the orders", xlabel="percent of the money")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# No money appears or disappears: sales and cash pay for purchases and fees. The young lot is locked.

bought = orders.table.loc[orders.table["action"] == "buy", "value"].sum()
sold = orders.table.loc[orders.table["action"] == "sell", "value"].sum()
assert abs(1_000.0 + sold - bought - orders.fees - orders.cash_left) < 0.01
assert orders.lots.set_index("fund").loc["B00002", "locked"]
