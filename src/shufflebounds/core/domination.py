"""Decompositions that another one makes superfluous; the proof is in docs/variation-ratio.md.

With the residual as a component (0, 0, r) let f(u, v, t) = Σ(ua − vb − tc)₊. If f of one
decomposition is at least that of another for all u, v ≥ 0 and all t, then so is E φ(G) for every
convex φ, ε and direction, hence D at every n. It is checked in rational arithmetic. f is linear on
the cells that the planes ua − vb = tc of the one cut out of u, v ≥ 0, and the other's is convex and
homogeneous, so that the edges of these cells decide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition

Triple = tuple[int, int, int]

# The one's c may be lower by this, lest rounding decide where both agree.
_LOWERED = Fraction(1, 2**44)
# Bounds the time: terms of f to be evaluated with exact integers, some microseconds each.
_MOST_TERMS = 1_000_000
# Tells, roughly and quickly, most that are not dominated.
_TOLERANCE = 1e-9


def undominated(candidates: Mapping[str, Decomposition]) -> dict[str, Decomposition]:
    """The candidates without those whose D another one exceeds at every ε and n.

    What is left covers them: the uncertainty of a decomposition that stands for others grows to
    theirs. Those that would take too long to compare stay. The earlier of two that exceed each
    other is kept.
    """
    kept = dict(candidates)
    names = [name for name, one in kept.items() if one.is_finite() and one.c.all()]
    planes = {name: _planes(kept[name]) for name in names}
    sample = _sample([planes[name] for name in names]) if names else np.zeros((0, 0))
    left = _MOST_TERMS
    for place in reversed(range(len(names))):
        small = names[place]
        for other in np.flatnonzero((sample[place] <= sample + _TOLERANCE).all(axis=1)):
            large = names[other]
            if large == small or large not in kept or not _seems_larger(planes, large, small):
                continue
            left -= _terms(planes[large], planes[small])
            if left < 0:
                return kept
            if exceeds(kept[large], kept[small]):
                kept[large] = _covering(kept[large], kept.pop(small))
                break
    return kept


def exceeds(large: Decomposition, small: Decomposition) -> bool:
    """Whether f of `large`, its c lowered by 2⁻⁴⁴, is at least that of `small` everywhere.

    a and b are taken divided by their sums, and c if it sums to more than 1. Exact; neither may
    have c = 0 or be continuous.
    """
    large_masses, large_unit = _integers(large, 1 - _LOWERED)
    small_masses, small_unit = _integers(small, Fraction(1))
    return all(
        _positive_sum(small_masses, edge) * large_unit
        <= _positive_sum(large_masses, edge) * small_unit
        for edge in _edges(large_masses)
    )


def _covering(large: Decomposition, small: Decomposition) -> Decomposition:
    """`large`, so uncertain that its upper bounds are those of `small`, too."""
    sums = [math.fsum([-1.0, *x.tolist()]) for d in (large, small) for x in _arrays(d)]
    missed = sum(abs(sums[i]) if i % 3 < 2 else max(sums[i], 0.0) for i in range(6))
    covering = 1.001 * (small.rel_err + float(_LOWERED) + missed)
    return replace(large, rel_err=max(large.rel_err, covering), tied=None)


def _integers(decomposition: Decomposition, factor: Fraction) -> tuple[list[Triple], int]:
    """Components, residual included, as multiples of one over the second value."""
    a, b, c = ([Fraction(x) for x in x.tolist()] for x in _arrays(decomposition))
    a, b = ([mass / sum(x) for mass in x] for x in (a, b))
    c = [factor * mass / max(sum(c), 1) for mass in c]
    rows = [*zip(a, b, c, strict=True), (Fraction(0), Fraction(0), 1 - sum(c))]
    unit = math.lcm(*(x.denominator for row in rows for x in row))
    return [(int(x * unit), int(y * unit), int(z * unit)) for x, y, z in rows], unit


def _arrays(decomposition: Decomposition) -> tuple[NDArray, NDArray, NDArray]:
    return decomposition.a, decomposition.b, decomposition.c


def _positive_sum(masses: Sequence[Triple], edge: Triple) -> int:
    u, v, t = edge
    return sum(max(u * a - v * b - t * c, 0) for a, b, c in masses)


def _edges(masses: Sequence[Triple]) -> Iterator[Triple]:
    """Where two of the planes meet, those of u = 0, v = 0 and t = 0 among them."""
    normals = [(a, -b, -c) for a, b, c in masses] + [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for (x, y, z), (p, q, r) in itertools.combinations(normals, 2):
        edge = (y * r - z * q, z * p - x * r, x * q - y * p)
        for u, v, t in (edge, tuple(-k for k in edge)):
            if u >= 0 and v >= 0 and (u or v or t):
                yield u, v, t


def _terms(large: NDArray, small: NDArray) -> int:
    return math.comb(len(large) + 3, 2) * (len(large) + len(small))


def _planes(decomposition: Decomposition) -> NDArray:
    """Rows (a, −b, −c) as floats, the residual's last."""
    a, b, c = _arrays(decomposition)
    rows = np.column_stack([a, -b, -c])
    return np.vstack([rows, [0.0, 0.0, -decomposition.residual]])


def _sample(planes: Sequence[NDArray]) -> NDArray:
    """F at a few (u, v, t), a row for each decomposition."""
    angles = np.linspace(0.0, np.pi / 2.0, 9)
    points = [
        (math.cos(angle), math.sin(angle), t)
        for angle in angles
        for t in (-8.0, -2.0, -0.7, -0.2, 0.0, 0.2, 0.7, 2.0, 8.0)
    ]
    return np.array([np.maximum(np.array(points) @ rows.T, 0.0).sum(axis=1) for rows in planes])


def _seems_larger(planes: Mapping[str, NDArray], large: str, small: str) -> bool:
    """Whether floating point sees no edge at which f of `small` is larger."""
    normals = np.vstack([planes[large], np.eye(3)])
    first, second = np.triu_indices(len(normals), 1)
    edges = np.cross(normals[first], normals[second])
    edges = np.vstack([edges, -edges])
    edges = edges[(edges[:, :2] >= 0.0).all(axis=1) & edges.any(axis=1)]
    edges /= np.abs(edges).max(axis=1, keepdims=True)
    sums = [np.maximum(edges @ planes[name].T, 0.0).sum(axis=1) for name in (large, small)]
    return bool((sums[1] <= sums[0] + _TOLERANCE).all())
