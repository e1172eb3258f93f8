"""
Completion in spite of gross errors
===================================

We complete a matrix of rank 2 from half of its entries; a tenth of these are completely wrong, and it is not
known which. Least squares spreads such errors over the whole matrix. The sum of absolute values does not: it
is a term with a kink, and at the solution most residuals are exactly zero. What to look for: the two
completions; the nonzero residuals of the second one are at the wrong entries.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import FixedRank
from geodual.optimize import L1, Constraint, Problem, Term, minimize

ROWS, COLUMNS, RANK = 40, 50, 2

# %%
# The data
# --------
# Rows and columns are smooth, so that errors are easy to see.

rng = np.random.default_rng(0)
s, t = np.linspace(0.0, 3.0, ROWS), np.linspace(0.0, 3.0, COLUMNS)
truth = np.outer(np.sin(2.0 * s), np.cos(t)) + np.outer(np.cos(s), np.sin(3.0 * t))
known = np.flatnonzero(rng.random(truth.size) < 0.5)
wrong = rng.random(known.size) < 0.1
seen = truth.ravel()[known] + wrong * rng.choice([-3.0, 3.0], known.size)


def spread(values):
    """Return a matrix with the values at the known entries and 0 elsewhere."""
    full = np.zeros(truth.size)
    full[known] = values
    return full.reshape(truth.shape)


def residuals(x):
    """Return the residuals at the known entries."""
    return np.ravel(x)[known] - seen


# %%
# Two losses
# ----------
# Least squares is a smooth cost. The l1 loss is the term ``Term(L1(), map)`` with the residuals as its map,
# and the rest of the cost is 0.

manifold = FixedRank(ROWS, COLUMNS, RANK)
start = manifold.nearest(spread(seen))
least_squares = minimize(
    Problem(
        manifold,
        cost=lambda x: 0.5 * np.sum(residuals(x) ** 2),
        gradient=lambda x: spread(residuals(x)),
        hessian_product=lambda x, u: spread(np.ravel(u)[known]),
    ),
    start,
)
robust = minimize(
    Problem(
        manifold,
        cost=lambda x: 0.0,
        gradient=np.zeros_like,
        hessian_product=lambda x, u: np.zeros(truth.shape),
        terms=[
            Term(
                L1(),
                Constraint(
                    residuals,
                    lambda x, w: spread(w),
                    directional=lambda x, u: np.ravel(u)[known],
                    hessian_product=lambda x, w, u: np.zeros(truth.shape),
                ),
            )
        ],
    ),
    start,
)
found_wrong = robust.terms[0].support
errors = [np.median(np.abs(np.asarray(result.x) - truth)) for result in (least_squares, robust)]
print(f"median error: least squares {errors[0]:.2f}, l1 loss {errors[1]:.1e}")
print(f"wrong entries: {wrong.sum()} of {known.size}; residuals that are not zero: {found_wrong.sum()}")

# %%
# The completions
# ---------------

figure, panels = plt.subplots(1, 4, figsize=(8.4, 2.3), layout="constrained")
given = np.full(truth.size, np.nan)
given[known] = seen
pictures = {
    "given": given.reshape(truth.shape),
    "least squares": np.asarray(least_squares.x),
    "l1 loss": np.asarray(robust.x),
    "truth": truth,
}
for ax, (title, matrix) in zip(panels, pictures.items(), strict=True):
    image = ax.imshow(matrix, cmap="RdBu", vmin=-2.5, vmax=2.5)
    ax.set(title=title, xticks=[], yticks=[])
figure.colorbar(image, ax=panels, shrink=0.9)
plt.show()

# %%
# The matrix is recovered to the tolerance, and the nonzero residuals are at the wrong entries.

assert least_squares.success
assert robust.success
assert np.abs(np.asarray(robust.x) - truth).max() < 1e-6 < 0.05 < errors[0]
assert np.array_equal(found_wrong, wrong)
