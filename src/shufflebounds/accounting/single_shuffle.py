"""δ at ε and ε at δ of one shuffle, at one point or at many, as enclosures of both directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeGuard, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from shufflebounds.accounting.old_starts import starts
from shufflebounds.accounting.problem import Problem, largest_divergences
from shufflebounds.accounting.reduction import (
    SKETCH_DOUBT,
    SKETCH_RTOL,
    has_many_components,
    reduced,
    sketch_of,
)
from shufflebounds.accounting.root_search import LARGEST_EPS, Probe, Search, Start
from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError
from shufflebounds.core.work import enclosed_so_far

T = TypeVar("T")
S = TypeVar("S")
ArrayOf = Sequence[T] | NDArray

# Relative width of ε and δ where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-4
# Largest relative gap between the ends of a continuous randomizer that few components may leave. A
# wider one may come from poor estimates, which choose the components, as for few users.
MAX_TRUSTED_WIDTH = 4e-4
# Share of the requested relative width for the search of the inner decomposition, and of the outer.
# Both together add at most half of that width to the gap between the two.
GAP_SHARE = 0.25


# Scalars match both overloads; the first is the more specific.
@overload
def delta(  # type: ignore[overload-overlap]
    decomposition: Decomposition, eps: float, n: int, *, rtol: float | None = ...
) -> Enclosure: ...


@overload
def delta(
    decomposition: Decomposition,
    eps: float | ArrayOf[float],
    n: int | ArrayOf[int],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def delta(
    decomposition: Decomposition,
    eps: float | ArrayOf[float],
    n: int | ArrayOf[int],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Return an enclosure of max{D(ε) of (a, b, c), D(ε) of (b, a, c)} for n users (Theorem 12).

    The arguments, the answer and the errors are those of `questions.delta`. If there are several
    points, all are computed before an error is raised, so that the error holds all enclosures.
    """
    goal = DEFAULT_RTOL if rtol is None else validation.rtol(rtol)
    is_array = is_array_like(eps) or is_array_like(n)
    check = _twice(validation.eps) if is_array else validation.eps_between
    losses, users = paired(("eps", eps, check), ("n", n, validation.users))
    problems = [Problem.of(decomposition, at) for at in users]
    with enclosed_so_far(lambda: _answer([Enclosure(0.0, 1.0)] * len(problems), is_array)):
        enclosures = _at_neighbours(losses, lambda at: _deltas(problems, at, goal))
    rows = zip(problems, [near for near, _ in losses], enclosures, strict=True)
    return _answer_or_raise(enclosures, [delta_shortfall(*row, rtol) for row in rows], is_array)


def _deltas(problems: list[Problem], losses: list[float], goal: float) -> list[Enclosure]:
    """Return enclosures of D at the loss of each problem; the problems differ only in n."""
    within = [min(eps, LARGEST_EPS) for eps in losses]
    enclosures = largest_divergences(problems, within, [goal] * len(problems))
    rows = zip(problems, losses, enclosures, strict=True)
    return [problem.limited(eps, enclosure) for problem, eps, enclosure in rows]


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
    n: int | ArrayOf[int],
    delta: float | ArrayOf[float],
    *,
    rtol: float | None = None,
) -> Enclosures: ...


def epsilon(
    decomposition: Decomposition,
    n: int | ArrayOf[int],
    delta: float | ArrayOf[float],
    *,
    rtol: float | None = None,
) -> Enclosure | Enclosures:
    """Return an enclosure of the smallest ε with D(ε) ≤ δ in both directions, for n users.

    Both ends follow from enclosures of D nearby, as D is convex in e^ε. The arguments, the answer
    and the errors are those of `questions.epsilon`.
    """
    checked_rtol = None if rtol is None else validation.rtol(rtol)
    is_array = is_array_like(n) or is_array_like(delta)
    check = _twice(validation.delta) if is_array else validation.delta_between
    users, targets = paired(("n", n, validation.users), ("delta", delta, check))
    problems = [Problem.of(decomposition, at) for at in users]
    widest = [Enclosure(0.0, problem.largest_loss()) for problem in problems]
    with enclosed_so_far(lambda: _answer(widest, is_array)):
        enclosures = _at_neighbours(targets, lambda at: _roots(problems, at, checked_rtol))
    rows = zip(problems, [small for small, _ in targets], enclosures, strict=True)
    return _answer_or_raise(enclosures, [epsilon_shortfall(*row, rtol) for row in rows], is_array)


