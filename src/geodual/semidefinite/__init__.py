"""Low-rank semidefinite programs with certificates: factors on manifolds, and a proved lower bound."""

from .program import SemidefiniteProgram
from .relaxations import (
    balanced_cut,
    max_cut,
    round_cut,
    round_rotations,
    sensor_localization,
    sensor_positions,
    synchronization,
)
from .result import SemidefiniteResult

__all__ = [
    "SemidefiniteProgram",
    "SemidefiniteResult",
    "balanced_cut",
    "max_cut",
    "round_cut",
    "round_rotations",
    "sensor_localization",
    "sensor_positions",
    "synchronization",
]
