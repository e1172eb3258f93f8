"""
Neighbors of handwritten digits, before and after
=================================================

A picture of 8 × 8 pixels is a point in 64 dimensions. Its nearest neighbor among labeled pictures is a
simple guess of what it shows. We learn a metric from 300 labeled digits, and look at the pictures whose
neighbor changes.

What to see: single pictures for which the learned metric finds the right digit, and, to be fair, those for
which it loses it. The counts say which is more frequent; ten random splits say how sure this is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors

from geodual.metric import RPDML

X, y = load_digits(return_X_y=True)
X = X / 16.0  # shades from 0 to 1

# %%
# Ten splits
# ----------
# 300 pictures to learn from, all others to test. For every test picture we keep the nearest training picture
# before and after, in all 64 dimensions.


def neighbors(metric, train, test):
    """Return the row of the nearest training picture of every test picture, before and after."""
    before = NearestNeighbors(n_neighbors=1).fit(train).kneighbors(test, return_distance=False)
    search = NearestNeighbors(n_neighbors=1).fit(metric.transform(train))
    return before[:, 0], search.kneighbors(metric.transform(test), return_distance=False)[:, 0]


gains, gaps = [], []
for seed in range(10):
    train, test, labels, truth = train_test_split(X, y, train_size=300, random_state=seed, stratify=y)
    metric = RPDML().fit(train, labels)
    before, after = neighbors(metric, train, test)
    right_before, right_after = labels[before] == truth, labels[after] == truth
    gains.append(right_after.mean() - right_before.mean())
    gaps.append(metric.duality_gap_)
    if seed == 0:
        first = train, test, before, after, right_before, right_after
gains = 100.0 * np.array(gains)
error = gains.std(ddof=1) / len(gains) ** 0.5
print(f"accuracy gained: {gains.mean():.2f} points, standard error {error:.2f}, in {len(gains)} splits")

train, test, before, after, right_before, right_after = first
found, lost = ~right_before & right_after, right_before & ~right_after
print(f"first split: right before {right_before.mean():.1%}, after {right_after.mean():.1%}")
print(f"  {found.sum()} of {len(test)} pictures gain the right neighbor, {lost.sum()} lose it")

# %%
# Pictures that changed sides
# ---------------------------
# Eight that gain the right neighbor, and four that lose it. A green frame marks the right digit, a red one a
# wrong digit.

shown = np.concatenate([np.flatnonzero(found)[:8], np.flatnonzero(lost)[:4]])
figure, panels = plt.subplots(3, len(shown), figsize=(8.0, 2.5), layout="constrained")
for column, row in zip(panels.T, shown, strict=True):
    pictures = (test[row], train[before[row]], train[after[row]])
    frames = ("0.6", *("#009E73" if right[row] else "#D55E00" for right in (right_before, right_after)))
    for ax, picture, frame in zip(column, pictures, frames, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="Grays", vmin=0.0, vmax=1.0)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(color=frame, linewidth=2.5)
for ax, name in zip(panels[:, 0], ("picture", "before", "after"), strict=True):
    ax.set_ylabel(name, rotation=0, ha="right", va="center")
panels[0, 3].set_title(f"{found.sum()} gain the right neighbor", fontsize=10)
panels[0, 9].set_title(f"{lost.sum()} lose it", fontsize=10)
plt.show()

# %%
# Every metric is optimal for its program. More pictures gain than lose. The gain is small, but far above its
# standard error, which is itself a little too small because the splits share pictures.

assert max(gaps) <= 1e-6
assert gains.mean() > 3.0 * error
