"""δ at ε and ε at δ of one shuffle, at one point or at many, as enclosures of both directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeGuard, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.problem import Problem, largest_divergences, starts
from shufflebounds.accounting.root_search import LARGEST_EPS, Probe, Search
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError

T = TypeVar("T")
S = TypeVar("S")
Several = Sequence[T] | NDArray

DEFAULT_RTOL = 1e-4


# Scalars match both overloads; the first is the more specific.
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

    `questions.delta` says what it takes, returns and raises. Of several points all are
    computed before an error is raised: no point is lost because another fell short.
    """
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    if is_several(eps) or is_several(n):
        losses, users = paired(("eps", eps, validation.eps), ("n", n, validation.users))
        problems = [Problem.of(decomposition, one) for one in users]
        within = [min(one, LARGEST_EPS) for one in losses]
        each = largest_divergences(problems, within, [goal] * len(problems))
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


# Scalars match both overloads; the first is the more specific.
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

    Both ends follow from enclosures of D nearby, as D is convex in e^ε. `questions.epsilon` says
    what it takes, returns and raises.
    """
    asked = None if rtol is None else validation.rtol(rtol)
    if is_several(n) or is_several(delta):
        users, targets = paired(("n", n, validation.users), ("delta", delta, validation.delta))
        problems = [Problem.of(decomposition, one) for one in users]
        each = _roots(problems, targets, asked)
        return all_or_raise(
            each,
            [epsilon_shortfall(*row, rtol) for row in zip(problems, targets, each, strict=True)],
        )
    small, large = validation.delta_between(delta)
    n = validation.users(n)
    if small < large:  # ε falls in δ
        return _joined(lambda one: epsilon(decomposition, n, one, rtol=rtol), large, small)
    problem = Problem.of(decomposition, n)
    (found,) = _roots([problem], [small], asked)
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


def _roots(problems: list[Problem], deltas: list[float], rtol: float | None) -> list[Enclosure]:
    """ε at δ of problems that differ in n only."""
    goal = DEFAULT_RTOL if rtol is None else rtol
    roots = [Enclosure(math.inf, math.inf)] * len(problems)
    rows = [i for i, delta in enumerate(deltas) if problems[i].never_below() <= delta]
    if rows:
        asked, targets = [problems[i] for i in rows], [deltas[i] for i in rows]
        end = asked[0].largest_loss()
        begin = starts(asked, targets, min(end, LARGEST_EPS))
        searches = [Search(*pair, end, goal) for pair in zip(targets, begin, strict=True)]
        # All searches go on at once, so that D is evaluated at many points together.
        while active := [(i, x) for i, search in enumerate(searches) for x in search.next_probes()]:
            enclosures = largest_divergences(
                [asked[i] for i, _ in active],
                [x.eps for _, x in active],
                [x.aim for _, x in active],
                [targets[i] for i, _ in active],
            )
            _distribute(searches, active, enclosures)
        for i, search in zip(rows, searches, strict=True):
            roots[i] = search.enclosure()
    return roots


def _distribute(
    searches: list[Search], active: list[tuple[int, Probe]], enclosures: list[Enclosure]
) -> None:
    """Give every search the enclosures at its own probes."""
    for i, group in groupby(zip(active, enclosures, strict=True), key=lambda pair: pair[0][0]):
        pairs = list(group)
        searches[i].add([probe for (_, probe), _ in pairs], [enclosure for _, enclosure in pairs])


def is_several(value: object) -> TypeGuard[Sequence | NDArray]:
    """Whether an argument is an array or a sequence, rather than one number."""
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return getattr(value, "ndim", 0) > 0


def paired(
    one: tuple[str, object, Callable[[object], T]], two: tuple[str, object, Callable[[object], S]]
) -> tuple[list[T], list[S]]:
    """Two arguments (name, value, check), one of them an array, as lists of equal length.

    Raises ValueError where both are arrays, for an array that is empty or has more than one
    dimension, and what `check` raises for an entry.
    """
    if is_several(one[1]) and is_several(two[1]):
        raise ValueError(
            f"only one of {one[0]} and {two[0]} may be an array, "
            f"got {len(one[1])} and {len(two[1])} values"
        )
    first, second = checked(*one), checked(*two)
    size = max(len(first), len(second))
    return first * (size // len(first)), second * (size // len(second))


def checked(name: str, value: object, check: Callable[[object], T]) -> list[T]:
    """An argument, a number or an array, as a list; ValueError for an array of another shape."""
    if not is_several(value):
        return [check(value)]
    shape = getattr(value, "shape", (len(value),))
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(
            f"{name} must be a number or a one-dimensional, non-empty array, "
            f"got shape {tuple(shape)}"
        )
    # NumPy's own scalars would slow down all that is done with them one by one.
    return [check(x) for x in (value.tolist() if hasattr(value, "tolist") else value)]


def or_raise(found: Enclosure, shortfall: str | None) -> Enclosure:
    """`found`; raises PrecisionError where there is a shortfall to tell of."""
    if shortfall is not None:
        raise PrecisionError(shortfall, found)
    return found


def all_or_raise(found: list[Enclosure], shortfalls: list[str | None]) -> Enclosures:
    """The same for several points, the first shortfall in words and all in numbers."""
    ends = Enclosures(np.array([x.lower for x in found]), np.array([x.upper for x in found]))
    missed = [shortfall for shortfall in shortfalls if shortfall is not None]
    if missed:
        raise PrecisionError(f"{missed[0]} (so at {len(missed)} of {len(found)} points)", ends)
    return ends


def delta_shortfall(
    problem: Problem, eps: float, found: Enclosure, rtol: float | None
) -> str | None:
    """Of δ at ε, where it can be told from 0."""
    if found.upper <= validation.MIN_DELTA or problem.vanishes(eps):
        return None
    return _shortfall(f"delta at eps = {eps!r}", problem, found, rtol)


def epsilon_shortfall(
    problem: Problem, delta: float, found: Enclosure, rtol: float | None
) -> str | None:
    """Of ε at δ."""
    return _shortfall(f"epsilon at delta = {delta!r}", problem, found, rtol)


def _shortfall(what: str, problem: Problem, found: Enclosure, rtol: float | None) -> str | None:
    goal = DEFAULT_RTOL if rtol is None else rtol
    if found.relative_width <= goal or not problem.promises(rtol):
        return None
    advice = "a larger rtol" if problem.is_finite() else "more cells or a larger rtol"
    return (
        f"{what}, n = {problem.n} is known only to lie in [{found.lower!r}, {found.upper!r}]: "
        f"relative width {found.relative_width:.1e} where rtol = {goal:g} was asked for; "
        f"{advice} would help"
    )
