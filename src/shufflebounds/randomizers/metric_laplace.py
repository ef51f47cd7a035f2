"""The Laplace mechanism between two inputs of many: metric privacy (Alvim et al. 2018)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds import validation
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, Randomizer


@dataclass(frozen=True)
class MetricLaplace(Randomizer):
    """Laplace noise on [0, 1], of density (ε₀/2) e^{−ε₀|y − x|}, for the inputs ``x0`` and ``x1``.

    The bounds are for these two, at the distance ε₀|x0 − x1|; all others may hold anything in
    [0, 1]. ``cells`` is the number of cells that each stretch between x0, x1 and 1/2 (or what all
    others hold) is cut into; None chooses it by ε₀, and the attribute then holds it. Raises
    ValueError unless 0 < ε₀ ≤ 300, 0 ≤ x0, x1 ≤ 1 are not equal, and ``cells`` is from 1 to 10 000.

    The report is continuous, so that the decompositions come with `Decomposition.inner` and
    `Decomposition.outer`. On a stretch R(x0), R(x1) and the blanket, whose input is the end that is
    further off, go like e^{±ε₀y} each, two of the three in proportion: they run along a straight
    line, as in `laplace`. A cell of half-width h (times ε₀) around y has sinh(h) times
    e^{−ε₀|y − x|}. Spread to both of its ends these are tanh(h)/2 times their values there. Beyond
    all these points the three are proportional: two atoms.
    """

    eps0: float
    x0: float = field(default=0.0, metadata={"help": "the first of two inputs, 0 to 1"})
    x1: float = field(default=1.0, metadata={"help": "the second of two inputs, 0 to 1"})
    cells: int | None = field(
        default=None,
        metadata={"help": "cells per side, the more the finer; if left out, some that fit eps0"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        for name in ("x0", "x1"):
            object.__setattr__(self, name, validation.probability(name, getattr(self, name)))
        if self.x0 == self.x1:
            raise ValueError(f"x1 must differ from x0, got {self.x1!r} for both")
        cells = math.ceil(4.0 + 48.0 * self.eps0**0.7) if self.cells is None else self.cells
        object.__setattr__(
            self, "cells", validation.whole("cells", cells, minimum=1, maximum=10_000)
        )

    @property
    def caveat(self) -> str:
        """Other pairs are other questions."""
        return f"The bounds are for inputs {self.x0:g} and {self.x1:g} only."

    def blanket(self) -> Decomposition:
        """With c = inf_x R(x) over [0, 1]. The arrays are the outer ones."""
        inner, outer = self._ends(None)
        return replace(outer, inner=inner)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """All others hold the end that is further from x0, the other end, or x1."""
        ends = sorted((0.0, 1.0), key=lambda end: -abs(end - self.x0))
        pairs = {f"{x:g}": self._ends(x) for x in dict.fromkeys([*ends, self.x1])}
        return {name: replace(inner, outer=outer) for name, (inner, outer) in pairs.items()}

    def density(self, x: float, y: float) -> float:
        """Of the report y on the input x, both numbers."""
        return self.eps0 / 2.0 * math.exp(-self.eps0 * abs(y - x))

    def _ends(self, others: float | None) -> tuple[Decomposition, Decomposition]:
        """Inner and outer decompositions, all others holding what they may (None) or `others`."""
        points = sorted({self.x0, self.x1, 0.5 if others is None else others})
        atoms = 0.5 * self._values(np.array([points[0], points[-1]]), others)
        inner, outer = [atoms], [atoms]
        assert self.cells is not None  # since __post_init__
        for low, up in itertools.pairwise(points):
            width = (up - low) / self.cells
            half = self.eps0 * width / 2.0
            edges = low + width * np.arange(self.cells + 1)
            shares = np.full(self.cells + 1, math.tanh(half))
            shares[[0, -1]] /= 2.0
            inner.append(math.sinh(half) * self._values(edges[:-1] + width / 2.0, others))
            outer.append(shares * self._values(edges, others))
        # Points err by some roundings of numbers up to 1, their exponents by ε₀ times as much.
        rel_err = CLOSED_FORM_ERR + 2.0**-49 * self.eps0
        below, above = (
            Decomposition(a, b, c, rel_err)
            for a, b, c in (np.concatenate(parts, axis=1) for parts in (inner, outer))
        )
        return below, above

    def _values(self, y: NDArray, others: float | None) -> FloatArray:
        """e^{−ε₀|y − x|} for x0, x1 and what all others are sure of, shape (3, points)."""
        off = [np.abs(y - x) for x in (self.x0, self.x1)]
        if others is None:
            off.append(np.maximum(np.abs(y), np.abs(y - 1.0)))
        else:
            off.append(np.abs(y - others))
        return np.exp(-self.eps0 * np.array(off))
