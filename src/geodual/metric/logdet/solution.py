"""How a learner keeps and reports a certified solution: attributes, printed lines, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from geodual.arrays import Array
from geodual.threads import blas_threads_for, product_operations

from .certificate import CertifiedIteration, CertifiedMetric, Convergence
from .space import Space

_ADVICE = {
    "max_iterations": "raise `max_iter` or `tol`",
    "diverged": "the updates left the positive definite matrices, so give a smaller `step`",
    "stalled": "rounding errors allow no better result, so standardise the features or raise `tol`",
}


def keep_solution(learner: Any, space: Space, found: CertifiedMetric, X: Any, weight: Array | None) -> None:
    """Set the fitted attributes of a learner that hold the matrix and its certificate.

    Parameters
    ----------
    learner : estimator
        The learner, which has `n_components` and `_set_metric`.
    space : Space
        The space in which the program was solved.
    found : CertifiedMetric
        The solution in that space.
    X : array or sparse array of shape (n_samples, n_features)
        The samples, for the importances of features.
    weight : array of shape (n_samples,), optional
        Their weights.
    """
    n_features = X.shape[1]
    with blas_threads_for(product_operations(n_features, min(X.shape), n_features)):
        learner.W_ = space.lift(found.W)
        learner._set_metric(space.components(found.W, learner.n_components), X, weight)
    learner.objective_, learner.dual_objective_ = found.primal, found.dual
    learner.duality_gap_ = found.gap
    learner.history_ = Convergence(found.history)
    learner.n_iter_ = max(found.n_iter, 1)  # scikit-learn asks for at least 1


def iteration_printer(learner: Any, verbose: int) -> Callable[[CertifiedIteration], None]:
    """Return a function that prints an iteration if `verbose` is positive, and does nothing otherwise."""
    name = type(learner).__name__

    def report(row: CertifiedIteration) -> None:
        if verbose:
            print(  # noqa: T201 - what `verbose` asks for
                f"{name}: primal {row.primal:.8e}, dual {row.dual:.8e}, gap {row.gap:.1e}, "
                f"{row.passes} passes, {row.seconds:.3f} s"
            )

    return report


def warn_unless_converged(learner: Any, found: CertifiedMetric, n_earlier: int = 0) -> None:
    """Warn if the gap is above the tolerance, and say what to do; earlier iterations are counted too."""
    if not found.converged:
        advice = _ADVICE.get(found.status, _ADVICE["stalled"])
        warnings.warn(
            f"{type(learner).__name__} stopped at a relative duality gap of {found.gap:.2g} after "
            f"{n_earlier + found.n_iter} iterations; {advice}.",
            ConvergenceWarning,
            stacklevel=4,  # the caller of `fit`
        )
