"""
Migrate from metric-learn
=========================

A program for metric-learn runs with geodual if you change one line, the import::

    from metric_learn import ITML_Supervised, LMNN, NCA                  # before
    from geodual.compat.metric_learn import ITML_Supervised, LMNN, NCA   # after

Names, parameters and methods stay the same. The learners behind them are those of geodual, which return a
certificate if their program is convex. Three names are missing, because our learners solve other programs:
MMC, LSML and SCML.

What to look for: three learners that learn from labels of wines, and two that learn from pairs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from geodual.compat.metric_learn import ITML, LMNN, NCA, ITML_Supervised
from geodual.metric import PairRPDML

X, y = load_wine(return_X_y=True)
train, test, labels, truth = train_test_split(X, y, train_size=60, random_state=0, stratify=y)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)

# %%
# Learners from labels
# --------------------

learners = {
    "ITML": ITML_Supervised(n_constraints=200, random_state=0),
    "LMNN": LMNN(n_neighbors=3),
    "NCA": NCA(max_iter=100, random_state=0),
}
spaces = {"Euclidean": (train, test)}
for name, learner in learners.items():
    learner.fit(train, labels)
    spaces[name] = learner.transform(train), learner.transform(test)
    W = learner.get_mahalanobis_matrix()
    apart = learner.pair_distance([[train[0], train[1]]])[0]
    assert np.isclose(apart, np.sqrt((train[0] - train[1]) @ W @ (train[0] - train[1])))
accuracy = {name: KNeighborsClassifier(3).fit(A, labels).score(B, truth) for name, (A, B) in spaces.items()}
for name, value in accuracy.items():
    print(f"{name:9s} accuracy of 3 neighbors {value:.1%} on {len(test)} other wines")

# %%
# A learner from pairs
# --------------------
# Pairs are indices of samples, which the preprocessor looks up, with signs: 1 for similar, −1 for dissimilar.

rng = np.random.default_rng(0)
pairs = rng.integers(len(train), size=(300, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
signs = np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1)
itml = ITML(preprocessor=train).fit(pairs, signs)
new = rng.integers(len(test), size=(300, 2))
new_signs = np.where(truth[new[:, 0]] == truth[new[:, 1]], 1, -1)
area = itml.score(test[new], new_signs)
print(f"ITML from {len(pairs)} pairs: area under the ROC curve {area:.3f} on 300 pairs of other wines")

# %%
# Instead of MMC
# --------------
# MMC learns from the same pairs. So does PairRPDML, with a program that has a certificate.

rpdml = PairRPDML(preprocessor=train).fit(pairs, signs)
other = rpdml.score(test[new], new_signs)
print(f"PairRPDML: area {other:.3f}, within {rpdml.duality_gap_:.0e} of the optimum of its program")

# %%
# The picture
# -----------
# The other wines in two principal axes of each space.

figure, panels = plt.subplots(1, 4, figsize=(8.0, 2.6), layout="constrained")
for ax, (name, (A, B)) in zip(panels, spaces.items(), strict=True):
    plane = PCA(2).fit(A).transform(B)
    for k, (color, mark) in enumerate(zip(("#0072B2", "#E69F00", "#009E73"), "o^s", strict=True)):
        ax.scatter(*plane[truth == k].T, s=12, color=color, marker=mark)
    ax.set(title=f"{name}\n{accuracy[name]:.1%} right", xticks=[], yticks=[])
plt.show()

# %%
# The learners work. Here, LMNN is worse than the plain distance by three wines of 118, which could be chance.
# Changing the import does not choose a learner for you: compare them on your data.

assert min(accuracy.values()) > 0.9
assert area > 0.9
assert other > 0.9
assert rpdml.duality_gap_ <= 1e-6
