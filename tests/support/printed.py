"""Whether a program prints what a page says, whatever the processor.

Every end of an enclosure is proven, but its last digits depend on the order in which a processor
adds. Two runs agree on an end to the relative width that questions have by default.
"""

import doctest
import re
from decimal import Decimal

# Relative width of enclosures over several rounds, by default.
WIDTH = Decimal("1e-3")
# Decimal numbers. Whole numbers and versions such as 0.2.0 are compared as text.
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)(?!\.?\w)")
INTERVAL = re.compile(rf"\[({NUMBER.pattern}), ({NUMBER.pattern})\]")


def agrees(printed: str, stated: str) -> bool:
    """Whether two texts are the same but for what a processor decides.

    Words and whole numbers are the same. Decimal numbers differ by a relative 1e-3 at most, or by
    one in the last place that the page states if that is at most a hundredth of the number.
    Intervals overlap.
    """
    if _words(printed) != _words(stated):
        return False
    numbers = zip(NUMBER.findall(printed), NUMBER.findall(stated), strict=True)
    intervals = zip(INTERVAL.findall(printed), INTERVAL.findall(stated), strict=True)
    return all(_is_close(*map(Decimal, pair)) for pair in numbers) and all(
        _overlap(*map(Decimal, ends), *map(Decimal, other)) for ends, other in intervals
    )


class Checker(doctest.OutputChecker):
    """Compares what an example of a docstring prints."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or agrees(got, want)


def _is_close(number: Decimal, stated: Decimal) -> bool:
    last_place = Decimal((0, (1,), stated.as_tuple().exponent))
    coarse = last_place if 100 * last_place <= abs(stated) else 0
    return abs(number - stated) <= max(WIDTH * abs(stated), coarse)


def _words(text: str) -> list[list[str]]:
    """Words of each line. Columns may move with the number of digits."""
    return [NUMBER.sub("#", line).split() for line in text.strip("\n").splitlines()]


def _overlap(low: Decimal, high: Decimal, other_low: Decimal, other_high: Decimal) -> bool:
    """Whether two intervals do; a list of two falling numbers is none."""
    is_list = low > high or other_low > other_high
    return is_list or (low <= other_high and other_low <= high)
