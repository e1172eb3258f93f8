"""Random problems with a solution on all manifolds, and how many of them a method solves."""

from .generator import RandomProblem, random_problem
from .study import Outcome, random_table, solve_seed, verdict_on

__all__ = ["Outcome", "RandomProblem", "random_problem", "random_table", "solve_seed", "verdict_on"]
