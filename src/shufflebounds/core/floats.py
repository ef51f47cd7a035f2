"""Floats as all modules use them."""

from __future__ import annotations

import math


def log(x: float) -> float:
    """Natural log of x ≥ 0, −inf at 0."""
    return math.log(x) if x > 0.0 else -math.inf