def _twice(check: Callable[[object], float]) -> Callable[[object], tuple[float, float]]:
    """Return a check of floats that gives the same float as both neighbours of the argument."""
    return lambda value: (check(value),) * 2


def _at_neighbours(
    pairs: list[tuple[float, float]], evaluate: Callable[[list[float]], list[Enclosure]]
) -> list[Enclosure]:
    """Return enclosures of a quantity that falls, at points between the two floats of each pair."""
    left, right = (list(x) for x in zip(*pairs, strict=True))
    above = evaluate(left)
    below = above if left == right else evaluate(right)
    return [Enclosure(x.lower, y.upper) for x, y in zip(below, above, strict=True)]


def _roots(problems: list[Problem], deltas: list[float], rtol: float | None) -> list[Enclosure]:
    """Return enclosures of the smallest ε with D(ε) ≤ δ; the problems differ only in n."""
    goal = DEFAULT_RTOL if rtol is None else rtol
    enclosures = [Enclosure(math.inf, math.inf)] * len(problems)
    rows = [i for i, delta in enumerate(deltas) if problems[i].delta_limit() <= delta]
    if rows and has_many_components(problems[0]):
        for i in rows:
            enclosures[i] = _root_of_many_components(problems[i], deltas[i], goal, rtol is None)
    elif rows:
        searched = _search([problems[i] for i in rows], [deltas[i] for i in rows], goal)
        for i, enclosure in zip(rows, searched, strict=True):
            enclosures[i] = enclosure
    return enclosures


def _root_of_many_components(
    problem: Problem, delta: float, goal: float, is_gap_allowed: bool
) -> Enclosure:
    """Return ε of the problem with few components, and that of all if the first is too wide."""
    sketched = sketch_of(problem)
    (likely,) = _search([sketched], [delta], SKETCH_RTOL)
    eps = min(likely.upper, LARGEST_EPS)
    start = Start(eps, float(sketched.estimate(eps).slope), SKETCH_DOUBT)
    few = reduced(problem, start, delta, goal)
    (enclosure,) = _search([few], [delta], goal, [start])
    if enclosure.relative_width <= (MAX_TRUSTED_WIDTH if is_gap_allowed else goal):
        return enclosure
    (full,) = _search([problem], [delta], goal, [start])
    lower, upper = max(enclosure.lower, full.lower), min(enclosure.upper, full.upper)
    return Enclosure(min(lower, upper), upper)


def _search(
    problems: list[Problem], deltas: list[float], goal: float, first: list[Start] | None = None
) -> list[Enclosure]:
    """Return enclosures of ε for each δ, from searches that begin at `first`, or at estimates.

    If the inner and the outer decompositions differ, each of them is searched by itself: D of the
    outer one is nowhere below D, so that its upper end holds, and D of the inner one nowhere above.
    """
    if problems[0].is_finite():
        return _search_together(problems, deltas, goal, first)
    below, above = (
        _search_together([p.only(end) for p in problems], deltas, GAP_SHARE * goal, first)
        for end in (0, 1)
    )
    return [
        Enclosure(min(inner.lower, outer.upper), outer.upper)
        for inner, outer in zip(below, above, strict=True)
    ]


def _search_together(
    problems: list[Problem], deltas: list[float], goal: float, first: list[Start] | None
) -> list[Enclosure]:
    """Return the results of one search for each δ; D is evaluated at many points at once."""
    end = problems[0].largest_loss()
    users = np.array([float(problem.n) for problem in problems])
    outer = problems[0].outer[0]
    first = first or starts(outer, users, np.array(deltas), min(end, LARGEST_EPS))
    searches = [Search(delta, start, end, goal) for delta, start in zip(deltas, first, strict=True)]
    while active := [(i, x) for i, search in enumerate(searches) for x in search.next_probes()]:
        enclosures = largest_divergences(
            [problems[i] for i, _ in active],
            [probe.eps for _, probe in active],
            [probe.aim for _, probe in active],
            [deltas[i] for i, _ in active],
        )
        _distribute(searches, active, enclosures)
    return [search.enclosure() for search in searches]


