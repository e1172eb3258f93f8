"""
A learned metric in a pipeline
==============================

Nearest neighbors depend on what "near" means. A learned metric draws samples of one class together and pushes
others apart. In scikit-learn it is one more step of a pipeline, between the scaler and the classifier.

What to see: the accuracy of each fold with and without it, and the certificate. The program is convex, and
from below a dual objective closes in on the objective, until their gap proves that no metric has a smaller
objective by more than one part in a million.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geodual.metric import RPDML

# %%
# Two pipelines
# -------------

X, y = load_wine(return_X_y=True)
models = {
    "Euclidean": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "RPDML": make_pipeline(StandardScaler(), RPDML(C=100.0, pairs="local"), KNeighborsClassifier(5)),
}
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
accuracy = {name: cross_val_score(model, X, y, cv=folds) for name, model in models.items()}
for name, values in accuracy.items():
    print(f"{name:9s} accuracy {values.mean():.1%} in the mean of {len(values)} folds")

# %%
# The certificate
# ---------------
# The fit keeps the best objective (primal) and the best lower bound (dual) of every iteration. Local pairs
# are found twice, so there are two fits; the picture shows the second.

metric = models["RPDML"].fit(X, y)[1]
print(f"objective {metric.objective_:.6f} ≥ optimum ≥ {metric.dual_objective_:.6f}, {metric.n_pairs_} pairs")
print(f"relative duality gap {metric.duality_gap_:.1e} after {metric.n_iter_} iterations")

figure, (scores, gap) = plt.subplots(1, 2, figsize=(8.0, 3.3), layout="constrained")
rng = np.random.default_rng(0)
for place, (values, color) in enumerate(zip(accuracy.values(), ("0.5", "#0072B2"), strict=True)):
    scores.scatter(place + rng.uniform(-0.15, 0.15, len(values)), 100.0 * values, s=18, color=color)
    scores.hlines(100.0 * values.mean(), place - 0.3, place + 0.3, color="black")
scores.set_xticks(range(2), accuracy)
scores.set(title="20 folds, with their mean", ylabel="accuracy (%)", xlim=(-0.6, 1.6))
iterations = range(len(metric.history_))
gap.plot(iterations, [row.primal for row in metric.history_], ".-", color="#D55E00", label="objective")
gap.plot(iterations, [row.dual for row in metric.history_], ".-", color="#009E73", label="lower bound")
gap.set(title="The gap closes", xlabel="iteration", ylim=(0.0, 12.0))
gap.legend(frameon=False)
for ax in (scores, gap):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The metric is optimal, and here it also helps.

assert metric.duality_gap_ <= 1e-6
assert metric.dual_objective_ <= metric.objective_
assert accuracy["RPDML"].mean() > accuracy["Euclidean"].mean()
