"""Random problems with a solution, on all manifolds."""

from .generator import RandomProblem, random_problem

__all__ = ["RandomProblem", "random_problem"]
