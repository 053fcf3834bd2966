"""The array types of embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""One embedding: (d,) float32, L2-normalised."""


Matrix = NDArray[np.float32]
"""Embeddings: (n, d) float32, one per row."""
