"""Protocols of several messages: balls into bins, binary sums, fake users, dummy points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.setting import OverN
from shufflebounds.protocols.base import Candidate, InfeasibleError, MultiMessage, Ratios
from shufflebounds.randomizers.accuracy import Error, SpreadOfShares, of_pure

# Relative rounding of a closed form: of masses, and with room to spare.
_MASSES_ERR, _ROUNDED = 2.0**-50, 1.0 + 2.0**-46

# Balls into bins (Luo, Wang and Yi, CCS 2022).

# The authors' bound is proven up to here in docs/variation-ratio.md.
_LARGEST_ORIGINAL = 2.0


@dataclass(frozen=True)
class BallsIntoBins(MultiMessage):
    """A user drops one ball in a bin of its value, and ``blankets`` balls in any of the ``bins``.

    A value has ``special`` bins of its own, one of which is chosen at random. Two values without a
    bin in common are the worst: bins in common make reports that tell nothing of those that tell
    most. It is exact if there are two such values. Raises ValueError unless bins and special are
    positive integers with 2 special ≤ bins.
    """

    bins: int = field()
    special: int = field(default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.whole("bins", self.bins, minimum=2, maximum=2**53)
        validation.whole("special", self.special, minimum=1, maximum=self.bins // 2)

    @property
    def caveat(self) -> str:
        """Bins may be shared if a value has several."""
        if self.special == 1:
            return ""
        return "The lower bound holds if two of the values have no bin in common."

    def decomposition(self) -> Decomposition:
        """The bins of x₁⁰, those of x₁¹, and the others."""
        share = Fraction(self.special, self.bins)
        masses = np.array([[1, 0, share], [0, 1, share], [0, 0, 1 - 2 * share]], dtype=np.float64)
        a, b, c = masses.T
        return Decomposition(a, b, c, _MASSES_ERR).merge()

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The same: of others who hold x₁¹ it is known how many balls fell into its bins."""
        return (Candidate(self.decomposition(), others="x1"),)

    def error(self, n: int) -> Error:
        """Of a histogram of values that are the bins (docs/accuracy.md): one special bin each.

        Raises ValueError for more of them.
        """
        validation.whole("special", self.special, minimum=1, maximum=1)
        return Dump(self.bins, blankets=self.blankets).error(n)

    def ratios(self) -> Ratios:
        """Two values exclude each other; every bin is as likely for a blanket."""
        share = Fraction(self.bins, self.special)
        return Ratios.rounded_up(math.inf, 1, share)

    def original_epsilon(self, n: int, delta: float) -> float | None:
        """ε = √(32 log(2/δ) d/(s m)) for m blanket messages, d bins and s special ones; up to 2."""
        messages = self.draws(n) - 1
        log_inverse = math.log(2.0) - math.log(delta)
        eps = math.sqrt(32.0 * log_inverse * self.bins / (self.special * messages)) * _ROUNDED
        return eps if eps <= _LARGEST_ORIGINAL else None


def designed_balls_into_bins(
    target: float, delta: float | OverN, bins: int, special: int = 1, blankets: int = 1
) -> BallsIntoBins:
    """The protocol, for as many users as `designed_users` says."""
    return BallsIntoBins(bins, special, blankets=blankets)


