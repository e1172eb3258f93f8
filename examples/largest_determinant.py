"""Find the positive definite matrix of largest determinant under a trace bound, with derivatives by hand."""

import numpy as np

from geodual.manifolds import SPD
from geodual.optimize import Constraint, Problem, check_gradient, minimize

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
# A wrong derivative is the most common mistake, so check before solving.
print(check_gradient(problem, np.diag([1.0, 2.0, 3.0, 4.0])))

result = minimize(problem, x0=np.diag([1.0, 2.0, 3.0, 9.0]), verbose=1)  # an infeasible start
print(result.message)
print("x =", np.diag(result.x).round(6), " multiplier =", result.multipliers.round(6))

assert result.success
assert np.allclose(result.x, bound / n * np.eye(n))
assert np.allclose(result.multipliers, n / bound)
