"""Bits of a hashed value: Bloom filters of RAPPOR, and Apple's sketches CMS and HCMS.

A public random number, such as RAPPOR's cohort or the index of a hash function, determines where
the hashes of a value lie in a vector of bits. Bits are 1 with probability q, those of the value's
hashes with the odds r q : (1 − q), independently; h hashes give ε₀ = h log r.

The bounds hold for any hash functions and any number of cohorts: values may share hashes under some
of these functions and not under others. docs/proofs/variation-ratio.md, section 9, proves the
blanket, and docs/proofs/closing-the-gap.md, section 8, the crowd.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.products import POWER_ERR, SMALLEST_MASS, FloatArray
from shufflebounds.randomizers.base import Randomizer, pairs_of_disjoint_inputs
from shufflebounds.randomizers.probabilities import (
    FILTER_PROBABILITIES,
    Probability,
    bits_of_rappor,
    eps0_of_ratio,
    odds_ratio,
)

# Largest number of hashes h, so that likelihoods are products of few factors.
MAX_HASHES = 16
# Largest number of hashes with a crowd: 150 ways to share them, half a second.
MAX_HASHES_OF_CROWDS = 5


class FilterRandomizer(Randomizer):
    """Bits of a hashed value; `_noise` is q, and ``h`` the number of hashes of a value."""

    pairs_are_proven = True
    eps0: float
    h: int

    @property
    @abstractmethod
    def _noise(self) -> float:
        """The probability q that a bit of no hash is 1."""

    def blanket(self) -> Decomposition:
        """Return the blanket of two values that share no hash, by the numbers of ones among them.

        The smallest likelihood of a report is that of a value whose bits are all 0.
        """
        noise = self._noise_of(2)
        a, b = self._laws(noise)
        return Decomposition(a, b, noise.ravel() * self._likelihoods[0], self._err).merge()

    @property
    @abstractmethod
    def _input_count(self) -> int:
        """The number of values that share no hash, at most 3."""

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs of two values without common hashes; all others hold a third one or x₁¹.

        The third one, if there is one, shares no hash with them. Of two values that must share
        hashes, bits of these do not count: they have the same law whichever of both is held.
        """
        noise = self._noise_of(self._input_count, self._own_hashes)
        return pairs_of_disjoint_inputs(self._laws(noise), self._err)

    @property
    def _own_hashes(self) -> int:
        """The number of hashes that a value need not share with another one."""
        return self.h

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd that covers any three values, however many hashes they share.

        Its extremes are all ways in which they may, the same for all cohorts. If the ways differ
        between cohorts, masses are means of these. There is none for many hashes, or if a mass is
        too small for a float.
        """
        smallest = self._likelihoods[0] * self._noise_of(3).min()
        if self.h > MAX_HASHES_OF_CROWDS or smallest < SMALLEST_MASS:
            return ()
        first, *extremes = (self._crowd(kind) for kind in _kinds(self.h))
        return (replace(first, extremes=tuple(extremes)),)

    def _crowd(self, kind: Counter[tuple[int, ...]]) -> Crowd:
        """Return the crowd of three values of a kind, by the numbers of ones among their hashes."""
        law = np.zeros((self.h + 1,) * 3)
        law[0, 0, 0] = 1.0
        for pattern in kind.elements():
            # No number of ones exceeds h, so nothing is rolled over the end.
            law = (1.0 - self._noise) * law + self._noise * np.roll(law, pattern, axis=(0, 1, 2))
        a, b, other = self._laws(law)
        sure = law.ravel() * self._likelihoods[0]
        laws = {"any": other}
        return Crowd.of_laws(a, b, sure, laws, self._err, attained=False, symmetric=True)

    def _laws(self, noise: FloatArray) -> list[FloatArray]:
        """Return the laws of values by the law of noise, with an axis of ones for each value."""
        likelihoods = self._likelihoods_of(len(noise) - 1)
        shapes = [np.roll([-1] + [1] * (noise.ndim - 1), i) for i in range(noise.ndim)]
        return [(noise * likelihoods.reshape(shape)).ravel() for shape in shapes]

    def _noise_of(self, inputs: int, hashes: int | None = None) -> FloatArray:
        """Return the law of noise for so many values without common hashes."""
        q, h = self._noise, self.h if hashes is None else hashes
        ones = np.array([math.comb(h, i) * q**i * (1.0 - q) ** (h - i) for i in range(h + 1)])
        law: FloatArray = np.ones(())
        for _ in range(inputs):
            law = np.multiply.outer(law, ones)
        return law

    @property
    def _likelihoods(self) -> FloatArray:
        """The likelihoods of a value with 0 to h ones among its hashes, in units of the noise."""
        return self._likelihoods_of(self.h)

    def _likelihoods_of(self, hashes: int) -> FloatArray:
        """Return the likelihoods of a value with 0 to all ones among so many of its hashes."""
        r, q = math.exp(self.eps0 / self.h), self._noise
        return np.array([r**ones for ones in range(hashes + 1)]) / (1.0 - q + r * q) ** hashes

    @property
    def _err(self) -> float:
        """The relative error of masses. That of r^h is ε₀ times that of r's exponent, twice."""
        return POWER_ERR + 2.0**-51 * self.eps0


