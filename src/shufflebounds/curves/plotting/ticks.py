"""The numbers that an axis names, in print and in the browser."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

# Largest number of labels of each axis: on an x axis they stand side by side.
LABELS = {"x": 4, "y": 5}
# Largest number of even steps of each axis; their labels are short.
STEPS_OF_AN_AXIS = {"x": 6, "y": 5}
# Steps between labels that are evenly spaced, up to powers of ten.
STEPS = (1.0, 2.0, 5.0, 10.0)
# Decades of a logarithmic axis below which its labels are evenly spaced numbers.
FEW_DECADES = 0.9
# First digits of the labels of longer ones, from the finest to the coarsest choice.
DIGITS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))


def ticks(
    axis: str, values: NDArray[np.float64], *, is_log: bool, is_ratio: bool = False
) -> list[float]:
    """Return the numbers that the axis x or y names, given what it shows.

    Ratios always have a label at 1. What a logarithmic axis cannot show does not count. An x axis
    of whole numbers, such as those of users, names whole numbers.
    """
    shown = values[np.isfinite(values) & ((values > 0.0) | (not is_log))]
    if not shown.size:
        return []
    low, high = float(shown.min()), float(shown.max())
    is_whole = axis == "x" and bool((shown == np.floor(shown)).all())
    even = MaxNLocator(STEPS_OF_AN_AXIS[axis], steps=STEPS, integer=is_whole).tick_values(low, high)
    # Twelve digits, since sums of steps are a little off.
    chosen = list(dict.fromkeys(float(f"{place:.12g}") for place in even))
    is_even = not is_log or math.log10(high / low) < FEW_DECADES
    if not is_even or (is_ratio and 1.0 not in chosen):
        chosen = _logarithmic(low, high, LABELS[axis])
    inside = [
        place for place in chosen if low <= place * (1.0 + 1e-9) and place <= high * (1.0 + 1e-9)
    ]
    # Evenly spaced numbers below 1e-300 are out of reach.
    return inside or (_logarithmic(low, high, LABELS[axis]) if is_log else [])


def _logarithmic(low: float, high: float, labels: int) -> list[float]:
    """Return so many numbers, at most, that are evenly spaced on a logarithmic axis, about."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in DIGITS:
        places = [float(f"{digit:g}e{power}") for power in powers for digit in digits]
        places = [place for place in places if low <= place <= high]
        if len(places) <= labels:
            return places
    step = math.ceil(len(places) / labels)
    return [float(f"1e{power}") for power in powers if power % step == 0]
