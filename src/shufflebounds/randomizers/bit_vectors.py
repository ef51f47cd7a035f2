"""One bit for every value of the domain: RAPPOR, OUE, unary encoding and local hashing.

RAPPOR is by Erlingsson, Pihur and Korolova (CCS 2014), the others by Wang, Blocki, Li and Jha
(USENIX Security 2017). OUE and RAPPOR are unary encoding with specific odds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.products import FloatArray
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import WORD, Supports
from shufflebounds.estimation.sampling import required
from shufflebounds.randomizers.base import (
    CLOSED_FORM_ERR,
    DomainRandomizer,
    crowd_of_rows,
    five_point,
)

# Largest exponent x at which the probability e^{−x} that further bits are all 1 counts in a crowd.
# Its rounding error grows with x, and 4·10⁻¹⁸ changes no answer.
_MAX_EXPONENT = 40.0
# Largest number of hash values l: the probability 1/l² of two values to hash to z stays far above
# the smallest float.
_MAX_HASH_VALUES = 10**135


class BitVectorRandomizer(DomainRandomizer):
    """One bit for every value of the domain, independent of each other given the input.

    With e = e^{ε₀}, a bit is 1 with probability 1/(1 + odds), the bit of the input with
    e/(odds + e). Whether the bit of x is 1 or 0 changes the likelihood of x by the factor e, so
    that every choice of ``odds`` > 0 is ε₀-LDP.
    """

    # There are 2^D outputs.
    LARGEST_MATRIX = 12

    @property
    @abstractmethod
    def odds(self) -> float:
        """The odds that the bit of a value other than the input is 0."""

    def blanket(self) -> Decomposition:
        """Return the blanket of Table 2, as multiples of p.

        The smallest likelihood of a report is that of an input whose bit is 0, unless all bits are
        1. ``all_ones`` is the probability of that for the bits other than those of x₁⁰ and x₁¹.
        """
        e, odds, exponent = math.exp(self.eps0), self.odds, self._exponent(2)
        all_ones = math.exp(-exponent)
        p = odds / ((1.0 + odds) * (odds + e))
        q = p * -math.expm1(-exponent) / odds
        gain = all_ones * e / odds
        # The error of e^{−x} is x times that of x.
        power_err = 2.0**-51 * exponent * gain / (odds + gain) if gain else 0.0
        return five_point(self.eps0, p, q, p * (odds + gain), CLOSED_FORM_ERR + power_err)

    def _exponent(self, size: int) -> float:
        """Return x such that all bits but `size` ones, none of them the input's, are 1 with e^{−x}.

        It is infinite in the limit of many values.
        """
        values = math.inf if self.domain_size is None else self.domain_size
        return (values - size) * math.log1p(self.odds) if values > size else 0.0

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of a victim with 0 or 1, and others with these or a third value.

        Its components are the bits of these three values, and whether all other bits are 1. If they
        are, the smallest likelihood may be that of an input whose bit is 1.
        """
        size = min(self.domain_size or 3, 3)
        rows = self._channel(size)
        blanket = rows.min(axis=0)
        exponent = self._exponent(size)
        if exponent:
            e, odds = math.exp(self.eps0), self.odds
            # A domain of more values has a smaller blanket. So 0 is safe for a rare event.
            exponent = exponent if exponent <= _MAX_EXPONENT else math.inf
            all_ones, not_all_ones = math.exp(-exponent), -math.expm1(-exponent)
            # In the last report all three bits are 1. There some other value has the bit 0.
            blanket_with_zero = (1.0 + odds) ** (1 - size) / (odds + e) * np.ones(rows.shape[1])
            blanket_with_zero[:-1] = blanket[:-1]
            rows = np.hstack([rows * not_all_ones, rows * all_ones])
            blanket = np.concatenate([blanket_with_zero * not_all_ones, blanket * all_ones])
        return crowd_of_rows(rows, blanket)

    @property
    def bits(self) -> float:
        """The number of values, one bit for each of them."""
        return math.inf if self.domain_size is None else float(self.domain_size)

    def _supports(self) -> Supports:
        """Return the supports: a report supports the values whose bits are 1."""
        e, odds = math.exp(self.eps0), self.odds
        input_unit, q = 1.0 / (odds + e), 1.0 / (1.0 + odds)
        gap = odds * input_unit * q * math.expm1(self.eps0)
        return Supports(e * input_unit, odds * input_unit, q, gap, self.domain_size or math.inf)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return the bits, a row for each user."""
        size, supports = required("domain_size", self.domain_size), self._supports()
        values = sampling.checked_values("inputs", inputs, size)
        bits = np.empty((values.size, size), dtype=bool)
        # Random numbers are drawn for one column at a time, which limits memory.
        for value in range(size):
            probabilities = np.where(values == value, supports.p, supports.q)
            bits[:, value] = rng.random(values.size) < probabilities
        return bits

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports in which the bit of each value is 1."""
        size = required("domain_size", self.domain_size)
        is_bits = reports.dtype == bool or np.isin(reports, (0, 1)).all()
        if reports.shape[1:] != (size,) or not is_bits:
            raise ValueError(
                f"reports must be rows of {size} bits, got an array of shape {reports.shape}"
            )
        return np.count_nonzero(reports, axis=0)

    def _channel(self, size: int) -> NDArray[np.float64]:
        """Return R(x)(y); column y has the bits of the integer y, the lowest that of input 0."""
        e, odds = math.exp(self.eps0), self.odds
        is_one = (np.arange(2**size) >> np.arange(size)[:, np.newaxis]) & 1 == 1
        if_input = np.where(is_one, e, odds) / (odds + e)
        if_not_input = np.where(is_one, 1.0, odds) / (1.0 + odds)
        is_input = np.eye(size, dtype=bool)[:, :, np.newaxis]
        return np.where(is_input, if_input, if_not_input).prod(axis=1)


