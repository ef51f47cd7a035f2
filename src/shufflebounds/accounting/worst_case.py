"""The largest ε among several decompositions: of all pairs of inputs, or of all datasets tried."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from shufflebounds.accounting.amplification import delta as delta_at
from shufflebounds.accounting.amplification import epsilon
from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.estimates import log_estimate
from shufflebounds.enclosure import Enclosure, PrecisionError

# Coarse, for what is far below δ at the ε in question; the rest is looked into anyway.
_COARSE = 0.05
# So many dataset pairs are looked at more closely than by the variance of G.
_TRIES = 300


def worst_epsilon(
    candidates: Mapping[str, Decomposition], n: int, delta: float, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Name and enclosure of the largest ε(δ) for n users among the candidates.

    What may be claimed where any of them may be the worst: at ``upper`` every candidate was found
    to have D(ε) ≤ δ. Which is the worst depends on `n` and `delta`: the one that is named need not
    be at others, nor for several rounds. One whose D is that small at the largest ε so far is not
    looked into further. The arguments, and what is raised, are those of `epsilon`; ValueError for
    no candidates.
    """
    worst, *others = _names(candidates)
    found = epsilon(candidates[worst], n, delta, rtol=rtol)
    for name in others:
        if math.isinf(found.upper):
            break
        if _upper_delta(candidates[name], found.upper, n) <= delta:
            continue
        other = epsilon(candidates[name], n, delta, rtol=rtol)
        if other.upper > found.upper:
            worst = name
        found = Enclosure(max(found.lower, other.lower), max(found.upper, other.upper))
    return worst, found


def best_lower_epsilon(
    pairs: Mapping[str, Decomposition], n: int, delta: float, *, rtol: float | None = None
) -> tuple[str, Enclosure]:
    """Name and enclosure of the largest ε(δ) that was found among the dataset pairs.

    Each of them is a lower bound, so that none has to be looked at. Of many, those whose G varies
    most at the first one's ε are, and of these, those that an estimate puts above the best so far.
    The arguments, and what is raised, are those of `epsilon`; ValueError for no pairs.
    """
    best, *others = _names(pairs)
    found = epsilon(pairs[best], n, delta, rtol=rtol)
    others.sort(key=lambda name: -_variance(pairs[name], found.lower))
    for name in others[:_TRIES]:
        if math.isinf(found.lower):
            break
        directions = pairs[name].directions
        estimate = max(log_estimate(inner, found.lower, n)[0] for inner, _ in directions)
        if estimate > math.log(delta):
            other = epsilon(pairs[name], n, delta, rtol=rtol)
            if other.lower > found.lower:
                best, found = name, other
    return best, found


def _variance(decomposition: Decomposition, eps: float) -> float:
    """E G² of the direction where it is larger."""
    values = []
    for one, other in itertools.permutations((decomposition.a, decomposition.b)):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            terms = (one - math.exp(min(eps, 300.0)) * other) ** 2 / decomposition.c
        values.append(float(np.nansum(terms)))
    return max(values)


def _names(candidates: Mapping[str, Decomposition]) -> list[str]:
    if not isinstance(candidates, Mapping):
        raise ValueError(
            f"candidates must be decompositions by name, such as R.blankets(), got {candidates!r}"
        )
    if not candidates:
        raise ValueError("candidates must hold at least one decomposition, got none")
    return list(candidates)


def _upper_delta(decomposition: Decomposition, eps: float, n: int) -> float:
    try:
        return delta_at(decomposition, eps, n, rtol=_COARSE).upper
    except PrecisionError as error:
        return error.enclosure.upper
