"""Cells of shifted Laplace laws, with masses of a certified relative error.

The likelihood ratio of outputs changes between the means only. So the ends are few cells there, and
a component for either side. Proof: docs/proofs/random-allocation.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.core.relation import Relation

# Number of cells between two means. The ends of ε differ by about 1e-5. Speed and width only.
CELLS = 400
# Relative error of masses, which are products of some exponential functions of at most 10.
MASS_ERR = 2.0**-46


def laplace_pair(scale: float, relation: Relation) -> Decomposition:
    """Return the decomposition of Laplace laws with means 1, 0 and 0, or 1, −1 and 0 to replace.

    The arrays are those of ``inner``, in which only the cell is reported. In ``outer``, the mass of
    a cell is spread to its ends.

    Parameters
    ----------
    scale
        The scale of the noise, at least 0.1.
    relation
        The neighbouring relation that the decomposition is about.
    """
    distance = 1.0 / scale
    heights = np.exp(-np.linspace(0.0, distance, CELLS + 1))
    cells = 0.5 * heights[:-1] * -math.expm1(-distance / CELLS)
    nodes = heights * math.tanh(0.5 * distance / CELLS)
    nodes[[0, -1]] *= 0.5
    inner, outer = (_with_both_sides(x, distance, relation) for x in (cells, nodes))
    return replace(inner, inner=inner, outer=outer)


def _with_both_sides(between: FloatArray, distance: float, relation: Relation) -> Decomposition:
    """Return the decomposition with masses between the means 0 and `distance` of the middle law."""
    beyond = 0.5 * math.exp(-distance)
    # The laws with these means are mirror images of each other.
    a, c = np.append(between[::-1], 0.5), np.append(between, beyond)
    if relation is not Relation.REPLACE:
        a, c = np.append(a, beyond), np.append(c, 0.5)
        return Decomposition(a, c, c, MASS_ERR, relation=relation)
    b = c * math.exp(-distance)
    both = (np.append(a, b), np.append(b, a), np.append(c, c))
    return Decomposition(*both, MASS_ERR, relation=relation)
