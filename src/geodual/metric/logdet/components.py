"""The map L of a metric W = LᵀL: all of it, or its leading rows."""

from __future__ import annotations

import numpy as np

from geodual.arrays import Array

from ..parameter_checks import check_n_components


def leading_components(W: Array, n_components: int | None) -> Array:
    """Return L with LᵀL = W: a Cholesky factor or, for a lower rank, the leading scaled eigenvectors.

    At full rank the Cholesky factor is preferred because it is unique; eigenvectors of equal eigenvalues are
    not.
    """
    check_n_components(n_components, len(W))
    if n_components is None:
        return factor(W).T
    return _scaled_rows(*np.linalg.eigh(W), n_components)


def factor(W: Array) -> Array:
    """Return L with LLᵀ = W: the Cholesky factor, or the symmetric root if rounding made W semidefinite."""
    try:
        return np.asarray(np.linalg.cholesky(W))
    except np.linalg.LinAlgError:
        return symmetric_root(W)


def symmetric_root(A: Array) -> Array:
    """Return the symmetric root of a positive definite matrix."""
    spectrum, vectors = np.linalg.eigh(A)
    return np.asarray((vectors * np.sqrt(np.maximum(spectrum, 0.0))) @ vectors.T)


def leading_components_in_span(A: Array, Q: Array, n_components: int) -> Array:
    """Return the leading scaled eigenvectors of W = I + Q (A − I) Qᵀ, without forming W.

    The eigenvalues of W are those of A, and 1 outside the span of Q. If these are equal, directions in the
    span are preferred.

    Parameters
    ----------
    A : array of shape (n_span, n_span)
        The matrix in the span.
    Q : array of shape (n_features, n_span)
        An orthonormal basis of the span.
    n_components : int
        Number of rows of the result.
    """
    n_features, n_span = Q.shape
    check_n_components(n_components, n_features)
    spectrum, basis = np.linalg.eigh(A)
    used = spectrum.argsort()[-n_components:]
    directions, values = Q @ basis[:, used], spectrum[used]
    # As many directions outside as may be among the leading ones.
    n_outside = min(n_components - int((values >= 1.0).sum()), n_features - n_span)
    if n_outside > 0:
        # The columns of a QR factor after those of Q are orthogonal to the span.
        outside = np.linalg.qr(np.hstack([Q, np.eye(n_features, n_outside)]))[0][:, n_span:]
        directions, values = np.hstack([outside, directions]), np.concatenate([np.ones(n_outside), values])
    return _scaled_rows(values, directions, n_components)


def _scaled_rows(spectrum: Array, basis: Array, n_components: int) -> Array:
    """Return the eigenvectors of the largest eigenvalues, times their roots; of equal ones, the last."""
    order = np.argsort(spectrum, kind="stable")[::-1][:n_components]
    directions = basis[:, order]
    # A fixed sign makes the result the same on every machine.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(len(order))])
    return np.asarray((directions * signs * np.sqrt(np.maximum(spectrum[order], 0.0))).T)
