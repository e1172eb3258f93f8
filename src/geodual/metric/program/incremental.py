"""Incremental fits: each step takes the last metric as its prior and has its own certificate.

Learners include both functions as `partial_fit` and as the property `certificates_`, and check that new
samples have the features of the last step (`_check_features`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base.metric_learner import fitted_attributes


class StepCertificate(NamedTuple):
    """The certificate of one step of an incremental fit.

    Attributes
    ----------
    objective : float
        The objective of the step at its metric W, with the previous metric as prior.
    dual_objective : float
        Lower bound on the objective of the step over all metrics.
    duality_gap : float
        Their relative gap.
    n_iter, n_pairs : int
        Number of iterations and of pairs of the step.
    """

    objective: float
    dual_objective: float
    duality_gap: float
    n_iter: int
    n_pairs: int


def step_certificates(learner: Any) -> tuple[StepCertificate, ...]:
    """Return the certificate of each step: one after `fit`, and one more per call of `partial_fit`."""
    step = StepCertificate(*(getattr(learner, f"{name}_") for name in StepCertificate._fields))
    # The history of the following step distinguishes them from those of a replaced fit.
    history, earlier = getattr(learner, "_earlier", (None, ()))
    return (*earlier, step) if history is learner.history_ else (step,)


def partial_fit(learner: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Continue a fit with new samples: learn only from them, with the last metric as prior.

    The first step is equivalent to `fit`. Each later step solves the program with W₀ = `W_` of the last step,
    so the metric changes as little as the new samples allow. With a smaller `C` or `gamma`, a step changes it
    less and keeps more from earlier steps. The bounds or the margin stay those of the first step. All other
    fitted attributes are those of the new step; `certificates_` has the certificates of all steps. If a step
    fails, nothing changes.

    Parameters
    ----------
    X : array
        New samples, pairs or comparisons, as in `fit`.
    y : array, optional
        Labels, as in `fit`.
    sample_weight : array, optional
        Weights; 1 by default.

    Returns
    -------
    self
    """
    if not hasattr(learner, "history_"):
        return learner.fit(X, y, sample_weight)
    learner._check_features(X)
    parameters = learner.get_params(deep=False)
    last = {name: getattr(learner, f"{name}_") for name in ("bounds", "margin") if name in parameters}
    # A copy of the learner takes the step, so that this learner and its parameters do not change if it fails.
    step = type(learner)(**{**parameters, **last, "prior": learner.W_})
    step.fit(X, y, sample_weight)
    certificates = step_certificates(learner)
    vars(learner).update(fitted_attributes(step))
    learner._earlier = (learner.history_, certificates)
    return learner
