"""Constrained optimisation on manifolds: problems, solvers and certificates."""

from .checks import GradientCheck, check_gradient
from .history import History, Iteration
from .kkt import KKT
from .problem import Constraint, Problem
from .result import Iterate, Result
from .solve import minimize
from .theory import corollary1_bound, theorem1_bound

__all__ = [
    "KKT",
    "Constraint",
    "GradientCheck",
    "History",
    "Iterate",
    "Iteration",
    "Problem",
    "Result",
    "check_gradient",
    "corollary1_bound",
    "minimize",
    "theorem1_bound",
]
