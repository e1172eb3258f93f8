"""
A trade-off curve, proved point by point
========================================

A digital circuit gets faster if its gates are larger. How much delay does a given area allow? This is a
geometric program: delays are sums of products of powers of the sizes. With positive sizes on the manifold
``PositiveOrthant``, it is a geodesically convex problem like any other, and needs no special mode.

The area is a ``Parameter``, so one formula with one proof serves the whole curve. What to look for: the delay
against the area, the region below it that is proved to be out of reach, and how the gates share the area.
"""

import matplotlib.pyplot as plt
import numpy as np

import geodual.model as gm
from geodual.manifolds import PositiveOrthant

# %%
# The circuit
# -----------
# A gate of size x drives the gates after it. Its delay is their load divided by x. Gate 0 drives gates 1 and
# 2, these drive gate 3, gate 3 drives gate 4, and gate 4 drives a large load. Sizes are at least 1.

x = gm.Variable(PositiveOrthant(5), name="x")
area = gm.Parameter(name="area", pos=True, value=10.0)
loads = [x[1] + x[2], 1.5 + x[3], 1.0 + 2.0 * x[3], x[4], 20.0]
delays = [1.0 + load / x[k] for k, load in enumerate(loads)]
power = 0.05 * gm.sum(x**1.2)  # leakage of the gates
cost = gm.sum(delays) + power
problem = gm.Problem(gm.Minimize(cost), [gm.sum(x) <= area, x >= 1.0])
print(problem)
print("proved to be geodesically convex:", problem.is_dgcp())

# %%
# The curve
# ---------
# Each solve starts at the previous solution, because variables keep their values.

areas = np.geomspace(6.0, 60.0, 15)
costs, lower, sizes = [], [], []
for area.value in areas:
    result = problem.solve()
    assert result.success, result.message
    costs.append(result.cost)
    lower.append(result.lower_bound)
    sizes.append(x.value / area.value)
costs, lower = np.array(costs), np.array(lower)
print(f"largest gap on the curve: {np.max(costs - lower):.1e}")

# %%
# The picture
# -----------

figure, (curve, shares) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
curve.fill_between(areas, 0.0, lower, color="0.9", label="proved: out of reach")
curve.plot(areas, costs, "o-", color="#0072B2", markersize=4, label="solutions")
curve.set(title="Delay and leakage against area", xlabel="area", ylabel="delay + leakage")
curve.set(xscale="log", ylim=(0.0, 1.05 * costs.max()), xlim=(areas[0], areas[-1]))
curve.legend(frameon=False, fontsize=8, loc="upper right")
colors = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7")
names = [f"gate {k}" for k in range(5)]
shares.stackplot(areas, np.transpose(sizes), labels=names, colors=colors, alpha=0.8)
shares.set(title="Who gets the area", xlabel="area", ylabel="share", xscale="log", xlim=(areas[0], areas[-1]))
shares.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True)
for ax in (curve, shares):
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xticks([6, 10, 20, 40, 60], labels=["6", "10", "20", "40", "60"])
    ax.minorticks_off()
plt.show()

# %%
# More area never hurts, and the gaps are small.

assert problem.is_dgcp()
assert np.all(np.diff(costs) <= 1e-7)
assert np.max(costs - lower) <= 1e-6
