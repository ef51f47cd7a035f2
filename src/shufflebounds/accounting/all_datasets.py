"""What holds for all datasets, by the suprema of crowds: δ, ε, the fewest users, the largest ε₀.

Each search returns a point at which the suprema themselves were found to be at most δ, or the one
it was given. That they grow or fall along the axis steers it, and no more rests on that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial

from shufflebounds.accounting import amplification
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition
from shufflebounds.divergence.supremum import supremum
from shufflebounds.enclosure import reached

# The search ends where the bound cannot be lowered by more than about this share.
_WITHIN = 1e-4
_PROBES = 40
# So few pairs of inputs are all looked at; others only if a coarse bound does not settle them.
_FEW, _COARSE = 4, 0.05
_SMALLEST = 1e-304

# Whether the suprema at a point are at most δ, and log of the largest over δ.
_Excess = Callable[[float], tuple[bool, float]]


def unsettled(crowds: Sequence[Crowd], eps: float, delta: float, n: int) -> list[Crowd]:
    """Those of many whose blankets leave it open whether D(ε) is above δ, in both directions.

    The others' datasets have at most δ at `eps` and beyond, whatever a finer bound would say. Of
    extremes the blanket is not that of all their pairs. One is kept, so that there is an answer.
    """
    if len(crowds) <= _FEW:
        return list(crowds)
    open_ = [one for one in crowds if one.extremes or not _is_settled(one.blanket(), eps, delta, n)]
    return open_ or [crowds[0]]


def _is_settled(blanket: Decomposition, eps: float, delta: float, n: int) -> bool:
    found = reached(partial(amplification.delta, blanket, eps, n, rtol=_COARSE))
    return bool(found.upper <= delta)


def all_datasets_delta(crowds: Sequence[Crowd], eps: float, n: int, high: float) -> float:
    """The largest supremum of all crowds and both directions, if it is below the bound `high`."""
    found = (supremum(crowd, eps, n) for crowd in directions(crowds))
    return min(high, max(found, default=math.inf))


def all_datasets_epsilon(
    crowds: Sequence[Crowd], n: int, delta: float, low: float, high: float
) -> float:
    """The least ε found in [low, high] with a supremum of at most δ in all crowds; else `high`.

    The lower end of what it searches need not be certain.
    """
    if not crowds or not low < high < math.inf:
        return high
    both = directions(crowds)
    return _least(lambda eps: _excess(both, eps, n, delta), low, high)


def all_datasets_users(
    crowds: Sequence[Crowd], eps: float, delta: float, low: int, high: float
) -> float:
    """The least n found in [low, high] with a supremum of at most δ in all crowds; else `high`.

    As D does not grow with n, more users do as well. `high` is inf where no n is known to do.
    """
    if not crowds or not low < high < math.inf:
        return high
    both = directions(crowds)

    @cache
    def at(n: int) -> tuple[bool, float]:
        return _excess(both, eps, n, delta)

    return math.ceil(_least(lambda n: at(math.ceil(n)), low, high))


def all_datasets_eps0(
    crowds: Callable[[float], Sequence[Crowd]],
    eps: float,
    delta: float,
    n: int,
    low: float,
    high: float,
) -> float:
    """The largest ε₀ found in [low, high] with a supremum of at most δ; else `low`.

    `crowds` are those of the randomizer at an ε₀.
    """
    if not low < high or not crowds(low):
        return low

    def eps0(inverse: float) -> float:
        # What is returned is the very number that was asked about.
        return min(max(1.0 / inverse, low), high)

    def at(inverse: float) -> tuple[bool, float]:
        some = unsettled(crowds(eps0(inverse)), eps, delta, n)
        return _excess(directions(some), eps, n, delta)

    found = _least(at, 1.0 / high, 1.0 / low)
    return eps0(found) if found < 1.0 / low else low


def directions(crowds: Sequence[Crowd]) -> list[Crowd]:
    """Each, and the same with the victim's inputs exchanged."""
    return [one for crowd in crowds for one in (crowd, crowd.swap())]


def _excess(both: list[Crowd], eps: float, n: int, delta: float) -> tuple[bool, float]:
    """See `_Excess`; of the first that is above δ, which is put where it is looked at first.

    Of no crowds nothing is known.
    """
    if not both:
        return False, 1.0
    largest = _SMALLEST
    for place, crowd in enumerate(both):
        found = supremum(crowd, eps, n)
        largest = max(largest, found)
        if not found <= delta:  # or NaN
            both.insert(0, both.pop(place))
            return False, math.log(largest) - math.log(delta)
    return True, math.log(largest) - math.log(delta)


def _least(excess: _Excess, low: float, high: float) -> float:
    """The least point found in [low, high) at which the excess holds; else `high`.

    Secants of the logarithm. It holds from some point on.
    """
    left, right = low, high
    points: list[tuple[float, float]] = []
    probe = low
    for _ in range(_PROBES):
        holds, found = excess(probe)
        points.append((probe, found))
        left, right = (left, min(right, probe)) if holds else (max(left, probe), right)
        if right - left <= _WITHIN * right:
            break
        root = _secant(points, left, right)
        if right < high and right - root <= _WITHIN * right:
            break
        # Just beyond the root, where the supremum should be small enough.
        probe = min(max(root * (1.0 + 0.4 * _WITHIN), left + 0.01 * (right - left)), right)
        if probe >= right:
            # The blanket's end was not looked at: a little below it decides who wins.
            probe = max(0.5 * (left + right), right * (1.0 - _WITHIN))
    return right


def _secant(points: list[tuple[float, float]], left: float, right: float) -> float:
    """Where the line through the last two points vanishes; the middle where that says nothing."""
    middle = 0.5 * (left + right)
    if len(points) < 2:
        return middle
    (x, f), (y, g) = points[-2:]
    if f == g:
        return middle
    root = y - g * (y - x) / (g - f)
    return root if left < root < right else middle
