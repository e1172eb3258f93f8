"""Riemannian manifolds in numpy: exact geometry, in closed form where one exists."""

from .adapter import PymanoptManifold, as_manifold
from .base import Manifold, NoLogarithmError, NotOnManifoldError
from .euclidean import Euclidean
from .frame import Frame
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
