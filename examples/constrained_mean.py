"""Compute the Riemannian mean of covariance matrices under a trace bound, with derivatives by jax."""

import jax
import jax.numpy as jnp
import numpy as np

from geodual.manifolds import SPD
from geodual.optimize import Problem, minimize
from geodual.optimize.autodiff import spd_half_squared_distance

manifold, rng = SPD(6), np.random.default_rng(0)
covariances = np.array([manifold.random_point(rng) for _ in range(8)])


def spread(x):
    """Half the mean squared distance to the data; its derivatives are right at repeated eigenvalues too."""
    return jnp.mean(jax.vmap(lambda y: spd_half_squared_distance(x, y))(covariances))


free = minimize(Problem.from_jax(manifold, spread), np.eye(6))
bound = 0.7 * np.trace(free.x)  # below the trace of the free mean, so that the bound is active
problem = Problem.from_jax(manifold, spread, inequalities=lambda x: jnp.trace(x) - bound)
result = minimize(problem, np.eye(6))

print(f"free mean:        trace {np.trace(free.x):.4f}, spread {free.cost:.6f}")
print(f"constrained mean: trace {np.trace(result.x):.4f}, spread {result.cost:.6f}")
print(f"price of the bound (its multiplier): {result.multipliers[0]:.6f}")

assert free.success
assert result.success
assert np.isclose(np.trace(result.x), bound)
assert result.cost > free.cost
