"""One bit for every value of the domain: what RAPPOR, OUE and local hashing have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.randomizers import sampling
from shufflebounds.randomizers.accuracy import WORD, Supports
from shufflebounds.randomizers.base import DomainRandomizer, crowd_of_rows, five_point
from shufflebounds.randomizers.sampling import required

# Of other values' bits, the most that are looked at; a power that high errs by as many roundings.
_MOST_BITS = 40


class BitVectorRandomizer(DomainRandomizer):
    """One bit for every value of the domain, independent of each other given the input.

    With e = e^{ε₀}, a bit is 1 with probability 1/(1 + odds), the bit of the input with
    e/(odds + e). Whether the bit of x is 1 or 0 changes the likelihood of x by the factor e, so
    that every choice of ``odds`` > 0 is ε₀-LDP.
    """

    # Beyond this the 2^D outputs no longer count as small.
    LARGEST_MATRIX = 12

    @property
    @abstractmethod
    def odds(self) -> float:
        """The odds that the bit of another value is 0."""

    def blanket(self) -> Decomposition:
        """Table 2 of the paper, as multiples of p.

        The least likelihood of a report is that of an input whose bit is 0, unless all bits are 1.
        ``all_ones`` is the probability of that for the bits other than those of x₁⁰ and x₁¹.
        """
        e, odds = math.exp(self.eps0), self.odds
        # From 2⁻²⁰⁰⁰ on they are 0 as floats.
        bits = 2000 if self.domain_size is None else min(self.domain_size - 2, 2000)
        all_ones = (1.0 + odds) ** -bits
        p = odds / ((1.0 + odds) * (odds + e))
        q = p * (1.0 - all_ones) / odds
        r = p * (odds + all_ones * e / odds)
        return five_point(self.eps0, p, q, r)

    def crowds(self) -> tuple[Crowd, ...]:
        """The victim holds 0 or 1, another user one of these or a third value.

        The bits of the three say it all, and whether all other bits are 1, where no value is
        unlikely.
        """
        size = min(self.domain_size or 3, 3)
        rows = self._channel(size)
        sure = rows.min(axis=0)
        if self.domain_size is None or self.domain_size > size:
            e, odds = math.exp(self.eps0), self.odds
            bits = math.inf if self.domain_size is None else self.domain_size - size
            # To leave out a rare report is to be sure of a little less.
            all_ones = (1.0 + odds) ** -bits if bits <= _MOST_BITS else 0.0
            # What a value whose bit is 0 would have: the last report is that of three ones.
            zero = (1.0 + odds) ** (1 - size) / (odds + e) * np.ones(rows.shape[1])
            zero[:-1] = sure[:-1]
            rows = np.hstack([rows * (1.0 - all_ones), rows * all_ones])
            sure = np.concatenate([zero * (1.0 - all_ones), sure * all_ones])
        return crowd_of_rows(rows, sure)

    @property
    def bits(self) -> float:
        """One for every value."""
        return math.inf if self.domain_size is None else float(self.domain_size)

    def _supports(self) -> Supports:
        """A report supports the values whose bits are 1."""
        e, odds = math.exp(self.eps0), self.odds
        own, other = 1.0 / (odds + e), 1.0 / (1.0 + odds)
        gap = odds * own * other * math.expm1(self.eps0)
        return Supports(e * own, odds * own, other, gap, self.domain_size or math.inf)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Bits, a row a user."""
        size, supports = required("domain_size", self.domain_size), self._supports()
        held = sampling.checked_values("inputs", inputs, size)
        found = np.empty((held.size, size), dtype=bool)
        for value in range(size):  # no larger array of random numbers than one column
            chances = np.where(held == value, supports.p, supports.q)
            found[:, value] = rng.random(held.size) < chances
        return found

    def _supporters(self, reports: NDArray) -> NDArray:
        size = required("domain_size", self.domain_size)
        is_bits = reports.dtype == bool or np.isin(reports, (0, 1)).all()
        if reports.shape[1:] != (size,) or not is_bits:
            raise ValueError(
                f"reports must be rows of {size} bits, got an array of shape {reports.shape}"
            )
        return np.count_nonzero(reports, axis=0)

    def _channel(self, size: int) -> NDArray[np.float64]:
        """Column y belongs to the bits of the integer y, the lowest that of input 0."""
        e, odds = math.exp(self.eps0), self.odds
        ones = (np.arange(2**size) >> np.arange(size)[:, np.newaxis]) & 1 == 1
        own = np.where(ones, e, odds) / (odds + e)
        other = np.where(ones, 1.0, odds) / (1.0 + odds)
        is_own = np.eye(size, dtype=bool)[:, :, np.newaxis]
        return np.where(is_own, own, other).prod(axis=1)


