"""How many cells the ends of an epoch's decomposition get, and for which δ they are made.

All answers hold whatever is chosen here; only their widths depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shufflebounds.core import validation
from shufflebounds.core.enclosure import Enclosure, PrecisionError
from shufflebounds.protocols.allocation import DEFAULT_CELLS

# Relative width of ε of several rounds where the caller gives no `rtol`.
DEFAULT_RTOL = 1e-2
# Relative width of δ of several rounds where the caller gives no `rtol`.
DEFAULT_DELTA_RTOL = 0.1
# Share of the requested width that is left to the numerical error for the ends that cells give.
NUMERICAL_SHARE = 0.7
# Most choices of cells for one answer.
MAX_CHOICES = 4
# Factor by which a choice of cells must narrow the answer to count as useful.
WORTHWHILE = 0.8
# Choices in a row that may be useless.
MAX_IDLE_CHOICES = 2
# Most cells of a decomposition whose curve is evaluated at many ε, as for several epochs.
MAX_CELLS_OF_EPOCHS = 500
# Most δ that cells are made for before the answer is asked for.
MAX_GUESSES = 8
# Largest ratio of the δ that cells are made for to the answer, and of the answer to it.
LARGEST_RATIO = 30.0
# Logarithm of the smallest δ that cells of several epochs are made for.
SMALLEST_LOG_DELTA = -120.0
# What is known of an answer before it is asked for.
UNKNOWN = Enclosure(0.0, math.inf)
# First δ that cells are made for if δ is sought.
FIRST_DELTA = 1e-6


def with_enough_cells(
    ask: Callable[[int, float], Enclosure],
    rtol: float | None,
    default: float = DEFAULT_RTOL,
    *,
    most_cells: int = MAX_CELLS_OF_EPOCHS,
    is_strict: bool = True,
    known: Enclosure = UNKNOWN,
) -> Enclosure:
    """Return the answer to a question with more and more cells, until it is narrow enough.

    `ask` gets the number of cells and a relative width for the numerical error. The answer is
    known to lie in `known`. Raises `PrecisionError` if it stays wider than `rtol`, or than
    `default` if that is None, unless it is not `is_strict`.
    """
    goal = default if rtol is None else validation.rtol(rtol)
    cells, best, idle = DEFAULT_CELLS, known, 0
    if best.relative_width <= NUMERICAL_SHARE * goal:
        return best
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
        # More cells may lie worse.
        idle = idle + 1 if width > WORTHWHILE * previous else 0
        if idle == MAX_IDLE_CHOICES or cells >= most_cells:
            break
        factor = min(max(1.3 * math.sqrt(enclosure.relative_width / goal), 1.5), 4.0)
        cells = min(math.ceil(factor * cells), most_cells)
    if not is_strict:
        return best
    raise PrecisionError(
        f"the answer is known only to lie in [{best.lower!r}, {best.upper!r}]: relative width "
        f"{best.relative_width:.1e} where rtol = {goal:g} was asked for"
        f"{validation.rtol_advice(best.relative_width)}",
        best,
    )


def guess_delta(ask: Callable[[float], Enclosure], eps: float) -> float:
    """Return a δ that is about that at ε, if `ask` returns ε at a δ. It bounds nothing."""
    log_delta, smallest, largest = math.log(FIRST_DELTA), -math.inf, 0.0
    for _ in range(MAX_GUESSES):
        try:
            root = ask(math.exp(log_delta))
        except PrecisionError as error:
            if not isinstance(error.enclosure, Enclosure):
                raise
            root = error.enclosure
        if not 0.0 < root.upper < math.inf:
            break
        if root.upper > eps:
            smallest = max(smallest, log_delta)
        else:
            largest = min(largest, log_delta)
        # For a normal loss, log δ is about proportional to ε².
        ratio = min(max((eps / root.upper) ** 2, 0.01), 4.0)
        previous, log_delta = log_delta, max(log_delta * ratio, SMALLEST_LOG_DELTA)
        if not smallest < log_delta < largest:
            log_delta = 0.5 * (max(smallest, SMALLEST_LOG_DELTA) + largest)
        if abs(log_delta - previous) < math.log(LARGEST_RATIO):
            break
    return math.exp(log_delta)


def at_its_delta(
    ask: Callable[[float, int, float], Enclosure],
    rtol: float | None,
    default: float = DEFAULT_DELTA_RTOL,
    guess: float = FIRST_DELTA,
    *,
    most_cells: int = MAX_CELLS_OF_EPOCHS,
    is_strict: bool = True,
) -> Enclosure:
    """Return the answer to a question about δ, with cells that are made for about this δ.

    `ask` gets the δ that cells are made for, and then what it gets in `with_enough_cells`. The
    search for this δ begins at `guess`.
    """
    delta = min(max(guess, validation.MIN_DELTA), 0.5)
    for _ in range(MAX_GUESSES):
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
        lambda cells, goal: ask(delta, cells, goal),
        rtol,
        default,
        most_cells=most_cells,
        is_strict=is_strict,
        known=rough,
    )
