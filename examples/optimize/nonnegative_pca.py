"""
Non-negative PCA, with a proof
==============================

The first principal component of images is a pattern of positive and negative pixels, which is hard to
interpret. Non-negative PCA finds the direction of largest variance among those with nonnegative entries,

    maximize xᵀΣx  subject to  ‖x‖ = 1,  x ≥ 0.

In general, this is NP-hard, so a solver may end in a local maximum. But the multipliers of the bounds give an
upper bound, and if the solution reaches it, the solution is proved to be a global maximum. What to look for:
pixels that vary together for each of the ten digits, and the digits for which the proof succeeds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from geodual.manifolds import Sphere
from geodual.optimize import Problem, minimize_many

digits = load_digits()

# %%
# The problem
# -----------
# One unit vector per problem, with ``lower=0.0`` for all of its entries. Bounds need no derivatives. We solve
# for each digit separately, from four random starts, and keep the best solution.


def nonnegative_component(S):
    """Return the best of four solves of max xᵀSx over unit vectors x ≥ 0."""
    n = len(S)
    problem = Problem(
        Sphere(n),
        cost=lambda x: -x @ S @ x,
        gradient=lambda x: -2.0 * S @ x,
        hessian_product=lambda x, u: -2.0 * S @ u,
        lower=0.0,
    )
    return minimize_many(problem, 4, seed=0).best


def upper_bound(S, result):
    """Return an upper bound of xᵀSx over all unit vectors x ≥ 0."""
    # Sx = μx − ½λ at a solution. N = ½(λxᵀ + xλᵀ) has entries ≥ 0, so xᵀSx ≤ xᵀ(S + N)x for all x ≥ 0.
    N = 0.5 * np.outer(result.lower_multipliers, result.x)
    return np.linalg.eigvalsh(S + np.maximum(N + N.T, 0.0))[-1]


components, plain, shares, limits = [], [], [], []
for digit in range(10):
    S = np.cov(digits.data[digits.target == digit].T)
    S /= np.trace(S)  # so that xᵀSx is a share of the variance
    result = nonnegative_component(S)
    assert result.success
    assert result.second_order == "holds"
    components.append(result.x)
    plain.append(np.linalg.eigh(S)[1][:, -1])
    shares.append(-result.cost)
    limits.append(upper_bound(S, result))
    print(
        f"digit {digit}: PCA {np.linalg.eigvalsh(S)[-1]:.2%} of the variance, "
        f"non-negative PCA {shares[-1]:.2%}, no x ≥ 0 above {limits[-1]:.2%}"
    )
proved = np.isclose(shares, limits, rtol=1e-6)
print(f"proved to be global maxima: digits {np.flatnonzero(proved).tolist()}")

# %%
# The components
# --------------
# Top: plain PCA; red and blue pixels vary in opposite directions. Bottom: non-negative PCA; dark pixels vary
# together, and most pixels are exactly 0.

figure, panels = plt.subplots(2, 10, figsize=(8.0, 2.3), layout="constrained")
for digit in range(10):
    above, below = panels[:, digit]
    above.imshow(plain[digit].reshape(8, 8), cmap="RdBu", vmin=-0.4, vmax=0.4)
    below.imshow(components[digit].reshape(8, 8), cmap="Grays", vmin=0.0, vmax=0.5)
    above.set_title(f"digit {digit}", fontsize=9)
    below.set_xlabel(f"{shares[digit]:.1%}\n{'proved' if proved[digit] else 'not proved'}", fontsize=8)
panels[0, 0].set_ylabel("PCA", fontsize=9)
panels[1, 0].set_ylabel("non-negative", fontsize=9)
for ax in panels.flat:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# No solution exceeds its bound, and for more than half of the digits the two are equal.

assert (np.array(shares) <= np.array(limits) + 1e-9).all()
assert proved.sum() > 5
assert min(x.min() for x in components) > -1e-8
