"""Decompositions that another one exceeds at every ε and n.

The proof is in docs/proofs/variation-ratio.md.

With the residual as a component (0, 0, r) let f(u, v, t) = Σ(ua − vb − tc)₊. If f of one
decomposition is at least that of another for all u, v ≥ 0 and all t, then so is E φ(G) for every
convex φ, ε and direction, hence D at every n. f is checked in rational arithmetic. It is linear on
the cells that the planes ua − vb = tc of the larger decomposition cut out of u, v ≥ 0. f of the
smaller decomposition is convex and homogeneous, so that the edges of these cells decide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import MERGE_GAP, SUM_TOLERANCE, FloatArray

Triple = tuple[int, int, int]

# Share by which c of the larger decomposition is lowered, lest rounding decide if both agree.
_LOWERING = Fraction(MERGE_GAP)
# Largest number of terms of f that are evaluated with exact integers, some microseconds each.
_MAX_TERMS = 1_000_000


def undominated(candidates: Mapping[str, Decomposition]) -> dict[str, Decomposition]:
    """Return the candidates without those whose D another one exceeds at every ε and n.

    The result covers the removed ones: the uncertainty of a decomposition that stands for others
    grows to theirs. Candidates that would take too long to compare stay. The earlier of two that
    exceed each other stays.
    """
    remaining = dict(candidates)
    names = [name for name, x in candidates.items() if x.is_finite() and x.c.all()]
    planes = {name: _planes(candidates[name]) for name in names}
    sample = _sample([planes[name] for name in names]) if names else np.zeros((0, 0))
    terms = 0
    for place in reversed(range(len(names))):
        small = names[place]
        for larger in np.flatnonzero((sample[place] <= sample + SUM_TOLERANCE).all(axis=1)):
            large = names[larger]
            if large == small or large not in remaining:
                continue
            cost = math.comb(len(planes[large]) + 3, 2) * (len(planes[large]) + len(planes[small]))
            # The memory of the estimate grows like this cost, too.
            if cost > _MAX_TERMS or not _seems_larger(planes[large], planes[small]):
                continue
            terms += cost
            if terms > _MAX_TERMS:
                return remaining
            if exceeds(remaining[large], remaining[small]):
                remaining[large] = _covering_both(remaining[large], remaining.pop(small))
                break
    return remaining


def exceeds(large: Decomposition, small: Decomposition) -> bool:
    """Return whether f of `large`, its c lowered by 2⁻⁴⁴, is at least that of `small` everywhere.

    a and b are divided by their sums, and c if it sums to more than 1. The comparison is exact;
    neither decomposition may have c = 0 or be continuous.
    """
    large_masses, large_unit = _integers(large, 1 - _LOWERING)
    small_masses, small_unit = _integers(small, Fraction(1))
    return all(
        _positive_sum(small_masses, edge) * large_unit
        <= _positive_sum(large_masses, edge) * small_unit
        for edge in _edges(large_masses)
    )


def _covering_both(large: Decomposition, small: Decomposition) -> Decomposition:
    """Return `large`, so uncertain that its upper bounds are those of `small`, too."""
    missing = 0.0
    for decomposition in (large, small):
        a, b, c = (
            math.fsum([-1.0, *x.tolist()])
            for x in (decomposition.a, decomposition.b, decomposition.c)
        )
        missing += abs(a) + abs(b) + max(c, 0.0)
    covering = 1.001 * (small.rel_err + float(_LOWERING) + missing)
    return replace(large, rel_err=max(large.rel_err, covering), tied=None)


def _integers(decomposition: Decomposition, factor: Fraction) -> tuple[list[Triple], int]:
    """Return integers and a unit: components, the residual included, are integers over the unit.

    c is multiplied by `factor`.
    """
    a, b, c = (
        [Fraction(mass) for mass in masses.tolist()]
        for masses in (decomposition.a, decomposition.b, decomposition.c)
    )
    a, b = ([mass / sum(masses) for mass in masses] for masses in (a, b))
    c = [factor * mass / max(sum(c), 1) for mass in c]
    rows = [*zip(a, b, c, strict=True), (Fraction(0), Fraction(0), 1 - sum(c))]
    unit = math.lcm(*(x.denominator for row in rows for x in row))
    return [(int(x * unit), int(y * unit), int(z * unit)) for x, y, z in rows], unit


def _positive_sum(masses: Sequence[Triple], edge: Triple) -> int:
    """Return f at an edge (u, v, t)."""
    u, v, t = edge
    return sum(max(u * a - v * b - t * c, 0) for a, b, c in masses)


def _edges(masses: Sequence[Triple]) -> Iterator[Triple]:
    """Yield a point (u, v, t) of each line where two planes meet, u = 0, v = 0, t = 0 included."""
    normals = [(a, -b, -c) for a, b, c in masses] + [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for (x, y, z), (p, q, r) in itertools.combinations(normals, 2):
        edge = (y * r - z * q, z * p - x * r, x * q - y * p)
        for u, v, t in (edge, tuple(-k for k in edge)):
            if u >= 0 and v >= 0 and (u or v or t):
                yield u, v, t


def _planes(decomposition: Decomposition) -> FloatArray:
    """Return rows (a, −b, −c), that of the residual last."""
    rows = np.column_stack([decomposition.a, -decomposition.b, -decomposition.c])
    return np.vstack([rows, [0.0, 0.0, -decomposition.residual]])


def _sample(planes: Sequence[FloatArray]) -> FloatArray:
    """Return f at 81 points (u, v, t), a row for each decomposition."""
    angles = np.linspace(0.0, np.pi / 2.0, 9)
    points = [
        (math.cos(angle), math.sin(angle), t)
        for angle in angles
        for t in (-8.0, -2.0, -0.7, -0.2, 0.0, 0.2, 0.7, 2.0, 8.0)
    ]
    return np.array([np.maximum(np.array(points) @ rows.T, 0.0).sum(axis=1) for rows in planes])


def _seems_larger(large: FloatArray, small: FloatArray) -> bool:
    """Return whether no edge of the planes `large` has a larger f of `small`, up to rounding."""
    normals = np.vstack([large, np.eye(3)])
    first, second = np.triu_indices(len(normals), 1)
    edges = np.cross(normals[first], normals[second])
    edges = np.vstack([edges, -edges])
    edges = edges[(edges[:, :2] >= 0.0).all(axis=1) & edges.any(axis=1)]
    edges /= np.abs(edges).max(axis=1, keepdims=True)
    large_sum, small_sum = (np.maximum(edges @ rows.T, 0.0).sum(axis=1) for rows in (large, small))
    return bool((small_sum <= large_sum + SUM_TOLERANCE).all())
