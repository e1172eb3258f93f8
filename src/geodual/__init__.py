"""Constrained optimization on Riemannian manifolds, metric learning and fund selection."""

__version__ = "0.3.0"
