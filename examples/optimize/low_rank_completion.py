"""
Ratings between 1 and 5: completion with bounds
===============================================

We complete a table of ratings from 40 % of its entries, where all entries must be between 1 and 5. The table
has low rank: a few tastes explain it. So we fit a matrix of rank 3 to the known entries, without and with the
bounds, and compare the errors at the hidden entries.

What to look for: a completion without bounds predicts impossible ratings. Clipping them helps a little. Using
the bounds in the fit helps more.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import FixedRank
from geodual.optimize import Problem, minimize

PEOPLE, FILMS, TASTES = 30, 24, 3
LOWEST, HIGHEST = 1.0, 5.0

# %%
# Tables of ratings
# -----------------


def draw_table(seed):
    """Return the true ratings, which entries are known, and the known entries with noise (3 elsewhere)."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(TASTES, 0.3), PEOPLE)  # every person is a mixture of tastes
    ratings = LOWEST + (HIGHEST - LOWEST) * rng.beta(0.4, 0.4, (TASTES, FILMS))  # of each taste
    truth = shares @ ratings
    known = rng.random(truth.shape) < 0.4
    noisy = np.clip(truth + 0.2 * rng.standard_normal(truth.shape), LOWEST, HIGHEST)
    return truth, known, np.where(known, noisy, 3.0)


# %%
# The problem
# -----------
# Bounds on entries take one argument each, and need no derivatives.


def complete(known, table, **bounds):
    """Fit a matrix of rank 3 to the known entries of the table."""
    manifold = FixedRank(PEOPLE, FILMS, TASTES)
    problem = Problem(
        manifold,
        cost=lambda x: 0.5 * np.sum((known * (x - table)) ** 2),
        gradient=lambda x: known * (x - table),
        hessian_product=lambda x, u: known * u,
        **bounds,
    )
    result = minimize(problem, manifold.nearest(table))
    assert result.success, result.message
    return np.asarray(result.x)


# %%
# Five tables
# -----------

errors = []
print("root mean squared error at the hidden entries")
print("table   without bounds   the same, clipped   with bounds")
for seed in range(5):
    truth, known, table = draw_table(seed)
    free = complete(known, table)
    bounded = complete(known, table, lower=LOWEST, upper=HIGHEST)
    answers = (free, np.clip(free, LOWEST, HIGHEST), bounded)
    errors.append([np.sqrt(np.mean((x - truth)[~known] ** 2)) for x in answers])
    print(f"{seed:5d} {errors[-1][0]:16.3f} {errors[-1][1]:19.3f} {errors[-1][2]:13.3f}")
    if seed == 0:
        shown = {"known entries": np.where(known, table, np.nan), "truth": truth}
        shown |= {"without bounds": free, "with bounds": bounded}
mean = np.mean(errors, axis=0)
print(f" mean {mean[0]:16.3f} {mean[1]:19.3f} {mean[2]:13.3f}")

# %%
# The first table
# ---------------

figure, panels = plt.subplots(1, 4, figsize=(8.0, 2.9), layout="constrained")
colors = plt.colormaps["viridis"].with_extremes(bad="white", under="#FF4D4D", over="#FF4D4D")
for ax, (title, matrix) in zip(panels, shown.items(), strict=True):
    # The bounds hold to the tolerance of the solver, so allow a little slack before red.
    image = ax.imshow(matrix, cmap=colors, vmin=LOWEST - 1e-6, vmax=HIGHEST + 1e-6)
    ax.set(title=title, xticks=[], yticks=[])
panels[0].set(xlabel="films", ylabel="people")
figure.colorbar(image, ax=panels, extend="both", label="rating (red: impossible)")
plt.show()

# %%
# The bounds hold, and the mean error is smallest with bounds.

assert bounded.min() > LOWEST - 1e-6
assert bounded.max() < HIGHEST + 1e-6
assert mean[2] < mean[1] < mean[0]
