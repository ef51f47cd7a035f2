"""The piecewise mechanism for numbers (Wang et al., ICDE 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from shufflebounds import validation
from shufflebounds.randomizers.matching import MatchingRandomizer


@dataclass(frozen=True)
class Piecewise(MatchingRandomizer):
    """Piecewise: for x in [−1, 1] a number in [−C, C], denser by e^{ε₀} in a window around x.

    With h = e^{ε₀/2}, C = (h + 1)/(h − 1), the window of x runs from (C + 1)x/2 − (C − 1)/2 over a
    length of C − 1, a share of 1/(h + 1). Those of −1 and 1, which are the worst pair, are
    disjoint. Raises ValueError unless 0 < ε₀ ≤ 300.
    """

    eps0: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))

    @property
    def _share(self) -> Fraction:
        """Of a window, 1/(h + 1), good to so many digits that 1 − 2/(h + 1) is good as well."""
        with localcontext(prec=40 + max(0, math.ceil(-math.log10(self.eps0)))):
            return 1 / (1 + Fraction((Decimal(self.eps0) / 2).exp()))

    def _misses(self, inputs: int) -> Fraction:
        """Outside the windows of −1 and 1, or of one."""
        return 1 - inputs * self._share

    def _patterns(self, inputs: int) -> dict[tuple[bool, ...], Fraction]:
        """The third input is 0: its window overlaps the others where it is longer than 2.

        The windows of −1 and 1 leave a gap of length 2, which is (1 − 2 share) of 2C.
        """
        share = self._share
        gap = 1 - 2 * share
        outer = max(share - gap, Fraction(0)) / 2
        inner = share - 2 * outer
        return {
            (True, False, True): outer,
            (True, False, False): share - outer,
            (False, True, True): outer,
            (False, True, False): share - outer,
            (False, False, True): inner,
            (False, False, False): gap - inner,
        }

    def density(self, x: float, y: float) -> float:
        """Of the report y on the input x, both numbers; 0 outside [−C, C]."""
        h = math.exp(self.eps0 / 2.0)
        end = (h + 1.0) / (h - 1.0)
        start = (end + 1.0) / 2.0 * x - (end - 1.0) / 2.0
        if not -end <= y <= end:
            return 0.0
        low = (h - 1.0) / (2.0 * h * (h + 1.0))
        return low * h * h if start <= y <= start + end - 1.0 else low
