"""Which ε₀, and how many users and rounds, meet a target (ε, δ) by a bound of a protocol.

`accounting.calibration` answers the same for a decomposition and for a randomizer.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shufflebounds.accounting.calibration import Target, compare_enclosures, eps0_axis
from shufflebounds.bounds.base import Bound, Numerics
from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure
from shufflebounds.core.setting import Setting
from shufflebounds.profiles.axis_search import AxisSearch, Comparison, CountAxis, SearchAxis
from shufflebounds.protocols.base import InfeasibleError, Protocol

# Estimate of ε·√(n/rounds) from which searches for users and rounds start. Speed only.
START = 10.0
# Smallest ε of a target from which such an estimate is made.
MIN_EPS = 1e-9


def largest_eps0(
    bound: Bound, protocol_at: Callable[[float], Protocol], at: Setting, rtol: float
) -> Enclosure:
    """Enclose the largest ε₀ that meets the target by the bound.

    Parameters
    ----------
    bound
        A bound of ε and δ.
    protocol_at
        A function from ε₀ to the protocol.
    at
        A setting with ε, δ, n and, if there are several, rounds.
    rtol
        The relative width to aim at.

    Returns
    -------
    Enclosure
        Of ε₀ (natural log): ``lower`` meets the target, ``upper`` is not known to, as for
        `calibration.largest_eps0`. ``lower`` is 0 if no ε₀ is known to meet the target.
    """
    n, rounds = at.require("n"), at.rounds or 1
    axis, start = eps0_axis(at.require("eps"), at.require("delta"), n, rounds, rtol)
    return _search(bound, lambda eps0: (protocol_at(eps0), at), axis, start)


def fewest_users(bound: Bound, protocol: Protocol, at: Setting) -> Enclosure:
    """Enclose the fewest users that meet the target by the bound, as integers.

    ``at`` has ε, δ and, if there are several, rounds. ``upper`` users are enough, ``lower`` − 1 are
    not, as for `calibration.fewest_users`.
    """
    axis = CountAxis(1, _most_users(protocol), 0.0)
    start = math.log((at.rounds or 1) * START**2) - 2.0 * math.log(max(at.require("eps"), MIN_EPS))
    return _search(bound, lambda n: (protocol, at.at(n=int(n))), axis, start)


def most_rounds(bound: Bound, protocol: Protocol, at: Setting) -> Enclosure:
    """Enclose the most rounds that meet the target by the bound, as integers.

    ``at`` has ε, δ and n. You can run ``lower`` rounds, not ``upper`` + 1, as for
    `calibration.most_rounds`.
    """
    axis = CountAxis(validation.MAX_ROUNDS, 1, 0.0)
    start = math.log(START**2 / at.require("n")) - 2.0 * math.log(max(at.require("eps"), MIN_EPS))
    return _search(bound, lambda rounds: (protocol, at.at(rounds=int(rounds))), axis, start)


def _search(
    bound: Bound,
    question_at: Callable[[float], tuple[Protocol, Setting]],
    axis: SearchAxis,
    start: float,
) -> Enclosure:
    """Return the axis' enclosure of the last point that meets the target."""

    def compare(point: float, expected_margin: float) -> Comparison:
        protocol, at = question_at(point)
        parts, rounds = protocol.parts(at.require("n")), at.rounds or 1
        are_composed = rounds * sum(part.times for part in parts) > 1
        quantity = "epsilon" if are_composed else "delta"

        def enclose(rtol: float) -> Enclosure:
            return bound.answer(protocol, quantity, at, Numerics(rtol)).enclosure

        target = Target(at.require("eps"), at.require("delta"))
        try:
            return compare_enclosures(target, enclose, are_composed, expected_margin)
        except InfeasibleError:  # there are too few users
            return Comparison(-1, -math.inf, math.inf)

    search = AxisSearch(axis)
    search.run(compare, start)
    return axis.enclosure(search.unsafe_end, search.safe_end)


def _most_users(protocol: Protocol) -> int:
    """Return a number of users, at most 10¹⁵, whose messages are few enough to be counted."""
    n = validation.MAX_USERS
    while not _is_countable(protocol, n):
        n //= 2
    return n


def _is_countable(protocol: Protocol, n: int) -> bool:
    """Return whether the protocol can count the messages of n users."""
    try:
        return all(part.protocol.draws(part.n) for part in protocol.parts(n))
    except ValueError:
        return False
