"""The inverse questions of a deployment: how large an ε₀, and how few users, meet a target (ε, δ)?

Either way D(ε) is evaluated along an axis, of ε₀ or of n, until the point where it falls to δ lies
between two neighbours. Estimates steer the search; the ends it returns were evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting import amplification
from shufflebounds.accounting import rounds as composed_rounds
from shufflebounds.decomposition import Decomposition, require
from shufflebounds.enclosure import Enclosure, PrecisionError

X = TypeVar("X", bound=float)

# Relative widths of D to try in turn until it can be told from δ; of many rounds, each costs
# another profile.
_LADDER = (1e-4, 1e-6, 1e-8, 1e-9)
_EPS0_LADDER_OF_MANY = (0.1, 0.01, 1e-3)
_USERS_LADDER_OF_MANY = (0.1, 0.01)
_MOST_PROBES = 200
_LONGEST_STEP = 4.0


def largest_eps0(
    mechanism: Callable[[float], Decomposition],
    eps: float,
    delta: float,
    n: int,
    *,
    rounds: int = 1,
    rtol: float = 1e-3,
) -> Enclosure:
    """Enclosure of the largest ε₀ at which a decomposition makes `n` shuffled reports (ε, δ)-DP.

    ``lower`` may be deployed: there D(ε) was found to be at most δ in both directions. At ``upper``
    it was found to be above δ. That D(ε) grows with ε₀ steers the search and is why nothing above
    ``upper`` should do; what is said of ``lower`` rests on the evaluation at ``lower`` alone.

    Parameters
    ----------
    mechanism
        From ε₀ to the decomposition of an ε₀-LDP randomizer, such as
        ``lambda eps0: KRR(k=10, eps0=eps0).blanket()``, or `standard_clone`.
    eps, delta
        The target, 0 < ε ≤ 300 (natural log) and 10⁻³⁰⁰ ≤ δ < 1. Local privacy needs no shuffling,
        so that ε₀ = ε/`rounds` always meets it.
    n
        Number of users, 1 to 10¹⁵.
    rounds
        How many such rounds together must meet the target, 1 to 10⁶.
    rtol
        The relative width to aim at, 10⁻⁹ to 0.1. The answer is wider where the engine cannot tell
        D(ε) from δ that closely, as for a continuous randomizer in few cells.

    Returns
    -------
    Enclosure
        Of ε₀ (natural log). ``upper`` is inf where 300, the largest ε₀ of this library, will do.

    Raises
    ------
    ValueError
        For arguments outside these ranges, and where not even an ε₀ a little below ε meets the
        target, so that `mechanism` cannot be what it should be.

    """
    eps, delta = validation.eps0(eps, "eps"), validation.delta(delta)
    n, rtol = validation.users(n), validation.rtol(rtol)
    rounds = validation.whole("rounds", rounds, minimum=1, maximum=validation.MAX_ROUNDS)
    if not callable(mechanism):
        raise ValueError(
            "mechanism must be a function from eps0 to a decomposition, such as "
            f"lambda eps0: KRR(k=10, eps0=eps0).blanket(), got {mechanism!r}"
        )
    # At ε₀ = ε itself, rounding may leave a D(ε) above 0.
    axis = _LocalPrivacy(validation.MAX_EPS0, eps / rounds * (1.0 - 0.5 * rtol), rtol)
    # ε is about √(2 v log(1/δ)/n) for a v like that of `_LocalPrivacy.scale`.
    start = math.log(-2.0 * rounds * math.log(delta) / n) - 2.0 * math.log(eps)
    ladder = _LADDER if rounds == 1 else _EPS0_LADDER_OF_MANY
    above, lower = _narrow(
        lambda eps0: _probe(mechanism(eps0), eps, delta, n, rounds, ladder), axis, start
    )
    if lower is None:
        raise ValueError(
            "mechanism must give decompositions of eps0-LDP randomizers, but reports at eps0 = "
            f"{axis.most_private!r} are not known to be ({eps!r}, {delta!r})-DP"
        )
    return Enclosure(lower, math.inf if above is None else above)


def fewest_users(
    decomposition: Decomposition, eps: float, delta: float, *, rounds: int = 1
) -> Enclosure:
    """Enclosure of the smallest n at which a decomposition makes n shuffled reports (ε, δ)-DP.

    ``upper`` users are enough: there D(ε) was found to be at most δ in both directions, and D does
    not grow with n. ``lower`` − 1 users are not: there it was found to be above δ. Both ends are
    integers, and equal where the engine can tell neighbouring numbers of users apart (up to some
    10⁸ in a single round, and a few hundred in more).

    Parameters
    ----------
    decomposition
        Of the randomizer.
    eps, delta
        The target, ε ≥ 0 (natural log) and 10⁻³⁰⁰ ≤ δ < 1.
    rounds
        How many such rounds together must meet the target, 1 to 10⁶.

    Returns
    -------
    Enclosure
        Of a number of users. ``upper`` is inf where 10¹⁵ users, the most of this library, are not
        known to be enough; ``lower`` is 10¹⁵ + 1 where they certainly are not.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    """
    eps, delta = validation.eps(eps), validation.delta(delta)
    rounds = validation.whole("rounds", rounds, minimum=1, maximum=validation.MAX_ROUNDS)
    require("decomposition", decomposition)
    axis = _Users(1, validation.MAX_USERS)
    values, masses = decomposition.gparv(0.0)
    with np.errstate(over="ignore"):
        variance = float(masses @ values**2)
    wanted = -2.0 * rounds * variance * math.log(delta)
    start = _log(wanted) - 2.0 * math.log(eps) if eps else math.inf
    ladder = _LADDER if rounds == 1 else _USERS_LADDER_OF_MANY
    below, upper = _narrow(
        lambda n: _probe(decomposition, eps, delta, n, rounds, ladder), axis, start
    )
    return Enclosure(1 if below is None else below + 1, math.inf if upper is None else upper)


@dataclass(frozen=True)
class _Probe:
    """D(ε) at one point: ``side`` is 1 if certainly at most δ, −1 if certainly above, 0 if neither.

    ``excess`` estimates log(log D / log δ), with an error of ``doubt``.
    """

    side: int
    excess: float
    doubt: float


def _probe(
    decomposition: Decomposition,
    eps: float,
    delta: float,
    n: int,
    rounds: int,
    ladder: Sequence[float],
) -> _Probe:
    for rtol in ladder:
        try:
            found = _delta(decomposition, eps, n, rounds, rtol)
            reached = True
        except PrecisionError as error:
            found, reached = error.enclosure, False
        side = 1 if found.upper <= delta else -1 if found.lower > delta else 0
        # Rounds that miss one width come close to it, and so closer to the next.
        if side != 0 or not (reached or rounds > 1):
            break
    low, high = (_log(_log(end) / math.log(delta)) for end in (found.upper, found.lower))
    if math.isinf(low) or math.isinf(high):
        return _Probe(side, side * math.inf if side else 0.0, math.inf)
    return _Probe(side, 0.5 * (low + high), 0.5 * (high - low))


def _delta(decomposition: Decomposition, eps: float, n: int, rounds: int, rtol: float) -> Enclosure:
    if rounds == 1:
        return amplification.delta(decomposition, eps, n, rtol=rtol)
    return composed_rounds.delta(decomposition, eps, n, rounds=rounds, rtol=rtol)


@dataclass(frozen=True)
class _LocalPrivacy:
    """ε₀ as an axis, to a relative width of ``rtol``."""

    least_private: float
    most_private: float
    rtol: float

    def scale(self, eps0: float) -> float:
        """−log (e^{ε₀/2} − 1)²; the square goes about like the variance of G at ε = 0."""
        return -eps0 - 2.0 * _log(-math.expm1(-0.5 * eps0))

    def at(self, y: float) -> float:
        """The point of the axis nearest to `y` on the scale."""
        eps0 = max(-y, 0.0) + 2.0 * math.log1p(math.exp(-0.5 * abs(y)))
        return min(max(eps0, self.most_private), self.least_private)

    def near(self, _: float) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""
        return 0.9 * self.rtol

    def is_done(self, above: float, below: float) -> bool:
        return above - below <= self.rtol * above


@dataclass(frozen=True)
class _Users:
    """n as an axis, number by number."""

    least_private: int
    most_private: int

    def scale(self, n: int) -> float:
        return math.log(n)

    def at(self, y: float) -> int:
        """The point of the axis nearest to `y` on the scale."""
        return min(max(round(math.exp(min(y, 40.0))), self.least_private), self.most_private)

    def near(self, y: float) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""
        return 0.5 * math.exp(-y)

    def is_done(self, above: int, below: int) -> bool:
        return below - above <= 1


class _Axis(Protocol[X]):
    """Where to look for the point at which D falls to δ."""

    @property
    def least_private(self) -> X:
        """The end where D is largest."""

    @property
    def most_private(self) -> X:
        """The end where D is smallest."""

    def scale(self, point: X, /) -> float:
        """Privacy grows along it."""

    def at(self, y: float) -> X:
        """The point of the axis nearest to `y` on the scale."""

    def near(self, y: float, /) -> float:
        """How close to where D falls to δ it is worth while to look, on the scale."""

    def is_done(self, above: X, below: X) -> bool:
        """Whether two points are close enough."""


def _narrow(
    probe: Callable[[X], _Probe], axis: _Axis[X], guess: float
) -> tuple[X | None, X | None]:
    """The closest points with D(ε) certainly above δ and certainly not, None where none was found.

    Privacy grows along the scale of the axis, and where D is small log(−log D) has a slope of about
    1 there. The secant method finds where D falls to δ, from a first guess on the scale; probes
    a little beyond and a little before it then give the ends. Where the engine cannot tell the
    side of a point, others follow further and further out.
    """
    above: X | None = None
    below: X | None = None
    last: tuple[float, _Probe] | None = None
    slope, reach, idle = 1.0, 0.0, 0
    x, tried = axis.at(guess), set()
    for _ in range(_MOST_PROBES):
        y, found, before = axis.scale(x), probe(x), _width(axis, above, below)
        tried.add(x)
        if found.side == 0:
            reach = max(2.0 * reach, 2.0 * axis.near(y), min(found.doubt / slope, _LONGEST_STEP))
        elif found.side < 0:
            above = x
        else:
            below = x
        if above == axis.most_private or below == axis.least_private:
            break
        if above is not None and below is not None and axis.is_done(above, below):
            break
        if math.isfinite(found.excess):
            slope = _slope(last, (y, found)) or slope
            last = y, found
        guess = y - min(max(found.excess / slope, -_LONGEST_STEP), _LONGEST_STEP)
        if reach == 0.0:
            idle = idle + 1 if _width(axis, above, below) > 0.5 * before else 0
            guess = math.nan if idle > 2 else guess
        following = _next(axis, above, below, guess, reach, tried)
        if following is None:
            break
        x = following
    if above is None and axis.least_private not in tried:
        # Where D hardly depends on the axis, no slope leads to its end.
        side = probe(axis.least_private).side
        above = axis.least_private if side < 0 else None
        below = axis.least_private if side > 0 else below
    return above, below


def _width(axis: _Axis[X], above: X | None, below: X | None) -> float:
    """Of a bracket on the scale."""
    return math.inf if above is None or below is None else axis.scale(below) - axis.scale(above)


def _slope(last: tuple[float, _Probe] | None, here: tuple[float, _Probe]) -> float | None:
    """Of the excess between two probes, None where it drowns in their doubts."""
    if last is None:
        return None
    run, rise = here[0] - last[0], here[1].excess - last[1].excess
    if abs(rise) <= 5.0 * (here[1].doubt + last[1].doubt) or rise * run <= 0.0:
        return None
    return min(max(rise / run, 0.02), 50.0)


def _next(
    axis: _Axis[X],
    above: X | None,
    below: X | None,
    guess: float,
    reach: float,
    tried: set[X],
) -> X | None:
    """Just beyond the guess, else just before it, else in the middle; None if nothing is left."""
    start = -math.inf if above is None else axis.scale(above)
    end = math.inf if below is None else axis.scale(below)
    if start < guess < end:
        margin = max(axis.near(guess), reach)
        for y in (guess + margin, guess - margin):
            # Next to an end that is known, another probe would say nothing new.
            if start + 0.2 * margin < y < end - 0.2 * margin and axis.at(y) not in tried:
                return axis.at(y)
    stride = min(reach, _LONGEST_STEP) or _LONGEST_STEP
    if math.isinf(end):
        middle = start + stride
    elif math.isinf(start):
        middle = end - stride
    elif reach > 0.0:
        return None
    else:
        middle = 0.5 * (start + end)
    return axis.at(middle) if axis.at(middle) not in tried else None


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf
