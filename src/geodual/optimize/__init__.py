"""Constrained optimisation on manifolds: problems, solvers and certificates of optimality."""

from .checks import GradientCheck, check_gradient
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .convexity import ConvexityCheck, check_convexity
from .history import History, Iteration
from .kkt import KKT
from .lagrangian import Lagrangian
from .many import ManyResults, minimize_many
from .newton_cg import newton_cg
from .problem import Constraint, Problem
from .quasi_newton import limited_memory
from .result import InnerIterate, Iterate, Result
from .solve import minimize
from .theory import corollary1_bound, theorem1_bound
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
