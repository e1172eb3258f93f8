"""Compare Algorithm 1 of the paper with the bound of its Theorem 1, on the hyperbolic plane."""

import numpy as np

from geodual.manifolds import Hyperbolic
from geodual.optimize import Problem, minimize, theorem1_bound

manifold = Hyperbolic(2)
home, shop = manifold.lift([0.0, 0.0]), manifold.lift([2.0, 1.0])
radius = 1.0

# Get as near to the shop as possible, but stay within a radius of home. Distances enter as
# cosh d(x, y) = −⟨x, y⟩ (Minkowski), which is convex along geodesics.
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
violations = []  # h of every iterate; Theorem 1 needs its largest size, G
printed = minimize(
    problem,
    home,
    method="primal-dual",
    max_iter=300,
    tol=1e-12,  # out of reach, so that all iterations run
    callback=lambda state: violations.append(-state.x @ metric @ home - np.cosh(radius)),
)

steps = [row.step_size for row in printed.history[1:]]
G = np.abs(violations).max()
bound = theorem1_bound(steps, manifold.dist(home, best.x), n_constraints=1, constraint_bound=G)
gap = np.minimum.accumulate([row.cost for row in printed.history[1:]]) - best.cost

for T in (1, 10, 100, 300):
    print(f"T = {T:3d}: best cost − optimum {gap[T - 1]:10.2e}  ≤  Theorem 1 {bound[T - 1]:.3f}")
print(f"default method: {best.n_iter} iterations to a KKT residual of {best.kkt.worst:.1e}")

assert best.success
assert np.isclose(manifold.dist(home, best.x), radius)
assert (gap <= bound).all()
