"""
The best split of a graph, with a proof
=======================================

We split a graph into two equal halves with as few edges between them as possible, for example to find
communities or to share work between two machines. A split is a sign per node. With unit vectors xᵢ instead of
signs, the problem becomes smooth:

    minimize ¼ Σ ‖xᵢ − xⱼ‖² over the edges  subject to  Σ xᵢ = 0,

where the constraint makes the halves equal. A random hyperplane through the origin turns the vectors back
into signs. What to look for: the split, and the proof from the multipliers that none is better.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import Oblique
from geodual.optimize import Constraint, Problem, check_gradient, minimize

# %%
# A graph with two communities
# ----------------------------
# There are two communities of 25 nodes. Edges are frequent within each and rare between them.

rng = np.random.default_rng(4)
N = 50
planted = np.repeat([-1.0, 1.0], N // 2)
chance = np.where(np.equal.outer(planted, planted), 0.3, 0.08)
upper = np.triu(rng.random((N, N)) < chance, 1)
A = (upper | upper.T).astype(float)
L = np.diag(A.sum(axis=1)) - A  # the Laplacian: signs s cut ¼ sᵀLs edges


def cut(s):
    """Return the number of edges between the nodes of sign 1 and those of sign −1."""
    return round(0.25 * s @ L @ s)


# %%
# The smooth problem
# ------------------

problem = Problem(
    Oblique(3, N),  # one column of norm 1 per node
    cost=lambda X: 0.25 * np.sum((X @ L) * X),
    gradient=lambda X: 0.5 * X @ L,
    hessian_product=lambda X, U: 0.5 * U @ L,
    equalities=Constraint(
        value=lambda X: X.sum(axis=1),
        jacobian_product=lambda X, w: np.tile(w[:, None], N),
        directional=lambda X, U: U.sum(axis=1),
        hessian_product=lambda X, w, U: 0.0 * U,
    ),
)
start = problem.manifold.random_point(rng)
assert check_gradient(problem, start)
result = minimize(problem, start)
X = result.x

# Round with 100 random hyperplanes, and keep the best split into equal halves.
splits = np.sign(rng.standard_normal((100, 3)) @ X)
best = min((s for s in splits if s.sum() == 0), key=cut)

# %%
# Is there a better one?
# ----------------------
# For any λ, a split s cuts sᵀSs + Σ λᵢ edges with S = ¼L − diag(λ). For equal halves sᵀSs is at least N times
# the smallest eigenvalue of S among vectors of sum 0. The multipliers of the solution give a good λ.

lam = 0.5 * np.sum(X * (problem.gradient(X) + result.equality_multipliers[:, None]), axis=0)
center = np.eye(N) - 1.0 / N
least = np.linalg.eigvalsh(center @ (0.25 * L - np.diag(lam)) @ center)[0]
bound = math.ceil(lam.sum() + N * min(least, 0.0) - 1e-6)

right = int(max(np.sum(best == planted), np.sum(best == -planted)))
print(f"relaxed cost {result.cost:.4f}, KKT residual {result.kkt.worst:.1e}")
print(
    f"the split cuts {cut(best)} of {upper.sum()} edges; no split into equal halves cuts fewer than {bound}"
)
print(f"{right} of {N} nodes are in their planted community")

# %%
# The picture
# -----------
# Cut edges are pink.

figure, (vectors, graph) = plt.subplots(
    1, 2, figsize=(8.0, 2.9), width_ratios=[1.0, 1.8], layout="constrained"
)
colors = np.where(best > 0, "#D55E00", "#0072B2")
plane = np.linalg.svd(X)[0][:, :2].T @ X  # the two directions in which the vectors vary most
vectors.add_patch(plt.Circle((0.0, 0.0), 1.0, fill=False, color="0.8", zorder=0))
vectors.scatter(*plane, c=colors, edgecolors="white")
vectors.set_title("One unit vector per node")

angles = np.linspace(0.0, 2.0 * np.pi, N // 2, endpoint=False)
ring = np.array([np.cos(angles), np.sin(angles)])
places = np.empty((2, N))
for side in (-1.0, 1.0):
    places[:, best == side] = ring + np.array([[1.6 * side], [0.0]])
for i, j in np.argwhere(upper):
    color = "0.8" if best[i] == best[j] else "#CC79A7"
    graph.plot(*places[:, [i, j]], color=color, linewidth=0.8, zorder=0)
graph.scatter(*places, c=colors, edgecolors="white")
graph.set_title(f"The split cuts {cut(best)} of {upper.sum()} edges")
for ax in (vectors, graph):
    ax.set_aspect("equal")
    ax.set_axis_off()
plt.show()

# %%
# The split cuts as few edges as the bound allows, and it is the planted one.

assert result.success
assert cut(best) == bound  # so the split is a best one
assert right == N
