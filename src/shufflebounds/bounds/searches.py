"""Which ε₀, and how many users and rounds, meet a target (ε, δ) by the bounds of a protocol?

`accounting.calibration` answers the same for a decomposition and for a randomizer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from shufflebounds.accounting.calibration import (
    COUNT_RTOLS,
    DELTA_RTOLS,
    MAX_COMPOSED_SUPREMA,
    Target,
    compare_enclosures,
    eps0_axis,
)
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

# The bounds of ε and δ that a search asks, with their names. If ``best`` is one of them, it follows
# ``blanket`` and ``lower``, and its search only moves the blanket's end towards the lower bound's.
NamedBounds: TypeAlias = Iterable[tuple[str, Bound]]


def largest_eps0(
    bounds: NamedBounds, protocol_at: Callable[[float], Protocol], at: Setting, rtol: float
) -> dict[str, Enclosure]:
    """Enclose the largest ε₀ that meets the target by each bound.

    Parameters
    ----------
    bounds
        The bounds with their names.
    protocol_at
        A function from ε₀ to the protocol.
    at
        A setting with ε, δ, n and, if there are several, rounds.
    rtol
        The relative width to aim at.

    Returns
    -------
    dict
        Enclosures of ε₀ (natural log) by the name of the bound: ``lower`` meets the target,
        ``upper`` is not known to, as for `calibration.largest_eps0`. ``lower`` is 0 if no ε₀ is
        known to meet the target.
    """
    n, rounds = at.require("n"), at.rounds or 1
    axis, start = eps0_axis(at.require("eps"), at.require("delta"), n, rounds, rtol)
    return _search(bounds, lambda eps0: (protocol_at(eps0), at), axis, start)


def fewest_users(bounds: NamedBounds, protocol: Protocol, at: Setting) -> dict[str, Enclosure]:
    """Enclose the fewest users that meet the target by each bound, as integers.

    ``at`` has ε, δ and, if there are several, rounds. ``upper`` users are enough, ``lower`` − 1 are
    not, as for `calibration.fewest_users`.
    """
    axis = CountAxis(1, _most_users(protocol), 0.0)
    start = math.log((at.rounds or 1) * START**2) - 2.0 * math.log(max(at.require("eps"), MIN_EPS))
    return _search(bounds, lambda n: (protocol, at.at(n=int(n))), axis, start)


def most_rounds(bounds: NamedBounds, protocol: Protocol, at: Setting) -> dict[str, Enclosure]:
    """Enclose the most rounds that meet the target by each bound, as integers.

    ``at`` has ε, δ and n. You can run ``lower`` rounds, not ``upper`` + 1, as for
    `calibration.most_rounds`.
    """
    axis = CountAxis(validation.MAX_ROUNDS, 1, 0.0)
    start = math.log(START**2 / at.require("n")) - 2.0 * math.log(max(at.require("eps"), MIN_EPS))
    return _search(bounds, lambda rounds: (protocol, at.at(rounds=int(rounds))), axis, start)


# Returns the protocol and the setting of a point of an axis.
QuestionAt: TypeAlias = Callable[[float], tuple[Protocol, Setting]]


def _search(
    bounds: NamedBounds, question_at: QuestionAt, axis: SearchAxis, start: float
) -> dict[str, Enclosure]:
    """Return the axis' enclosures of the last point that meets the target, by each bound."""
    searches: dict[str, AxisSearch] = {}
    for name, bound in bounds:
        if name == "best":
            searches[name] = _search_between(
                searches["lower"].unsafe_end, searches["blanket"].safe_end, bound, question_at, axis
            )
        else:
            searches[name] = AxisSearch(axis)
            searches[name].run(partial(_compare, bound, question_at), start)
    return {name: axis.enclosure(x.unsafe_end, x.safe_end) for name, x in searches.items()}


def _search_between(
    unsafe_end: float | None,
    safe_end: float | None,
    bound: Bound,
    question_at: QuestionAt,
    axis: SearchAxis,
) -> AxisSearch:
    """Return a search that moved the safe end as far as an upper bound allows."""
    compare_at = partial(_compare_upper_end, bound, question_at)
    if safe_end is None and compare_at(axis.most_private, math.inf).side > 0:
        safe_end = axis.most_private
    search = AxisSearch(axis)
    least_end = axis.least_private if unsafe_end is None else unsafe_end
    if safe_end is not None and not axis.is_narrow(least_end, safe_end):
        if isinstance(axis, CountAxis):
            are_composed = _quantity(*question_at(safe_end)) == "epsilon"
            axis = replace(axis, rtol=COUNT_RTOLS[are_composed])
        search = AxisSearch(axis, (least_end, safe_end))
        # The bound is mostly close to the end that datasets show.
        start = axis.scale(least_end)
        search.run(compare_at, start + 2.0 * axis.resolution(start), MAX_COMPOSED_SUPREMA)
        safe_end = search.safe_end
    # That an upper bound misses the target does not show that reports do.
    search.unsafe_end, search.safe_end = unsafe_end, safe_end
    return search


def _compare(
    bound: Bound, question_at: QuestionAt, point: float, expected_margin: float
) -> Comparison:
    """Compare what a bound says of a point with the target."""
    protocol, at = question_at(point)
    quantity = _quantity(protocol, at)

    def enclose(rtol: float) -> Enclosure:
        return bound.answer(protocol, quantity, at, Numerics(rtol)).enclosure

    target = Target(at.require("eps"), at.require("delta"))
    try:
        return compare_enclosures(target, enclose, quantity == "epsilon", expected_margin)
    except InfeasibleError:  # there are too few users
        return Comparison(-1, -math.inf, math.inf)


def _compare_upper_end(
    bound: Bound, question_at: QuestionAt, point: float, expected_margin: float
) -> Comparison:
    """Compare the upper end of a bound, which need not be narrow, with the target at a point."""
    protocol, at = question_at(point)
    quantity = _quantity(protocol, at)
    are_composed = quantity == "epsilon"
    numerics = Numerics(None if are_composed else DELTA_RTOLS[0])
    end = bound.answer(protocol, quantity, at, numerics).enclosure.upper
    target = Target(at.require("eps"), at.require("delta"))
    return compare_enclosures(target, lambda _: Enclosure(end, end), are_composed, expected_margin)


def _quantity(protocol: Protocol, at: Setting) -> str:
    """Return ``delta`` for one shuffle and ``epsilon`` for several, which is compared then."""
    shuffles = (at.rounds or 1) * sum(part.times for part in protocol.parts(at.require("n")))
    return "epsilon" if shuffles > 1 else "delta"


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
