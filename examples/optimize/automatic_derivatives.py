"""
Let jax compute the derivatives
===============================

With ``Problem.from_jax``, you write the cost and the constraints, but no derivatives. A list of functions
defines several blocks of constraints, each of which may return a vector. A point of a product manifold is a
tuple.

Here we look for a direction in space and a point in the plane, with three kinds of constraints. What to look
for: the multipliers show which constraints matter. The certificate of one solve is a local statement: solves
from several starts find a better minimum.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import Euclidean, Product, Sphere
from geodual.optimize import Problem, minimize, minimize_many

# %%
# The problem
# -----------
# A unit vector p with nonnegative entries and p₃ = ½, and a point q with q₁ ≥ 1.

weights = jnp.array([1.0, 2.0, 3.0])
problem = Problem.from_jax(
    Product(Sphere(3), Euclidean(2)),
    cost=lambda x: x[0] @ weights + x[1] @ x[1],
    inequalities=[lambda x: -x[0], lambda x: 1.0 - x[1][0]],
    equalities=lambda x: x[0][2] - 0.5,
)


def show(result):
    """Print a result with its certificate."""
    p, q = result.x
    print(f"cost {result.cost:.4f}, {result.status}, KKT residual {result.kkt.worst:.0e}")
    print("  p =", p.round(4), " q =", q.round(4))
    print("  multipliers of p ≥ 0 and q₁ ≥ 1:", result.multipliers.round(4))
    print("  multiplier of p₃ = ½:", result.equality_multipliers.round(4))


# %%
# One solve
# ---------

one = minimize(problem, (np.full(3, 3**-0.5), np.zeros(2)))
show(one)
print(one.message)

# %%
# Several solves
# --------------
# The sphere is not a Hadamard manifold, so there may be other minima. Indeed, there is a better one.

many = minimize_many(problem, 6, seed=0)
show(many.best)
print("costs:", sorted(round(result.cost, 4) for result in many))

# %%
# The picture
# -----------

figure, (residuals, bars) = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
one.plot(ax=residuals)
residuals.legend(frameon=False, fontsize=8, loc="lower left")
residuals.set_title("One solve: parts of the KKT residual")
names = ("p₁ ≥ 0", "p₂ ≥ 0", "p₃ ≥ 0", "q₁ ≥ 1", "p₃ = ½")
for shift, result, color, label in (
    (-0.2, one, "0.6", "one solve"),
    (0.2, many.best, "#0072B2", "best of six"),
):
    prices = np.concatenate([result.multipliers, result.equality_multipliers])
    bars.bar(np.arange(5) + shift, prices, width=0.38, color=color, label=f"{label}, cost {result.cost:.3f}")
bars.axhline(0.0, color="black", linewidth=0.8)
bars.set_xticks(range(5), names)
bars.set(title="Multipliers", ylabel="price of the constraint")
bars.legend(frameon=False, fontsize=8, loc="lower left")
bars.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# By hand: p₃ = ½ leaves (p₁, p₂) on a quarter circle, and both of its ends are minima. The end with p₂ = 0
# costs less, because p₂ has the larger weight.

assert one.success
assert one.second_order == "holds"
assert np.allclose(many.best.x[0], [3**0.5 / 2.0, 0.0, 0.5])
assert np.allclose(many.best.x[1], [1.0, 0.0])
