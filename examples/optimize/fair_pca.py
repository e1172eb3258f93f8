"""
Fair PCA
========

Plain PCA minimizes the mean loss of all samples, at the expense of small groups. Fair PCA minimizes the
larger of two groups' losses:

    minimize t  subject to  loss_g(V) ≤ t  for both groups g,

over subspaces V and numbers t. It matters if reduced data are used for decisions about people. What to look
for: both groups end up with the same loss, and the multipliers prove that no subspace is fairer.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import Euclidean, Grassmann, Product
from geodual.optimize import Constraint, Problem, check_gradient, minimize

# %%
# Two groups
# ----------
# Each group varies most in its own directions, and one group is four times as large as the other.

rng = np.random.default_rng(0)
d, sizes = 8, np.array([800, 200])


def draw_group(n):
    """Return n samples of mean 0."""
    directions = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) * 0.65 ** np.arange(d) @ directions


covariances = np.array([X.T @ X / len(X) for X in map(draw_group, sizes)])
traces = np.trace(covariances, axis1=1, axis2=2)


def losses(V):
    """Mean squared error of each group after projection to the span of V, tr(Σ_g) − tr(VᵀΣ_g V)."""
    return traces - np.einsum("ik,gij,jk->g", V, covariances, V)


def weighted(w):
    """Return Σ_g w_g Σ_g."""
    return np.tensordot(w, covariances, axes=1)


# %%
# Plain and fair components
# -------------------------
# A point is x = (V, t), on a product of a Grassmann manifold and the line. The derivatives are handwritten,
# so we check them.


def plain_pca(p):
    """Return the p leading eigenvectors of the covariance of all samples."""
    return np.linalg.eigh(weighted(sizes / sizes.sum()))[1][:, -p:]


def fair_pca(p):
    """Solve for the subspace and its larger loss."""
    below_t = Constraint(
        value=lambda x: losses(x[0]) - x[1],
        jacobian_product=lambda x, w: (-2.0 * weighted(w) @ x[0], np.array([-w.sum()])),
        hessian_product=lambda x, w, u: (-2.0 * weighted(w) @ u[0], np.zeros(1)),
    )
    problem = Problem(
        Product(Grassmann(d, p), Euclidean(1)),
        cost=lambda x: x[1][0],
        gradient=lambda x: (np.zeros((d, p)), np.ones(1)),
        hessian_product=lambda x, u: (np.zeros((d, p)), np.zeros(1)),
        inequalities=below_t,
    )
    start = (plain_pca(p), np.array([losses(plain_pca(p)).max()]))
    assert check_gradient(problem, start)
    return minimize(problem, start)


dimensions = range(1, 7)
plain = np.array([losses(plain_pca(p)) for p in dimensions])
results = [fair_pca(p) for p in dimensions]
fair = np.array([losses(result.x[0]) for result in results])

# %%
# The proof
# ---------
# The larger loss is at least any weighted mean of both losses, and PCA minimizes such a mean. With the
# multipliers as weights, this gives a lower bound for every subspace.

print("p   plain PCA: large, small group   fair PCA: large, small group   no subspace is below")
bounds = []
for p, result, before, after in zip(dimensions, results, plain, fair, strict=True):
    w = result.multipliers / result.multipliers.sum()
    bounds.append(w @ traces - np.linalg.eigvalsh(weighted(w))[-p:].sum())
    print(f"{p}   {before[0]:20.4f} {before[1]:10.4f} {after[0]:19.4f} {after[1]:10.4f} {bounds[-1]:22.4f}")

# %%
# The picture
# -----------

figure, (bars, curves) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
for g, (name, color) in enumerate((("large group", "#0072B2"), ("small group", "#D55E00"))):
    bars.bar(np.arange(2) + 0.38 * g, [plain[1, g], fair[1, g]], width=0.36, color=color, label=name)
    curves.plot(dimensions, plain[:, g], "--", color=color, label=f"{name}, plain PCA")
bars.set_xticks([0.19, 1.19], ["plain PCA", "fair PCA"])
bars.set(title="Two components", ylabel="mean squared error")
curves.plot(dimensions, fair.max(axis=1), "k.-", label="larger loss, fair PCA")
curves.set(title="One to six components", xlabel="number of components")
for ax in (bars, curves):
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# In all dimensions, fair PCA is better for the worse group, and reaches its lower bound.

assert all(result.success for result in results)
assert (fair.max(axis=1) < plain.max(axis=1)).all()
assert np.allclose(fair.max(axis=1), bounds)  # so these are global minima
