"""Problems as formulas: an objective, constraints, and a proof of convexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from geodual.manifolds import SPD, Hyperbolic, PositiveOrthant, Simplex, Sphere
from geodual.manifolds.frame import Point
from geodual.optimize import Problem as PlainProblem
from geodual.optimize import Result, minimize

from .atoms import log
from .bounds import LowerBound, lower_bound
from .compiled import Compiled
from .expression import Constraint, Expression, Variable, as_expression, on_convex_set
from .facts import Geometry
from .form import Form, make_form
from .graph import nodes_of
from .proof import find_gap, tree
from .result import ModelResult

_TITLES: dict[Geometry, str] = {
    "geodesic": "geodesically convex",
    "euclidean": "convex along straight lines",
}


class Minimize:
    """The objective to minimize an expression.

    Parameters
    ----------
    expression : Expression
        A number.

    See Also
    --------
    Maximize : The opposite.
    Problem : Takes an objective.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> print(gm.Minimize(gm.trace(gm.Variable(SPD(2), name="X"))))
    minimize trace(X)
    """

    verb = "minimize"

    def __init__(self, expression: Any) -> None:
        self.expression = as_expression(expression)
        if self.expression.shape != ():
            raise ValueError(
                f"An objective must be a number, got the shape {self.expression.shape}; use `sum` or `max`."
            )

    def __str__(self) -> str:
        return f"{self.verb} {self.expression}"

    def cost(self, geometry: Geometry) -> Expression:
        """Return the expression to minimize."""
        return self.expression


class Maximize(Minimize):
    """The objective to maximize an expression.

    The cost of the solve is the negative of the expression, or of its logarithm if only that is convex, as
    for a monomial of a geometric program.

    Parameters
    ----------
    expression : Expression
        A number.

    See Also
    --------
    Minimize : The opposite.
    Problem : Takes an objective.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> x = gm.Variable(PositiveOrthant(2), name="x")
    >>> problem = gm.Problem(gm.Maximize(gm.prod(x)), [gm.sum(x) <= 2.0])
    >>> problem.is_dgcp()
    True
    >>> round(float(problem.solve().value), 6)
    1.0
    """

    verb = "maximize"

    def cost(self, geometry: Geometry) -> Expression:
        facts = self.expression.facts(geometry)
        if not facts.plain.curvature.is_concave and facts.log.curvature.is_concave:
            return -log(self.expression)
        return -self.expression


class Problem:
    """A problem written as a formula, with a proof of convexity if there is one.

    Parameters
    ----------
    objective : Minimize or Maximize
        The objective.
    constraints : sequence of Constraint, optional
        Comparisons of expressions.

    Attributes
    ----------
    objective : Minimize
        The objective.
    constraints : tuple of Constraint
        The constraints.
    variables : list of Variable
        The unknowns, in order of first appearance.

    See Also
    --------
    geodual.optimize.Problem : The same, with handwritten functions and derivatives.
    Minimize, Maximize : The objective.
    ModelResult : What `solve` returns.

    References
    ----------
    A. Cheng, V. Dixit, M. Weber, "Disciplined geodesically convex programming", arXiv:2407.05261, 2024.

    Examples
    --------
    The matrix of largest determinant with a bounded trace, as in the example of `minimize`:

    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(3), name="X")
    >>> problem = gm.Problem(gm.Minimize(-gm.log_det(X)), [gm.trace(X) <= 6.0])
    >>> problem.is_dgcp(), problem.is_dcp()
    (True, True)
    >>> result = problem.solve()
    >>> np.round(result.x, 6).tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    >>> bool(result.gap < 1e-6)
    True
    """

    def __init__(self, objective: Minimize, constraints: Sequence[Constraint] = ()) -> None:
        if not isinstance(objective, Minimize):
            raise TypeError(
                f"The objective must be `Minimize` or `Maximize`, got {type(objective).__name__}."
            )
        self.objective = objective
        self.constraints = _check_constraints(constraints)
        sides = [side for one in self.constraints for side in (one.left, one.right)]
        nodes = nodes_of([objective.expression, *sides])
        self.variables = [node for node in nodes if isinstance(node, Variable)]
        if not self.variables:
            raise ValueError("A problem needs at least one variable.")
        names = [variable.name for variable in self.variables]
        if len(set(names)) < len(names):
            raise ValueError(f"Variables of one problem need different names, got {', '.join(names)}.")
        self._forms: dict[Geometry, Form] = {}

    def is_dgcp(self) -> bool:
        """Return whether the problem is proved to be geodesically convex."""
        return self._form("geodesic").is_proved("geodesic")

    def is_dcp(self) -> bool:
        """Return whether the problem is proved to be convex along straight lines."""
        return all(map(on_convex_set, self.variables)) and self._form("euclidean").is_proved("euclidean")

    @property
    def proved(self) -> Geometry | None:
        """The geometry in which convexity is proved; None if there is none."""
        return "geodesic" if self.is_dgcp() else "euclidean" if self.is_dcp() else None

    def explain(self, geometry: Geometry | None = None) -> str:
        """Return the proof as a tree, with the rule at each node, or the point where it stops.

        Parameters
        ----------
        geometry : {"geodesic", "euclidean"}, optional
            Along the geodesics of the manifolds, or along straight lines. By default, the geometry in which
            the problem is proved to be convex, otherwise geodesics.

        Returns
        -------
        str
            One line per node.
        """
        chosen = geometry or self.proved or "geodesic"
        form = self._form(chosen)
        proved = form.is_proved(chosen)
        if chosen == "euclidean" and not all(map(on_convex_set, self.variables)):
            return "Straight lines leave the manifolds of this problem."
        head = f"The problem is {'proved to be' if proved else 'not proved to be'} {_TITLES[chosen]}."
        lines = [head, "", str(self.objective)]
        for claim in form.claims:
            lines += ["", f"{claim.title} has to be {'affine' if claim.affine else 'convex'}:"]
            lines.append(tree(claim.expression, chosen))
            if not claim.holds(chosen):
                gap = find_gap(claim.expression, chosen, affine=claim.affine)
                lines.append(f"The proof stops here: {gap}")
        return "\n".join(lines)

    def to_problem(self) -> PlainProblem:
        """Return the problem for `geodual.optimize.minimize`, with all derivatives.

        Returns
        -------
        geodual.optimize.Problem
            With several variables, its points are dictionaries by name. Parameters keep their current values.
        """
        return self._compiled()[0].problem(convex=self._declared())

    def start(self) -> Point:
        """Return the start of a solve: the values of the variables, or centers of their manifolds."""
        points = [_start(v) if v.value is None else v.value for v in self.variables]
        if len(points) == 1:
            return points[0]
        return {variable.name: point for variable, point in zip(self.variables, points, strict=True)}

    def solve(self, **options: Any) -> ModelResult:
        """Solve the problem, and compute a lower bound on the cost of all feasible points.

        Parameters
        ----------
        **options
            Options of `geodual.optimize.minimize`, such as `tol`, `verbose`, `method` and `x0`.

        Returns
        -------
        ModelResult
            The result of `minimize`, with `proof`, `lower_bound` and `gap`. The variables are set to the
            solution.
        """
        compiled, geometry = self._compiled()
        x0 = options.pop("x0", None)
        # Not declared convex, because a proof needs no check along random geodesics.
        result = minimize(compiled.problem(convex=False), self.start() if x0 is None else x0, **options)
        for variable, value in zip(self.variables, compiled.parts(result.x), strict=True):
            variable.held = np.array(value)
        bound = LowerBound(None, "The problem is not proved to be convex; print(problem.explain()) says why.")
        if geometry is not None:
            bound = lower_bound(compiled, result, geometry)
        known: dict[str, Any] = {f.name: getattr(result, f.name) for f in fields(Result)}
        return ModelResult(
            **known,
            value=np.asarray(self.objective.expression.value),
            proof=None if geometry is None else self.explain(geometry),
            lower_bound=bound.value,
            bound_reason=bound.reason,
        )

    def _form(self, geometry: Geometry) -> Form:
        if geometry not in self._forms:
            cost = self.objective.cost(geometry)
            self._forms[geometry] = make_form(cost, self.constraints, self.variables, geometry)
        return self._forms[geometry]

    def _compiled(self) -> tuple[Compiled, Geometry | None]:
        geometry = self.proved
        return Compiled(self._form(geometry or "geodesic"), self.variables), geometry

    def _declared(self) -> bool:
        """Return whether the plain problem can be declared geodesically convex, with affine maps of terms."""
        form = self._form("geodesic")
        return self.is_dgcp() and all(mapped.is_affine() for _, mapped in form.terms)

    def __str__(self) -> str:
        lines = [str(self.objective)]
        for k, constraint in enumerate(self.constraints):
            lines.append(f"{'subject to' if k == 0 else '          '} {constraint}")
        return "\n".join(lines)


def _check_constraints(constraints: Any) -> tuple[Constraint, ...]:
    given = (constraints,) if isinstance(constraints, Constraint) else tuple(constraints)
    for k, constraint in enumerate(given):
        if not isinstance(constraint, Constraint):
            raise TypeError(
                f"Constraint {k} must be a comparison such as trace(X) <= 1, got {type(constraint).__name__}."
            )
    return given


def _start(variable: Variable) -> Any:
    """Return a central point of the manifold of a variable."""
    manifold = variable.manifold
    if isinstance(manifold, SPD):
        return np.eye(variable.shape[0])
    if isinstance(manifold, PositiveOrthant):
        return np.ones(variable.shape)
    if isinstance(manifold, Simplex):
        return np.full(variable.shape, 1.0 / np.prod(variable.shape))
    if isinstance(manifold, Hyperbolic):
        return manifold.lift(np.zeros(manifold.n))
    if isinstance(manifold, Sphere) and variable.ball is not None:
        return variable.ball[0]
    if on_convex_set(variable):
        return np.zeros(variable.shape)
    return manifold.random_point(np.random.default_rng(0))
