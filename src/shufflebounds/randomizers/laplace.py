"""Laplace noise: numbers in [0, 1], and metric privacy of two of them."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, OtherInput, both_directions
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.documentation import shares_documentation
from shufflebounds.core.products import FloatArray
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import WORD, SpreadOfNumbers, of_numbers, of_rounded
from shufflebounds.estimation.reporter import refuse_frequencies
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, Randomizer

# Largest number of cells of `Laplace` on each side of 1/2.
MAX_CELLS = 100_000
# Number of steps of numbers that are rounded, if the user gives none.
_DEFAULT_STEPS = 8
# Largest number of steps of numbers that are rounded. Each pair of inputs costs some milliseconds.
_MAX_STEPS = 32
# Width of the cells next to 0 and 1, times ε₀, in the bound for all datasets of [0, 1]. Width and
# speed only (benchmarks/mechanisms.py).
_CORNER_WIDTH = 0.1
# Ratio of the widths of neighbouring cells. Width and speed only.
_GROWTH = 2.0
# The same for a joint report, of which all combinations of pairs of inputs are asked: for parts
# with a small ε₀, and for others. Width and speed only.
_GROWTH_OF_SMALL, _GROWTH_OF_LARGE = 4.0, 2.5
# Largest ε₀ of a part that is small.
_SMALL_EPS0 = 2.5
# The points of a grid are multiples of this unit, so that 1 − x is exact.
_GRID_UNIT = 2.0**-40
# Largest ε₀ with a bound for all datasets of [0, 1]: for larger ones the points take too long.
_MAX_GRID_EPS0 = 10.0
# The inputs that all others may have in a lower bound, by name and domain; the customary one first.
_OTHERS: dict[str, dict[str, float]] = {
    "binary": {"1": 1},
    "rounded": {"1": 1},
    "interval": {"1": 1, "1/2": 0.5},
}


class _LaplaceNoise(Randomizer):
    """Numbers in [0, 1] with added Laplace noise of the scale 1/ε₀."""

    eps0: float
    cells: int | None
    bits = WORD

    def _choose_cells(self, max_cells: int) -> None:
        """Set the number of cells by ε₀ if it is None; raise ValueError for a bad number."""
        cells = _default_cells(self.eps0) if self.cells is None else self.cells
        object.__setattr__(
            self, "cells", validation.whole("cells", cells, minimum=1, maximum=max_cells)
        )

    @property
    def _cells(self) -> int:
        """The number of cells, which `__post_init__` sets."""
        assert self.cells is not None
        return self.cells

    def blanket(self) -> Decomposition:
        """Return the blanket with c = inf_x R(x) over [0, 1]. The arrays are the outer ones."""
        inner, outer = self._ends(None)
        return replace(outer, inner=inner)

    def _dataset_pair(self, other_input: float) -> Decomposition:
        """Return the pair in which all others hold `other_input`. The arrays are the inner ones."""
        inner, outer = self._ends(other_input)
        return replace(inner, outer=outer)

    @abstractmethod
    def _ends(self, other_input: float | None) -> tuple[Decomposition, Decomposition]:
        """Return the inner and outer decompositions.

        All others hold `other_input`, or any input if it is None.
        """

    def _variances(self, frequencies: ArrayLike | None = None) -> SpreadOfNumbers:
        """Return the variance of the noise, for the mean of numbers in [0, 1]."""
        refuse_frequencies(self, frequencies)
        return of_numbers(2.0 / self.eps0**2, radius=0.5)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return the numbers with noise."""
        numbers = sampling.checked_numbers(inputs, 0.0, 1.0)
        return numbers + rng.laplace(scale=1.0 / self.eps0, size=numbers.size)

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the mean of all reports."""
        return sampling.mean_of(reports)


@shares_documentation("eps0")
@dataclass(frozen=True)
class Laplace(_LaplaceNoise):
    """Laplace noise: the report y has density (ε₀/2) e^{−ε₀|y − x|}.

    No finite list of components describes a continuous report, so the decompositions come with one
    that bounds their divergence from below (``inner``, in bins) and one that bounds it from above
    (``outer``, spread to the ends of cells). docs/proofs/engine.md, section 5, says why.

    Parameters
    ----------
    cells
        N, number of cells that each side of y = 1/2 is cut into, 1 to 100 000. None chooses it by
        ε₀, and the attribute then holds the choice.
    domain
        ``binary``, {0, 1}; ``rounded``, numbers in [0, 1] that are rounded at random, so that their
        mean is kept, before noise is added; or ``interval``, [0, 1]. The blanket of 0 and 1 bounds
        all three, and so does the bound for all datasets, on [0, 1] of a single round and for ε₀ ≤
        10.
    others
        What all other users hold in the lower bound: 1, or 1/2 (on [0, 1] only, the choice of the
        paper's earlier version). None leaves open every choice that the domain allows.
    steps
        Numbers are rounded to multiples of 1/steps, 1 to 32; None stands for 8. Of the rounded
        domain only.

    Notes
    -----
    Dwork, McSherry, Nissim and Smith (TCC 2006).

    Examples
    --------
    >>> f"{sb.epsilon(sb.Laplace(1.0).blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.038'
    """

    composable = True  # 0 and 1 are the worst values of [0, 1]: docs/proofs/engine.md, section 10

    eps0: float
    cells: int | None = field(
        default=None,
        metadata={
            "help": "cells per side, more for narrower enclosures; chosen by eps0 if left out"
        },
    )
    domain: str = field(
        default="binary",
        metadata={
            "help": "inputs are 0 and 1 (binary, the default), 0 to 1 rounded at random "
            "(rounded), or 0 to 1 (interval)",
            "example": "rounded",
        },
    )
    others: float | None = field(
        default=None,
        metadata={
            "help": "what all others hold in the lower bound: 1, or 0.5 on the interval",
            "example": 1.0,
        },
    )
    steps: int | None = field(
        default=None,
        metadata={"help": "rounded numbers are multiples of 1/steps, 1 to 32 (8 if left out)"},
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        validation.choice("domain", self.domain, _OTHERS)
        allowed = _OTHERS[self.domain]
        if (
            self.others is not None
            and validation.finite("others", self.others) not in allowed.values()
        ):
            raise ValueError(
                f"others must be {' or '.join(map(str, allowed.values()))} "
                f"on the {self.domain} domain, got {self.others!r}"
            )
        self._choose_cells(MAX_CELLS)
        if self.domain == "rounded":
            steps = _DEFAULT_STEPS if self.steps is None else self.steps
            object.__setattr__(
                self, "steps", validation.whole("steps", steps, minimum=1, maximum=_MAX_STEPS)
            )
        elif self.steps is not None:
            raise ValueError(
                f"steps is only valid for the rounded domain, got {self.steps!r} on {self.domain}"
            )

    @property
    def caveat(self) -> str:
        """The inputs and questions for which the best proven bound holds."""
        return {
            "binary": "The best proven bound of laplace is for its inputs 0 and 1 only. For "
            "numbers between them ask for the domain interval, or round at random (rounded).",
            "rounded": self._caveat_on_steps,
            "interval": "Over several rounds, and for eps0 above 10, you can claim only the "
            "blanket; users who round numbers at random (rounded) to 0, 1/2 or 1 can claim less.",
        }[self.domain]

    @property
    def _caveat_on_steps(self) -> str:
        """The questions for which numbers are rounded to too many steps, if there are any."""
        if self.steps == 1:
            return ""
        if self.steps == 2:
            when, fewer = "For six or more linked reports, you can claim", "1 has"
        else:  # The more steps and the larger ε₀, the more the bound for all datasets costs.
            when = "Over several rounds, and for several linked reports, you may be able to claim"
            fewer = "1 and, for separate reports, 2 have"
        return (
            f"{when} only the blanket with steps {self.steps}; steps {fewer} a smaller bound for "
            "all datasets."
        )

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return pairs of x₁⁰ = 0 and x₁¹ = 1 among others with 1 or 1/2; arrays are inner ones."""
        return {
            name: self._dataset_pair(other_input)
            for name, other_input in _OTHERS[self.domain].items()
            if self.others in (None, other_input)
        }

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowds of all inputs after rounding and spreading, or of points of a grid.

        On the interval they are those of a grid. Spreading makes a mechanism of which this one is a
        post-processing of every single report (Blackwell). So its divergence is no smaller for any
        inputs of the users. Every input is an end of cells here. Only one of two pairs that are
        mirror images of each other is listed.
        """
        if self.domain == "interval":
            return _interval_crowds(self.eps0, self._cells) if self.eps0 <= _MAX_GRID_EPS0 else ()
        steps = self.steps or 1
        inputs = [Fraction(step, steps) for step in range(steps + 1)]
        # The smallest multiple of `divisor` makes every input an end of cells.
        divisor = steps // math.gcd(steps, 2)
        fine = replace(self, cells=-(-self._cells // divisor) * divisor)
        rows, sure, err = fine._spread(*inputs), np.minimum(*fine._spread(0, 1)), self._rel_err
        laws = {f"{float(x):g}": row for x, row in zip(inputs, rows, strict=True)}
        widest = Crowd.of_laws(rows[0], rows[-1], sure, laws, err, attained=False, symmetric=True)
        pairs = [(x, y) for x, y in itertools.combinations(range(steps + 1), 2) if x + y <= steps]
        return tuple(
            replace(widest, a=rows[x], b=rows[y], symmetric=x + y == steps)
            for x, y in sorted(pairs, key=lambda pair: pair[0] - pair[1])
        )

    def coordinate_crowds(self, coordinates: int) -> tuple[Crowd, ...]:
        """See `Randomizer`; on the interval, the points of the grid are fewer than for `crowds`."""
        if self.domain == "interval":
            if self.eps0 > _MAX_GRID_EPS0:
                return ()
            return _interval_coordinate_crowds(self.eps0, self._cells, coordinates > 2)
        crowds = both_directions(self.crowds())
        equal = {crowd.a.tobytes(): crowd.same_input() for crowd in crowds}
        return (*crowds, *equal.values())

    def few_crowds(self) -> tuple[Crowd, ...]:
        """Return `crowds`, but none on the interval, where no few crowds stand for all."""
        return () if self.domain == "interval" else self.crowds()

    def coarser(self, components: int) -> Laplace:
        """Return the mechanism with fewer cells, to whose ends all masses are spread."""
        return replace(self, cells=max(1, min(self._cells, (components - 1) // 2)))

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return the numbers with noise, rounded before on the rounded domain."""
        if self.domain == "rounded":
            places = sampling.checked_numbers(inputs, 0.0, 1.0) * (self.steps or 1)
            inputs = np.floor(places + rng.random(places.size)) / (self.steps or 1)
        elif self.domain == "binary" and not np.isin(inputs, (0.0, 1.0)).all():
            raise ValueError(
                "inputs must be 0 or 1 on the binary domain; domain='rounded' rounds others at "
                "random, domain='interval' takes them as they are"
            )
        return super()._draw_reports(inputs, rng)

    def _variances(self, frequencies: ArrayLike | None = None) -> SpreadOfNumbers:
        """Return the variance of the noise and, on the rounded domain, of rounding."""
        if self.domain != "rounded":
            return super()._variances(frequencies)
        refuse_frequencies(self, frequencies)
        points = np.linspace(-0.5, 0.5, (self.steps or 1) + 1)
        return of_rounded(points, noise=2.0 / self.eps0**2)

    def _ends(self, other_input: float | None) -> tuple[Decomposition, Decomposition]:
        """See `_LaplaceNoise`; for other_input = None c is min(a, b), of mass e^{−ε₀/2}."""
        inputs = (0, 1) if other_input is None else (0, 1, Fraction(other_input))
        inner, outer = (
            Decomposition(a, b, c[0] if c else np.minimum(a, b), self._rel_err)
            for a, b, *c in (self._binned(*inputs), self._spread(*inputs))
        )
        return inner, outer

    @property
    def _rel_err(self) -> float:
        """The relative error of masses: exponents are as small as −ε₀ and have its rounding."""
        return CLOSED_FORM_ERR + 2.0**-51 * self.eps0

    def _binned(self, *inputs: Fraction | int) -> FloatArray:
        """Return the masses of the 2N cells and of the atoms at both sides, a row for each input.

        The variable v ascends. Every input must be an end of cells.
        """
        n = self._cells
        heights = np.full(2 * n + 2, math.sinh(self.eps0 / (4 * n)))
        heights[[0, -1]] = 0.5
        return self._masses(np.concatenate([[-n], np.arange(-n, n) + 0.5, [n]]), heights, inputs)

    def _spread(self, *inputs: Fraction | int) -> FloatArray:
        """Return the masses at the 2N + 1 ends of cells, to which all mass is spread."""
        n = self._cells
        heights = np.full(2 * n + 1, math.tanh(self.eps0 / (4 * n)))
        heights[[0, -1]] = (1.0 + heights[0]) / 2.0
        return self._masses(np.arange(-n, n + 1), heights, inputs)

    def _masses(
        self, steps: NDArray, heights: FloatArray, inputs: Sequence[Fraction | int]
    ) -> FloatArray:
        """Return `heights` times R(x) at v = `steps`·Δ; N steps lie between y = 1/2 and an end."""
        half_step = self.eps0 / (2 * self._cells)
        places = np.array([[float(self._cells * (1 - 2 * x))] for x in inputs])  # whole numbers
        masses: FloatArray = heights * np.exp(-np.abs(steps - places) * half_step)
        return masses


def _default_cells(eps0: float) -> int:
    """Return the number of cells for a relative distance of inner and outer ε of about 5·10⁻⁵.

    This was measured. The distance falls like 1/cells², and depends little on n and on the number
    of joint parts.
    """
    return math.ceil(4.0 + 48.0 * eps0**0.7)


@dataclass(frozen=True)
class MetricLaplace(_LaplaceNoise):
    """Laplace noise on [0, 1], of density (ε₀/2) e^{−ε₀|y − x|}, for the inputs ``x0`` and ``x1``.

    The bounds are for these two, at the distance ε₀|x0 − x1|; all others may hold anything in [0,
    1]. The report is continuous, so that the decompositions have ``inner`` and ``outer`` ends.

    Parameters
    ----------
    eps0
        ε₀ at distance 1 (natural log), 0 < ε₀ ≤ 300.
    x0, x1
        The two inputs, 0 to 1 and not equal.
    cells
        Number of cells that each stretch between x0, x1 and 1/2 (or what all others hold) is cut
        into, 1 to 10 000. None chooses it by ε₀, and the attribute then holds it.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Metric privacy: Alvim et al. 2018.

    Examples
    --------
    >>> U = sb.MetricLaplace(2.0, x0=0.0, x1=0.5).blanket()
    >>> f"{sb.epsilon(U, n=10_000, delta=1e-6).upper:.3f}"
    '0.054'
    """

    eps0: float
    x0: float = field(default=0.0, metadata={"help": "the first of two inputs, 0 to 1"})
    x1: float = field(
        default=1.0, metadata={"help": "the second of two inputs, 0 to 1", "example": 0.75}
    )
    cells: int | None = field(
        default=None,
        metadata={
            "help": "cells per side, more for narrower enclosures; chosen by eps0 if left out"
        },
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps0", validation.eps0(self.eps0))
        for name in ("x0", "x1"):
            object.__setattr__(self, name, validation.probability(name, getattr(self, name)))
        if self.x0 == self.x1:
            raise ValueError(f"x1 must differ from x0, got {self.x1!r} for both")
        self._choose_cells(10_000)

    @property
    def caveat(self) -> str:
        """The two inputs for which the bounds hold."""
        return f"The bounds are for inputs {self.x0:g} and {self.x1:g} only."

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of a grid that contains both inputs; none for large ε₀."""
        if self.eps0 > _MAX_GRID_EPS0:
            return ()
        grid = sorted({*_grid(self.eps0), self.x0, self.x1})
        v, w = (grid.index(x) for x in (self.x0, self.x1))
        return (_Cover(self.eps0, self._cells, grid).crowd((v, v), (w, w)),)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pairs in which all others hold the end further from x0, the other, or x1."""
        ends = sorted((0.0, 1.0), key=lambda end: -abs(end - self.x0))
        return {_number_name(x): self._dataset_pair(x) for x in dict.fromkeys([*ends, self.x1])}

    def density(self, x: float, y: float) -> float:
        """Return the density of a report.

        Parameters
        ----------
        x, y
            The input and the report.

        Returns
        -------
        float
            (ε₀/2) e^{−ε₀|y − x|}.
        """
        return self.eps0 / 2.0 * math.exp(-self.eps0 * abs(y - x))

    def _ends(self, other_input: float | None) -> tuple[Decomposition, Decomposition]:
        """See `_LaplaceNoise`."""
        points = sorted({self.x0, self.x1, 0.5 if other_input is None else other_input})
        atoms = 0.5 * self._values(np.array([points[0], points[-1]]), other_input)
        inner, outer = [atoms], [atoms]
        for low, up in itertools.pairwise(points):
            width = (up - low) / self._cells
            half = self.eps0 * width / 2.0
            edges = low + width * np.arange(self._cells + 1)
            shares = np.full(self._cells + 1, math.tanh(half))
            shares[[0, -1]] /= 2.0
            inner.append(math.sinh(half) * self._values(edges[:-1] + width / 2.0, other_input))
            outer.append(shares * self._values(edges, other_input))
        below, above = (
            Decomposition(a, b, c, _point_err(self.eps0))
            for a, b, c in (np.concatenate(parts, axis=1) for parts in (inner, outer))
        )
        return below, above

    def _values(self, y: NDArray, other_input: float | None) -> FloatArray:
        """Return e^{−ε₀|y − x|} for x0, x1 and all others, or its infimum, shape (3, points)."""
        distances = [np.abs(y - x) for x in (self.x0, self.x1)]
        if other_input is None:
            distances.append(np.maximum(np.abs(y), np.abs(y - 1.0)))
        else:
            distances.append(np.abs(y - other_input))
        return np.exp(-self.eps0 * np.array(distances))


def _grid(eps0: float, growth: float = _GROWTH) -> list[float]:
    """Return points from 0 to 1, symmetric to 1/2, and closer to each other at the ends."""
    left_half, width = [0.0], _CORNER_WIDTH / eps0
    while left_half[-1] + width < 0.5:
        left_half.append(round((left_half[-1] + width) / _GRID_UNIT) * _GRID_UNIT)
        width *= growth
    return [*left_half, 0.5, *(1.0 - x for x in reversed(left_half))]


@lru_cache(maxsize=2)
def _interval_crowds(eps0: float, cells: int) -> tuple[Crowd, ...]:
    """Return the crowds of all pairs of inputs of [0, 1], those furthest apart first.

    Only one of two mirror images is listed.
    """
    cover = _Cover(eps0, cells, _grid(eps0))
    return tuple(cover.crowd(*pair) for pair in _pairs_of_grid(cover.grid))


@lru_cache(maxsize=4)
def _interval_coordinate_crowds(eps0: float, cells: int, is_coarse: bool) -> tuple[Crowd, ...]:
    """Return the crowds of `Randomizer.coordinate_crowds` for [0, 1].

    Few points are needed for a small ε₀. A coarse grid has three.
    """
    growth = _GROWTH_OF_SMALL if eps0 <= _SMALL_EPS0 else _GROWTH_OF_LARGE
    cover = _Cover(eps0, cells, [0.0, 0.5, 1.0] if is_coarse else _grid(eps0, growth))
    crowds = both_directions(cover.crowd(*pair) for pair in _pairs_of_grid(cover.grid))
    # Inputs of one cell that are equal are among the extremes of the cell.
    points = [cover.crowd((i, i), (i, i)) for i in range(len(cover.grid) // 2 + 1)]
    return (*(part for crowd in crowds for part in crowd.extremes or (crowd,)), *points)


def _pairs_of_grid(grid: Sequence[float]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return all pairs of inputs, those furthest apart first, but one of two mirror images.

    An input is a pair of numbers of points, as for `_Cover`.
    """
    last = len(grid) - 1
    inputs = [(i, j) for i in range(last + 1) for j in (i, i + 1) if j <= last]
    pairs = [(v, w) for v, w in itertools.combinations(inputs, 2) if sum(v + w) <= 2 * last]
    pairs += [(v, v) for v in inputs if v[0] < v[1] and sum(v) <= last]
    pairs.sort(key=lambda pair: sum(pair[0]) - sum(pair[1]))
    return pairs


@dataclass(frozen=True)
class _Cover:
    """Crowds of Laplace noise on [0, 1], for a grid of points in ascending order.

    They give the bound for all datasets of docs/proofs/closing-the-gap.md, section 8, Lemmas L1 to
    L3. The report of an input between two neighbouring points of the grid is a report of one of the
    two, or else a report that lies between them. Other users who send the latter are left out. Some
    of these reports of the victim are marked, and all of them are spread to the two points.

    A victim's input is a pair (i, j) of numbers of points: x_i if they are the same; else it stands
    for all inputs between x_i and x_j = x_{i + 1}.
    """

    eps0: float
    cells: int
    grid: Sequence[float]

    def crowd(self, v: tuple[int, int], w: tuple[int, int]) -> Crowd:
        """Return the crowd of the victim's inputs v and w."""
        if v == w and v[0] == v[1]:
            return replace(self._crowd(v, w, (0.0, 0.0)), symmetric=True)
        if v != w:
            mirror = sum(v + w) == 2 * (len(self.grid) - 1) and all(
                x + y == 1.0 for x, y in zip(self.grid, reversed(self.grid), strict=True)
            )
            return replace(self._crowd(v, w, (0.0, 0.0)), symmetric=mirror)
        # The share of reports with both marks is unknown at either point, so extremes cover it.
        corners = itertools.product((0.0, 1.0), repeat=2)
        mean, *extremes = (
            replace(self._crowd(v, w, (low, up)), symmetric=True)
            for low, up in [(0.5, 0.5), *corners]
        )
        return replace(mean, extremes=tuple(extremes))

    def _crowd(self, v: tuple[int, int], w: tuple[int, int], overlap: tuple[float, float]) -> Crowd:
        """Return the crowd; at each point, v's reports bear the share `overlap` of w's marks."""
        y, weights, marks = self._components(v, w, overlap)

        def law_of_point(x: float) -> FloatArray:
            return np.append(weights * np.exp(-self.eps0 * np.abs(y - x)), 0.0)

        def victim_law(ends: tuple[int, int], marked: NDArray[np.bool_]) -> FloatArray:
            low, up = (law_of_point(self.grid[i]) for i in ends)
            if ends[0] == ends[1]:
                return low
            p = self._half(ends[0])
            marked_mass = math.tanh(p) * (1.0 + math.cosh(p) ** 2) * np.where(marked, weights, 0.0)
            return (low + up) / (2.0 * math.cosh(p) ** 2) + np.append(marked_mass, 0.0)

        laws = []
        for i, x in enumerate(self.grid):
            p = max(map(self._half, range(max(i - 1, 0), min(i + 1, len(self.grid) - 1))))
            laws.append(law_of_point(x) / math.cosh(p))
            laws[-1][-1] = 2.0 * math.sinh(p / 2.0) ** 2 / math.cosh(p)
        # No user is sure to send the last component, which stands for users who are left out.
        sure = np.append(np.min(laws, axis=0)[:-1], 0.0)
        part, share = np.arange(sure.size), np.ones(sure.size)
        inputs = {
            _number_name(x): OtherInput(part, share, law)
            for x, law in zip(self.grid, laws, strict=True)
        }
        a, b = victim_law(v, marks[:, 0]), victim_law(w, marks[:, 1])
        return Crowd(a, b, sure, inputs, _point_err(self.eps0), attained=False)

    def _half(self, cell: int) -> float:
        """Return half of a cell's width, times ε₀."""
        return self.eps0 * (self.grid[cell + 1] - self.grid[cell]) / 2.0

    def _components(
        self, v: tuple[int, int], w: tuple[int, int], overlap: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return the ends y of cells, R(x) there over e^{−ε₀|y − x|}, and the marks of v and w.

        The marks are truth values of shape (K, 2).
        """
        y, weights, marks = [0.0, 1.0], [0.5, 0.5], [(False, False)] * 2
        for cell, ends in enumerate(itertools.pairwise(self.grid)):
            p, in_cell = self._half(cell), [x == (cell, cell + 1) for x in (v, w)]
            if not any(in_cell):
                count = math.ceil((ends[1] - ends[0]) * 2 * self.cells)
                heights = np.full(count + 1, math.tanh(p / count))
                heights[[0, -1]] /= 2.0
                y += np.linspace(*ends, count + 1).tolist()
                weights += heights.tolist()
                marks += [(False, False)] * (count + 1)
                continue
            marked = 1.0 / (1.0 + math.cosh(p) ** 2)
            for end, shared in zip(ends, overlap, strict=True):
                doubly_marked = marked * shared if all(in_cell) else 0.0
                unmarked = (
                    marked * math.sinh(p) ** 2 + doubly_marked if all(in_cell) else 1.0 - marked
                )
                shares = {
                    (True, True): doubly_marked,
                    (True, False): marked - doubly_marked if in_cell[0] else 0.0,
                    (False, True): marked - doubly_marked if in_cell[1] else 0.0,
                    (False, False): unmarked,
                }
                y += [end] * 4
                weights += [0.5 * math.tanh(p) * share for share in shares.values()]
                marks += shares
        return np.array(y), np.array(weights), np.array(marks)


def _number_name(x: float) -> str:
    """Return a unique name of a number: six digits if they determine it, else all digits."""
    short = f"{x:g}"
    return short if float(short) == x else repr(x)


def _point_err(eps0: float) -> float:
    """Return the relative error of masses at points of [0, 1].

    Points have errors of some roundings of numbers up to 1, and exponents ε₀ times these.
    """
    return CLOSED_FORM_ERR + 2.0**-49 * eps0
