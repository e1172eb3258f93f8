"""Incremental fits: each step takes the last metric as its prior, and has a certificate of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..base.metric_learner import fitted_attributes


class StepCertificate(NamedTuple):
    """What is proved about one step of an incremental fit.

    Attributes
    ----------
    objective : float
        The objective of the step at its metric W, with the last metric as prior.
    dual_objective : float
        Lower bound on the objective of the step for any metric.
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
    # The history of the step that followed tells them from those of a fit that was replaced.
    history, earlier = getattr(learner, "_earlier", (None, ()))
    return (*earlier, step) if history is learner.history_ else (step,)


def continue_fit(
    learner: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    check: Callable[[Any], object],
    kept: Mapping[str, str],
) -> Any:
    """Take one step of an incremental fit, and return the learner; if the step fails, nothing changes.

    Parameters
    ----------
    learner : estimator
        The learner; if it is not fitted yet, the step is a plain fit.
    X, y, sample_weight : array
        The data of the step, as for `fit`.
    check : callable
        Raises unless X has the features of the last step.
    kept : mapping
        Parameters that a step takes from the last one, with the names of its fitted attributes.
    """
    if not hasattr(learner, "history_"):
        return learner.fit(X, y, sample_weight)
    check(X)
    last = {name: getattr(learner, fitted) for name, fitted in kept.items()}
    # Another learner makes the step, so that this one and its parameters are unchanged if it fails.
    step = type(learner)(**{**learner.get_params(deep=False), **last})
    step.fit(X, y, sample_weight)
    certificates = step_certificates(learner)
    vars(learner).update(fitted_attributes(step))
    learner._earlier = (learner.history_, certificates)
    return learner
