"""Constrained optimisation on manifolds: problems, solvers and certificates of optimality."""

from .checks import GradientCheck, check_gradient
from .constraint import Constraint
from .convexity import ConvexityCheck, check_convexity
from .kkt import KKT
from .lagrangian import Lagrangian
from .many import ManyResults, minimize_many
from .newton_cg import newton_cg
from .primal_dual import corollary1_bound, theorem1_bound
from .problem import ConstraintVector, EvaluatedPoint, Problem
from .quasi_newton import limited_memory
from .result import History, InnerIterate, Iterate, Iteration, Result
from .solve import minimize
from .updates import Stop, Update

__all__ = [
    "KKT",
    "Constraint",
    "ConstraintVector",
    "ConvexityCheck",
    "EvaluatedPoint",
    "GradientCheck",
    "History",
    "InnerIterate",
    "Iterate",
    "Iteration",
    "Lagrangian",
    "ManyResults",
    "Problem",
    "Result",
    "Stop",
    "Update",
    "check_convexity",
    "check_gradient",
    "corollary1_bound",
    "limited_memory",
    "minimize",
    "minimize_many",
    "newton_cg",
    "theorem1_bound",
]
