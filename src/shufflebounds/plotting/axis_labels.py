"""Labels of logarithmic axes of interactive figures: 10⁻⁸ where Vega would write 1e-8."""

from __future__ import annotations

import json
import math

from shufflebounds.plotting.plain_text import plain

# Numbers between these are shorter as Vega writes them.
_SMALL, _LARGE = 1e-3, 1e6


def expression(limits: tuple[float, float]) -> str:
    """Vega's expression for the labels of a logarithmic axis with these ends.

    Which ticks have a label stays Vega's affair, and so does that of a number from 0.001 on and
    below a million.
    """
    first, last = (math.floor(math.log10(end)) for end in limits)
    powers = [plain(f"$10^{{{exponent}}}$") for exponent in range(first, last + 1)]
    # The logarithm of a power of ten may end up a little below it.
    exponent = "floor(log(datum.value) / LN10 + 1e-9)"
    digit = f"round(datum.value / pow(10, {exponent}))"
    factor = f"({digit} == 1 ? '' : {digit} + '·')"
    power = f"{json.dumps(powers, ensure_ascii=False)}[{exponent} - {first}]"
    plainly = f"{_SMALL * (1 - 1e-9)} <= datum.value && datum.value < {_LARGE * (1 - 1e-9)}"
    return f"!datum.label || {plainly} ? datum.label : {factor} + {power}"
