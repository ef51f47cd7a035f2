"""dBitFlip: noisy bits of some buckets, by Ding, Kulkarni and Yekhanin (NIPS 2017)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.products import POWER_ERR, FloatArray
from shufflebounds.core.validation import MAX_ENTRIES
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import SpreadOfShares, bits_of_sets, of_pure
from shufflebounds.randomizers.base import Randomizer, crowd_of_rows

# What a report says of a value whose bucket was not drawn.
_NOT_DRAWN = 0
# What it says of one whose bit is 0.
_ZERO = 1
# What it says of one whose bit is 1.
_ONE = 2
# Smallest probability of a report of ones only. Below it, reports count as others, whose blanket is
# smaller; this changes no answer.
_SMALLEST_ALL_ONES = 1e-17


@shares_documentation("eps0")
@dataclass(frozen=True)
class DBitFlip(Randomizer):
    """dBitFlip: d of k buckets, drawn at random, each with the noisy bit that tells if it is yours.

    Every bit is flipped with probability 1/(e^{ε₀/2} + 1). For d = k it is `RAPPOR`. For d = 1 the
    report is ε₀/2-LDP even.

    Parameters
    ----------
    domain_size
        k, number of buckets, 2 to 2⁵³.
    d
        Number of buckets that a user reports on, 1 to k.

    Notes
    -----
    Ding, Kulkarni and Yekhanin (NIPS 2017), for fresh buckets in every report.

    Examples
    --------
    >>> f"{sb.epsilon(sb.DBitFlip(2.0, domain_size=32, d=1), n=10_000, delta=1e-6).upper:.5f}"
    '0.00796'
    """

    # The buckets may change places.
    composable = True
    pairs_are_proven = True
    NAME = "dBitFlip"

    eps0: float
    domain_size: int = field(metadata={"help": "number of buckets, at least 2"})
    d: int = field(default=1, metadata={"help": "buckets that a user reports on, 1 if left out"})

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        validation.values("domain_size", self.domain_size)
        validation.whole("d", self.d, minimum=1, maximum=self.domain_size)

    @property
    def label(self) -> str:
        """The name with the numbers of buckets."""
        return f"{self.NAME}, {self.d} of {self.domain_size}"

    def blanket(self) -> Decomposition:
        """Return the blanket of any two buckets."""
        (a, b), sure = self._rows(2)
        return Decomposition(a, b, sure, self._err).merge()

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs in which all others hold a third bucket, if k > 2, or x₁¹."""
        rows, _ = self._rows(min(self.domain_size, 3))
        laws = {"x1": rows[1]} if len(rows) == 2 else {"third": rows[2], "x1": rows[1]}
        return {
            name: Decomposition(rows[0], rows[1], law, self._err).merge()
            for name, law in laws.items()
        }

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of any two buckets among these and a third one."""
        return crowd_of_rows(*self._rows(min(self.domain_size, 3)))

    def _rows(self, inputs: int) -> tuple[FloatArray, FloatArray]:
        """Return the laws of so many inputs, a row for each, and what all users are sure to send.

        A column has what a report says of these inputs, and whether all its other bits are 1. The
        smallest likelihood is that of a bucket whose bit is 0 or, if all bits are 1, of one that
        was not drawn.
        """
        k, d, root = self.domain_size, self.d, math.exp(self.eps0 / 2.0)
        flip = 1.0 / (root + 1.0)
        noise = {_NOT_DRAWN: 1.0, _ZERO: root * flip, _ONE: flip}
        likelihood = {_NOT_DRAWN: 1.0, _ZERO: 1.0 / root, _ONE: root}
        columns, sure = [], []
        for states in itertools.product(noise, repeat=inputs):
            drawn = sum(state != _NOT_DRAWN for state in states)
            chance = math.prod((d - i) / (k - i) for i in range(drawn))
            missed = range(inputs - drawn)
            chance *= math.prod((k - d - i) / (k - drawn - i) for i in missed)
            chance *= math.prod(noise[state] for state in states)
            all_ones = math.exp((d - drawn) * math.log(flip)) if d > drawn else 1.0
            all_ones = all_ones if all_ones > _SMALLEST_ALL_ONES else 0.0
            of_all_ones = 1.0 / root if _ZERO in states else root if d == k else 1.0
            for share, smallest in ((all_ones, of_all_ones), (1.0 - all_ones, 1.0 / root)):
                if chance * share > 0.0:
                    columns.append([chance * share * likelihood[state] for state in states])
                    sure.append(chance * share * smallest)
        return np.array(columns).T, np.array(sure)

    @property
    def _err(self) -> float:
        """The relative error of masses; ε₀ may be the float next to the number that is meant."""
        return POWER_ERR + 2.0**-51 * self.eps0

    @property
    def bits(self) -> float:
        """The number of bits of d buckets, and of what is said of each."""
        return bits_of_sets(self.domain_size, self.d) + self.d

    def _variances(self, frequencies: ArrayLike | None = None) -> SpreadOfShares:
        """Return the variances of estimates by the bits of buckets that were drawn."""
        gap, weight = math.tanh(self.eps0 / 4.0), self.domain_size / self.d
        square = (1.0 / gap**2 - 1.0) / 4.0  # of a bit less its noise, in units of the gap
        return of_pure(self.domain_size, weight * (square + 1.0) - 1.0, weight * square)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return rows of buckets that were drawn and their bits, shape (users, 2, d)."""
        values = sampling.checked_values("inputs", inputs, self.domain_size)
        buckets = sampling.sets(values.size, self.domain_size, self.d, rng)
        is_flipped = rng.random(buckets.shape) < 1.0 / (math.exp(self.eps0 / 2.0) + 1.0)
        bits = (buckets == values[:, np.newaxis]) ^ is_flipped
        return np.stack([buckets, bits.astype(np.int64)], axis=1)

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the share of each bucket by the bits of the reports in which it was drawn."""
        if reports.shape[1:] != (2, self.d):
            raise ValueError(
                f"reports must be arrays of {self.d} buckets and their bits, got an array of shape "
                f"{reports.shape}"
            )
        buckets = sampling.checked_values("reports", reports[:, 0].ravel(), self.domain_size)
        noise = 1.0 / (math.exp(self.eps0 / 2.0) + 1.0)
        sums = np.bincount(buckets, reports[:, 1].ravel() - noise, minlength=self.domain_size)
        scale = self.domain_size / (self.d * math.tanh(self.eps0 / 4.0))
        return np.asarray(scale * sums / len(reports))

    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities R(x)(y), shape (k, C(k, d) 2^d): sets in lexicographic order.

        Raises ValueError if there are more than 2²⁴ probabilities.
        """
        k, d, root = self.domain_size, self.d, math.exp(self.eps0 / 2.0)
        if k > MAX_ENTRIES or d > 24 or k * math.comb(k, d) * 2**d > MAX_ENTRIES:
            raise ValueError(
                f"domain_size must leave at most {MAX_ENTRIES} probabilities to enumerate, got {k} "
                f"with d = {d}"
            )
        bits = np.array(list(itertools.product((0, 1), repeat=d)))
        rows = np.empty((k, math.comb(k, d), 2**d))
        for i, drawn in enumerate(itertools.combinations(range(k), d)):
            is_own = np.arange(k)[:, np.newaxis] == np.array(drawn)
            agrees = is_own[:, np.newaxis, :] == bits
            rows[:, i] = np.where(agrees, root, 1.0).prod(axis=2)
        return rows.reshape(k, -1) / (math.comb(k, d) * (root + 1.0) ** d)
