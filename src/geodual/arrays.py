"""The array types that all layers share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""An array of real numbers."""
Indices = NDArray[np.intp]
"""An array of positions in another array."""
