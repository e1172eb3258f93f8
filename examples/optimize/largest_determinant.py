"""
The largest determinant: derivatives by hand
============================================

Among all positive definite matrices with a trace of at most 8, which has the largest determinant? By the
inequality of arithmetic and geometric means, it is a multiple of the identity, so we can check the solution.

The example shows how to write a problem with handwritten derivatives, how to check them before the first
solve, and how to follow a solve. What to look for: from an infeasible start, the eigenvalues and the trace
converge within four iterations.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import SPD
from geodual.optimize import Constraint, Problem, check_gradient, minimize

# %%
# The problem
# -----------
# Derivatives are Euclidean; the manifold converts them. Those of the constraint are optional, except the
# product of its Jacobian with a vector of weights.

n, bound = 4, 8.0
problem = Problem(
    SPD(n),
    cost=lambda x: -np.linalg.slogdet(x)[1],
    gradient=lambda x: -np.linalg.inv(x),
    hessian_product=lambda x, u: np.linalg.solve(x, np.linalg.solve(x, u).T),
    inequalities=Constraint(
        value=lambda x: np.trace(x) - bound,
        jacobian_product=lambda x, w: w[0] * np.eye(n),
        directional=lambda x, u: np.trace(u),
        hessian_product=lambda x, w, u: 0 * u,
    ),
)

# %%
# Check, then solve
# -----------------
# A wrong derivative is the most common mistake, so check first. ``record`` stores quantities of every
# iterate, and ``verbose=1`` prints a line per iteration.

print(check_gradient(problem, np.diag([1.0, 2.0, 3.0, 4.0])))
start = np.diag([1.0, 2.0, 3.0, 9.0])  # its trace is 15
result = minimize(problem, start, verbose=1, record={"eigenvalues": np.linalg.eigvalsh, "trace": np.trace})
print(result.message)
print("x =", np.diag(result.x).round(6), " multiplier =", result.multipliers.round(6))

# %%
# The picture
# -----------

table = result.history.to_frame()
figure, (values, residuals) = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
for curve, color in zip(
    np.stack(table["eigenvalues"]).T, ("#0072B2", "#56B4E9", "#009E73", "#CC79A7"), strict=True
):
    values.plot(table.index, curve, ".-", color=color)
values.plot([], [], ".-", color="0.4", label="eigenvalues")
values.plot(table.index, table["trace"], "s-", color="#D55E00", markersize=4, label="trace")
values.axhline(bound, color="black", linestyle=":", label="bound on the trace")
values.set(title="From an infeasible start", xlabel="iteration", xticks=table.index, ylim=(0.0, None))
values.legend(frameon=False, fontsize=8)
values.spines[["top", "right"]].set_visible(False)
result.plot(ax=residuals)
residuals.set(title="Parts of the KKT residual", xticks=table.index)
plt.show()

# %%
# The solution is 2 I, and its multiplier is n divided by the bound.

assert result.success
assert np.allclose(result.x, bound / n * np.eye(n))
assert np.allclose(result.multipliers, n / bound)
