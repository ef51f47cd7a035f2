"""Variations β, measured: on the rows of a probability matrix, or by integration."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate


def sampled_rappor(eps0: float, domain_size: int, sample: int) -> NDArray[np.float64]:
    """RAPPOR of `sample` bits that are chosen at random, as a matrix: inputs by (bits, values)."""
    keep = 1.0 / (1.0 + math.exp(-eps0 / 2.0))
    rows: list[list[float]] = [[] for _ in range(domain_size)]
    chosen = list(itertools.combinations(range(domain_size), sample))
    for bits in chosen:
        for values in itertools.product((0, 1), repeat=sample):
            for x, row in enumerate(rows):
                chances = (
                    keep if (bit == x) == value else 1.0 - keep
                    for bit, value in zip(bits, values, strict=True)
                )
                row.append(math.prod(chances) / len(chosen))
    return np.array(rows)


def wheel(eps0: float, length: float) -> float:
    """β of Wheel with one item: arcs of two inputs begin anywhere, and share a part at random."""
    # Directions are uniform: the shared length, averaged over the distance u of the arcs' ends.
    shared = 2.0 * integrate.quad(lambda u: max(length - u, 0.0), 0.0, 0.5, points=[length])[0]
    e = math.exp(eps0)
    return (length - shared) * (e - 1.0) / (length * e + 1.0 - length)


def laplace(eps0: float) -> float:
    """β of Laplace noise on [0, 1]: the integral of the densities' difference where positive."""
    whole = integrate.quad(
        lambda y: max(math.exp(-eps0 * abs(y)) - math.exp(-eps0 * abs(y - 1.0)), 0.0),
        -60.0 / eps0,
        0.5,
        points=[0.0],
        limit=200,
    )[0]
    return float(whole) * eps0 / 2.0


def widest(matrix: NDArray[np.float64]) -> float:
    """β of a randomizer: the largest total variation distance of two rows."""
    return max(
        float(np.maximum(one - other, 0.0).sum())
        for one, other in itertools.permutations(matrix, 2)
    )
