"""GMML: geometric mean metric learning, in closed form on all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from .base import MetricLearner, leading_components
from .prior import prior_matrices
from .scatter import centred, feature_scales, pair_scatters, raised_spectrum


class GMML(MetricLearner):
    r"""Geometric mean metric learning (Zadeh, Hosseini and Sra 2016).

    With S and D the sums of (x − x′)(x − x′)ᵀ over all similar and all dissimilar pairs, the minimum of
    tr(AS) + tr(A⁻¹D) is the geometric mean of S⁻¹ and D, which solves A S A = D; its weighted form is

    .. math:: A = S^{-1} \,\#_t\, D = S^{-1/2} (S^{1/2} D S^{1/2})^t S^{-1/2}.

    The sums over all pairs come from the scatters of the classes; no pair is ever formed.

    A matrix that is singular or nearly so is made regular: in units in which all features scatter alike, its
    eigenvalues are raised to at least 1e-8 of the largest. Regular ones are left as they are.

    Parameters
    ----------
    t : float
        Point on the geodesic from S⁻¹ (0) to D (1).
    reg : float
        λ of the regularised sums S + λ A₀⁻¹ and D + λ A₀. As sums they grow with the number of pairs, and so
        must λ to have the same effect.
    prior : "identity", "covariance" or array of shape (n_features, n_features)
        A₀: I, the inverse covariance of the samples as in `MahalanobisMetric`, or a given matrix. It matters
        if `reg` is positive.
    n_components : int, optional
        Keep so many leading eigenvectors of A; all by default.

    Attributes
    ----------
    components_, feature_importances_
        As in `MahalanobisMixin`.

    References
    ----------
    P. Zadeh, R. Hosseini, S. Sra: Geometric mean metric learning. ICML 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from geodual.metric import GMML
    >>> X, y = load_wine(return_X_y=True)
    >>> classifier = make_pipeline(GMML(), KNeighborsClassifier()).fit(X, y)
    """

    def __init__(
        self, t: float = 0.5, reg: float = 0.0, prior: Any = "identity", n_components: int | None = None
    ) -> None:
        self.t = t
        self.reg = reg
        self.prior = prior
        self.n_components = n_components

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GMML:
        """Learn a metric.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), optional
            A pair weighs the product of the weights of its samples.

        Returns
        -------
        self
        """
        X, labels = self._validate(X, y)
        weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        self._check_parameters()
        if len(np.unique(labels[weight > 0.0])) < 2:
            raise ValueError("`sample_weight` must be positive for samples of at least two classes.")
        with blas_threads_for(product_operations(X.shape[1], *X.shape)):
            S, D = pair_scatters(centred(X), labels, weight)
            if self.reg > 0.0:
                A0, inverse = prior_matrices(self.prior, X, weight)
                S, D = S + self.reg * inverse, D + self.reg * A0
            components = geometric_mean_factor(S, D, self.t)
            if self.n_components is not None:
                components = leading_components(components.T @ components, self.n_components)
            self._set_metric(components, X)
        return self

    def _check_parameters(self) -> None:
        if not 0.0 <= self.t <= 1.0:
            raise ValueError(f"`t` must lie in [0, 1], got {self.t}.")
        if not 0.0 <= self.reg < np.inf:
            raise ValueError(f"`reg` must be non-negative and finite, got {self.reg}.")


def geometric_mean_factor(S: Array, D: Array, t: float) -> Array:
    """Return the symmetric L with LᵀL = S⁻¹ #_t D; eigenvalues too small are raised, see `GMML`."""
    scales = feature_scales(S + D)
    units = np.outer(scales, scales)
    s_spectrum, s_basis = raised_spectrum(S / units, 1.0)
    d_spectrum, d_basis = raised_spectrum(D / units, 1.0)
    # With S = RᵀR and D = QᵀQ:  S⁻¹ #_t D = R⁻¹ (R QᵀQ Rᵀ)ᵗ R⁻ᵀ.
    R = np.sqrt(s_spectrum)[:, None] * s_basis.T * scales
    Q = np.sqrt(d_spectrum)[:, None] * d_basis.T * scales
    directions, values, _ = np.linalg.svd(R @ Q.T)
    factor = (directions * values**t).T / np.sqrt(s_spectrum) @ s_basis.T / scales
    _, values, axes = np.linalg.svd(factor)
    return np.asarray((axes.T * values) @ axes)
