"""
Compressed modes: waves that end
================================

The lowest modes of a free particle on a ring are sines that fill the ring. An l1 norm in the energy,

    minimize  tr(XᵀHX) + μ ‖X‖₁  over orthonormal matrices X,

makes them local: each is a bump that is exactly zero outside an interval (V. Ozoliņš, R. Lai, R. Caflisch,
S. Osher, "Compressed modes for variational problems in mathematics and physics", PNAS 110(46), 2013). What to
look for: four modes with and without the norm; for a large μ, the bumps do not even touch.
"""

import matplotlib.pyplot as plt
import numpy as np

from geodual.manifolds import Stiefel
from geodual.optimize import L1, Problem, Term, minimize_many

N, MODES, LENGTH = 128, 4, 50.0
SPACING = LENGTH / N

# %%
# The problem
# -----------
# H is minus half the second difference on the ring.


def energy_operator(X):
    """Return H X."""
    return (2.0 * X - np.roll(X, 1, axis=0) - np.roll(X, -1, axis=0)) / (2.0 * SPACING**2)


def modes(mu):
    """Return the best of three solves from random starts."""
    problem = Problem(
        Stiefel(N, MODES),
        cost=lambda X: np.sum(X * energy_operator(X)),
        gradient=lambda X: 2.0 * energy_operator(X),
        hessian_product=lambda X, U: 2.0 * energy_operator(U),
        terms=[Term(L1(mu))],
    )
    return minimize_many(problem, 3, seed=0).best


# %%
# Three weights
# -------------

plain = np.linalg.eigh(energy_operator(np.eye(N)))[1][:, :MODES]
found = {"μ = 0": plain}
for mu in (0.1, 0.5):
    result = modes(mu)
    assert result.success, result.message
    found[f"μ = {mu:g}"] = result.terms[0].value
    widths = (result.terms[0].support.sum(axis=0) * SPACING).round(1).tolist()
    print(f"μ = {mu:g}: cost {result.cost:.4f}, widths of the modes {widths} of {LENGTH:g}")

# %%
# The modes
# ---------

figure, panels = plt.subplots(1, 3, figsize=(8.0, 2.6), layout="constrained", sharex=True, sharey=True)
places = SPACING * np.arange(N)
for ax, (title, X) in zip(panels, found.items(), strict=True):
    for wave, color in zip(X.T, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True):
        shown = wave * np.sign(wave[np.argmax(np.abs(wave))])
        ax.plot(places, np.where(shown != 0.0, shown, np.nan), color=color)
    ax.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    ax.set(title=title, xlabel="place on the ring")
panels[0].set_ylabel("mode")
plt.show()

# %%
# With the norm, the modes are zero in places, and at μ = 0.5 no two are nonzero at the same place.

strong, weak = (found[f"μ = {mu:g}"] != 0.0 for mu in (0.5, 0.1))
assert strong.mean() < weak.mean() < 1.0
assert (strong.sum(axis=1) <= 1).all()