def _distribute(
    searches: list[Search], active: list[tuple[int, Probe]], enclosures: list[Enclosure]
) -> None:
    """Give every search the enclosures at its own probes."""
    for i, group in groupby(zip(active, enclosures, strict=True), key=lambda pair: pair[0][0]):
        pairs = list(group)
        searches[i].add([probe for (_, probe), _ in pairs], [enclosure for _, enclosure in pairs])


def is_array_like(value: object) -> TypeGuard[Sequence | NDArray]:
    """Return whether an argument is an array or a sequence, rather than a number."""
    if isinstance(value, Sequence):
        return not isinstance(value, str | bytes)
    return getattr(value, "ndim", 0) > 0


def paired(
    first_argument: tuple[str, object, Callable[[object], T]],
    second_argument: tuple[str, object, Callable[[object], S]],
) -> tuple[list[T], list[S]]:
    """Return two arguments (name, value, check), one of them an array, as lists of equal length.

    Raises ValueError if both are arrays, or an array is empty or has more than one dimension. It
    also raises what `check` raises for an entry.
    """
    if is_array_like(first_argument[1]) and is_array_like(second_argument[1]):
        raise ValueError(
            f"only one of {first_argument[0]} and {second_argument[0]} may be an array, "
            f"got {len(first_argument[1])} and {len(second_argument[1])} values"
        )
    first, second = checked(*first_argument), checked(*second_argument)
    size = max(len(first), len(second))
    return first * (size // len(first)), second * (size // len(second))


def checked(name: str, value: object, check: Callable[[object], T]) -> list[T]:
    """Return an argument, a number or an array, as a list of checked numbers.

    Raises ValueError for an array that is empty or has more than one dimension.
    """
    if not is_array_like(value):
        return [check(value)]
    shape = getattr(value, "shape", (len(value),))
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(
            f"{name} must be a number or a one-dimensional, non-empty array, "
            f"got shape {tuple(shape)}"
        )
    # Arithmetic with NumPy scalars would be slower than with Python's numbers.
    return [check(x) for x in (value.tolist() if hasattr(value, "tolist") else value)]


def enclosures_of(enclosures: Sequence[Enclosure]) -> Enclosures:
    """Return the enclosures of all points together."""
    return Enclosures(
        np.array([x.lower for x in enclosures]), np.array([x.upper for x in enclosures])
    )


def _answer(enclosures: list[Enclosure], is_array: bool) -> Enclosure | Enclosures:
    """Return the enclosures of an array, or the only one."""
    return enclosures_of(enclosures) if is_array else enclosures[0]


def _answer_or_raise(
    enclosures: list[Enclosure], shortfalls: list[str | None], is_array: bool
) -> Enclosure | Enclosures:
    """Return the answer; raise PrecisionError with the first message if there are messages."""
    answer = _answer(enclosures, is_array)
    messages = [shortfall for shortfall in shortfalls if shortfall is not None]
    if messages:
        count = f" (so at {len(messages)} of {len(enclosures)} points)" if is_array else ""
        raise PrecisionError(messages[0] + count, answer)
    return answer


def delta_shortfall(
    problem: Problem, eps: float, enclosure: Enclosure, rtol: float | None
) -> str | None:
    """Return what is wrong with an enclosure of δ at ε, None if it is narrow enough.

    A δ that rounding cannot distinguish from 0 is narrow enough.
    """
    if enclosure.upper <= validation.MIN_DELTA or problem.vanishes(eps):
        return None
    return _shortfall(f"delta at eps = {eps!r}", problem, enclosure, rtol)


def epsilon_shortfall(
    problem: Problem, delta: float, enclosure: Enclosure, rtol: float | None
) -> str | None:
    """Return what is wrong with an enclosure of ε at δ, None if it is narrow enough."""
    return _shortfall(f"epsilon at delta = {delta!r}", problem, enclosure, rtol)


def _shortfall(
    quantity: str, problem: Problem, enclosure: Enclosure, rtol: float | None
) -> str | None:
    """Return a message if the enclosure is wider than was promised, else None."""
    goal = DEFAULT_RTOL if rtol is None else rtol
    if enclosure.relative_width <= goal or not problem.promises(rtol):
        return None
    advice = "a larger rtol" if problem.is_finite() else "more cells or a larger rtol"
    return (
        f"{quantity}, n = {problem.n} is known only to lie in "
        f"[{enclosure.lower!r}, {enclosure.upper!r}]: relative width "
        f"{enclosure.relative_width:.1e} where rtol = {goal:g} was asked for; {advice} would help"
    )
