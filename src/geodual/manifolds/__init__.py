"""Riemannian manifolds in numpy, with exact geometry, in closed form where one exists."""

from .adapter import PymanoptManifold, as_manifold
from .base import Manifold, NoLogarithmError, NotOnManifoldError
from .complex_matrices import ComplexStiefel, HermitianPD
from .euclidean import Euclidean
from .fixed_rank import FixedRank
from .frame import Frame
from .grassmann import Grassmann
from .hyperbolic import Hyperbolic
from .oblique import Oblique
from .positive_orthant import PositiveOrthant
from .power import Power
from .product import Product
from .rotations import Rotations
from .simplex import Simplex
from .spd import SPD
from .sphere import Sphere
from .stiefel import Stiefel
from .symmetric import SkewSymmetric, Symmetric
from .unit_circle import UnitCircle

__all__ = [
    "SPD",
    "ComplexStiefel",
    "Euclidean",
    "FixedRank",
    "Frame",
    "Grassmann",
    "HermitianPD",
    "Hyperbolic",
    "Manifold",
    "NoLogarithmError",
    "NotOnManifoldError",
    "Oblique",
    "PositiveOrthant",
    "Power",
    "Product",
    "PymanoptManifold",
    "Rotations",
    "Simplex",
    "SkewSymmetric",
    "Sphere",
    "Stiefel",
    "Symmetric",
    "UnitCircle",
    "as_manifold",
]
