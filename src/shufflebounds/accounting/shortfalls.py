"""Widths that were promised and not reached: what to say of them, and how it is raised."""

from __future__ import annotations

import numpy as np

from shufflebounds import validation
from shufflebounds.accounting.problem import Problem
from shufflebounds.enclosure import Enclosure, Enclosures, PrecisionError

DEFAULT_RTOL = 1e-4


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
