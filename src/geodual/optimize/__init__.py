"""Constrained optimization on manifolds: problems, solvers and certificates of optimality."""

from .checks import GradientCheck, check_gradient
from .constraint import Constraint
from .convexity import ConvexityCheck, check_convexity
from .functions import (
    L1,
    Ball,
    Box,
    Function,
    GroupL2,
    Huber,
    LInf,
    Max,
    NonPositive,
    NuclearNorm,
    PositiveSemidefinite,
    Quantile,
    SecondOrderCone,
    SimplexSet,
    SpectralNorm,
    Zero,
)
from .kkt import KKT
from .lagrangian import Lagrangian
from .many import ManyResults, minimize_many
from .newton_cg import newton_cg
from .primal_dual import corollary1_bound, theorem1_bound
from .problem import ConstraintVector, EvaluatedPoint, Problem
from .quasi_newton import limited_memory
from .result import History, InnerIterate, Iterate, Iteration, Result, TermValue
from .sensitivity import Derivative, NotDifferentiableError
from .solution_map import Solution, solution_map
from .solve import minimize
from .term import Term
from .updates import Stop, Update

__all__ = [
    "KKT",
    "L1",
    "Ball",
    "Box",
    "Constraint",
    "ConstraintVector",
    "ConvexityCheck",
    "Derivative",
    "EvaluatedPoint",
    "Function",
    "GradientCheck",
    "GroupL2",
    "History",
    "Huber",
    "InnerIterate",
    "Iterate",
    "Iteration",
    "LInf",
    "Lagrangian",
    "ManyResults",
    "Max",
    "NonPositive",
    "NotDifferentiableError",
    "NuclearNorm",
    "PositiveSemidefinite",
    "Problem",
    "Quantile",
    "Result",
    "SecondOrderCone",
    "SimplexSet",
    "Solution",
    "SpectralNorm",
    "Stop",
    "Term",
    "TermValue",
    "Update",
    "Zero",
    "check_convexity",
    "check_gradient",
    "corollary1_bound",
    "limited_memory",
    "minimize",
    "minimize_many",
    "newton_cg",
    "solution_map",
    "theorem1_bound",
]
