"""Constrained optimisation on manifolds: problems, solvers and certificates of optimality."""

from .checks import GradientCheck, check_gradient
from .constraint_vector import ConstraintVector, EvaluatedPoint
from .history import History, Iteration
from .kkt import KKT
from .lagrangian import Lagrangian
from .newton_cg import newton_cg
from .problem import Constraint, Problem
from .result import Iterate, Result
from .solve import minimize
from .theory import corollary1_bound, theorem1_bound
from .updates import Stop, Update

__all__ = [
    "KKT",
    "Constraint",
    "ConstraintVector",
    "EvaluatedPoint",
    "GradientCheck",
    "History",
    "Iterate",
    "Iteration",
    "Lagrangian",
    "Problem",
    "Result",
    "Stop",
    "Update",
    "check_gradient",
    "corollary1_bound",
    "minimize",
    "newton_cg",
    "theorem1_bound",
]