class HashRandomizer(BitVectorRandomizer):
    """A hash of the domain, and the input's hash value through k-RR: reports (seed, z)."""

    @property
    @abstractmethod
    def _count(self) -> int:
        """The number of hash values."""

    @property
    def odds(self) -> float:
        """The odds that another value does not hash to z."""
        return float(self._count - 1)

    @property
    def bits(self) -> float:
        """The number of bits of a hash value and the seed of its hash."""
        return math.log2(self._count) + WORD

    @property
    def report_form(self) -> Hashable:
        """See `Randomizer`: a hash of the domain and one of l values."""
        return "hash", self._count, self.domain_size

    def value_laws(self, count: int) -> tuple[FloatArray, FloatArray]:
        """See `Randomizer`: the bits of the values, as for a domain of many values."""
        size = min(self.domain_size or count, count)
        rows = self._channel(size)
        sure = rows.min(axis=0)
        if self.domain_size != size:
            # If all these bits are 1, some other value may have the bit 0.
            sure[-1] = (1.0 + self.odds) ** (1 - size) / (self.odds + math.exp(self.eps0))
        return rows, sure

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return a seed and a hash value for each user, (users, 2)."""
        sampling.require_hashes(self._count)
        values = sampling.checked_values("inputs", inputs, self.domain_size or math.inf)
        seeds = sampling.seeds(values.size, rng)
        hash_values = sampling.hashed(seeds, values, self._count)
        gap = math.expm1(self.eps0) / (math.exp(self.eps0) + self._count - 1.0)
        reports = sampling.truthful(hash_values, self._count, gap, rng)
        return np.stack([seeds, reports.astype(np.uint64)], axis=1)

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports to whose hash value each value hashes."""
        size = required("domain_size", self.domain_size)
        return sampling.hash_supporters(reports, size, self._count)


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class BLH(HashRandomizer):
    """BLH: a uniformly random hash of the domain to {0, 1}, and the input's hash through 2-RR.

    A report (h, z) tells which values hash to z. These bits are 1 with probability 1/2, except for
    that of the input, which is 1 with probability e^{ε₀}/(e^{ε₀} + 1).

    Notes
    -----
    Wang, Blocki, Li and Jha (USENIX Security 2017). Blanket: Su, Cheng and Wang 2025 (arXiv
    2504.07414), Table 2.

    Examples
    --------
    >>> f"{sb.epsilon(sb.BLH(4.0), n=10_000, delta=1e-6).upper:.3f}"
    '0.201'
    """

    pairs_are_proven = True
    _count = 2

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities R(x)(h, z), shape (domain_size, 2^{domain_size + 1}).

        Column 2^{domain_size}·(1 − z) + Σ_x h(x)·2^x belongs to (h, z). Raises ValueError if the
        domain is infinite or too large to enumerate.
        """
        # The bits are h itself if z = 1 and its complement if z = 0, each with probability 1/2.
        halves = super().matrix() / 2.0
        return np.hstack([halves, halves[:, ::-1]])


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class OUE(BitVectorRandomizer):
    """OUE: the one-hot encoding; the bit 1 is kept with probability 1/2.

    Each bit 0 is kept with probability e^{ε₀}/(e^{ε₀} + 1).

    Notes
    -----
    Wang, Blocki, Li and Jha (USENIX Security 2017). Blanket: Su, Cheng and Wang 2025 (arXiv
    2504.07414), Table 2.

    Examples
    --------
    >>> sb.OUE(np.log(3.0), domain_size=2).matrix().round(4).tolist()
    [[0.375, 0.375, 0.125, 0.125], [0.375, 0.125, 0.375, 0.125]]
    """

    pairs_are_proven = True

    @property
    def odds(self) -> float:
        """The odds that a 0 is kept, e^{ε₀}."""
        return math.exp(self.eps0)


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class UnaryEncoding(BitVectorRandomizer):
    """UE: the one-hot encoding; each bit 0 becomes 1 with probability ``noise``.

    The bit 1 is kept with the odds e^{ε₀} noise : (1 − noise), the largest that ε₀ allows.

    Parameters
    ----------
    noise
        Probability that the bit of another value is 1, 10⁻¹⁰⁰ to below 1: 1/(e^{ε₀} + 1) is `OUE`,
        1/(e^{ε₀/2} + 1) is `RAPPOR`.

    Notes
    -----
    Wang, Blocki, Li and Jha (USENIX Security 2017).

    Examples
    --------
    >>> sb.UnaryEncoding(np.log(3.0), domain_size=2, noise=0.25).matrix().round(4).tolist()
    [[0.375, 0.375, 0.125, 0.125], [0.375, 0.125, 0.375, 0.125]]
    """

    NAME = "unary encoding"
    pairs_are_proven = True

    noise: float = field(
        default=0.5, metadata={"help": "chance of another value's bit to be 1, 0.5 if left out"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.positive_probability("noise", self.noise, below=1.0)

    @property
    def odds(self) -> float:
        """The odds that a 0 is kept, (1 − noise) : noise."""
        return (1.0 - self.noise) / self.noise


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

    pairs_are_proven = True

    @property
    def odds(self) -> float:
        """The odds that a 0 is kept, h."""
        return math.exp(self.eps0 / 2.0)


@shares_documentation("eps0", "domain_size")
@dataclass(frozen=True)
class LocalHash(HashRandomizer):
    """LH: a uniformly random hash of the domain to l values, and the input's hash through l-RR.

    A report (h, z) tells which values hash to z. These bits, which are the columns of `matrix`, are
    1 with probability 1/l, and that of the input with probability e^{ε₀}/(e^{ε₀} + l − 1).

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

    pairs_are_proven = True

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
        validation.whole("hash_values", self.hash_values, minimum=2, maximum=_MAX_HASH_VALUES)

    @property
    def _count(self) -> int:
        """The number of hash values, which `__post_init__` sets."""
        assert self.hash_values is not None
        return self.hash_values
