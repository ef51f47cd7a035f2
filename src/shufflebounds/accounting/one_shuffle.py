"""δ at ε and ε at δ of one shuffle, at one point or at many, and how wide the answer may be."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError, WorkError
from shufflebounds.core.products import FloatArray
from shufflebounds.core.work import RESERVE, budget
from shufflebounds.profiles.direction import largest_loss
from shufflebounds.profiles.mechanism import interval_of
from shufflebounds.profiles.profile import Ends, Interval, Profile, one_or_many
from shufflebounds.randomizers.base import Randomizer

# Relative width of ε and δ where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-4


class Quantity(Enum):
    """What is asked of a profile."""

    EPSILON = "epsilon"
    DELTA = "delta"


@dataclass(frozen=True, eq=False)
class NamedBounds:
    """Bounds at P points, shape (P,), and the names of the profiles that gave them."""

    lower: FloatArray
    upper: FloatArray
    lower_names: NDArray[np.object_]
    upper_names: NDArray[np.object_]

    def enclosures(self) -> Enclosures:
        """Return the bounds as enclosures."""
        return Enclosures(np.minimum(self.lower, self.upper), self.upper)


def bounds_of(
    interval: Interval, quantity: Quantity, at: FloatArray, rtol: float | None
) -> NamedBounds:
    """Return bounds of ε or δ of each curve at a value of the other quantity, (P,)."""
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    if interval.is_exact:
        ends = _ask(interval.upper, quantity, at, goal)
        return NamedBounds(ends.lower, ends.upper, ends.names, ends.names)
    lower = _lower_ends(interval, quantity, at, goal)
    upper = _ask(interval.upper, quantity, at, goal, lower.lower)
    return NamedBounds(lower.lower, upper.upper, lower.names, upper.names)


def _ask(
    profile: Profile,
    quantity: Quantity,
    at: FloatArray,
    rtol: float,
    floor: float | FloatArray = 0.0,
) -> Ends:
    """Return the ends of a profile's ε or δ; a `WorkError` has valid ends of all points."""
    is_epsilon = quantity is Quantity.EPSILON
    try:
        if is_epsilon:
            return profile.roots(at, rtol, floor)
        return profile.deltas(at, rtol, floor=floor)
    except WorkError as error:
        if error.enclosure != Enclosure(0.0, math.inf):
            raise
        message = str(error)
    upper = np.full(at.shape, profile.end if is_epsilon else 1.0)
    raise WorkError(message, one_or_many(np.minimum(floor, upper), upper))


def _lower_ends(interval: Interval, quantity: Quantity, at: FloatArray, rtol: float) -> Ends:
    """Return the ends of the lower profile; a `WorkError` gets the best upper bound."""
    try:
        return _ask(interval.lower, quantity, at, rtol)
    except WorkError as error:
        message = str(error)
    try:
        with budget(RESERVE):
            upper = _ask(interval.upper, quantity, at, rtol).upper
    except WorkError as error:
        raise WorkError(message, error.enclosure) from None
    raise WorkError(message, one_or_many(np.zeros(upper.shape), upper))


def enclosures_of(
    interval: Interval,
    quantity: Quantity,
    points: Sequence[tuple[float, float]],
    rtol: float | None,
) -> tuple[Enclosures, NamedBounds]:
    """Return enclosures of ε or δ, at the numbers between both floats of each point.

    The second value has the names of the profiles that gave them.
    """
    # Both quantities fall.
    left, right = (np.array(x) for x in zip(*points, strict=True))
    above = bounds_of(interval, quantity, left, rtol)
    below = above if (left == right).all() else bounds_of(interval, quantity, right, rtol)
    return Enclosures(np.minimum(below.lower, above.upper), above.upper), above


def require_width(
    enclosures: Enclosures,
    decompositions: Collection[Decomposition],
    quantity: Quantity,
    counts: Sequence[int],
    at: Sequence[float],
    rtol: float | None,
) -> None:
    """Raise `PrecisionError` if an enclosure is wider than is promised for decompositions."""
    messages = shortfalls(enclosures, decompositions, quantity, counts, at, rtol)
    wide = [message for message in messages if message]
    if wide:
        count = f" (so at {len(wide)} of {len(counts)} points)" if len(counts) > 1 else ""
        raise PrecisionError(wide[0] + count, one_or_many(enclosures.lower, enclosures.upper))


def shortfalls(
    enclosures: Enclosures,
    decompositions: Collection[Decomposition],
    quantity: Quantity,
    counts: Sequence[int],
    at: Sequence[float],
    rtol: float | None,
) -> list[str]:
    """Return what is wrong with each enclosure of decompositions, empty if it is narrow enough.

    With `rtol` None, the distance between an inner and an outer decomposition does not count. A δ
    below all that may be asked, or that rounding cannot tell from 0, is narrow enough.
    """
    goal = DEFAULT_RTOL if rtol is None else rtol
    is_finite = all(decomposition.is_finite() for decomposition in decompositions)
    if rtol is None and not is_finite:
        return [""] * len(enclosures)
    messages = []
    for n, x, enclosure in zip(counts, at, enclosures, strict=True):
        is_narrow = enclosure.relative_width <= goal
        if quantity is Quantity.DELTA:
            is_narrow = is_narrow or _is_zero(enclosure, decompositions, x)
        name = f"epsilon at delta = {x!r}"
        if quantity is Quantity.DELTA:
            name = f"delta at eps = {x!r}"
        others = () if is_finite else ("more cells",)
        message = (
            f"{name}, n = {n} is known only to lie in "
            f"[{enclosure.lower!r}, {enclosure.upper!r}]: relative width "
            f"{enclosure.relative_width:.1e} where rtol = {goal:g} was asked for"
            f"{validation.rtol_advice(enclosure.relative_width, *others)}"
        )
        messages.append("" if is_narrow else message)
    return messages


def _is_zero(enclosure: Enclosure, decompositions: Collection[Decomposition], eps: float) -> bool:
    """Return whether δ is too small to be asked, or rounding cannot tell it from 0."""
    losses = (largest_loss(inner) for part in decompositions for inner, _ in part.directions)
    return enclosure.upper <= validation.MIN_DELTA or all(
        eps >= loss - slack for loss, slack in losses
    )


def enclosure_of(
    subject: Decomposition | Randomizer, quantity: Quantity, n: int, at: float, rtol: float | None
) -> Enclosure:
    """Return the enclosure at one point, however wide it is."""
    interval = interval_of(subject, np.array([float(n)]))
    return enclosures_of(interval, quantity, [(at, at)], rtol)[0][0]
