"""
A mean of covariance matrices, with a proof
===========================================

We write the Karcher mean of covariance matrices, with a bound on its trace and a floor under its eigenvalues,
as a formula. The modeling language proves that the problem is convex along geodesics, derives all derivatives
from the formula, and computes a lower bound on the cost of every feasible matrix.

What to look for: the proof as a tree, in which each box is one step; and the lower bound, which holds for
every tolerance, and meets the cost as the tolerance decreases.
"""

import matplotlib.pyplot as plt
import numpy as np

import geodual.model as gm
from geodual.manifolds import SPD

factors = np.random.default_rng(1).standard_normal((6, 3, 3))
covariances = factors @ factors.transpose(0, 2, 1) / 3.0

# %%
# The formula
# -----------
# ``<<`` compares matrices: the inverse is at most 8 I, so no eigenvalue of X is below 1/8. The bound is on
# the inverse because the inverse, like X, is convex along geodesics; a bound X >> I/8 has no proof.

X = gm.Variable(SPD(3), name="X")
cost = gm.sum(gm.distance2(X, covariances)) / 6.0
problem = gm.Problem(gm.Minimize(cost), [gm.trace(X) <= 0.6, gm.inv(X) << 8.0 * np.eye(3)])
print(problem.explain())

# %%
# A solve for each tolerance
# --------------------------
# With a loose tolerance, the solution violates the constraints a little, so it may cost less than any
# feasible point. The lower bound is still below the best cost.

best = problem.solve(tol=1e-11)
tolerances = 10.0 ** -np.arange(1.0, 8.0)
results = []
for tol in tolerances:
    X.value = None  # start from the identity again
    results.append(problem.solve(tol=tol))
below = np.array([best.cost - result.lower_bound for result in results])
off = np.array([abs(result.cost - best.cost) for result in results])
print(f"cost {best.cost:.10f}, and no feasible matrix costs less by more than {best.gap:.1e}")

# %%
# The picture
# -----------
# Blue steps are about geometric means (log-convex), orange ones about arithmetic means.


def draw_tree(ax, node, mean, depth=0, left=0.0):
    """Draw an expression above its arguments; return its position and width."""
    step = node.facts().step(mean)
    moving = [arg for arg in node.args if not arg.facts().is_constant]
    places, width = [], 0.0
    for arg in moving:
        place, taken = draw_tree(ax, arg, step.needs, depth + 1, left + width)
        places.append(place)
        width += taken
    width = max(width, 1.0)
    middle = left + 0.5 * width
    for place in places:
        ax.plot([middle, place], [-depth, -depth - 1], color="0.6", linewidth=1.0, zorder=1)
    name = node.atom.name if node.atom else str(node)
    word = step.curvature.value if mean != "log" else f"log-{step.curvature.value}"
    color = {"plain": "#FBE3CF", "log": "#D3E6F5", "own": "#E8E8E8"}[mean]
    box = {"boxstyle": "round", "facecolor": color, "edgecolor": "0.5", "linewidth": 0.6}
    ax.text(middle, -depth, f"{name}\n{word}", ha="center", va="center", fontsize=8, bbox=box, zorder=2)
    return middle, width


figure, (trees, bounds) = plt.subplots(
    1, 2, figsize=(9.0, 3.6), layout="constrained", width_ratios=(1.15, 1.0)
)
for k, (title, claim) in enumerate({"cost": cost, "trace": gm.trace(X), "floor": gm.inv(X)}.items()):
    draw_tree(trees, claim, "plain", left=1.2 * k)
    trees.text(1.2 * k + 0.5, 0.6, title, ha="center", fontsize=9)
trees.set(title="The proof: what has to be convex", xlim=(-0.1, 3.5), ylim=(-3.5, 0.9))
trees.axis("off")
bounds.loglog(tolerances, below, "o-", color="#0072B2", label="best cost − lower bound")
bounds.loglog(tolerances, off, "s--", color="#D55E00", markersize=4, label="|cost − best cost|")
bounds.set(title="The bound holds at every tolerance", xlabel="tolerance of the solve")
bounds.invert_xaxis()
bounds.legend(frameon=False, fontsize=8)
bounds.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Up to rounding errors, the bound is never above the best cost.

rounding = 1e-12 * abs(best.cost)
assert problem.is_dgcp()
assert best.gap <= 1e-9
assert (below >= -best.gap - rounding).all()
