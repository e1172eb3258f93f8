"""Metric learning as scikit-learn estimators: RPDML with a certificate, and its rivals."""

from .itml import ITML
from .rpdml import RPDML

__all__ = ["ITML", "RPDML"]
