"""
Points as far apart as possible on a sphere
===========================================

How should n points be placed on a sphere to be as far apart as possible? This is the problem of Tammes, who
studied the pores of pollen. The points are the columns of X, and we minimize the largest cosine t between two
of them:

    minimize t  subject to  ⟨xᵢ, xⱼ⟩ ≤ t  for all pairs.

There are local minima, so we solve from several random starts with ``minimize_many``. What to look for: for
these four n, the best angles are proved in the literature, and we find them to six digits.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

from geodual.manifolds import Euclidean, Oblique, Product
from geodual.optimize import Constraint, Problem, check_gradient, minimize_many

# %%
# The problem
# -----------
# A point is x = (X, t), on a product of ``Oblique(3, n)``, whose columns have norm 1, and the line.


def packing_problem(n):
    """Return the problem for n points, with X of shape (3, n)."""
    i, j = np.triu_indices(n, 1)

    def symmetric(w):
        """Return a symmetric matrix with the weights of the pairs."""
        W = np.zeros((n, n))
        W[i, j] = W[j, i] = w
        return W

    apart = Constraint(
        value=lambda x: (x[0].T @ x[0])[i, j] - x[1],
        jacobian_product=lambda x, w: (x[0] @ symmetric(w), np.array([-w.sum()])),
        directional=lambda x, u: (x[0].T @ u[0] + u[0].T @ x[0])[i, j] - u[1],
        hessian_product=lambda x, w, u: (u[0] @ symmetric(w), np.zeros(1)),
    )
    return Problem(
        Product(Oblique(3, n), Euclidean(1)),
        cost=lambda x: x[1][0],
        gradient=lambda x: (np.zeros((3, n)), np.ones(1)),
        hessian_product=lambda x, u: (np.zeros((3, n)), np.zeros(1)),
        inequalities=apart,
    )


small = packing_problem(5)
assert check_gradient(small, small.manifold.random_point(np.random.default_rng(0)))

# %%
# Six random starts each
# ----------------------
# The largest angles are known: 12 points form the icosahedron, 24 the snub cube.

known = {8: 74.858492, 10: 66.146822, 12: 63.434949, 24: 43.690767}
best = {}
for n, angle in known.items():
    many = minimize_many(packing_problem(n), 6, seed=0)
    best[n] = many.best
    angles = np.degrees(np.arccos([result.cost for result in many]))
    print(
        f"{n:2d} points: smallest angle {angles.max():.6f}°, known {angle:.6f}°; "
        f"found from {np.sum(angles > angles.max() - 1e-5)} of {len(many)} starts"
    )

# %%
# The packings as polyhedra
# -------------------------
# Blue edges connect points at the smallest angle.

figure, panels = plt.subplots(1, 4, figsize=(8.0, 2.4), layout="constrained")
light = np.array([-0.4, 0.5, 0.75])
for ax, (n, result) in zip(panels, best.items(), strict=True):
    X, t = result.x
    closest = np.isclose(X.T @ X, t)
    hull = ConvexHull(X.T)
    for face, normal in zip(hull.simplices, hull.equations[:, :3], strict=True):
        if normal[2] > 0.0:  # seen from above, only these faces are visible
            ax.fill(*X[:2, face], color=plt.colormaps["Blues"](0.35 - 0.3 * normal @ light))
            for i, j in itertools.combinations(face, 2):
                if closest[i, j]:
                    ax.plot(*X[:2, [i, j]], color="#0072B2")
            ax.scatter(*X[:2, face], color="#D55E00", s=22, zorder=3)
    ax.set_title(f"{n} points, {np.degrees(np.arccos(t[0])):.2f}°", fontsize=11)
    ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
    ax.set_axis_off()
plt.show()

# %%
# All four are the best packings, as proved in the literature.

assert all(result.success for result in best.values())
assert np.allclose(
    [np.degrees(np.arccos(result.cost)) for result in best.values()], list(known.values()), atol=1e-5
)
