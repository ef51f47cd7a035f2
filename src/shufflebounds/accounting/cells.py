"""How many cells the ends of an epoch's decomposition get, and for which δ they are made.

All answers hold whatever is chosen here; only their widths depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.protocols.allocation import DEFAULT_CELLS, MAX_CELLS

# Relative widths of ε and of δ of several rounds where the caller gives no `rtol`.
DEFAULT_RTOL, DEFAULT_DELTA_RTOL = 1e-2, 0.1
# Share of the requested width that is left to the numerical error for the ends that cells give.
NUMERICAL_SHARE = 0.7
# Most choices of cells for one answer, and the factor of a width below which none follows.
MAX_CHOICES, WORTHWHILE = 4, 0.8
# Largest ratio of the δ that cells are made for to the answer, and of the answer to it.
LARGEST_RATIO = 30.0
# First δ that cells are made for if δ is sought.
FIRST_DELTA = 1e-8


def with_enough_cells(
    ask: Callable[[int, float], Enclosure],
    rtol: float | None,
    default: float = DEFAULT_RTOL,
    *,
    is_strict: bool = True,
) -> Enclosure:
    """Return the answer to a question with more and more cells, until it is narrow enough.

    `ask` gets the number of cells and a relative width for the numerical error. Raises
    `PrecisionError` if the answer stays wider than `rtol`, or than `default` if that is None,
    unless it is not `is_strict`.
    """
    goal = default if rtol is None else validation.rtol(rtol)
    cells, best = DEFAULT_CELLS, Enclosure(0.0, math.inf)
    for _ in range(MAX_CHOICES):
        previous = best.relative_width
        try:
            enclosure = ask(cells, max(NUMERICAL_SHARE * goal, 1e-9))
        except PrecisionError as error:
            if not isinstance(error.enclosure, Enclosure):
                raise
            enclosure = error.enclosure
        if math.isinf(enclosure.lower):
            return enclosure
        best = Enclosure(max(best.lower, enclosure.lower), min(best.upper, enclosure.upper))
        width = best.relative_width
        if width <= goal or best.upper <= validation.MIN_DELTA:
            return best
        if width > WORTHWHILE * previous or cells == MAX_CELLS:
            break
        factor = min(max(1.3 * math.sqrt(width / goal), 1.5), 4.0)
        cells = min(math.ceil(factor * cells), MAX_CELLS)
    if not is_strict:
        return best
    raise PrecisionError(
        f"the answer is known only to lie in [{best.lower!r}, {best.upper!r}]: relative width "
        f"{best.relative_width:.1e} where rtol = {goal:g} was asked for"
        f"{validation.rtol_advice(best.relative_width)}",
        best,
    )


def at_its_delta(
    ask: Callable[[float, int, float], Enclosure],
    rtol: float | None,
    default: float = DEFAULT_DELTA_RTOL,
    guess: float = FIRST_DELTA,
    *,
    is_strict: bool = True,
) -> Enclosure:
    """Return the answer to a question about δ, with cells that are made for about this δ.

    `ask` gets the δ that cells are made for, and then what it gets in `with_enough_cells`. The
    search for this δ begins at `guess`.
    """
    delta = min(max(guess, validation.MIN_DELTA), 0.5)
    while True:
        try:
            rough = ask(delta, DEFAULT_CELLS, validation.MAX_RTOL)
        except PrecisionError as error:
            if not isinstance(error.enclosure, Enclosure):
                raise
            rough = error.enclosure
        if rough.upper < delta / LARGEST_RATIO and delta > validation.MIN_DELTA:
            delta = max(rough.upper, 1e-3 * delta, validation.MIN_DELTA)
        elif rough.lower > LARGEST_RATIO * delta:
            delta = min(rough.lower, 0.5)
        else:
            break
    delta = min(max(rough.upper, validation.MIN_DELTA), 0.5)
    return with_enough_cells(
        lambda cells, goal: ask(delta, cells, goal), rtol, default, is_strict=is_strict
    )
