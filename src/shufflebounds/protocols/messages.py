"""Protocols of several messages.

- Balls into bins: Luo, Wang and Yi, CCS 2022.
- Binary sums, which are exact up to coins: Balcer and Cheu 2020; Balcer, Cheu, Joseph and Mao 2021.
- Histograms from fake users: Cheu and Zhilyaev, IEEE S&P 2022.
- Dummy points, pureDUMP and mixDUMP: Li, Liu, Lou, Hong, Zhang, Qin and Ren 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import MASSES_ERR
from shufflebounds.core.setting import OverN
from shufflebounds.estimation.accuracy import Error, SpreadOfShares, of_pure
from shufflebounds.protocols.base import MultiMessage
from shufflebounds.subjects.base import InfeasibleError
from shufflebounds.subjects.ratios import Ratios

# Factor that rounds the authors' formulas up, with room to spare.
_ROUND_UP = 1.0 + 2.0**-46
# Largest ε of the bound by the authors of balls into bins: docs/proofs/variation-ratio.md proves it
# up to here.
_MAX_ORIGINAL_EPS = 2.0


@dataclass(frozen=True)
class BallsIntoBins(MultiMessage):
    """A user drops one ball in a bin of its value, and ``blankets`` balls in any of the ``bins``.

    A value has ``special`` bins, one of which is chosen at random. Two values without a common bin
    are the worst: balls in common bins tell nothing about the value. The bound is exact if there
    are two such values. Raises ValueError unless bins and special are
    positive integers with 2 special ≤ bins.
    """

    bins: int = field()
    special: int = field(default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.values("bins", self.bins)
        validation.whole("special", self.special, minimum=1, maximum=self.bins // 2)

    @property
    def caveat(self) -> str:
        """An assumption of the lower bound, if a value has several bins."""
        if self.special == 1:
            return ""
        return "The lower bound holds if two of the values have no bin in common."

    def decomposition(self) -> Decomposition:
        """Return the laws of the bins of x₁⁰, those of x₁¹, and all other bins."""
        share = Fraction(self.special, self.bins)
        masses = np.array([[1, 0, share], [0, 1, share], [0, 0, 1 - 2 * share]], dtype=np.float64)
        a, b, c = masses.T
        return Decomposition(a, b, c, MASSES_ERR).merge()

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the same pair: if all others hold x₁¹, their balls in its bins can be left out."""
        return {"x1": self.worst_pair}

    def error(self, n: int) -> Error:
        """Return the error of a histogram of values that are the bins (docs/proofs/errors.md).

        Raises ValueError for several special bins per value.
        """
        validation.whole("special", self.special, minimum=1, maximum=1)
        return Dump(self.bins, blankets=self.blankets).error(n)

    def ratios(self) -> Ratios:
        """Return the ratios: two values have no common bin, and blankets are uniform."""
        share = Fraction(self.bins, self.special)
        return Ratios.rounded_up(math.inf, 1, share)

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """Return ε = √(32 log(2/δ) d/(s m)) for m blanket messages, d bins and s special bins.

        It is None above ε = 2.
        """
        messages = self.draws(n) - 1
        log_inverse = math.log(2.0) - math.log(delta)
        eps = math.sqrt(32.0 * log_inverse * self.bins / (self.special * messages)) * _ROUND_UP
        return eps if eps <= _MAX_ORIGINAL_EPS else None


def designed_balls_into_bins(
    target: float, delta: float | OverN, bins: int, special: int = 1, blankets: int = 1
) -> BallsIntoBins:
    """Return the protocol, for as many users as `designed_balls_into_bins_users` returns."""
    return BallsIntoBins(bins, special, blankets=blankets)


