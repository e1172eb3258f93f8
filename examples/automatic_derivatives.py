"""Let jax compute the derivatives: several constraints on a product of manifolds."""

import jax.numpy as jnp
import numpy as np

from geodual.manifolds import Euclidean, Product, Sphere
from geodual.optimize import Problem, minimize

problem = Problem.from_jax(
    Product(Sphere(3), Euclidean(2)),
    cost=lambda x: x[0] @ jnp.array([1.0, 2.0, 3.0]) + x[1] @ x[1],
    inequalities=[lambda x: -x[0], lambda x: 1.0 - x[1][0]],  # each may return a vector
    equalities=lambda x: x[0][2] - 0.5,
)
result = minimize(problem, (np.full(3, 3**-0.5), np.zeros(2)), verbose=1)
print(result.status, result.multipliers.round(4), result.equality_multipliers.round(4))
assert result.success