class HashRandomizer(BitVectorRandomizer):
    """A hash of the domain, and the input's hash value through k-RR: reports (seed, z)."""

    @property
    @abstractmethod
    def _count(self) -> int:
        """The number of hash values."""

    @property
    def odds(self) -> float:
        """Every other value hashes to z in one of so many cases."""
        return float(self._count - 1)

    @property
    def bits(self) -> float:
        """Of a hash value, and of the seed of its hash."""
        return math.log2(self._count) + WORD

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """A seed and a hash value."""
        sampling.require_hashes(self._count)
        held = sampling.checked_values("inputs", inputs, self.domain_size or math.inf)
        seeds = sampling.seeds(held.size, rng)
        own = sampling.hashed(seeds, held, self._count)
        gap = math.expm1(self.eps0) / (math.exp(self.eps0) + self._count - 1.0)
        told = sampling.truthful(own, self._count, gap, rng)
        return np.stack([seeds, told.astype(np.uint64)], axis=1)

    def _supporters(self, reports: NDArray) -> NDArray:
        size = required("domain_size", self.domain_size)
        return sampling.hash_supporters(reports, size, self._count)


# Binary local hashing (Wang, Blocki, Li and Jha, USENIX Security 2017).


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class BLH(HashRandomizer):
    """BLH: a uniformly random hash of the domain to {0, 1}, and the input's hash through 2-RR.

    What a report (h, z) says is which values hash to z. These bits are 1 with odds 1, but for the
    input's, which tells the truth with probability e^{ε₀}/(e^{ε₀} + 1).

    Notes
    -----
    Wang, Blocki, Li and Jha (USENIX Security 2017). Blanket: Su, Cheng and Wang 2025 (arXiv
    2504.07414), Table 2.

    Examples
    --------
    >>> f"{sb.epsilon(sb.BLH(4.0), n=10_000, delta=1e-6).upper:.3f}"
    '0.201'
    """

    _count = 2

    def matrix(self) -> NDArray[np.float64]:
        """Probabilities R(x)(h, z), shape (domain_size, 2^{domain_size + 1}).

        Column 2^{domain_size}·(1 − z) + Σ_x h(x)·2^x belongs to (h, z). Raises ValueError where
        the domain is infinite or too large to enumerate.
        """
        # The bits are h itself where z = 1, its complement where z = 0, each half the time.
        halves = super().matrix() / 2.0
        return np.hstack([halves, halves[:, ::-1]])


# Optimized unary encoding (Wang, Blocki, Li and Jha, USENIX Security 2017).


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class OUE(BitVectorRandomizer):
    """OUE: the one-hot encoding, whose one is kept with probability 1/2.

    Its zeros are kept with probability e^{ε₀}/(e^{ε₀} + 1).

    Notes
    -----
    Wang, Blocki, Li and Jha (USENIX Security 2017). Blanket: Su, Cheng and Wang 2025 (arXiv
    2504.07414), Table 2.

    Examples
    --------
    >>> sb.OUE(np.log(3.0), domain_size=2).matrix().round(4).tolist()
    [[0.375, 0.375, 0.125, 0.125], [0.375, 0.125, 0.375, 0.125]]
    """

    @property
    def odds(self) -> float:
        """A zero stays a zero with odds e^{ε₀}."""
        return math.exp(self.eps0)


