"""
Where to build in a hyperbolic city
===================================

In the hyperbolic plane, there is much more room far out than near the center, as in a tree or a network of
suburbs. We look for the best place for a depot. The mean distance to the customers should be small, but no
customer may be farther away than a limit:

    minimize the mean of d(x, yᵢ)  subject to  d(x, yᵢ) ≤ r  for all customers i.

Both are convex along geodesics, so the solution is a global minimum. What to look for: how the depot moves
from the median to the center as the limit r decreases, and the cost of each step.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import Euclidean, Hyperbolic, Product
from geodual.optimize import Constraint, Problem, check_gradient, minimize

# %%
# Customers
# ---------
# A point has a time coordinate and two space coordinates. Most customers live in one suburb, a few elsewhere.

rng = np.random.default_rng(3)
plane = Hyperbolic(2)
angles = np.concatenate([rng.normal(0.4, 0.35, 22), rng.uniform(1.5, 5.5, 6)])
radii = rng.uniform(1.2, 2.6, 28)  # distances from the origin
space = np.sinh(radii)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
Y = np.array([plane.lift(point) for point in space])
J = np.diag([-1.0, 1.0, 1.0])  # the Minkowski product is xᵀJy

# %%
# The problem
# -----------
# Because cosh d(x, y) = −xᵀJy, the limit on a distance is linear in x, and the cost is the mean of
# arccosh(−xᵀJyᵢ).


def distances(x):
    """Return the distances from x to all customers."""
    return np.arccosh(-Y @ J @ x)


def place(limit):
    """Solve for the depot whose farthest customer is within the limit."""
    problem = Problem(
        plane,
        cost=lambda x: distances(x).mean(),
        gradient=lambda x: -J @ Y.T @ (1.0 / np.sinh(distances(x))) / len(Y),
        inequalities=Constraint(
            value=lambda x: -Y @ J @ x - np.cosh(limit),
            jacobian_product=lambda x, weights: -J @ Y.T @ weights,
            hessian_product=lambda x, weights, u: 0.0 * u,
        ),
        geodesically_convex=True,
    )
    start = plane.lift([0.1, 0.2])
    assert check_gradient(problem, start)
    return minimize(problem, start)


# %%
# Two extremes
# ------------
# Without a limit, the best place is the median. The smallest possible limit belongs to the center, which
# minimizes the largest distance: min t subject to −xᵀJyᵢ ≤ t, with t = cosh r. A smaller limit is impossible,
# and the solver says so.

median = place(limit=10.0)  # so large that it does not matter
center = minimize(
    Problem(
        Product(plane, Euclidean(1)),
        cost=lambda z: z[1][0],
        gradient=lambda z: (np.zeros(3), np.ones(1)),
        inequalities=lambda z: -Y @ J @ z[0] - z[1],
        jacobian_product=lambda z, weights: (-J @ Y.T @ weights, np.array([-weights.sum()])),
    ),
    (median.x, np.array([100.0])),
)
largest, smallest = distances(median.x).max(), np.arccosh(center.cost)
print(f"median: mean distance {median.cost:.3f}, farthest customer {largest:.3f}")
print(f"center: mean distance {distances(center.x[0]).mean():.3f}, farthest customer {smallest:.3f}")
impossible = place(limit=0.95 * smallest)
print(f"limit {0.95 * smallest:.3f}: {impossible.status}. {impossible.message}")

# %%
# Between them
# ------------
# One solve per limit. The multiplier of the farthest customer is the price of the limit: how fast the mean
# distance grows as cosh r decreases. Times sinh r, it is the price per unit of r.

limits = np.linspace(smallest + 1e-3, largest, 12)
results = [place(limit) for limit in limits]
costs = np.array([result.cost for result in results])
prices = np.array([result.multipliers.sum() for result in results]) * np.sinh(limits)
for limit, result, price in zip(limits[::-1], results[::-1], prices[::-1], strict=True):
    print(
        f"limit {limit:.3f}: mean distance {result.cost:.4f}, price {price:.3f}, KKT {result.kkt.worst:.0e}"
    )


def on_disc(points):
    """Map points to Poincaré's disc."""
    points = np.atleast_2d(points)
    return (points[:, 1:] / (1.0 + points[:, :1])).T


figure, (disc, curve) = plt.subplots(1, 2, figsize=(8.0, 3.6), layout="constrained")
disc.add_patch(plt.Circle((0.0, 0.0), 1.0, fill=False, color="0.7"))
disc.scatter(*on_disc(Y), s=18, color="0.45", label="customers")
disc.plot(*on_disc(np.array([result.x for result in results])), ".-", color="#0072B2", label="depot")
disc.scatter(*on_disc(median.x), s=70, marker="s", color="#009E73", zorder=3, label="median")
disc.scatter(*on_disc(center.x[0]), s=70, marker="^", color="#D55E00", zorder=3, label="center")
disc.set(title="Poincaré's disc", aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
disc.set_axis_off()
disc.legend(frameon=False, loc="upper left", bbox_to_anchor=(-0.28, 1.0), fontsize=8)
curve.plot(limits, costs, ".-", color="#0072B2")
curve.scatter(largest, median.cost, s=70, marker="s", color="#009E73", zorder=3)
curve.scatter(smallest, distances(center.x[0]).mean(), s=70, marker="^", color="#D55E00", zorder=3)
curve.axvspan(smallest - 0.25, smallest, color="0.92")
curve.text(smallest - 0.12, costs.mean(), "impossible", rotation=90, ha="center", va="center", color="0.4")
curve.set(title="The price of a limit", xlabel="limit r on the distance", ylabel="mean distance")
curve.set_xlim(smallest - 0.25, largest + 0.1)
curve.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# All solutions are global minima, and the slope of the curve is the price given by the multipliers.

assert center.success
assert median.global_minimum
assert all(result.global_minimum for result in results)
assert impossible.status == "infeasible"
closer = place(limits[5] - 1e-4), place(limits[5] + 1e-4)
assert np.isclose((closer[0].cost - closer[1].cost) / 2e-4, prices[5], rtol=1e-3)
