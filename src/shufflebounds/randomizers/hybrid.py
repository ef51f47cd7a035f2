"""The hybrid mechanism for numbers: Piecewise or Duchi, by Wang et al. (ICDE 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.products import FloatArray
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import WORD, Spread, of_numbers
from shufflebounds.estimation.reporter import refuse_frequencies
from shufflebounds.randomizers.base import PRODUCT_ERR, from_channel
from shufflebounds.randomizers.discrete import Duchi
from shufflebounds.randomizers.matching import PATTERNS, MatchingRandomizer
from shufflebounds.randomizers.windows import Piecewise

# ε₀ up to which Duchi's mechanism alone has the smaller error (Wang et al., Section III-D).
LARGEST_EPS0_OF_DUCHI = 0.61


@shares_documentation("eps0")
@dataclass(frozen=True)
class Hybrid(MatchingRandomizer):
    """Hybrid: for x in [−1, 1] a report of Piecewise with probability ``share``, else one of Duchi.

    Reports of both are e^{ε₀} times as likely if they match the number; those of −1 and 1, which
    are the worst pair, never match both. Duchi's report of a number x matches −1 or 1 at random.

    Parameters
    ----------
    share
        Probability of Piecewise, 0 to 1. None stands for the customary 1 − e^{−ε₀/2}, or 0 for ε₀
        up to 0.61; the attribute then holds it.

    Notes
    -----
    Wang et al. (ICDE 2019). Worst pair: docs/proofs/variation-ratio.md, section 9.

    Examples
    --------
    >>> f"{sb.epsilon(sb.Hybrid(2.0), n=10_000, delta=1e-6).upper:.3f}"
    '0.098'
    """

    pairs_are_proven = True

    eps0: float
    share: float | None = field(
        default=None,
        metadata={
            "help": "chance of Piecewise; if left out, 1 - e^(-eps0/2), or 0 up to eps0 0.61"
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share is None:
            customary = -math.expm1(-self.eps0 / 2.0) if self.eps0 > LARGEST_EPS0_OF_DUCHI else 0.0
            object.__setattr__(self, "share", customary)
        validation.probability("share", self.share)

    @property
    def _weights(self) -> tuple[Fraction, Fraction]:
        """The masses of reports of either mechanism, as if they matched no number."""
        window = Piecewise(self.eps0)._share
        h = (1 - window) / window
        share = Fraction(self.share or 0.0)
        return share / h, (1 - share) * 2 / (h * h + 1)

    def _miss_probability(self, inputs: int) -> Fraction:
        """Return the share of reports that match neither −1 nor 1, or not one of them."""
        piecewise, duchi = self._weights
        matched = piecewise * Piecewise(self.eps0)._share + duchi / 2
        return 1 - inputs * matched / (piecewise + duchi)

    @property
    def _third(self) -> float:
        """The largest number whose Piecewise reports match neither −1 nor 1; 0 if there is none.

        Reports of Piecewise for all such numbers tell as much as those for 0. Reports of Duchi's
        mechanism match −1 the least often for this one.
        """
        return max((1.0 - 1e-12) * (1.0 - 2.0 * math.exp(-self.eps0 / 2.0)), 0.0)

    def _rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the laws of −1, 1 and `_third`, and the blanket.

        Reports of Duchi's mechanism for a number between −1 and 1 are those of −1 or 1.
        """
        share = self.share or 0.0
        rows, sure = Piecewise(self.eps0)._rows()
        ends = Duchi(self.eps0).matrix()
        chance = 0.5 * (1.0 + self._third)
        third = (1.0 - chance) * ends[0] + chance * ends[1]
        both = np.hstack([share * rows, (1.0 - share) * np.vstack([ends, third])])
        blanket = np.append(share * sure, (1.0 - share) * ends.min(axis=0))
        used = both.any(axis=0)
        return both[:, used], blanket[used]

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs of a victim with −1 or 1 among others with `_third`, or with 1."""
        (first, second, middle), _ = self._rows()
        laws = {"third": middle, "x1": second}
        return {
            name: from_channel([first, second, law], rel_err=PRODUCT_ERR)
            for name, law in laws.items()
        }

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd that covers any three numbers: those of Piecewise and Duchi together.

        A user's number is replaced by −1 or 1 at random before Duchi's report, and the user by two
        whose reports of Duchi's mechanism are those of −1 and of 1. Every combination of matches in
        both mechanisms is among the extremes.
        """
        share = self.share or 0.0
        if share in (0.0, 1.0):
            return (Piecewise(self.eps0) if share else Duchi(self.eps0)).crowds()
        duchi = [
            self._duchi_laws(ends) for ends in ((1, -1, 1), (1, -1, -1), (1, 1, 1), (1, 1, -1))
        ]
        crowds = []
        for crowd in Piecewise(self.eps0).crowds():
            first = self._side_by_side(crowd, (duchi[0] + duchi[1]) / 2.0)
            extremes = (
                self._side_by_side(piecewise, laws)
                for piecewise in (crowd, *crowd.extremes)
                for laws in duchi
            )
            crowds.append(replace(first, extremes=tuple(extremes)))
        return tuple(crowds)

    def _duchi_laws(self, ends: tuple[int, int, int]) -> FloatArray:
        """Return the laws of three ends by the pattern of those that a report matches, and blanket.

        The shape is (4, 8), in the order of the patterns.
        """
        rows = Duchi(self.eps0).matrix()
        laws = np.zeros((4, len(PATTERNS)))
        for output in (0, 1):
            inputs = [(1 + end) // 2 for end in ends]
            column = PATTERNS.index(tuple(x == output for x in inputs))
            laws[:, column] = [*(rows[x, output] for x in inputs), rows.min(axis=0)[output]]
        return laws

    def _side_by_side(self, piecewise: Crowd, duchi: FloatArray) -> Crowd:
        """Return the crowd of both mechanisms by that of one and the laws of the other."""
        (other,) = piecewise.others.values()
        of_piecewise = np.stack([piecewise.a, piecewise.b, other.law, piecewise.c])
        share = self.share or 0.0
        a, b, law, sure = np.hstack([share * of_piecewise, (1.0 - share) * duchi])
        return Crowd.of_laws(a, b, sure, {"any": law}, 2.0 * PRODUCT_ERR, attained=False)

    bits = WORD

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Return the variance of a report, the mean of those of Piecewise and Duchi."""
        refuse_frequencies(self, frequencies)
        share, h_minus_1 = self.share or 0.0, math.expm1(self.eps0 / 2.0)
        piecewise = (h_minus_1 + 4.0) / (3.0 * h_minus_1**2)
        duchi = math.tanh(self.eps0 / 2.0) ** -2
        square = share / h_minus_1 - (1.0 - share)
        return of_numbers(share * piecewise + (1.0 - share) * duchi, square)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return numbers whose mean is the user's."""
        numbers = sampling.checked_numbers(inputs, -1.0, 1.0)
        of_piecewise = Piecewise(self.eps0)._draw_reports(numbers, rng)
        of_duchi = Duchi(self.eps0)._draw_reports(numbers, rng) / math.tanh(self.eps0 / 2.0)
        return np.where(rng.random(numbers.size) < (self.share or 0.0), of_piecewise, of_duchi)

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the mean of all reports."""
        return sampling.mean_of(reports)
