"""Histograms from fake users (Cheu and Zhilyaev, IEEE S&P 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition
from shufflebounds.protocols.base import CLOSED_FORM_ERR, Candidate, InfeasibleError, MultiMessage
from shufflebounds.protocols.ratios import Ratios

# Relative rounding of a closed form, with room to spare.
_ROUNDED = 1.0 + 2.0**-46


@dataclass(frozen=True)
class CheuZhilyaev(MultiMessage):
    """A user sends its value in one-hot form and ``blankets`` zero vectors, every bit flipped.

    Each bit of each message is flipped with chance ``flip``, independently. The bits of values
    other than the victim's two say nothing, so that four components are all. The size of the domain
    does not matter. Raises ValueError unless 10⁻¹⁰⁰ ≤ flip < 1/2.
    """

    flip: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1e-100 <= validation.probability("flip", self.flip) < 0.5:
            raise ValueError(f"flip must be a number with 1e-100 <= flip < 0.5, got {self.flip!r}")

    def decomposition(self) -> Decomposition:
        """The bits of x₁⁰ and x₁¹: 10, 01, 11 and 00."""
        f, g = self.flip, 1.0 - self.flip
        return Decomposition(
            np.array([g * g, f * f, f * g, f * g]),
            np.array([f * f, g * g, f * g, f * g]),
            np.array([f * g, f * g, f * f, g * g]),
            CLOSED_FORM_ERR,
        )

    def of_lower_bounds(self) -> CheuZhilyaev:
        """The others hold a third value (of three or more), and two bits of a message are seen."""
        return _OthersAtAThird(self.flip, blankets=self.blankets)

    def ratios(self) -> Ratios:
        """Of the two bits that tell the victim's values apart."""
        f = Fraction(self.flip)
        odds = (1 - f) / f
        return Ratios.rounded_up(odds * odds, 1 - 2 * f, odds)

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """ε with f(1 − f) = (33/5) coth²(ε/2) log(4/δ)/m, where there is one; f is ``flip``.

        m is the number of blanket messages.
        """
        noise = (self.draws(n) - 1) * self.flip * (1.0 - self.flip)
        squared = 6.6 * (math.log(4.0) - math.log(delta)) / noise * _ROUNDED
        return 2.0 * math.atanh(math.sqrt(squared)) * _ROUNDED if squared < 1.0 - 1e-9 else None


@dataclass(frozen=True)
class _OthersAtAThird(CheuZhilyaev):
    """What is seen of two bits, which follow one law in blankets and in messages of a third value.

    Dropping the other bits is post-processing, and what is left is a lower bound.
    """

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The victim's message, among those of n − 1 others and all blankets."""
        return (Candidate(self.decomposition(), others="third"),)

    def draws(self, n: int) -> int:
        """The victim's message, the others', and all blankets."""
        return super().draws(n) + n - 1


def designed(target: float, n: int, delta: float, blankets: int = 1) -> CheuZhilyaev:
    """The protocol with as few flips as its authors need for (``target``, δ) and `n` users.

    `target` is ε (natural log). Raises `InfeasibleError` where no flip makes up for so few
    messages, that is, where `original_epsilon` at ``flip`` = 1/2 is more.
    """
    target, delta = validation.eps0(target, "target"), validation.delta(delta)
    messages = validation.users(n) * validation.whole("blankets", blankets, minimum=1)
    needed = 6.6 * (math.log(4.0) - math.log(delta)) / math.tanh(target / 2.0) ** 2
    share = 4.0 * needed / messages
    if share >= 1.0:
        raise InfeasibleError(
            f"no flip gives epsilon = {target!r} by the authors' analysis with {messages} messages "
            f"at delta = {delta!r}"
        )
    # The smaller root of f(1 − f) = needed/messages, without cancellation.
    return CheuZhilyaev(share / 2.0 / (1.0 + math.sqrt(1.0 - share)), blankets=blankets)