@shares_documentation("eps0")
@dataclass(frozen=True)
class BloomRAPPOR(FilterRandomizer):
    """RAPPOR with a Bloom filter: h hashes of the value set bits, and every bit is randomized.

    A bit of no hash is 1 with probability ``noise``, a bit of a hash with odds that are e^{ε₀/h}
    times as large. The bounds hold for any hash functions, also if each of several cohorts has its
    own. The lower ends are those of values that share no bit.

    Parameters
    ----------
    h
        Number of hashes of a value, 1 to 16.
    noise
        Probability of a 1 in a bit of no hash, 10⁻¹⁰⁰ to below 1; None stands for that of bits that
        are flipped with one probability, 1/(e^{ε₀/2h} + 1).
    width
        Number of bits of the filter, above h; None leaves it open. Only the lower ends depend on
        it, if it is too small for three values that share no bit. If it is too small for two, they
        are those of values that share as few as possible.
    cohorts
        Number of cohorts. A user draws one at random and keeps it.

    Notes
    -----
    Erlingsson, Pihur and Korolova (CCS 2014). Worst pair: docs/proofs/variation-ratio.md,
    section 9.

    Examples
    --------
    >>> R = sb.BloomRAPPOR.from_probabilities(f=0.5, p=0.5, q=0.75, h=2, bits=128, cohorts=8)
    >>> f"{R.eps0:.4f}", R.noise
    ('1.0743', 0.5625)
    """

    NAME = "Bloom-filter RAPPOR"
    pairs_are_proven = True
    PROBABILITIES = MappingProxyType({x: FILTER_PROBABILITIES[x] for x in ("f", "p", "q", "bits")})

    eps0: float
    h: int = field(default=2, metadata={"help": FILTER_PROBABILITIES["h"].replace("1", "2")})
    noise: float | None = field(
        default=None,
        metadata={"help": "chance of a 1 in a bit of no hash; if left out, that of a flip"},
    )
    width: int | None = field(
        default=None, metadata={"help": FILTER_PROBABILITIES["bits"], "example": 128}
    )
    cohorts: int = field(default=1, metadata={"help": FILTER_PROBABILITIES["cohorts"]})

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        validation.whole("h", self.h, minimum=1, maximum=MAX_HASHES)
        if self.noise is None:
            flip = 1.0 / (math.exp(self.eps0 / (2 * self.h)) + 1.0)
            object.__setattr__(self, "noise", flip)
        validation.positive_probability("noise", self.noise, below=1.0)
        if self.width is not None:
            validation.values("width", self.width, minimum=self.h + 1)
        validation.values("cohorts", self.cohorts, minimum=1)

    @classmethod
    def from_probabilities(
        cls,
        f: Probability | None = None,
        p: Probability | None = None,
        q: Probability | None = None,
        h: int = 2,
        bits: int | None = None,
        cohorts: int = 1,
    ) -> BloomRAPPOR:
        """Return the mechanism by the numbers of its configuration: f, or p and q, or all three.

        Parameters
        ----------
        f, p, q, h, bits, cohorts
            See `RAPPOR.from_probabilities`.

        Returns
        -------
        BloomRAPPOR
            Its ε₀ is that of one report, rounded up.
        """
        if_one, if_zero = bits_of_rappor(f, p, q)
        h = validation.whole("h", h, minimum=1, maximum=MAX_HASHES)
        eps0 = eps0_of_ratio(odds_ratio(if_one, if_zero) ** h, "f, p, q and h")
        return cls(eps0, h, float(if_zero), bits, cohorts)

    @property
    def label(self) -> str:
        """The name with the number of hashes."""
        return f"{self.NAME}, h = {self.h}"

    @property
    def caveat(self) -> str | None:
        """What the bounds assume about cohorts, if there are several."""
        if self.cohorts == 1:
            return None
        return (
            "This holds only if the attacker does not know the user's cohort. Otherwise, ask with "
            "the users of the smallest cohort as n, and leave cohorts out."
        )

    @property
    def _noise(self) -> float:
        """The probability of a 1, which `__post_init__` sets."""
        assert self.noise is not None
        return self.noise

    @property
    def _input_count(self) -> int:
        """The number of values that share no bit, at most 3, or 2 if any two share bits."""
        return 3 if self.width is None or self.width >= 3 * self.h else 2

    @property
    def _own_hashes(self) -> int:
        """Two values share no more bits than the filter is too small by."""
        return self.h if self.width is None else min(self.h, self.width - self.h)

    @property
    def bits(self) -> float:
        """The number of bits of the filter and of the cohort's number."""
        return (self.width or math.inf) + math.log2(self.cohorts)


def _kinds(h: int) -> Iterator[Counter[tuple[int, ...]]]:
    """Yield all ways in which three values of h hashes may share them; first, they share none.

    A way counts the hashes that belong to the values of each pattern, such as (1, 0, 1).
    """
    patterns = list(itertools.product((0, 1), repeat=3))[1:]
    shared = [pattern for pattern in patterns if sum(pattern) > 1]
    for counts in itertools.product(range(h + 1), repeat=len(shared)):
        kind = Counter(dict(zip(shared, counts, strict=True)))
        missing = [h - sum(n for pattern, n in kind.items() if pattern[i]) for i in range(3)]
        if min(missing) >= 0:
            own = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
            yield kind + Counter(dict(zip(own, missing, strict=True)))
