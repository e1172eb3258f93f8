"""Low-rank semidefinite programs with certificates: factors on manifolds, and a proved lower bound."""

from .program import SemidefiniteProgram
from .result import Round, SemidefiniteResult

__all__ = ["Round", "SemidefiniteProgram", "SemidefiniteResult"]
