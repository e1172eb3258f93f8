"""
Algorithm 1 of the paper against its theorem
============================================

Theorem 1 of the paper states how fast its primal-dual algorithm approaches the optimal cost. It bounds the
lowest cost among the iterates, but does not say that this iterate satisfies the constraints.

We run the algorithm as printed on a small problem in the hyperbolic plane: get as close to a shop as
possible, but stay within a radius of home. What to look for: the bound holds easily, because the best cost
belongs to iterates that violate the constraint. The default method of geodual solves the same problem in one
iteration.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import Hyperbolic
from geodual.optimize import Problem, minimize, theorem1_bound

manifold = Hyperbolic(2)
home, shop = manifold.lift([0.0, 0.0]), manifold.lift([2.0, 1.0])
radius = 1.0

# %%
# The problem
# -----------
# Distances enter as cosh d(x, y) = −⟨x, y⟩ (Minkowski), which is convex along geodesics.

metric = np.diag([-1.0, 1.0, 1.0])
problem = Problem(
    manifold,
    cost=lambda x: -x @ metric @ shop,
    gradient=lambda x: -metric @ shop,
    hessian_product=lambda x, u: 0 * u,
    inequalities=lambda x: -x @ metric @ home - np.cosh(radius),
    jacobian_product=lambda x, w: -w[0] * metric @ home,
)
best = minimize(problem, home)
print(f"default method: {best.n_iter} iteration(s) to a KKT residual of {best.kkt.worst:.1e}")

# %%
# The algorithm and its bound
# ---------------------------
# ``record`` stores h of every iterate; the theorem needs its largest absolute value, G.

printed = minimize(
    problem,
    home,
    method="primal-dual",
    max_iter=300,
    tol=1e-12,  # out of reach, so that all iterations run
    record={"h": lambda x: -x @ metric @ home - np.cosh(radius)},
)
table = printed.history.to_frame().iloc[1:]
bound = theorem1_bound(
    table["step_size"].to_numpy(),
    manifold.dist(home, best.x),
    n_constraints=1,
    constraint_bound=table["h"].abs().max(),
)
gap = table["cost"] - best.cost
lowest = gap.cummin()
for T in (1, 10, 100, 300):
    print(
        f"T = {T:3d}: lowest cost − optimum {lowest.iloc[T - 1]:+.4f} ≤ {bound[T - 1]:.4f} (Theorem 1); "
        f"this iterate has {gap.iloc[T - 1]:+.1e}, violation {max(table['h'].iloc[T - 1], 0.0):.1e}"
    )

# %%
# The picture
# -----------

figure, (costs, residuals) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
steps = np.arange(1, len(table) + 1)
costs.plot(steps, bound, "k--", label="bound of Theorem 1")
costs.plot(steps, gap, color="#56B4E9", label="iterates")
costs.plot(steps, lowest, color="#0072B2", label="lowest so far")
costs.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
costs.set(title="Cost above the optimum", xlabel="iteration T", xscale="log", ylim=(-0.3, 1.0))
violation = table["h"].where(table["h"] > 0.0)  # a gap in the curve where the iterate is feasible
residuals.loglog(steps, violation, color="#D55E00", label="violation of the constraint")
residuals.loglog(steps, table["stationarity"], color="#009E73", label="stationarity")
residuals.axhline(best.kkt.worst, color="black", linestyle=":", label="default method, 1 iteration")
residuals.set(title="Residuals of the iterates", xlabel="iteration T", ylim=(1e-13, None))
costs.legend(frameon=False, fontsize=8)
residuals.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 0.1))
for ax in (costs, residuals):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The theorem holds at every T. The lowest cost is below the optimum, as only infeasible points can be.

assert best.success
assert np.isclose(manifold.dist(home, best.x), radius)
assert (lowest <= bound).all()
assert lowest.iloc[-1] < 0.0 < table["h"].iloc[gap.argmin()]
