"""
Sparse PCA with exact zeros
===========================

Principal components of images mix all pixels. Sparse PCA adds an l1 norm to the variance,

    minimize  −tr(XᵀSX) + μ ‖X‖₁  over orthonormal matrices X,

so that each component uses few pixels. The norm has a kink at 0, and a term with a proximal operator
preserves it: zeros are exactly zero, not just small. What to look for: four components of the digits for
increasing μ, with fewer and fewer pixels, and the cost in variance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from geodual.manifolds import Stiefel
from geodual.optimize import L1, Problem, Term, minimize

S = np.cov(load_digits().data.T)
S /= np.trace(S)  # so that tr(XᵀSX) is a share of the variance
N_PIXELS, N_COMPONENTS = len(S), 4

# %%
# The problem
# -----------
# A term without a map acts on the point itself. The value of the term in the result has the exact zeros.


def sparse_components(mu, start):
    """Return the result of sparse PCA with weight μ."""
    problem = Problem(
        Stiefel(N_PIXELS, N_COMPONENTS),
        cost=lambda X: -np.sum(X * (S @ X)),
        gradient=lambda X: -2.0 * S @ X,
        hessian_product=lambda X, U: -2.0 * S @ U,
        terms=[Term(L1(mu))],
    )
    return minimize(problem, start)


# %%
# From plain PCA to sparse components
# -----------------------------------
# Each solve starts at the components of the previous one.

components = [np.linalg.eigh(S)[1][:, ::-1][:, :N_COMPONENTS]]
weights, results = (0.003, 0.01, 0.03), []
for mu in weights:
    result = sparse_components(mu, components[-1])
    assert result.success, result.message
    components.append(result.terms[0].value)
    results.append(result)
shares = [np.sum(X * (S @ X)) for X in components]
kept = [np.count_nonzero(np.abs(X) > 1e-12) for X in components]
for mu, share, count in zip((0.0, *weights), shares, kept, strict=True):
    print(f"μ = {mu:5.3f}: {count:3d} of {N_PIXELS * N_COMPONENTS} entries, {share:.1%} of the variance")

# %%
# The components
# --------------

figure, panels = plt.subplots(N_COMPONENTS, 4, figsize=(5.4, 5.8), layout="constrained")
colors = plt.colormaps["RdBu"].with_extremes(bad="0.85")
for column, (X, share, count) in enumerate(zip(components, shares, kept, strict=True)):
    for k, ax in enumerate(panels[:, column]):
        image = np.where(np.abs(X[:, k]) > 1e-12, X[:, k], np.nan).reshape(8, 8)
        ax.imshow(image, cmap=colors, vmin=-0.5, vmax=0.5)
        ax.set(xticks=[], yticks=[])
    title = "PCA" if column == 0 else f"μ = {weights[column - 1]:g}"
    panels[0, column].set_title(title, fontsize=10)
    panels[-1, column].set_xlabel(f"{count} entries\n{share:.1%} of variance", fontsize=8)
figure.suptitle("gray: exactly zero", fontsize=9)
plt.show()

# %%
# The number of entries decreases faster than the variance, and the columns are still orthonormal.

assert kept[0] > kept[1] > kept[2] > kept[3]
assert shares[3] > 0.5 * shares[0]
assert all(
    (result.terms[0].value == 0.0).sum() == 256 - n for result, n in zip(results, kept[1:], strict=True)
)
assert np.allclose(components[-1].T @ components[-1], np.eye(N_COMPONENTS), atol=1e-7)
