"""A budget of work for every question: engines report what they spend, and stop at its end.

Work is counted, not timed, so that a question is answered or refused alike on every machine. A unit
of work is a nanosecond or more. A question that is asked to answer another one shares its budget.

No engine and no cache asks how much is left. An engine calls `spend`, which raises `WorkError` at
the end of the budget. The error passes through everything up to the public question, which raises a
`PrecisionError`. On its way, a search that holds valid ends replaces the error's enclosure by them
(`enclosed_so_far`). A value that was computed is therefore the same whoever asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec, TypeVar

from shufflebounds.core.enclosure import Enclosure, Enclosures, PrecisionError, WorkError

# Work that one question may cost, in units: 15 seconds or more.
BUDGET = 1.5e10
# Work that a simple bound may cost, in units. It is needed even if the budget is spent.
RESERVE = 1.5e9
# What a user can change when a question costs too much work.
ADVICE = "a larger rtol or delta, fewer rounds, or reports of fewer kinds would help"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class _WorkBudget:
    """The remaining units of work; negative once a step was refused."""

    remaining: float


_work_budget: ContextVar[_WorkBudget | None] = ContextVar("work_budget", default=None)


def spend(units: float) -> None:
    """Subtract the next step's units from the budget; raise `WorkError` if too few remain."""
    current = _work_budget.get()
    if current is None:
        return
    current.remaining -= units
    if current.remaining < 0.0:
        raise WorkError(f"it would cost too much work; {ADVICE}")


@contextmanager
def budget(units: float) -> Iterator[_WorkBudget]:
    """Set a budget for all work inside the context, whatever the budget outside is."""
    current = _WorkBudget(units)
    token = _work_budget.set(current)
    try:
        yield current
    finally:
        _work_budget.reset(token)


@contextmanager
def enclosed_so_far(enclosure: Callable[[], Enclosure | Enclosures]) -> Iterator[None]:
    """Give a `WorkError` of the context the enclosure that is known when it is raised."""
    try:
        yield
    except WorkError as error:
        raise WorkError(str(error), enclosure()) from None


def limited(ask: Callable[P, T]) -> Callable[P, T]:
    """Give a public question a budget, which the points of its array arguments share.

    If the budget is spent, the question raises a `PrecisionError` with the enclosure so far. A
    question inside another one has the budget of that one, and its `WorkError` passes through.
    """

    @wraps(ask)
    def ask_within_budget(*args: P.args, **kwargs: P.kwargs) -> T:
        if _work_budget.get() is not None:
            return ask(*args, **kwargs)
        points = max((_array_length(x) for x in (*args, *kwargs.values())), default=1)
        with budget(points * BUDGET):
            try:
                return ask(*args, **kwargs)
            except WorkError as error:
                enclosure = error.enclosure
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
