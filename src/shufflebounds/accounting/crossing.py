"""Where a decreasing function that was evaluated at some points, more or less well, passes 0."""

from __future__ import annotations

import math
from typing import NamedTuple

# Ends of a bracket this far apart are interpolated by the logarithm of ε.
_DECADES = 2.0
# The share of a bracket that an interpolated point keeps away from its ends.
_MARGIN = 0.03


class Trial(NamedTuple):
    """log D − log δ at ε, known to within ``noise``, which is ``short`` of what was asked for."""

    eps: float
    excess: float
    noise: float
    short: bool = False


class Crossing(NamedTuple):
    """A guess of the ε at which the excess is 0, and of how much it may be there instead."""

    eps: float
    doubt: float


def bracketed(trials: list[Trial]) -> Crossing | None:
    """Inverse interpolation between the last trial above 0 and the first one below it.

    None where there are no two such trials in this order. Quadratic where a third trial fits in,
    which then tells how far to trust it; after several trials on one side linear, the end on the
    other side counting for less each time (Illinois). Trials that tell no side only count if none
    was finer.
    """
    finest = min((x.noise for x in trials), default=0.0)
    trials = [x for x in trials if abs(x.excess) > x.noise or x.noise <= 2.0 * finest]
    left = max((x for x in trials if x.excess > 0.0), default=None)
    right = min((x for x in trials if x.excess < 0.0), default=None)
    if left is None or right is None or left.eps >= right.eps:
        return None
    drop = left.excess - right.excess
    near = min(left, right, key=lambda x: abs(x.excess))
    share = left.excess / drop
    doubt = 0.3 * abs(near.excess) + near.noise
    others = [x for x in trials if not left.eps <= x.eps <= right.eps]
    streak = streak_of(trials)
    if streak > 1:
        weights = [1.0 if side is trials[-1] else 0.5 ** (streak - 1) for side in (left, right)]
        share = weights[0] * left.excess
        share /= weights[0] * left.excess - weights[1] * right.excess
    elif others:
        third = min(others, key=lambda x: abs(x.excess))
        quadratic = _quadratic(left, right, third)
        if quadratic is not None:
            doubt = min(doubt, 0.5 * drop * abs(quadratic - share) + near.noise)
            share = quadratic
    least = _MARGIN if left.eps > 0.0 else 0.0
    eps = _between(left.eps, right.eps, min(max(share, least), 1.0 - _MARGIN))
    if left.eps == 0.0 and left.excess < -right.excess:
        # Near 0 the logarithm tends to fall faster than further out.
        eps = min(eps, 0.25 * right.eps)
    inside = _MARGIN <= share <= 1.0 - _MARGIN
    return Crossing(eps, doubt if inside else max(doubt, 0.5 * abs(near.excess)))


def streak_of(trials: list[Trial]) -> int:
    """How many trials the last of them is the last of that lie on one side."""
    side = trials[-1].excess > 0.0
    return next(
        (i for i, x in enumerate(reversed(trials)) if (x.excess > 0.0) != side), len(trials)
    )


def _quadratic(left: Trial, right: Trial, third: Trial) -> float | None:
    """Where between the first two the inverse quadratic through all three passes 0, as a share.

    None where the excess does not fall from each to the next.
    """
    if not (third.excess > left.excess if third.eps < left.eps else third.excess < right.excess):
        return None
    x = _position(left.eps, right.eps, third.eps)
    if not math.isfinite(x):
        return None
    a, b, c = left.excess, right.excess, third.excess
    # Lagrange: `left` is at 0, `right` at 1.
    share = a * c / ((b - a) * (b - c)) + x * a * b / ((c - a) * (c - b))
    return share if 0.0 < share < 1.0 else None


def _position(start: float, end: float, eps: float) -> float:
    """The share of the way from `start` to `end`, by logarithms where they are far apart."""
    if start > 0.0 and end > _DECADES * start:
        if not eps > 0.0:
            return math.nan
        # Not the logarithm of a quotient, which may underflow.
        return (math.log(eps) - math.log(start)) / (math.log(end) - math.log(start))
    return (eps - start) / (end - start)


def _between(start: float, end: float, share: float) -> float:
    """The inverse of `_position`."""
    if start > 0.0 and end > _DECADES * start:
        return start * math.exp(share * math.log(end / start))
    return start + share * (end - start)