def designed_balls_into_bins_users(
    target: float, delta: float | OverN, bins: int, special: int = 1, blankets: int = 1
) -> int:
    """Return the fewest users for (``target``, δ) by the authors: 32 log(2/δ) d/(s ε²) messages.

    `target` is ε (natural log). Raises ValueError for arguments out of range.
    """
    target = validation.eps0(target, "target")
    blankets = designed_balls_into_bins(target, delta, bins, special, blankets).blankets

    def users_for_delta_of(n: int) -> int:
        """Return the number of users for the δ of n users."""
        delta_of_n = delta.at(n) if isinstance(delta, OverN) else validation.delta(delta)
        log_inverse = math.log(2.0) - math.log(delta_of_n)
        return math.ceil(32.0 * log_inverse * bins / (special * target**2) / blankets)

    # This number grows like log n, so that the iteration rises to the smallest solution.
    n = max(1, users_for_delta_of(validation.MAX_USERS) // 100)
    while (required := users_for_delta_of(n)) > n:
        n = required
    return validation.users(n)


@dataclass(frozen=True)
class BinarySum(MultiMessage):
    """Every user sends its bit, and ``blankets`` coins that are 1 with probability ``coin``.

    The bound is exact: in the worst case the observer knows the other users' bits. Balcer and
    Cheu's coin is biased, and then the two directions differ. That of Balcer et al. is fair. Raises
    ValueError unless 10⁻¹⁰⁰ ≤ coin < 1.
    """

    coin: float = field(default=0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive_probability("coin", self.coin, below=1.0)

    def decomposition(self) -> Decomposition:
        """Return the laws of the messages 0 and 1."""
        coins = np.array([1.0 - self.coin, self.coin])
        return Decomposition(np.array([1.0, 0.0]), np.array([0.0, 1.0]), coins, MASSES_ERR)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the same pair: the observer who knows the others' bits can leave them out."""
        return {"x1": self.worst_pair}

    def ratios(self) -> Ratios:
        """Return the ratios of Wang et al.: one q for both bits, too large for a biased coin."""
        coin = Fraction(self.coin)
        return Ratios.rounded_up(math.inf, 1, 1 / min(coin, 1 - coin))


@dataclass(frozen=True)
class CheuZhilyaev(MultiMessage):
    """A user sends its value in one-hot form and ``blankets`` zero vectors, every bit flipped.

    Each bit of each message is flipped with probability ``flip``, independently. The bits of values
    other than the victim's two tell nothing, so that there are four components. ``domain_size`` is
    the number of values. It changes lower bounds only; if it is left out, they hold for any number
    of values from two on. Raises ValueError unless 10⁻¹⁰⁰ ≤ flip < 1/2 and domain_size is None or
    at least 2.
    """

    flip: float
    domain_size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain_size is not None:
            validation.values("domain_size", self.domain_size)
        validation.positive_probability("flip", self.flip, below=0.5)

    def decomposition(self) -> Decomposition:
        """Return the laws of the bits of x₁⁰ and x₁¹: 10, 01, 11 and 00."""
        f, g = self.flip, 1.0 - self.flip
        return Decomposition(
            np.array([g * g, f * f, f * g, f * g]),
            np.array([f * f, g * g, f * g, f * g]),
            np.array([f * g, f * g, f * f, g * g]),
            MASSES_ERR,
        )

    def spread(self, values: int) -> SpreadOfShares:
        """Return the spread of a histogram of so many values (docs/proofs/errors.md)."""
        validation.whole("values", values, minimum=2)
        f, gap = self.flip, 1.0 - 2.0 * self.flip
        noise = (1 + self.blankets) * f * (1.0 - f) / gap / gap
        return of_pure(values, noise, noise)

    def error(self, n: int, values: int) -> Error:
        """Return the error of a histogram of so many values, from n users."""
        return self.spread(values).error(validation.users(n), None)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pair of the bits that have one law in blankets and in the others' messages.

        These are the bits of both of the victim's values if the others hold a third value, and the
        bit of x₁⁰ if they hold x₁¹. Dropping the other bits is post-processing, so that both give
        lower bounds.
        """
        if self.domain_size is not None and self.domain_size > 2:
            return {"third": self.worst_pair}
        f, g = self.flip, 1.0 - self.flip
        like_blankets = np.array([f, g])
        bit = Decomposition(np.array([g, f]), like_blankets, like_blankets, MASSES_ERR)
        return {"x1": bit}

    def lower_draws(self, n: int) -> int:
        """Return the number of all messages: the victim's, the others' and all blankets."""
        return self.draws(n) + n - 1

    def ratios(self) -> Ratios:
        """Return the ratios of the two bits that differ between the victim's values."""
        f = Fraction(self.flip)
        odds = (1 - f) / f
        return Ratios.rounded_up(odds * odds, 1 - 2 * f, odds)

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """Return ε with f(1 − f) = (33/5) coth²(ε/2) log(4/δ)/m; None if there is none.

        f is ``flip``, and m is the number of blanket messages.
        """
        noise = (self.draws(n) - 1) * self.flip * (1.0 - self.flip)
        squared = 6.6 * (math.log(4.0) - math.log(delta)) / noise * _ROUND_UP
        return 2.0 * math.atanh(math.sqrt(squared)) * _ROUND_UP if squared < 1.0 - 1e-9 else None


def designed_cheu_zhilyaev(
    target: float, n: int, delta: float, blankets: int = 1, domain_size: int | None = None
) -> CheuZhilyaev:
    """Return the protocol with the smallest ``flip`` for (``target``, δ) and `n` users.

    The authors' analysis decides which flips suffice. `target` is ε (natural log). Raises
    `InfeasibleError` if no flip suffices, that is, if `original_epsilon` at ``flip`` = 1/2 exceeds
    the target.
    """
    target, delta = validation.eps0(target, "target"), validation.delta(delta)
    messages = validation.users(n) * validation.whole("blankets", blankets, minimum=1)
    noise = 6.6 * (math.log(4.0) - math.log(delta)) / math.tanh(target / 2.0) ** 2
    share = 4.0 * noise / messages
    if share >= 1.0:
        raise InfeasibleError(
            f"no flip gives epsilon = {target!r} by the authors' analysis with {messages} messages "
            f"at delta = {delta!r}"
        )
    # This is the smaller root of f(1 − f) = noise/messages, without cancellation.
    flip = share / 2.0 / (1.0 + math.sqrt(1.0 - share))
    return CheuZhilyaev(flip, domain_size, blankets=blankets)


@dataclass(frozen=True)
class Dump(MultiMessage):
    """A user sends its value, or another one with probability ``flip``, and ``blankets`` dummies.

    Dummies are uniform among all ``domain_size`` values, and the other value is uniform among
    all but the user's. flip = 0 is pureDUMP, flip > 0 mixDUMP. Raises ValueError unless the domain
    size d is an integer of at least 2 and flip is 0 or 10⁻¹⁰⁰ ≤ flip < (d − 1)/d.
    """

    domain_size: int = field()
    flip: float = field(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        d = validation.values("domain_size", self.domain_size)
        flip = validation.probability("flip", self.flip)
        if not (flip == 0.0 or flip >= validation.MIN_PROBABILITY) or Fraction(flip) >= Fraction(
            d - 1, d
        ):
            raise ValueError(
                f"flip must be 0 or a number with 1e-100 <= flip < {(d - 1) / d:.6g}, "
                f"got {self.flip!r}"
            )

    def decomposition(self) -> Decomposition:
        """Return the laws of the messages x₁⁰ and x₁¹, and of all other messages."""
        d, flip = self.domain_size, Fraction(self.flip)
        truth, lie, dummy = 1 - flip, flip / (d - 1), Fraction(1, d)
        third = (d - 2) * lie
        masses = [(truth, lie, dummy), (lie, truth, dummy), (third, third, 1 - 2 * dummy)]
        a, b, c = np.array(masses, dtype=np.float64).T
        return Decomposition(a, b, c, MASSES_ERR).merge()

    @property
    def bits(self) -> float:
        """The number of bits of all messages of a user."""
        return (1 + self.blankets) * math.log2(self.domain_size)

    def spread(self) -> SpreadOfShares:
        """Return the spread of a histogram of the values (docs/proofs/errors.md)."""
        d, flip = self.domain_size, self.flip
        q, gap = flip / (d - 1), 1.0 - flip - flip / (d - 1)
        dummies = self.blankets * (1.0 - 1.0 / d) / d
        true_variance, false_variance = (x * (1.0 - x) + dummies for x in (1.0 - flip, q))
        return of_pure(d, true_variance / gap / gap, false_variance / gap / gap)

    def error(self, n: int) -> Error:
        """Return the error of a histogram of the values, from n users."""
        return self.spread().error(validation.users(n), None)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the same pair for pureDUMP, where others who hold x₁¹ send it; else no pair."""
        return {} if self.flip else {"x1": self.worst_pair}

    def ratios(self) -> Ratios:
        """Return the ratios of the victim's value, another value and a dummy."""
        d, flip = self.domain_size, Fraction(self.flip)
        truth, lie = 1 - flip, flip / (d - 1)
        p = truth / lie if lie else math.inf
        return Ratios.rounded_up(p, truth - lie, truth * d)
