"""Riemannian manifolds in numpy: geometry only, exact and in closed form where there is one."""

from .adapter import PymanoptManifold, as_manifold
from .base import Frame, Manifold, NoLogarithmError, NotOnManifoldError
from .euclidean import Euclidean
from .hyperbolic import Hyperbolic
from .product import Product
from .spd import SPD
from .sphere import Sphere
from .stiefel import Stiefel

__all__ = [
    "SPD",
    "Euclidean",
    "Frame",
    "Hyperbolic",
    "Manifold",
    "NoLogarithmError",
    "NotOnManifoldError",
    "Product",
    "PymanoptManifold",
    "Sphere",
    "Stiefel",
    "as_manifold",
]
