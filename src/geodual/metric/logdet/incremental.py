"""Incremental fits: each step takes the last metric as its prior, and has a certificate of its own."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

from .certificate import Convergence


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


class IncrementalMixin:
    """Add `partial_fit` to a learner of the LogDet program.

    A subclass may name further parameters that stay as they were at the first step.

    Attributes
    ----------
    _kept : dict
        Parameters that a step takes from the last one, with the names of its fitted attributes.
    """

    history_: Convergence
    _kept: ClassVar[dict[str, str]] = {"prior": "W_", "bounds": "bounds_"}
    # The certificates of earlier steps, and the history of the step that followed them.
    _earlier: tuple[Convergence, tuple[StepCertificate, ...]] | None = None

    @property
    def certificates_(self) -> tuple[StepCertificate, ...]:
        """The certificate of each step: one after `fit`, and one more per call of `partial_fit`."""
        step = StepCertificate(*(getattr(self, f"{name}_") for name in StepCertificate._fields))
        # After `fit` the history is another one, so earlier steps do not count any more.
        if self._earlier is None or self._earlier[0] is not self.history_:
            return (step,)
        return (*self._earlier[1], step)

    @abstractmethod
    def _check_features(self, X: Any) -> None:
        """Raise unless samples have the features of the last step."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue a fit with new samples: learn from them alone, with the last metric as prior.

        The first step is the same as `fit`. Each later step solves the program with W₀ = `W_` of the last
        step, so the metric changes as little as the new samples allow. With a smaller `C` a step changes it
        less and remembers more of the earlier ones. The bounds or the margin stay those of the first step.
        All other fitted attributes are those of the new step; `certificates_` has the certificates of all
        steps. If a step fails, nothing changes.

        Parameters
        ----------
        X : array
            New samples, pairs or comparisons, as for `fit`.
        y : array, optional
            Their labels, as for `fit`.
        sample_weight : array, optional
            How often each counts; once by default.

        Returns
        -------
        self
        """
        learner: Any = self
        if not hasattr(self, "history_"):
            return learner.fit(X, y, sample_weight)  # type: ignore[no-any-return]
        self._check_features(X)
        last = {name: getattr(self, fitted) for name, fitted in self._kept.items()}
        # Another learner makes the step, so that this one and its parameters are unchanged if it fails.
        step = type(self)(**{**learner.get_params(deep=False), **last})
        step.fit(X, y, sample_weight)  # type: ignore[attr-defined]
        certificates = self.certificates_
        vars(self).update({name: value for name, value in vars(step).items() if name.endswith("_")})
        self._earlier = (self.history_, certificates)
        return self
