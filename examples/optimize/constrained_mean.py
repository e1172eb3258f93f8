"""
The mean of covariance matrices under a bound
=============================================

The Riemannian (Karcher) mean of covariance matrices is the matrix with the smallest mean squared distance to
them. It is used if covariances are themselves the data, as in brain-computer interfaces and diffusion
imaging. Here, the trace of the mean must also be bounded, like the total power of a signal.

Cost and constraint are convex along geodesics, so the solution is a global minimum. What to look for: the
mean as an ellipse, with and without the bound, and the multiplier as the price of the bound.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import SPD
from geodual.optimize import Problem, minimize
from geodual.optimize.autodiff import spd_half_squared_distance

manifold, rng = SPD(2), np.random.default_rng(1)
angles, widths, lengths = rng.uniform(0.2, 1.4, 8), rng.uniform(0.2, 0.7, 8), rng.uniform(1.0, 2.5, 8)
turns = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angles])
covariances = np.array(
    [Q @ np.diag([a**2, b**2]) @ Q.T for Q, a, b in zip(turns, lengths, widths, strict=True)]
)

# %%
# The problem
# -----------
# The derivatives come from jax. There is a special function for the squared distance, because automatic
# derivatives of eigenvalues fail if two of them are equal. The bound is data, so that one compiled problem
# serves several bounds.


def spread(x, bound):
    """Return half the mean squared distance to the data."""
    return jnp.mean(jax.vmap(lambda y: spd_half_squared_distance(x, y))(covariances))


def excess(x, bound):
    """Return the trace above the bound."""
    return jnp.trace(x) - bound


problem = Problem.from_jax(manifold, spread, inequalities=excess, geodesically_convex=True, data=1e3)
free = minimize(problem, np.eye(2))  # a trace of 1,000 is no bound at all
shares = np.array([0.85, 0.7, 0.55, 0.4])  # of the trace of the free mean
bounded = [minimize(problem.with_data(share * np.trace(free.x)), np.eye(2)) for share in shares]

print(f"free mean: trace {np.trace(free.x):.4f}, half the mean squared distance {free.cost:.4f}")
for result in bounded:
    print(
        f"trace {np.trace(result.x):.4f}: {result.cost:.4f}, price of the bound {result.multipliers[0]:.4f}"
    )

# %%
# The picture
# -----------
# A covariance matrix is drawn as the ellipse of points at a distance of one standard deviation.

circle = np.array([np.cos(np.linspace(0.0, 2.0 * np.pi, 100)), np.sin(np.linspace(0.0, 2.0 * np.pi, 100))])
figure, (ellipses, prices) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
for y in covariances:
    ellipses.plot(*(np.linalg.cholesky(y) @ circle), color="0.75", linewidth=1.0)
for result, shade in zip(bounded, np.linspace(0.9, 0.45, len(bounded)), strict=True):
    ellipses.plot(*(np.linalg.cholesky(result.x) @ circle), color=plt.colormaps["Oranges"](shade))
ellipses.plot(*(np.linalg.cholesky(free.x) @ circle), color="#0072B2", linewidth=2.0)
ellipses.plot([], [], color="0.75", label="data")
ellipses.plot([], [], color="#0072B2", label="mean")
ellipses.plot([], [], color="#D55E00", label="bounded means")
ellipses.set(title="Eight covariance matrices", aspect="equal")
ellipses.set(xlabel="first variable", ylabel="second variable")
ellipses.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
results = [free, *bounded]
prices.plot([np.trace(r.x) for r in results], [r.cost for r in results], ".-", color="#D55E00", zorder=1)
prices.scatter(np.trace(free.x), free.cost, color="#0072B2", zorder=2)
prices.set(title="What a bound costs", xlabel="trace", ylabel="half the mean squared distance")
for ax in (ellipses, prices):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# At the free mean, the logarithms of the data sum to 0. At a bounded mean, their mean is λ times the
# Riemannian gradient of the trace, which is X².

assert free.global_minimum
assert all(result.global_minimum for result in bounded)
assert np.allclose(np.mean([manifold.log(free.x, y) for y in covariances], axis=0), 0.0, atol=1e-7)
for result in bounded:
    pull = np.mean([manifold.log(result.x, y) for y in covariances], axis=0)
    assert np.allclose(pull, result.multipliers[0] * result.x @ result.x, atol=1e-7)
