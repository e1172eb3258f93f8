"""Training sets made by hand for the tests of forecasters."""

import numpy as np
import pandas as pd

from geodual.funds import Today, Training

DAY = pd.Timestamp("2016-12-30")


def names(n, prefix="F"):
    return pd.Index([f"{prefix}{j:02d}" for j in range(n)], dtype=str)


def make_training(seed=0, n_intervals=3, n=20, d=4, slope=None, noise=1.0):
    """Random factors; returns are a sum of factors, noise and a level that differs between intervals."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_intervals * n, d))
    age = np.repeat(np.arange(n_intervals)[::-1], n)
    slope = np.zeros(d) if slope is None else np.asarray(slope, dtype=float)
    returns = 0.05 * (X @ slope) + 0.02 * noise * rng.standard_normal(len(X)) + 0.3 * np.sin(age)
    return Training(X, returns, age, names(n).append([names(n)] * (n_intervals - 1)))


def make_today(seed=1, n=15, d=4, factors=("signal",)):
    rng = np.random.default_rng(seed)
    raw = {name: rng.standard_normal(n) for name in factors}
    columns = tuple(f"roc_{j + 1}" for j in range(d))
    return Today(DAY, names(n), rng.standard_normal((n, d)), np.ones(n), columns, raw)