def designed_balls_into_bins_users(
    target: float, delta: float | OverN, bins: int, special: int = 1, blankets: int = 1
) -> int:
    """The fewest users of whom its authors say (``target``, δ): 32 log(2/δ) d/(s ε²) messages.

    `target` is ε (natural log). Raises ValueError for arguments out of range.
    """
    target = validation.eps0(target, "target")
    blankets = designed_balls_into_bins(target, delta, bins, special, blankets).blankets

    def needed(n: int) -> int:
        at = delta.at(n) if isinstance(delta, OverN) else validation.delta(delta)
        log_inverse = math.log(2.0) - math.log(at)
        return math.ceil(32.0 * log_inverse * bins / (special * target**2) / blankets)

    # The right side grows like log n: from below, this rises to the least solution.
    n = max(1, needed(validation.MAX_USERS) // 100)
    while (more := needed(n)) > n:
        n = more
    return validation.users(n)


# Counting ones exactly, up to coins (Balcer and Cheu 2020; Balcer, Cheu, Joseph and Mao 2021).

_LEAST_CHANCE = 1e-100


@dataclass(frozen=True)
class BinarySum(MultiMessage):
    """Every user sends its bit as it is, and ``blankets`` coins that are 1 with chance ``coin``.

    Exact: the other users' bits are no secret in the worst case. Balcer and Cheu's coin is biased,
    that of Balcer et al. fair. With a biased one the two directions differ. Raises ValueError
    unless 10⁻¹⁰⁰ ≤ coin < 1.
    """

    coin: float = field(default=0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _LEAST_CHANCE <= validation.probability("coin", self.coin) < 1.0:
            raise ValueError(f"coin must be a number with 1e-100 <= coin < 1, got {self.coin!r}")

    def decomposition(self) -> Decomposition:
        """Messages 0 and 1."""
        coins = np.array([1.0 - self.coin, self.coin])
        return Decomposition(np.array([1.0, 0.0]), np.array([0.0, 1.0]), coins, _MASSES_ERR)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The same: what others send of their bits is known once these are."""
        return (Candidate(self.decomposition(), others="x1"),)

    def ratios(self) -> Ratios:
        """As Wang et al. have them: one q for both bits, too large where the coin is biased."""
        coin = Fraction(self.coin)
        return Ratios.rounded_up(math.inf, 1, 1 / min(coin, 1 - coin))


# Histograms from fake users (Cheu and Zhilyaev, IEEE S&P 2022).


@dataclass(frozen=True)
class CheuZhilyaev(MultiMessage):
    """A user sends its value in one-hot form and ``blankets`` zero vectors, every bit flipped.

    Each bit of each message is flipped with chance ``flip``, independently. The bits of values
    other than the victim's two say nothing, so that four components are all. ``domain_size`` is the
    number of values. It matters for lower bounds only, which hold for two values or more if it is
    left out. Raises ValueError unless 10⁻¹⁰⁰ ≤ flip < 1/2 and domain_size is None or at least 2.
    """

    flip: float
    domain_size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain_size is not None:
            validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        if not 1e-100 <= validation.probability("flip", self.flip) < 0.5:
            raise ValueError(f"flip must be a number with 1e-100 <= flip < 0.5, got {self.flip!r}")

    def decomposition(self) -> Decomposition:
        """The bits of x₁⁰ and x₁¹: 10, 01, 11 and 00."""
        f, g = self.flip, 1.0 - self.flip
        return Decomposition(
            np.array([g * g, f * f, f * g, f * g]),
            np.array([f * f, g * g, f * g, f * g]),
            np.array([f * g, f * g, f * f, g * g]),
            _MASSES_ERR,
        )

    def spread(self, values: int) -> SpreadOfShares:
        """Of a histogram of so many values (docs/accuracy.md)."""
        validation.whole("values", values, minimum=2)
        f, gap = self.flip, 1.0 - 2.0 * self.flip
        noise = (1 + self.blankets) * f * (1.0 - f) / gap / gap
        return of_pure(values, noise, noise)

    def error(self, n: int, values: int) -> Error:
        """Of a histogram of so many values, from n users."""
        return self.spread(values).error(validation.users(n), None)

    def of_lower_bounds(self) -> CheuZhilyaev:
        """An observer who looks only at bits in which the others' messages are like blankets."""
        return _OthersLikeBlankets(self.flip, self.domain_size, blankets=self.blankets)

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
class _OthersLikeBlankets(CheuZhilyaev):
    """What is seen of bits that follow one law in blankets and in the messages of all others.

    These are the bits of both of the victim's values if the others hold a third value, and that of
    x₁⁰ if they hold x₁¹. Dropping the other bits is post-processing, so that both are lower bounds.
    """

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """The victim's message, among those of n − 1 others and all blankets."""
        if self.domain_size is not None and self.domain_size > 2:
            return (Candidate(self.decomposition(), others="third"),)
        f, g = self.flip, 1.0 - self.flip
        like_blankets = np.array([f, g])
        bit = Decomposition(np.array([g, f]), like_blankets, like_blankets, _MASSES_ERR)
        return (Candidate(bit, others="x1"),)

    def draws(self, n: int) -> int:
        """The victim's message, the others', and all blankets."""
        return super().draws(n) + n - 1


def designed_cheu_zhilyaev(
    target: float, n: int, delta: float, blankets: int = 1, domain_size: int | None = None
) -> CheuZhilyaev:
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
    flip = share / 2.0 / (1.0 + math.sqrt(1.0 - share))
    return CheuZhilyaev(flip, domain_size, blankets=blankets)


# Dummy points: pureDUMP and mixDUMP (Li, Liu, Lou, Hong, Zhang, Qin and Ren 2023).


@dataclass(frozen=True)
class Dump(MultiMessage):
    """A user sends its value, or with chance ``flip`` another one, and ``blankets`` random values.

    All ``domain_size`` values are equally likely for a dummy; the other value is uniform among the
    rest. flip = 0 is pureDUMP, flip > 0 mixDUMP. Raises ValueError unless the domain size d is an
    integer of at least 2 and flip is 0 or 10⁻¹⁰⁰ ≤ flip < (d − 1)/d.
    """

    domain_size: int = field()
    flip: float = field(default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        d = validation.whole("domain_size", self.domain_size, minimum=2, maximum=2**53)
        flip = validation.probability("flip", self.flip)
        if not (flip == 0.0 or flip >= 1e-100) or Fraction(flip) >= Fraction(d - 1, d):
            raise ValueError(
                f"flip must be 0 or a number with 1e-100 <= flip < {(d - 1) / d:.6g}, "
                f"got {self.flip!r}"
            )

    def decomposition(self) -> Decomposition:
        """The messages x₁⁰ and x₁¹, and the others."""
        d, flip = self.domain_size, Fraction(self.flip)
        own, other, dummy = 1 - flip, flip / (d - 1), Fraction(1, d)
        rest = (d - 2) * other
        masses = [(own, other, dummy), (other, own, dummy), (rest, rest, 1 - 2 * dummy)]
        a, b, c = np.array(masses, dtype=np.float64).T
        return Decomposition(a, b, c, _MASSES_ERR).merge()

    @property
    def bits(self) -> float:
        """Of all messages of a user."""
        return (1 + self.blankets) * math.log2(self.domain_size)

    def spread(self) -> SpreadOfShares:
        """Of a histogram of the values (docs/accuracy.md)."""
        d, flip = self.domain_size, self.flip
        q, gap = flip / (d - 1), 1.0 - flip - flip / (d - 1)
        dummies = self.blankets * (1.0 - 1.0 / d) / d
        held, other = (x * (1.0 - x) + dummies for x in (1.0 - flip, q))
        return of_pure(d, held / gap / gap, other / gap / gap)

    def error(self, n: int) -> Error:
        """Of a histogram of the values, from n users."""
        return self.spread().error(validation.users(n), None)

    def lower_candidates(self) -> tuple[Candidate, ...]:
        """For pureDUMP the same: others who hold x₁¹ send it for certain. None for mixDUMP."""
        return () if self.flip else (Candidate(self.decomposition(), others="x1"),)

    def ratios(self) -> Ratios:
        """The victim's own value, another one, and a dummy."""
        d, flip = self.domain_size, Fraction(self.flip)
        own, other = 1 - flip, flip / (d - 1)
        p = own / other if other else math.inf
        return Ratios.rounded_up(p, own - other, own * d)
