"""Convert formulas for solvers: a smooth cost, inequalities, equalities, and terms with a prox.

A constraint a ≤ b becomes a − b ≤ 0 or, if that proves more, log a − log b ≤ 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from geodual.optimize import L1, Function, GroupL2, Max, PositiveSemidefinite, SpectralNorm

from .atoms import cosine, hstack, log
from .atoms.arithmetic import Add, Multiply
from .atoms.elementwise import Abs
from .atoms.reductions import Max as LargestEntry
from .atoms.reductions import Norm2, Sum
from .atoms.spectral import ExtremeEigenvalues
from .expression import Constant, Constraint, Expression, Variable
from .facts import Geometry, Sign


@dataclass(frozen=True)
class Claim:
    """A claim that a proof of convexity must show.

    Attributes
    ----------
    title : str
        The subject of the claim, in words.
    expression : Expression
        The expression that must be convex.
    affine : bool
        Whether it must be affine.
    """

    title: str
    expression: Expression
    affine: bool = False

    def holds(self, geometry: Geometry) -> bool:
        """Return whether the claim is proved."""
        return self.expression.is_affine(geometry) if self.affine else self.expression.is_convex(geometry)


@dataclass
class Form:
    """A problem in the form for solvers.

    Attributes
    ----------
    cost : Expression
        The smooth part of the cost.
    inequalities, equalities : list of Expression
        Expressions that must be ≤ 0, and expressions that must be 0, entry by entry.
    terms : list of pairs of Function and Expression
        Functions with a proximal operator, and their arguments.
    claims : list of Claim
        Claims that together prove the problem to be convex.
    """

    cost: Expression
    inequalities: list[Expression] = field(default_factory=list)
    equalities: list[Expression] = field(default_factory=list)
    terms: list[tuple[Function, Expression]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def is_proved(self, geometry: Geometry) -> bool:
        """Return whether all claims are proved."""
        return all(claim.holds(geometry) for claim in self.claims)


def make_form(
    cost: Expression, constraints: Sequence[Constraint], variables: Sequence[Variable], geometry: Geometry
) -> Form:
    """Return the form of a problem that proves the most in a geometry."""
    smooth, terms = _split_cost(cost)
    form = Form(smooth, terms=terms, claims=[Claim("the cost", cost)])
    for constraint in constraints:
        _add_constraint(form, constraint, geometry)
    for variable in variables:
        if variable.ball is not None:
            center, radius = variable.ball
            # The ball as a smooth constraint: its radius is below π/2, where the cosine is concave.
            form.inequalities.append(np.cos(radius) - cosine(variable, center))
    return form


def _add_constraint(form: Form, constraint: Constraint, geometry: Geometry) -> None:
    a, b = constraint.left, constraint.right
    if constraint.relation == "<<":
        form.terms.append((PositiveSemidefinite(), b - a))
        form.claims.append(Claim(f"the constraint {constraint}", a - b))
    elif constraint.relation == "==":
        difference = a - b
        if not difference.is_affine(geometry) and _log_curved(a, b, geometry, equal=True):
            difference = log(a) - log(b)
        form.equalities.append(difference)
        form.claims.append(Claim(f"the constraint {constraint}", difference, affine=True))
    else:
        left, right = _smooth_sides(a, b)
        difference = left - right
        if not difference.is_convex(geometry) and _log_curved(left, right, geometry):
            difference = log(left) - log(right)
        form.inequalities.append(difference)
        form.claims.append(Claim(f"the constraint {constraint}", difference))


def _log_curved(a: Expression, b: Expression, geometry: Geometry, equal: bool = False) -> bool:
    """Return whether both sides are positive, and log-convex and log-concave (or both log-affine)."""
    left, right = a.facts(geometry), b.facts(geometry)
    if not (left.sign.is_nonnegative and right.sign.is_nonnegative) or a.symmetric or b.symmetric:
        return False
    if any(facts.is_constant and facts.sign is not Sign.POSITIVE for facts in (left, right)):
        return False  # the logarithm of 0 is not finite
    if equal:
        return left.log.curvature.is_affine and right.log.curvature.is_affine
    return left.log.curvature.is_convex and right.log.curvature.is_concave


def _smooth_sides(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Return an equivalent constraint without kinks: entries for a maximum, squares for distances."""
    if isinstance(left.atom, LargestEntry) and isinstance(right, Constant):
        return left.args[0], Constant(right.array.min())
    if isinstance(left.atom, LargestEntry) and right.shape == ():
        return left.args[0], right
    smooth = (
        hasattr(left.atom, "squared") and isinstance(right, Constant) and bool((right.array >= 0.0).all())
    )
    return (left**2, right**2) if smooth else (left, right)


def _split_cost(cost: Expression) -> tuple[Expression, list[tuple[Function, Expression]]]:
    """Split a sum into its smooth part and its terms with kinks."""
    parts = cost.args if isinstance(cost.atom, Add) else (cost,)
    smooth: Expression = Constant(0.0)
    terms = []
    for part in parts:
        term = _as_term(part)
        if term is None:
            smooth = smooth + part
        else:
            terms.append(term)
    return smooth, terms


def _as_term(part: Expression) -> tuple[Function, Expression] | None:
    """Return a term with kinks as a function with a prox, applied to a smooth map."""
    weight = 1.0
    if isinstance(part.atom, Multiply) and isinstance(part.args[0], Constant) and not part.args[0].shape:
        weight, part = float(part.args[0].array), part.args[1]
    if weight <= 0.0 or part.atom is None:
        return None
    inner = part.args[0]
    if isinstance(part.atom, Sum) and isinstance(inner.atom, Abs):
        return L1(weight), inner.args[0]
    if isinstance(part.atom, Abs):
        return L1(weight), hstack([inner])
    if isinstance(part.atom, LargestEntry):
        return Max(weight), inner
    if isinstance(part.atom, Norm2) and not inner.symmetric:
        return GroupL2(weight), hstack([inner])
    largest = isinstance(part.atom, ExtremeEigenvalues) and part.atom.name == "lambda_max"
    if largest and inner.facts().sign.is_nonnegative:
        return SpectralNorm(weight), inner
    return None
