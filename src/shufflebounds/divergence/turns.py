"""e^{iy} − 1 from the tangent of y/2: one function for sine and cosine, good relatively.

With τ = tan(y/2), sin y = 2τ/(1 + τ²) and cos y − 1 = −2τ²/(1 + τ²). A relative error of τ counts
at most once in the first and twice in the second, however close to a pole: docs/engine.md,
section 7.
"""

from __future__ import annotations

import numpy as np

from shufflebounds.decomposition import FloatArray


def away_from_one(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What cos y − 1 is, good to 20 u of it, and sin y, good to 12 u of it."""
    tangent = np.tan(0.5 * y)
    square = tangent * tangent
    scale = 2.0 / (1.0 + square)
    tangent *= scale
    square *= scale
    return np.negative(square, out=square), tangent
