"""From a decomposition to δ at ε and to ε at δ, as enclosures that cover both directions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TypeVar, overload

from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.accounting import amplification_grid as grid
from shufflebounds.accounting.apart import epsilon_apart
from shufflebounds.accounting.inversion import LARGEST_EPS, smallest_eps
from shufflebounds.accounting.problem import Problem
from shufflebounds.accounting.shortfalls import (
    DEFAULT_RTOL,
    all_or_raise,
    delta_shortfall,
    epsilon_shortfall,
    or_raise,
)
from shufflebounds.accounting.starts import start_of
from shufflebounds.decomposition import Decomposition
from shufflebounds.enclosure import Enclosure, Enclosures, PrecisionError

# Ends of a continuous randomizer further apart than this, relatively, may be so only because few
# components were chosen by poor estimates, as those for few users are.
_DOUBTFUL = 1e-3

T = TypeVar("T")
Several = Sequence[T] | NDArray


# The numbers among the arguments of the second are those of the first.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition, eps: float, n: int, *, rtol: float | None = ...
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def delta(
    decomposition: Decomposition,
    eps: float | Several[float],
    n: int | Several[int],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclosure of max{D(ε) of (a, b, c), D(ε) of (b, a, c)} for n users (Theorem 12).

    ``upper`` is a δ for shuffled reports if every other user's law is at least c and a, b are the
    victim's laws: for two datasets in which the victim's input is replaced, x₁⁰ by x₁¹ or the
    reverse, and reports that are independent given the inputs. A blanket, c = inf_x R(x), is valid
    for all inputs of the others, but for one pair of the victim's: it covers the others if that
    pair is the worst. ``lower`` is a bound of what is true where datasets attain the decomposition.

    Parameters
    ----------
    decomposition
        Of the randomizer; where it has ``inner`` and ``outer``, the enclosure is of the randomizer
        they surround.
    eps
        ε ≥ 0, natural log. One that is no float, such as Fraction(1, 3), is not rounded.
    n
        Number of users, 1 to 10¹⁵, without those who drop out or collude. Either `eps` or `n` may
        be a one-dimensional array or a sequence; what is returned is `Enclosures` then, in the same
        order.
    rtol
        The largest relative width to accept, 10⁻⁹ to 0.1. None stands for 10⁻⁴, and leaves out of
        account how far ``inner`` and ``outer`` of a continuous randomizer lie apart.

    Raises
    ------
    ValueError
        For arguments outside these ranges.
    PrecisionError
        Where the width stays above `rtol`. Values below 10⁻³⁰⁰, and those that the rounding of the
        decomposition's own entries cannot tell from 0 (ε at its largest log a/b), do not count.
        Of several points all are computed first, and those that fell short do not take the others
        with them: ``enclosure`` holds all.

    """
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    if grid.is_several(eps) or grid.is_several(n):
        losses, users = grid.paired(("eps", eps, validation.eps), ("n", n, validation.users))
        problems = [Problem.of(decomposition, one) for one in users]
        within = [min(one, LARGEST_EPS) for one in losses]
        each = grid.deltas(problems, within, goal)
        each = [p.limited(one, end) for p, one, end in zip(problems, losses, each, strict=True)]
        return all_or_raise(
            each,
            [delta_shortfall(*row, rtol) for row in zip(problems, losses, each, strict=True)],
        )
    near, far = validation.eps_between(eps)
    n = validation.users(n)
    if near < far:  # D falls in ε
        return _joined(lambda one: delta(decomposition, one, n, rtol=rtol), far, near)
    problem = Problem.of(decomposition, n)
    found = problem.limited(near, problem.delta(min(near, LARGEST_EPS), goal))
    return or_raise(found, delta_shortfall(problem, near, found, rtol))


# The numbers among the arguments of the second are those of the first.
@overload
def epsilon(  # type: ignore[overload-overlap]
    decomposition: Decomposition,
    n: int,
    delta: float,
    *,
    rtol: float | None = ...,
) -> Enclosure: ...


@overload
def epsilon(
    decomposition: Decomposition,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def epsilon(
    decomposition: Decomposition,
    n: int | Several[int],
    delta: float | Several[float],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Enclosure of the smallest ε with D(ε) ≤ δ in both directions, for n users.

    At ``upper``, D is at most δ; below ``lower``, it is above δ. Both follow from enclosures of D
    nearby, as D is convex in e^ε. Where no ε will do, both are inf. `delta` lies between 10⁻³⁰⁰ and
    1, and is not rounded if it is no float; either `n` or `delta` may be an array. The other
    arguments and what is raised are those of `delta`.
    """
    asked = None if rtol is None else validation.rtol(rtol)
    if grid.is_several(n) or grid.is_several(delta):
        users, targets = grid.paired(("n", n, validation.users), ("delta", delta, validation.delta))
        problems = [Problem.of(decomposition, one) for one in users]
        each = _epsilons(problems, targets, asked)
        return all_or_raise(
            each,
            [epsilon_shortfall(*row, rtol) for row in zip(problems, targets, each, strict=True)],
        )
    small, large = validation.delta_between(delta)
    n = validation.users(n)
    if small < large:  # ε falls in δ
        return _joined(lambda one: epsilon(decomposition, n, one, rtol=rtol), large, small)
    problem = Problem.of(decomposition, n)
    found = _epsilon(problem, small, asked)
    return or_raise(found, epsilon_shortfall(problem, small, found, rtol))


def _joined(evaluate: Callable[[float], Enclosure], below: float, above: float) -> Enclosure:
    """The lower end at one float and the upper one at the other, also where either fell short."""
    ends, shortfall = [], None
    for one in (below, above):
        try:
            ends.append(evaluate(one))
        except PrecisionError as error:
            ends.append(error.enclosure)
            shortfall = str(error)
    return or_raise(Enclosure(ends[0].lower, ends[1].upper), shortfall)


def _epsilon(problem: Problem, delta: float, rtol: float | None) -> Enclosure:
    goal = DEFAULT_RTOL if rtol is None else rtol
    if problem.never_below() > delta:
        return Enclosure(math.inf, math.inf)
    apart = None
    if not problem.is_finite():
        apart = epsilon_apart(problem, delta, goal)
        most = _DOUBTFUL if rtol is None else rtol
        if apart is not None and apart.close and apart.enclosure.relative_width <= most:
            return apart.enclosure
    end = problem.largest_loss()
    start = start_of(problem, delta, min(end, LARGEST_EPS))
    problem = dataclasses.replace(problem, target=delta)
    found = smallest_eps(problem.delta, delta, *start[:2], end, goal, start.doubt)
    if apart is None:
        return found
    low, high = apart.enclosure.lower, apart.enclosure.upper
    return Enclosure(max(found.lower, low), min(found.upper, high))


def _epsilons(problems: list[Problem], deltas: list[float], rtol: float | None) -> list[Enclosure]:
    """`_epsilon` of problems that differ in nothing but n."""

    def alone(i: int) -> Enclosure:
        return _epsilon(problems[i], deltas[i], rtol)

    # With few users outputs that tell count for most.
    fewest = min(problems, key=lambda problem: problem.n)
    if not grid.is_worthwhile(problems) or fewest.never_below() > min(deltas):
        return [alone(i) for i in range(len(problems))]
    goal = DEFAULT_RTOL if rtol is None else rtol
    return grid.epsilons(problems, deltas, fewest.largest_loss(), goal, alone)
