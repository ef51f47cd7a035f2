"""Privacy losses on a lattice: the discrete pairs (P, Q) that composition works with.

A pair of measures with an atom at each loss L = log(P/Q) of a lattice, P-mass p and Q-mass
p·e^{−L}, and P-mass p_∞ where Q has none, has the curve

    H(x) = Σ p (1 − x e^{−L})₊ + p_∞.

Nothing here needs P or Q to sum to 1; docs/composition.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, U


@dataclass(frozen=True, eq=False)
class LossLaw:
    """P-masses of a privacy loss at ``shift + index * step``.

    Parameters
    ----------
    step
        Distance of the lattice points (natural log), a float of at most `STEP_BITS` bits, so that
        all losses are exact.
    shift
        0 or a multiple of step/2.
    index, masses
        Lattice points (int64) and their P-masses, shape (J,), J ≥ 1. The floats are meant as they
        are.
    infinite
        P-mass p_∞ of an infinite loss.

    """

    step: float
    shift: float
    index: NDArray[np.int64]
    masses: FloatArray
    infinite: float

    @cached_property
    def total(self) -> float:
        """The finite P-mass, to one rounding."""
        return math.fsum(self.masses)

    @cached_property
    def largest(self) -> float:
        """The largest finite loss."""
        return self.shift + float(self.index.max()) * self.step

    def on(self, step: float) -> LossLaw:
        """The same law on a lattice that is finer by a power of two."""
        return replace(self, step=step, index=self.index * round(self.step / step))

    @cached_property
    def law(self) -> Law:
        """The finite part as a law of total mass 1, for the functions of `law`."""
        values = np.asarray(self.shift + self.index * self.step, dtype=np.float64)
        masses = self.masses / self.total
        return Law(values, masses, 0, np.zeros_like(values), 2.1 * U, 0.0, 0.0)


# Losses are multiples of step/2 below 2^31, so that sums of 2^20 of them are floats.
STEP_BITS = 6


def lattice_step(size: float) -> float:
    """The largest float of `STEP_BITS` significant bits that is not above `size` > 0."""
    mantissa, exponent = math.frexp(size)
    return math.ldexp(math.floor(mantissa * 2**STEP_BITS), exponent - STEP_BITS)


@dataclass(frozen=True, eq=False)
class Composition:
    """Independent losses added up: ``rounds`` is a list of (law, how many times), all of one step.

    S is the sum where all of them are finite.
    """

    rounds: Sequence[tuple[LossLaw, int]]

    @property
    def step(self) -> float:
        """Distance of the lattice points."""
        return self.rounds[0][0].step

    @cached_property
    def shift(self) -> float:
        """Where the lattice of S begins, an exact float."""
        return math.fsum(times * law.shift for law, times in self.rounds)

    @cached_property
    def largest(self) -> float:
        """An upper bound of S."""
        return math.fsum(times * law.largest for law, times in self.rounds) * (1.0 + 8.0 * U)

    @cached_property
    def infinite(self) -> tuple[float, float]:
        """Bounds of the P-mass of all outcomes with an infinite loss, lower and upper.

        With M and p_∞ of each round, ΠM^T − Π(M − p_∞)^T = ΠM^T (1 − Π(1 − p_∞/M)^T). M is 1 up to
        roundings: at least 1 for a pessimistic pair, at most 1 for an optimistic one, so that
        p_∞ for p_∞/M errs on the right side of either.
        """
        spared = size = 0.0
        for law, times in self.rounds:
            if law.infinite >= 1.0:
                return 1.0, 1.0
            spared += times * math.log1p(-law.infinite)
            mass = math.fsum([*law.masses, law.infinite])
            size += times * (abs(math.log(mass)) * (1.0 + 4.0 * U) + 2.0 * U)  # at least |log M|
        told = abs(math.expm1(spared))
        if told == 0.0:
            return 0.0, 0.0
        # More than 1 says nothing, however large the masses are.
        most = math.exp(min(math.log(told) + size, 0.0))
        return told * math.exp(-size) * (1.0 - 1e-12), most * (1.0 + 1e-12)
