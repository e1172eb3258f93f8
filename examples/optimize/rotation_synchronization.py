"""
The best rotations, with a proof
================================

Sixty cameras look at an object from all sides. We measure the relative rotations of pairs of cameras, with
errors, and look for the rotations Rᵢ that fit all measurements Mᵢⱼ ≈ RᵢRⱼᵀ best. This problem has bad local
minima, but its semidefinite relaxation has none:

    minimize −Σ ⟨Mᵢⱼ, Xᵢⱼ⟩  over X ⪰ 0 whose 3 × 3 diagonal blocks are identities.

What to look for: rotations that are proved to be optimal, and how large errors may be for the proof to work.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

from geodual.semidefinite import round_rotations, synchronization

# %%
# Measurements
# ------------
# Each camera is compared with the next one and with a few others.

N = 60
rng = np.random.default_rng(0)
truth = Rotation.from_quat(rng.standard_normal((N, 4))).as_matrix()
chain = np.stack([np.arange(N - 1), np.arange(1, N)], axis=1)
others = rng.integers(0, N, (3 * N, 2))
pairs = np.concatenate([chain, others[others[:, 0] != others[:, 1]]])
i, j = pairs.T


def measure(noise):
    """Return RᵢRⱼᵀ for all pairs, rotated about random axes by about `noise` radians per axis."""
    errors = Rotation.from_rotvec(noise * np.random.default_rng(1).standard_normal((len(pairs), 3)))
    return errors.as_matrix() @ truth[i] @ truth[j].transpose(0, 2, 1)


def angles(R):
    """Return the errors of rotations in degrees, after the best common rotation."""
    left, _, right = np.linalg.svd(np.einsum("kji,kjl->il", R, truth))
    turn = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    return np.degrees(Rotation.from_matrix((R @ turn).transpose(0, 2, 1) @ truth).magnitude())


# %%
# Solve the relaxation
# --------------------
# The result has a factor Y of X, a cost, and a lower bound on the cost of all rotations.

M = measure(0.2)
result = synchronization(pairs, M).solve()
print(result)
R = round_rotations(result, 3)
cost = -np.sum(M * (R[i] @ R[j].transpose(0, 2, 1)))
print(f"these rotations cost {cost:.6f}, and none cost less than {result.lower_bound:.6f}")

# %%
# Compare with the chain alone, which adds up its errors
# ------------------------------------------------------

chained = [truth[0]]
for k in range(N - 1):
    chained.append(M[k].T @ chained[-1])
chained = np.array(chained)

# %%
# How large may errors be?
# ------------------------
# The proof works if the best X has rank 3. For larger errors, the lower bound still shows how good the
# rounded rotations are.

levels = np.linspace(0.1, 1.3, 7)
gaps = []
for noise in levels:
    noisy = measure(noise)
    relaxed = synchronization(pairs, noisy).solve()
    rounded = round_rotations(relaxed, 3)
    rounded_cost = -np.sum(noisy * (rounded[i] @ rounded[j].transpose(0, 2, 1)))
    gaps.append((rounded_cost - relaxed.lower_bound) / abs(relaxed.lower_bound))
    print(f"errors of {noise:.1f} rad: rank {relaxed.rank:2d}, at most {gaps[-1]:.1e} from the best")

# %%
# The picture
# -----------

figure, (drift, proof) = plt.subplots(1, 2, figsize=(8.0, 3.0), layout="constrained")
drift.plot(angles(chained), ".", color="#D55E00", label="measured along the chain")
drift.plot(angles(R), ".", color="#0072B2", label="all measurements, proved best")
drift.set(xlabel="camera", ylabel="error in degrees", title="Errors of the rotations", ylim=(0.0, 135.0))
drift.legend(frameon=False)
proof.semilogy(levels, np.maximum(gaps, 1e-12), "o-", color="#0072B2")
proof.set(xlabel="errors of measurements in radians", ylabel="cost above the bound", title="What is proved")
proof.grid(alpha=0.3)
plt.show()

# %%
# For moderate errors, the relaxation is exact, and the rotations are optimal.

assert result.success
assert result.bound_is_proved
assert cost - result.lower_bound < 1e-6 * abs(cost)
assert np.median(angles(R)) < 0.5 * np.median(angles(chained))
assert gaps[0] < 1e-6 < gaps[-1]
