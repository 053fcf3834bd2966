"""Arrays of embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "Vector"]


Vector = NDArray[np.float32]
"""(d,) float32, L2-normalised."""


Matrix = NDArray[np.float32]
"""(n, d) float32."""
