"""How a metric learner looks: pictures, and its certificate in notebooks."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length, check_scalar, column_or_1d, estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from geodual.arrays import Array

from .plots import draw_importances, draw_neighbours

# What a notebook shows of a certified fit.
_FACTS = {
    "duality_gap_": ("relative duality gap", "{:.1e}"),
    "objective_": ("objective", "{:.6g}"),
    "n_iter_": ("iterations", "{:,}"),
    "n_pairs_": ("pairs", "{:,}"),
    "bounds_": ("bounds u, l", "{:.4g}"),
    "margin_": ("margin", "{:.4g}"),
}


class LooksMixin:
    """Add pictures of the learnt metric, and its certificate to the display in notebooks."""

    feature_importances_: Array

    def plot_neighbours(self, X: Any, y: Any, n_neighbors: int = 1, axes: Any = None) -> Any:
        """Plot samples before and after the transformation, with a line to their nearest neighbours.

        Each panel shows two principal axes; neighbours are those in all dimensions. Lines to a sample of
        another class are thick and dashed. Samples of `fit` flatter the metric, so give others to judge it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples, with the features of `fit`.
        y : array of shape (n_samples,)
            Their classes.
        n_neighbors : int
            Number of neighbours that each sample is joined to.
        axes : sequence of two matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        array of two matplotlib Axes
            The panels.
        """
        check_is_fitted(self)
        after = np.asarray(self.transform(X))  # type: ignore[attr-defined]
        before = validate_data(self, X, reset=False, dtype=float, accept_sparse=True, ensure_min_samples=2)
        before, y = before.toarray() if issparse(before) else before, column_or_1d(y)
        check_consistent_length(before, y)
        check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1, max_val=len(before) - 1)
        return draw_neighbours(axes, (before, after), y, n_neighbors)

    def plot_importances(self, n_features: int = 20, ax: Any = None) -> Any:
        """Plot `feature_importances_` as bars, the largest first.

        Parameters
        ----------
        n_features : int
            Largest number of bars.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            The axes with the plot. A dashed line marks the share that equal features would have.
        """
        check_is_fitted(self)
        check_scalar(n_features, "n_features", Integral, min_val=1)
        importances = self.feature_importances_
        names = getattr(self, "feature_names_in_", [f"feature {k}" for k in range(len(importances))])
        return draw_importances(ax, importances, [str(name) for name in names], n_features)

    def _html_repr(self) -> str:
        """Return what notebooks show: scikit-learn's diagram and, after a certified fit, the certificate."""
        diagram: str = estimator_html_repr(self)
        if not hasattr(self, "duality_gap_"):
            return diagram
        rows = []
        for attribute, (name, form) in _FACTS.items():
            if hasattr(self, attribute):
                value = getattr(self, attribute)
                values = value if isinstance(value, tuple) else (value,)
                fact = ", ".join(form.format(one) for one in values)
                rows.append(f"<tr><th>{name}</th><td>{fact}</td></tr>")
        table = f"<table><caption>Certificate</caption><tbody>{''.join(rows)}</tbody></table>"
        start, end, rest = diagram.rpartition("</body>")
        return start + table + end + rest

    # scikit-learn ≥ 1.7 calls `_html_repr` by itself; 1.6 needs the two methods below.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return bundle | ({"text/html": self._html_repr()} if "text/html" in bundle else {})
