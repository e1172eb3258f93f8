"""What solving a formula returns: the result of `minimize`, the proof, and a lower bound."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

import numpy as np

from geodual.arrays import Array
from geodual.optimize import Result


@dataclass(frozen=True, eq=False)
class ModelResult(Result):
    """The outcome of `Problem.solve`: that of `minimize`, with a proof and a lower bound.

    Attributes
    ----------
    value : array
        The value of the objective, as it was written.
    proof : str or None
        The proof of convexity; None if there is none.
    lower_bound : float or None
        A number that no feasible point's cost is below, up to rounding errors. It is about `cost`, what was
        minimised: for `Maximize` that is the negative of the objective, or of its logarithm. None if there is
        no bound.
    bound_reason : str
        How the bound follows, or why there is none.
    gap : float or None
        By how much `cost` may exceed the smallest cost; None if there is no bound.

    See Also
    --------
    geodual.optimize.Result : All other attributes.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> x = gm.Variable(Euclidean(2), name="x")
    >>> result = gm.Problem(gm.Minimize(gm.sum_squares(x - 1.0)), [gm.sum(x) <= 1.0]).solve()
    >>> round(result.cost, 6), bool(result.gap < 1e-8)
    (0.5, True)
    """

    value: Array = field(default_factory=lambda: np.asarray(np.nan))
    proof: str | None = field(default=None, repr=False)
    lower_bound: float | None = None
    bound_reason: str = ""

    @property
    def gap(self) -> float | None:
        """By how much `cost` may exceed the smallest cost; None if there is no bound."""
        return None if self.lower_bound is None else max(self.cost - self.lower_bound, 0.0)

    def __str__(self) -> str:
        said = "No lower bound"
        if self.gap is not None:
            said = f"Proved: no feasible point costs less by more than {self.gap:.2g}"
        return f"{super().__str__()}\n{textwrap.fill(f'{said}. {self.bound_reason}', 100)}"
