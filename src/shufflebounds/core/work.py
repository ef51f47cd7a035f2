"""A budget of work for every question: engines say what they spend, and stop when it is gone.

It is no clock, so that a question is answered or refused alike on every machine. A unit is about
a nanosecond or more; questions that are asked to answer another share its budget.
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

# Of one question, and of what is to be known of it even where that is spent.
BUDGET, RESERVE = 1.5e10, 1.5e9

P = ParamSpec("P")
T = TypeVar("T")


# The share of it that nothing optional may touch.
_KEPT = 0.3


@dataclass
class _Purse:
    left: float
    is_empty: bool = False
    falls_short: bool = False

    def __post_init__(self) -> None:
        self.kept = _KEPT * self.left


_purse: ContextVar[_Purse | None] = ContextVar("purse", default=None)


class WorkError(PrecisionError):
    """The work that a question may cost is spent.

    Engines that catch it return bounds that hold without further work; such results must not be
    cached (`is_spent`).
    """

    def __init__(self) -> None:
        super().__init__(f"it would cost too much work; {ADVICE}", Enclosure(0.0, float("inf")))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), ()


ADVICE = "a larger rtol or delta, fewer rounds, or reports of fewer kinds would help"


def spend(units: float) -> None:
    """Take what is about to be done from the budget; raises `WorkError` where it is spent."""
    purse = _purse.get()
    if purse is None:
        return
    purse.left -= units
    if purse.left < 0.0:
        purse.is_empty = True
        raise WorkError


def is_spent() -> bool:
    """Whether what is computed now says less than it would with more work."""
    purse = _purse.get()
    return purse is not None and purse.is_empty


def is_scarce() -> bool:
    """Whether what is left had better be kept for what an answer cannot do without."""
    purse = _purse.get()
    return purse is not None and purse.left < purse.kept


def fall_short() -> None:
    """Note that the answer is much wider than it would be with more work, so that it is refused."""
    purse = _purse.get()
    if purse is not None:
        purse.falls_short = True


def require_work() -> None:
    """Raise `WorkError` where the budget is spent, before anything is remembered."""
    if is_spent():
        raise WorkError


@contextmanager
def budget(questions: int = 1) -> Iterator[_Purse | None]:
    """What so many questions may cost; None within another question, whose budget counts."""
    if _purse.get() is not None:
        yield None
        return
    with _opened(_Purse(questions * BUDGET)) as purse:
        yield purse


@contextmanager
def reserve() -> Iterator[None]:
    """A little more for what is to be known even where all is spent."""
    with _opened(_Purse(RESERVE)):
        yield


@contextmanager
def _opened(purse: _Purse) -> Iterator[_Purse]:
    token = _purse.set(purse)
    try:
        yield purse
    finally:
        _purse.reset(token)


def limited(ask: Callable[P, T]) -> Callable[P, T]:
    """A public question with a budget, which it shares among the points of its arrays.

    If the budget is spent, an enclosure that it returns is raised as a `PrecisionError`, unless
    both of its ends are equal.
    """

    @wraps(ask)
    def within(*args: P.args, **kwargs: P.kwargs) -> T:
        points = max((_points(x) for x in (*args, *kwargs.values())), default=1)
        with budget(points) as purse:
            found = ask(*args, **kwargs)
        known = getattr(found, "enclosure", found)
        if purse is None or not (purse.is_empty or purse.falls_short):
            return found
        if not isinstance(known, Enclosure | Enclosures) or not np.any(known.relative_width):
            return found
        where = "not known well enough"
        if isinstance(known, Enclosure):
            where = f"known only to lie in [{known.lower!r}, {known.upper!r}]"
        raise PrecisionError(
            f"{ask.__name__.removeprefix('mechanism_')} is {where}; more would cost too much "
            f"work; {ADVICE}",
            known,
        )

    return within


def _points(argument: object) -> int:
    """How many numbers an array has."""
    shape = getattr(argument, "shape", None)
    if isinstance(argument, list | tuple):
        return len(argument)
    return int(shape[0]) if shape else 1