# Unary encoding with any odds, of which OUE and RAPPOR are choices.

# Odds up to 10¹⁰⁰ keep probabilities far above the smallest float.
_LEAST_NOISE = 1e-100


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class UnaryEncoding(BitVectorRandomizer):
    """UE: the one-hot encoding, whose zeros become ones with probability ``noise``.

    Its one is kept with the odds e^{ε₀} noise : (1 − noise), as few or as many as ε₀ allows.

    Parameters
    ----------
    noise
        Chance of another value's bit to be 1, 10⁻¹⁰⁰ to below 1: 1/(e^{ε₀} + 1) is `OUE`,
        1/(e^{ε₀/2} + 1) `RAPPOR`.

    Notes
    -----
    Wang, Blocki, Li and Jha (USENIX Security 2017).

    Examples
    --------
    >>> sb.UnaryEncoding(np.log(3.0), domain_size=2, noise=0.25).matrix().round(4).tolist()
    [[0.375, 0.375, 0.125, 0.125], [0.375, 0.125, 0.375, 0.125]]
    """

    NAME = "unary encoding"

    noise: float = field(
        default=0.5, metadata={"help": "chance of another value's bit to be 1, 0.5 if left out"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _LEAST_NOISE <= validation.probability("noise", self.noise) < 1.0:
            raise ValueError(
                f"noise must be a number with {_LEAST_NOISE:g} <= noise < 1, got {self.noise!r}"
            )

    @property
    def odds(self) -> float:
        """A zero stays a zero with odds (1 − noise) : noise."""
        return (1.0 - self.noise) / self.noise


# Basic one-time RAPPOR (Erlingsson, Pihur and Korolova, CCS 2014).


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class RAPPOR(BitVectorRandomizer):
    """RAPPOR: the one-hot encoding, every bit kept with probability h/(h + 1), h = e^{ε₀/2}.

    Notes
    -----
    Erlingsson, Pihur and Korolova (CCS 2014), basic and one-time. Blanket: Su, Cheng and Wang 2025
    (arXiv 2504.07414), Table 2.

    Examples
    --------
    >>> sb.RAPPOR(np.log(9.0), domain_size=2).matrix()[0].round(4).tolist()
    [0.1875, 0.5625, 0.0625, 0.1875]
    """

    @property
    def odds(self) -> float:
        """A zero stays a zero with odds h."""
        return math.exp(self.eps0 / 2.0)


# Local hashing into l values (Wang, Blocki, Li and Jha, USENIX Security 2017).

# Chances of two values to hash to z, 1/l², stay far above the smallest float.
_MOST_VALUES = 10**135


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class LocalHash(HashRandomizer):
    """LH: a uniformly random hash of the domain to l values, and the input's hash through l-RR.

    What a report (h, z) says is which values hash to z. These bits, which are the columns of
    `matrix`, are 1 with probability 1/l each, and e^{ε₀}/(e^{ε₀} + l − 1) for that of the input.

    Parameters
    ----------
    hash_values
        l, 2 (`BLH`) to 10¹³⁵. None stands for the customary (optimal) choice ⌊e^{ε₀} + 1⌋, and the
        attribute then holds it.

    Notes
    -----
    Wang, Blocki, Li and Jha (USENIX Security 2017).

    Examples
    --------
    >>> sb.LocalHash(2.0).hash_values
    8
    """

    hash_values: int | None = field(
        default=None,
        metadata={
            "help": "number of hash values, at least 2; if left out, e^eps0 + 1 rounded down"
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hash_values is None:
            object.__setattr__(self, "hash_values", math.floor(math.exp(self.eps0)) + 1)
        validation.whole("hash_values", self.hash_values, minimum=2, maximum=_MOST_VALUES)

    @property
    def _count(self) -> int:
        assert self.hash_values is not None  # since __post_init__
        return self.hash_values
