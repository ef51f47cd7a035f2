"""The Laplace mechanism (Dwork, McSherry, Nissim and Smith, TCC 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, Randomizer

MAX_CELLS = 100_000


@dataclass(frozen=True)
class Laplace(Randomizer):
    """Laplace noise on {0, 1}: the report y has density (ε₀/2) e^{−ε₀|y − x|}.

    On [0, 1] the same pair and blanket hold for the inputs 0 and 1, but nobody has proved that
    this pair is the worst of that domain.

    ``cells`` is the number N ≥ 1 of cells that each side of y = 1/2 is cut into; None chooses it by
    ε₀, and the attribute then holds the choice. Raises ValueError unless 0 < ε₀ ≤ 300 and
    ``cells`` is None or an integer from 1 to 100 000.

    No finite list of components describes a continuous report, so the decompositions come with one
    that bounds their divergence from below (`Decomposition.inner`) and one that bounds it from
    above (`Decomposition.outer`). In v = log R(0)(y)/R(1)(y), which runs over [−ε₀, ε₀], the masses
    have the densities

        R(0): e^{−ε₀/2} e^{v/2} / 4,    R(1): e^{−ε₀/2} e^{−v/2} / 4,

    and the reports outside (0, 1) make atoms: 1/2 and e^{−ε₀}/2 at v = ε₀, the reverse at v = −ε₀.
    Either is cut at the v = iΔ, Δ = ε₀/N, i = −N, …, N. The mass of R(0) in a cell with centre m
    is e^{−ε₀/2} e^{m/2} sinh(Δ/4), that of R(1) e^{−ε₀/2} e^{−m/2} sinh(Δ/4): their ratio is e^m.

    *Binning* (inner) reports only the cell or the atom: post-processing, which can only lower the
    divergence.

    *Spreading* (outer) moves the mass at each point to the two ends of its cell, keeping the sums
    of a, b and c: a dilation, which can only raise the divergence. Two ends suffice since within a
    cell (a, b, c) runs along a straight line, one of the three being proportional to another: c to
    the smaller of a and b, or always to b. To keep the sums of a cell, Σb = B and Σa = e^m B with
    masses at the ratios e^{m ± Δ/2}, the lower end takes B e^{Δ/4}/(2 cosh(Δ/4)) of b and the upper
    B e^{−Δ/4}/(2 cosh(Δ/4)). In terms of the end's own v both are e^{−ε₀/2} e^{−v/2} tanh(Δ/4)/2,
    and e^v times that of a.
    """

    eps0: float
    cells: int | None = None

    def __post_init__(self) -> None:
        validation.eps0(self.eps0)
        cells = _default_cells(self.eps0) if self.cells is None else self.cells
        object.__setattr__(
            self, "cells", validation.whole("cells", cells, minimum=1, maximum=MAX_CELLS)
        )

    def blanket(self) -> Decomposition:
        """With c = min(a, b), of mass e^{−ε₀/2}. The arrays are the outer ones."""
        (a, b), (outer_a, outer_b) = self._binned(), self._spread()
        inner = Decomposition(a, b, np.minimum(a, b), self._rel_err)
        c = np.minimum(outer_a, outer_b)
        return Decomposition(outer_a, outer_b, c, self._rel_err, inner=inner)

    def dataset_pair(self) -> Decomposition:
        """With c = b: x₁⁰ is 0, and all others hold x₁¹ = 1. The arrays are the inner ones."""
        (a, b), (outer_a, outer_b) = self._binned(), self._spread()
        outer = Decomposition(outer_a, outer_b, outer_b, self._rel_err)
        return Decomposition(a, b, b, self._rel_err, outer=outer)

    @property
    def _rel_err(self) -> float:
        # Exponents reach −ε₀, and their rounding is relative.
        return CLOSED_FORM_ERR + 2.0**-51 * self.eps0

    def _binned(self) -> tuple[FloatArray, FloatArray]:
        """Masses a and b of the 2N cells between the two atoms, v ascending."""
        n = self.cells
        heights = np.full(2 * n + 2, math.sinh(self.eps0 / (4 * n)))
        heights[[0, -1]] = 0.5
        return self._masses(np.concatenate([[-n], np.arange(-n, n) + 0.5, [n]]), heights)

    def _spread(self) -> tuple[FloatArray, FloatArray]:
        """Masses a and b at the 2N + 1 ends of cells, atoms included, v ascending."""
        n = self.cells
        heights = np.full(2 * n + 1, math.tanh(self.eps0 / (4 * n)))
        heights[[0, -1]] = (1.0 + heights[0]) / 2.0
        return self._masses(np.arange(-n, n + 1), heights)

    def _masses(self, steps: NDArray, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """e^{−ε₀/2} e^{±v/2} times `heights` at v = `steps`·Δ; both arguments mirror-symmetric."""
        a = heights * np.exp((steps - self.cells) * (self.eps0 / (2 * self.cells)))
        return a, a[::-1]


def _default_cells(eps0: float) -> int:
    """Cells for which inner and outer ε lie about 5·10⁻⁵ apart, relatively (measured).

    The distance falls like 1/cells², and depends on n and on the number of joint parts only little.
    """
    return math.ceil(4.0 + 48.0 * eps0**0.7)
