"""The result of solving a formula: that of `minimize`, with the proof and a lower bound."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.optimize import Derivative, Result

from .expression import Parameter


@dataclass(frozen=True, eq=False)
class ModelResult(Result):
    """The result of `Problem.solve`: that of `minimize`, with a proof and a lower bound.

    Attributes
    ----------
    value : array
        The value of the objective, as it was written.
    proof : str or None
        The proof of convexity; None if there is none.
    lower_bound : float or None
        No feasible point costs less than this number, up to rounding errors. It is a bound on the minimized
        `cost`: for `Maximize`, the negative of the objective, or of its logarithm. None if there is no bound.
    bound_reason : str
        How the bound follows, or why there is none.
    gap : float or None
        The most by which `cost` can exceed the smallest cost; None if there is no bound.

    See Also
    --------
    geodual.optimize.Result : All other attributes.
    Problem : Its `solve` returns a `ModelResult`.

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
        """The most by which `cost` can exceed the smallest cost; None if there is no bound."""
        return None if self.lower_bound is None else max(self.cost - self.lower_bound, 0.0)

    def derivative(self, parameter: Any = None) -> Derivative:
        """Return the derivative of the solution with respect to a parameter.

        Parameters
        ----------
        parameter : Parameter or str, optional
            The parameter, or its name; not needed if there is only one.

        Returns
        -------
        geodual.optimize.Derivative
            The derivatives of `x`, `cost` and the multipliers; the axes of the parameter come last.

        Examples
        --------
        On the line x₀ + x₁ = b, the point closest to 0 is (b/2, b/2):

        >>> import geodual.model as gm
        >>> from geodual.manifolds import Euclidean
        >>> x, b = gm.Variable(Euclidean(2), name="x"), gm.Parameter(name="b", value=3.0)
        >>> result = gm.Problem(gm.Minimize(0.5 * gm.sum_squares(x)), [gm.sum(x) == b]).solve()
        >>> result.derivative(b).x.round(6).tolist()
        [0.5, 0.5]
        """
        names = [] if self.problem is None or self.problem.data is None else list(self.problem.data)
        if parameter is None and len(names) == 1:
            return super().derivative(names[0])
        return super().derivative(parameter.name if isinstance(parameter, Parameter) else parameter)

    def __str__(self) -> str:
        said = "No lower bound"
        if self.gap is not None:
            said = f"Proved: no feasible point costs less by more than {self.gap:.2g}"
            if self.kkt.feasibility > 0.0:
                said += f" (x itself violates constraints by {self.kkt.feasibility:.1g})"
        return f"{super().__str__()}\n{textwrap.fill(f'{said}. {self.bound_reason}', 100)}"
