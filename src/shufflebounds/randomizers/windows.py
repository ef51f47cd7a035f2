"""Reports with a window around the input: PrivUnit's cap, and the piecewise mechanism.

PrivUnit is by Bhowmick, Duchi, Freudiger, Kapoor and Rogers (2018), the piecewise mechanism for
numbers by Wang et al. (ICDE 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.number import Real
from shufflebounds.core.products import FloatArray
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import WORD, Spread, of_numbers
from shufflebounds.estimation.reporter import refuse_frequencies
from shufflebounds.randomizers.matching import MatchingRandomizer


@shares_documentation("eps0")
@dataclass(frozen=True)
class PrivUnit(MatchingRandomizer):
    """PrivUnit: a point of the sphere, e^{ε₀} times as dense in a cap around the user's direction.

    The caps of opposite directions, the worst pair, are disjoint. The factor that makes the report
    unbiased is public. The upper bound holds in every dimension, and for every randomizer whose
    likelihoods lie between 1 and e^{ε₀} times those of a fixed law over 1 + cap (e^{ε₀} − 1). The
    lower bound lets all other users hold one of the victim's two directions. With a third one they
    may hide the victim less, which depends on the dimension.

    Parameters
    ----------
    cap
        Share of a cap in the area of the sphere, 10⁻¹⁰⁰ to 1/2.

    Notes
    -----
    Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018. Worst pair: docs/proofs/variation-ratio.md,
    section 9.

    Examples
    --------
    >>> sb.PrivUnit(np.log(3.0), cap=0.25).matrix().round(4).tolist()
    [[0.5, 0.1667, 0.3333], [0.1667, 0.5, 0.3333]]
    """

    pairs_are_proven = True

    eps0: float
    cap: float = field(metadata={"help": "share of the sphere in a cap, at most 1/2"})
    _input_count = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        Real("cap", ge=validation.MIN_PROBABILITY, le=0.5).nearest(self.cap)

    def _miss_probability(self, inputs: int) -> Fraction:
        """Return the share outside the caps of two opposite directions, or of one."""
        return 1 - inputs * Fraction(self.cap)

    def _channel_matrix(self) -> NDArray[np.float64]:
        """Raise ValueError: `matrix` has two directions only, and reports need the dimension."""
        raise ValueError(
            "PrivUnit must know the dimension of the sphere for its reports and their error, and "
            "this one does not"
        )

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities of two opposite caps and the rest for each of them, (2, 3)."""
        areas = np.array([self.cap, self.cap, 1.0 - 2.0 * self.cap])
        e = math.exp(self.eps0)
        return areas * np.array([[e, 1.0, 1.0], [1.0, e, 1.0]]) / self._total()


@shares_documentation("eps0")
@dataclass(frozen=True)
class Piecewise(MatchingRandomizer):
    """Piecewise: for x in [−1, 1] a number in [−C, C], denser by e^{ε₀} in a window around x.

    With h = e^{ε₀/2}, C = (h + 1)/(h − 1), the window of x runs from (C + 1)x/2 − (C − 1)/2 over a
    length of C − 1, a share of 1/(h + 1). Those of −1 and 1, which are the worst pair, are
    disjoint.

    Notes
    -----
    Wang et al. (ICDE 2019). Worst pair: docs/proofs/variation-ratio.md, section 9.

    Examples
    --------
    For ε₀ = log 9, h = 3 and C = 2, the window of 0 runs from −1/2 to 1/2.

    >>> R = sb.Piecewise(np.log(9.0))
    >>> f"{R.density(0.0, 0.4) / R.density(0.0, 0.6):.1f}"
    '9.0'
    """

    eps0: float

    @property
    def _share(self) -> Fraction:
        """The share of a window, 1/(h + 1), with enough digits for 1 − 2/(h + 1)."""
        with localcontext(prec=40 + max(0, math.ceil(-math.log10(self.eps0)))):
            return 1 / (1 + Fraction((Decimal(self.eps0) / 2).exp()))

    def _miss_probability(self, inputs: int) -> Fraction:
        """Return the share outside the windows of −1 and 1, or outside one window."""
        return 1 - inputs * self._share

    def _patterns(self, inputs: int) -> dict[tuple[bool, ...], Fraction]:
        """Return the patterns with 0 as the third input.

        Its window overlaps the others if it is longer than 2: the windows of −1 and 1 leave a gap
        of length 2, which is (1 − 2 share) of 2C.
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

    bits = WORD

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Return the variance x²/(h − 1) + (h + 3)/(3(h − 1)²) of a report, whose mean is x."""
        refuse_frequencies(self, frequencies)
        h_minus_1 = math.expm1(self.eps0 / 2.0)
        return of_numbers((h_minus_1 + 4.0) / (3.0 * h_minus_1**2), 1.0 / h_minus_1)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return numbers in [−C, C]: in the window with probability (h − 1)/h, else uniform."""
        numbers = sampling.checked_numbers(inputs, -1.0, 1.0)
        h, end, start = self._window(numbers)
        in_window = start + (end - 1.0) * rng.random(numbers.size)
        uniform = rng.uniform(-end, end, size=numbers.size)
        return np.where(rng.random(numbers.size) < (h - 1.0) / h, in_window, uniform)

    def _window(self, x: FloatArray) -> tuple[float, float, FloatArray]:
        """Return h, C and the starts of the windows of x."""
        h = math.exp(self.eps0 / 2.0)
        end = (h + 1.0) / (h - 1.0)
        return h, end, (end + 1.0) / 2.0 * x - (end - 1.0) / 2.0

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the mean of all reports."""
        return sampling.mean_of(reports)

    def density(self, x: float, y: float) -> float:
        """Return the density of a report.

        Parameters
        ----------
        x, y
            The input, −1 to 1, and the report.

        Returns
        -------
        float
            The density of y; 0 outside [−C, C].
        """
        h, end, start = self._window(np.array(x))
        if not -end <= y <= end:
            return 0.0
        low = (h - 1.0) / (2.0 * h * (h + 1.0))
        return low * h * h if start <= y <= start + end - 1.0 else low
