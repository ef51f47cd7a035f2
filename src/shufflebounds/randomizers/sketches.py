"""Apple's sketches: a report tells the index of a random hash function, and noisy bits of the hash.

Both are `FilterRandomizer` with one hash: of CMS all bits are sent, and of HCMS one sign, which is
the user's with the odds e^{ε₀} : 1 and that of any other value with 1 : 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import WORD, Supports
from shufflebounds.estimation.sampling import required
from shufflebounds.randomizers.filters import FilterRandomizer


class _Sketch(FilterRandomizer):
    """A sketch of ``width`` hash values, for estimates of the shares of ``domain_size`` values."""

    h = 1
    eps0: float
    width: int
    domain_size: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        validation.values("width", self.width)
        if self.domain_size is not None:
            validation.domain_size(self.domain_size, minimum=2)

    @property
    def _input_count(self) -> int:
        """The number of values that share no hash, at most 3."""
        return min(3, self.width, self.domain_size or 3)

    def _supports_of_hashes(self, p: float, q: float, gap: float) -> Supports:
        """Return the supports of values by those of hash values, which values share by chance."""
        shared, values = 1.0 / self.width, self.domain_size or math.inf
        return Supports(p, 1.0 - p, q + shared * gap, (1.0 - shared) * gap, values)

    def _hashes(
        self, inputs: ArrayLike, rng: np.random.Generator
    ) -> tuple[sampling.Words, sampling.IntArray]:
        """Return a seed for each user, and the hash of the user's value."""
        values = sampling.checked_values("inputs", inputs, self.domain_size or math.inf)
        seeds = sampling.seeds(values.size, rng)
        return seeds, sampling.hashed(seeds, values, self.width)


@shares_documentation("eps0")
@dataclass(frozen=True)
class CMS(_Sketch):
    """CMS: Apple's count-mean sketch, the one-hot hash of the value with bits flipped at random.

    Every bit is flipped with probability 1/(e^{ε₀/2} + 1). The bounds are those of `RAPPOR`: they
    hold for any hash functions, and the lower ends are those of values that never share a hash.

    Parameters
    ----------
    width
        m, number of hash values and of bits, 2 to 2⁵³. Estimates depend on it, and lower ends if
        it is 2.
    domain_size
        Number of values; None stands for many. Estimates of them all depend on it, and lower ends
        if it is 2.

    Notes
    -----
    Differential Privacy Team, Apple (2017). Worst pair: docs/proofs/variation-ratio.md, section 9.

    Examples
    --------
    >>> f"{sb.epsilon(sb.CMS(4.0, width=1024), n=100_000, delta=1e-6).upper:.4f}"
    '0.0974'
    """

    pairs_are_proven = True

    eps0: float
    width: int = field(default=1024, metadata={"help": "number of hash values, 1024 if left out"})
    domain_size: int | None = field(
        default=None, metadata={"help": "number of values, many if left out"}
    )

    @property
    def _noise(self) -> float:
        """The probability that a bit is flipped."""
        return 1.0 / (math.exp(self.eps0 / 2.0) + 1.0)

    @property
    def bits(self) -> float:
        """The number of bits of the hash, and of the seed of its function."""
        return self.width + WORD

    def _supports(self) -> Supports:
        """Return the supports: a report supports the values at whose hash its bit is 1."""
        return self._supports_of_hashes(1.0 - self._noise, self._noise, math.tanh(self.eps0 / 4.0))

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return records of a seed and the bits."""
        seeds, hashes = self._hashes(inputs, rng)
        reports = np.empty(seeds.size, dtype=[("seed", np.uint64), ("bits", bool, (self.width,))])
        reports["seed"] = seeds
        reports["bits"] = rng.random((seeds.size, self.width)) < self._noise
        reports["bits"][np.arange(seeds.size), hashes] ^= True
        return reports

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports whose bit at the hash of each value is 1."""
        users = np.arange(len(reports))
        return np.array(
            [
                np.count_nonzero(
                    reports["bits"][
                        users, sampling.hashed(reports["seed"], np.array([value]), self.width)
                    ]
                )
                for value in range(required("domain_size", self.domain_size))
            ]
        )


@shares_documentation("eps0")
@dataclass(frozen=True)
class HCMS(_Sketch):
    """HCMS: Apple's Hadamard count-mean sketch, one noisy sign of the Hadamard row of the hash.

    A report tells a random hash function, a random column of the Hadamard matrix, and the sign that
    the row of the hash has there, flipped with probability 1/(e^{ε₀} + 1). The bounds are those of
    `BLH`: they hold for any hash functions, and the lower ends are those of values that never share
    a hash. `HadamardResponse` is another mechanism.

    Parameters
    ----------
    width
        m, number of hash values and columns, a power of 2. Estimates depend on it, and lower ends
        if it is 2.
    domain_size
        Number of values; None stands for many. Estimates of them all depend on it, and lower ends
        if it is 2.

    Notes
    -----
    Differential Privacy Team, Apple (2017). Worst pair: docs/proofs/variation-ratio.md, section 9.

    Examples
    --------
    >>> f"{sb.epsilon(sb.HCMS(2.0, width=1024), n=10_000, delta=1e-6).upper:.4f}"
    '0.0588'
    """

    pairs_are_proven = True
    _noise = 0.5

    eps0: float
    width: int = field(
        default=1024, metadata={"help": "number of hash values, 1024 if left out", "example": 8}
    )
    domain_size: int | None = field(
        default=None, metadata={"help": "number of values, many if left out"}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width & (self.width - 1):
            raise ValueError(f"width must be a power of 2, got {self.width}")

    @property
    def bits(self) -> float:
        """The number of bits of the sign, of the column, and of the seed of the hash function."""
        return 1.0 + math.log2(self.width) + WORD

    def _supports(self) -> Supports:
        """Return the supports: a report supports the values in whose rows its sign stands."""
        p = 1.0 / (1.0 + math.exp(-self.eps0))
        return self._supports_of_hashes(p, 0.5, math.tanh(self.eps0 / 2.0) / 2.0)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return rows of a seed, a column, and 1 for the sign −1, else 0."""
        seeds, hashes = self._hashes(inputs, rng)
        columns = rng.integers(self.width, size=seeds.size)
        is_minus = np.bitwise_count(columns & hashes) % 2
        is_minus ^= rng.random(seeds.size) >= self._supports().p
        return np.stack([seeds, columns.astype(np.uint64), is_minus.astype(np.uint64)], axis=1)

    def _supporters(self, reports: NDArray) -> NDArray:
        """Return the number of reports whose sign is that of the row of each value."""
        seeds, columns, is_minus = reports[:, 0], reports[:, 1].astype(np.int64), reports[:, 2]
        return np.array(
            [
                np.count_nonzero(
                    np.bitwise_count(
                        columns & sampling.hashed(seeds, np.array([value]), self.width)
                    )
                    % 2
                    == is_minus
                )
                for value in range(required("domain_size", self.domain_size))
            ]
        )
