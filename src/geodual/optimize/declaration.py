"""What a result may say about global minima: a declaration of convexity, and what was seen of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, Self

from geodual.manifolds.frame import Point

from .convexity import check_convexity, has_geodesics
from .problem import Problem

_GEODESICS = 8  # on which `minimize` looks: less work than a few iterations


@dataclass(frozen=True)
class Declaration:
    """The declaration `geodesically_convex` of a problem.

    Attributes
    ----------
    problem : Problem
        The problem.
    state : str
        "none" if nothing is declared, "open" if no geodesic refuted it, "refuted", or "unchecked".
    """

    problem: Problem
    state: Literal["none", "open", "refuted", "unchecked"]

    @classmethod
    def examined(cls, problem: Problem, x0: Point) -> Self:
        """Check the declaration on a few geodesics around the start; warn if one refutes it.

        It is a warning and not an error, because the solve still finds what it would find without the
        declaration, and because functions that are computed inexactly may only seem to be not convex.
        """
        if not problem.geodesically_convex:
            return cls(problem, "none")
        if not has_geodesics(problem.manifold):
            return cls(problem, "unchecked")
        check = check_convexity(problem, x0, n_geodesics=_GEODESICS)
        if check.refuted:
            warnings.warn(_WARNING.format(check.worst), UserWarning, stacklevel=3)
        return cls(problem, "refuted" if check.refuted else "open")

    @property
    def stands(self) -> bool:
        """Whether convexity is declared and not refuted."""
        return self.state in ("open", "unchecked")

    def words(self, contradiction: str) -> str:
        """Return what to say at a converged point, given what contradicts the declaration there, if anything.

        It begins with a space, or is empty if nothing is declared.
        """
        if self.state == "none":
            return ""
        if self.state == "refuted":
            contradiction = "a geodesic refutes that (see check_convexity)"
        if contradiction:
            return f" It is declared geodesically convex, but {contradiction}: no global minimum is claimed."
        manifold = self.problem.manifold
        where = "" if manifold.hadamard else f" over the geodesically convex part of {manifold} that is meant"
        checked = "" if self.state == "open" else f" nor checked: {manifold} has no geodesics in closed form"
        return (
            f" The problem is declared geodesically convex, so this is a global minimum{where}. The "
            f"declaration is not proved{checked}."
        )


_WARNING = (
    "The problem is declared geodesically convex, but a geodesic refutes it, so the result claims no global "
    "minimum. Correct the problem, or leave out `geodesically_convex`; check_convexity tells more.\n{}"
)
