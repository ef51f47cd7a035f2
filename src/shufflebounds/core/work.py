"""A budget of work for every question: engines report what they spend, and stop at its end.

Work is counted, not timed, so that a question is answered or refused alike on every machine. A unit
of work is a nanosecond or more. A question that is asked to answer another one shares its budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError

# Work that one question may cost, in units: 15 seconds or more.
BUDGET = 1.5e10
# Further work, in units, for simple bounds that are computed even after the budget is spent.
RESERVE = 1.5e9
# Share of a budget that no optional refinement may touch.
_ESSENTIAL_SHARE = 0.3
# What a user can change when a question costs too much work.
ADVICE = "a larger rtol or delta, fewer rounds, or reports of fewer kinds would help"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class _WorkBudget:
    """The remaining units of work, and whether the answer suffers from their lack."""

    remaining: float
    is_empty: bool = False
    falls_short: bool = False

    def __post_init__(self) -> None:
        self.essential = _ESSENTIAL_SHARE * self.remaining


_work_budget: ContextVar[_WorkBudget | None] = ContextVar("work_budget", default=None)


class WorkError(PrecisionError):
    """The budget of work of a question is spent.

    An engine that catches it returns a valid bound that needs no further work. Such a result must
    not be cached (`is_spent`).
    """

    def __init__(self) -> None:
        super().__init__(f"it would cost too much work; {ADVICE}", Enclosure(0.0, float("inf")))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), ()


def spend(units: float) -> None:
    """Subtract the next step's units from the budget; raise `WorkError` if too few remain."""
    current = _work_budget.get()
    if current is None:
        return
    current.remaining -= units
    if current.remaining < 0.0:
        current.is_empty = True
        raise WorkError


def is_spent() -> bool:
    """Return whether the budget is spent, so that results may be wider than they could be."""
    current = _work_budget.get()
    return current is not None and current.is_empty


def is_scarce() -> bool:
    """Return whether the remaining work is reserved for the essential steps of an answer."""
    current = _work_budget.get()
    return current is not None and current.remaining < current.essential


def fall_short() -> None:
    """Record that more work would make the answer much narrower, so that it is refused."""
    current = _work_budget.get()
    if current is not None:
        current.falls_short = True


def require_work() -> None:
    """Raise `WorkError` if the budget is spent; call it before a result is cached."""
    if is_spent():
        raise WorkError


@contextmanager
def budget(questions: int = 1) -> Iterator[_WorkBudget | None]:
    """Set the budget of `questions` questions; it is None inside a question with a budget."""
    if _work_budget.get() is not None:
        yield None
        return
    with _use_budget(_WorkBudget(questions * BUDGET)) as current:
        yield current


@contextmanager
def reserve() -> Iterator[None]:
    """Set a small budget of its own for a bound that is needed even if the budget is spent."""
    with _use_budget(_WorkBudget(RESERVE)):
        yield


@contextmanager
def _use_budget(current: _WorkBudget) -> Iterator[_WorkBudget]:
    """Make `current` the budget of all work inside the context."""
    token = _work_budget.set(current)
    try:
        yield current
    finally:
        _work_budget.reset(token)


def limited(ask: Callable[P, T]) -> Callable[P, T]:
    """Give a public question a budget, which the points of its array arguments share.

    If the budget is spent, an enclosure that the question returns is raised as a `PrecisionError`,
    unless both of its ends are equal.
    """

    @wraps(ask)
    def ask_within_budget(*args: P.args, **kwargs: P.kwargs) -> T:
        points = max((_array_length(x) for x in (*args, *kwargs.values())), default=1)
        with budget(points) as current:
            answer = ask(*args, **kwargs)
        enclosure = getattr(answer, "enclosure", answer)
        if current is None or not (current.is_empty or current.falls_short):
            return answer
        if not isinstance(enclosure, Enclosure | Enclosures) or not np.any(
            enclosure.relative_width
        ):
            return answer
        where = "not known well enough"
        if isinstance(enclosure, Enclosure):
            where = f"known only to lie in [{enclosure.lower!r}, {enclosure.upper!r}]"
        raise PrecisionError(
            f"{ask.__name__.removeprefix('mechanism_')} is {where}; more would cost too much "
            f"work; {ADVICE}",
            enclosure,
        )

    return ask_within_budget


def _array_length(argument: object) -> int:
    """Return the number of entries of an array or list, and 1 for anything else."""
    shape = getattr(argument, "shape", None)
    if isinstance(argument, list | tuple):
        return len(argument)
    return int(shape[0]) if shape else 1
