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
from shufflebounds.core.datasets import Crowd, OtherInput
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray
from shufflebounds.randomizers import sampling
from shufflebounds.randomizers.accuracy import WORD, SpreadOfNumbers, of_numbers, of_rounded
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, Randomizer, refuse_frequencies

MAX_CELLS = 100_000

# What all others may hold in a lower bound, by its name in tables; the customary choice first.
_OTHERS: dict[str, dict[str, float]] = {
    "binary": {"1": 1},
    "rounded": {"1": 1},
    "interval": {"1": 1, "1/2": 0.5},
}
# Steps of numbers that are rounded: if nothing else is said, and at most (each pair of inputs costs
# some milliseconds).
_STEPS, _MOST_STEPS = 8, 32


class _LaplaceNoise(Randomizer):
    """Numbers in [0, 1], to which noise of the scale 1/ε₀ is added."""

    eps0: float
    cells: int | None
    bits = WORD

    def _choose_cells(self, most: int) -> None:
        """By ε₀ where nobody says how many."""
        cells = _default_cells(self.eps0) if self.cells is None else self.cells
        object.__setattr__(self, "cells", validation.whole("cells", cells, minimum=1, maximum=most))

    @property
    def _cells(self) -> int:
        assert self.cells is not None  # since __post_init__
        return self.cells

    def blanket(self) -> Decomposition:
        """With c = inf_x R(x) over [0, 1]. The arrays are the outer ones."""
        inner, outer = self._ends(None)
        return replace(outer, inner=inner)

    def _dataset_pair(self, others: float) -> Decomposition:
        """Where all others hold `others`. The arrays are the inner ones."""
        inner, outer = self._ends(others)
        return replace(inner, outer=outer)

    @abstractmethod
    def _ends(self, others: float | None) -> tuple[Decomposition, Decomposition]:
        """Inner and outer decompositions, all others holding what they may (None) or `others`."""

    def _variances(self, frequencies: ArrayLike | None = None) -> SpreadOfNumbers:
        """Of a mean of numbers in [0, 1]: that of the noise."""
        refuse_frequencies(self, frequencies)
        return of_numbers(2.0 / self.eps0**2, radius=0.5)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Numbers."""
        numbers = sampling.checked_numbers(inputs, 0.0, 1.0)
        return numbers + rng.laplace(scale=1.0 / self.eps0, size=numbers.size)

    def _estimate(self, reports: NDArray) -> FloatArray:
        return sampling.mean_of(reports)


@dataclass(frozen=True)
class Laplace(_LaplaceNoise):
    """Laplace noise: the report y has density (ε₀/2) e^{−ε₀|y − x|}.

    No finite list of components describes a continuous report, so the decompositions come with one
    that bounds their divergence from below (``inner``, in bins) and one that bounds it from above
    (``outer``, spread to the ends of cells). docs/engine.md, section 5, says why.

    Parameters
    ----------
    eps0
        Local privacy ε₀ (natural log), 0 < ε₀ ≤ 300.
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

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Dwork, McSherry, Nissim and Smith (TCC 2006).

    Examples
    --------
    >>> f"{sb.epsilon(sb.Laplace(1.0).blanket(), n=10_000, delta=1e-6).upper:.3f}"
    '0.038'
    """

    composable = True  # 0 and 1 are the worst values of [0, 1]: docs/engine.md, section 10

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
            "(rounded), or 0 to 1 (interval)"
        },
    )
    others: float | None = field(
        default=None,
        metadata={"help": "what all others hold in the lower bound: 1, or 0.5 on the interval"},
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
            steps = _STEPS if self.steps is None else self.steps
            object.__setattr__(
                self, "steps", validation.whole("steps", steps, minimum=1, maximum=_MOST_STEPS)
            )
        elif self.steps is not None:
            raise ValueError(
                f"steps is only valid for the rounded domain, got {self.steps!r} on {self.domain}"
            )

    @property
    def caveat(self) -> str:
        """For which inputs and questions the best proven bound holds."""
        return {
            "binary": "The best proven bound of laplace is for its inputs 0 and 1 only. For "
            "numbers between them ask for the domain interval, or round at random (rounded).",
            "rounded": "Over several rounds the bound for all datasets needs steps 1 or 2, of "
            "several linked reports steps 1; with more it is the blanket that you can claim.",
            "interval": "Over several rounds, and for eps0 above 10, it is the blanket that you "
            "can claim; less if users round numbers at random (rounded) to 0, 1/2 or 1.",
        }[self.domain]

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """x₁⁰ is 0, x₁¹ is 1, and all others hold 1 or 1/2. The arrays are the inner ones."""
        return {
            name: self._dataset_pair(others)
            for name, others in _OTHERS[self.domain].items()
            if self.others in (None, others)
        }

    def crowds(self) -> tuple[Crowd, ...]:
        """Of all inputs after rounding and spreading; on the interval by points of a grid.

        Spreading makes a mechanism of which this one is a post-processing of every single report
        (Blackwell): whatever all users hold, its divergence is no smaller. Here every input is an
        end of cells. Of two pairs that are mirror images of each other one is listed.
        """
        if self.domain == "interval":
            return _interval_crowds(self.eps0, self._cells) if self.eps0 <= _MOST_EPS0 else ()
        steps = self.steps or 1
        inputs = [Fraction(step, steps) for step in range(steps + 1)]
        each = steps // math.gcd(steps, 2)
        fine = replace(self, cells=-(-self._cells // each) * each)
        rows, sure, err = fine._spread(*inputs), np.minimum(*fine._spread(0, 1)), self._rel_err
        laws = {f"{float(x):g}": row for x, row in zip(inputs, rows, strict=True)}
        widest = Crowd.of_laws(rows[0], rows[-1], sure, laws, err, attained=False, symmetric=True)
        pairs = [(x, y) for x, y in itertools.combinations(range(steps + 1), 2) if x + y <= steps]
        return tuple(
            replace(widest, a=rows[x], b=rows[y], symmetric=x + y == steps)
            for x, y in sorted(pairs, key=lambda pair: pair[0] - pair[1])
        )

    def few_crowds(self) -> tuple[Crowd, ...]:
        """As `crowds`; none on the interval, where no few of them stand for all."""
        return () if self.domain == "interval" else self.crowds()

    def coarser(self, components: int) -> Laplace:
        """See `Randomizer`: with fewer cells, to whose ends all is spread."""
        return replace(self, cells=max(1, min(self._cells, (components - 1) // 2)))

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Numbers, rounded first if they are to be."""
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
        """That of the noise and, on the rounded domain, of rounding."""
        if self.domain != "rounded":
            return super()._variances(frequencies)
        refuse_frequencies(self, frequencies)
        points = np.linspace(-0.5, 0.5, (self.steps or 1) + 1)
        return of_rounded(points, noise=2.0 / self.eps0**2)

    def _ends(self, others: float | None) -> tuple[Decomposition, Decomposition]:
        """See `_LaplaceNoise`; without others c = min(a, b), of mass e^{−ε₀/2}."""
        inputs = (0, 1) if others is None else (0, 1, Fraction(others))
        inner, outer = (
            Decomposition(a, b, c[0] if c else np.minimum(a, b), self._rel_err)
            for a, b, *c in (self._binned(*inputs), self._spread(*inputs))
        )
        return inner, outer

    @property
    def _rel_err(self) -> float:
        # Exponents reach −ε₀, and their rounding is relative.
        return CLOSED_FORM_ERR + 2.0**-51 * self.eps0

    def _binned(self, *inputs: Fraction | int) -> FloatArray:
        """Masses of the 2N cells between the two atoms, v ascending, a row for each input.

        Every input is an end of cells.
        """
        n = self._cells
        heights = np.full(2 * n + 2, math.sinh(self.eps0 / (4 * n)))
        heights[[0, -1]] = 0.5
        return self._masses(np.concatenate([[-n], np.arange(-n, n) + 0.5, [n]]), heights, inputs)

    def _spread(self, *inputs: Fraction | int) -> FloatArray:
        """The same at the 2N + 1 ends of cells, atoms included."""
        n = self._cells
        heights = np.full(2 * n + 1, math.tanh(self.eps0 / (4 * n)))
        heights[[0, -1]] = (1.0 + heights[0]) / 2.0
        return self._masses(np.arange(-n, n + 1), heights, inputs)

    def _masses(
        self, steps: NDArray, heights: FloatArray, inputs: Sequence[Fraction | int]
    ) -> FloatArray:
        """`heights` times R(x) at v = `steps`·Δ, where N steps lie between y = 1/2 and an end."""
        half_step = self.eps0 / (2 * self._cells)
        places = np.array([[float(self._cells * (1 - 2 * x))] for x in inputs])  # whole numbers
        masses: FloatArray = heights * np.exp(-np.abs(steps - places) * half_step)
        return masses


def _default_cells(eps0: float) -> int:
    """Cells for which inner and outer ε lie about 5·10⁻⁵ apart, relatively (measured).

    The distance falls like 1/cells², and depends on n and on the number of joint parts only little.
    """
    return math.ceil(4.0 + 48.0 * eps0**0.7)


# The Laplace mechanism between two inputs of many: metric privacy (Alvim et al. 2018).


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
    x1: float = field(default=1.0, metadata={"help": "the second of two inputs, 0 to 1"})
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
        """Other pairs are other questions."""
        return f"The bounds are for inputs {self.x0:g} and {self.x1:g} only."

    def crowds(self) -> tuple[Crowd, ...]:
        """Both inputs are points of the grid; none for large ε₀."""
        if self.eps0 > _MOST_EPS0:
            return ()
        grid = sorted({*_grid(self.eps0), self.x0, self.x1})
        v, w = (grid.index(x) for x in (self.x0, self.x1))
        return (_Cover(self.eps0, self._cells, grid).crowd((v, v), (w, w)),)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """All others hold the end that is further from x0, the other end, or x1."""
        ends = sorted((0.0, 1.0), key=lambda end: -abs(end - self.x0))
        return {_number_name(x): self._dataset_pair(x) for x in dict.fromkeys([*ends, self.x1])}

    def density(self, x: float, y: float) -> float:
        """The density of a report.

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

    def _ends(self, others: float | None) -> tuple[Decomposition, Decomposition]:
        """See `_LaplaceNoise`."""
        points = sorted({self.x0, self.x1, 0.5 if others is None else others})
        atoms = 0.5 * self._values(np.array([points[0], points[-1]]), others)
        inner, outer = [atoms], [atoms]
        for low, up in itertools.pairwise(points):
            width = (up - low) / self._cells
            half = self.eps0 * width / 2.0
            edges = low + width * np.arange(self._cells + 1)
            shares = np.full(self._cells + 1, math.tanh(half))
            shares[[0, -1]] /= 2.0
            inner.append(math.sinh(half) * self._values(edges[:-1] + width / 2.0, others))
            outer.append(shares * self._values(edges, others))
        below, above = (
            Decomposition(a, b, c, _point_err(self.eps0))
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


# The bound for all datasets of [0, 1]: docs/closing-the-gap.md, section 8, Lemmas L1 to L3.
#
# An input between two neighbouring points of a grid makes a report that is also made by one of the
# two, or else one that lies between them. Others are left out when they send the latter. Of the
# victim some of these reports are marked, and all of them spread to the two points.

# Cells next to 0 and 1 times ε₀, how much wider each one is than its neighbour, and the widest.
# And the number of which points are multiples, so that 1 − x is exact. Width and speed only
# (benchmarks/mechanisms.py).
_CORNER, _WIDER, _WIDEST, _UNIT = 0.1, 2.0, 2.0, 2.0**-40
# Beyond, so many points take too long.
_MOST_EPS0 = 10.0


def _grid(eps0: float) -> list[float]:
    """Points from 0 to 1, the same when mirrored, and closer to each other at the ends."""
    left, width = [0.0], _CORNER / eps0
    while left[-1] + width < 0.5:
        left.append(round((left[-1] + width) / _UNIT) * _UNIT)
        width = min(_WIDER * width, _WIDEST / eps0)
    return [*left, 0.5, *(1.0 - x for x in reversed(left))]


@lru_cache(maxsize=2)
def _interval_crowds(eps0: float, cells: int) -> tuple[Crowd, ...]:
    """Every pair of inputs of [0, 1], one of two mirror images, those furthest apart first."""
    cover = _Cover(eps0, cells, _grid(eps0))
    last = len(cover.grid) - 1
    inputs = [(i, j) for i in range(last + 1) for j in (i, i + 1) if j <= last]
    pairs = [(v, w) for v, w in itertools.combinations(inputs, 2) if sum(v + w) <= 2 * last]
    pairs += [(v, v) for v in inputs if v[0] < v[1] and sum(v) <= last]
    pairs.sort(key=lambda pair: sum(pair[0]) - sum(pair[1]))
    return tuple(cover.crowd(*pair) for pair in pairs)


@dataclass(frozen=True)
class _Cover:
    """Crowds of Laplace noise on [0, 1], by points of a grid, in ascending order.

    A victim's input is a pair (i, j) of numbers of points: x_i if they are the same; else it stands
    for all inputs between x_i and x_j = x_{i + 1}.
    """

    eps0: float
    cells: int
    grid: Sequence[float]

    def crowd(self, v: tuple[int, int], w: tuple[int, int]) -> Crowd:
        """Of the victim's inputs v and w."""
        if v != w:
            mirror = sum(v + w) == 2 * (len(self.grid) - 1) and all(
                x + y == 1.0 for x, y in zip(self.grid, reversed(self.grid), strict=True)
            )
            return replace(self._crowd(v, w, (0.0, 0.0)), symmetric=mirror)
        # How many reports bear both marks is not known, at either point.
        corners = itertools.product((0.0, 1.0), repeat=2)
        mean, *extremes = (
            replace(self._crowd(v, w, (low, up)), symmetric=True)
            for low, up in [(0.5, 0.5), *corners]
        )
        return replace(mean, extremes=tuple(extremes))

    def _crowd(self, v: tuple[int, int], w: tuple[int, int], overlap: tuple[float, float]) -> Crowd:
        """`overlap` are shares of the marks of w's reports at both points that v's bear as well."""
        y, weights, marks = self._components(v, w, overlap)

        def at(x: float) -> FloatArray:
            return np.append(weights * np.exp(-self.eps0 * np.abs(y - x)), 0.0)

        def sent(one: tuple[int, int], marked: NDArray[np.bool_]) -> FloatArray:
            low, up = (at(self.grid[i]) for i in one)
            if one[0] == one[1]:
                return low
            p = self._half(one[0])
            more = math.tanh(p) * (1.0 + math.cosh(p) ** 2) * np.where(marked, weights, 0.0)
            return (low + up) / (2.0 * math.cosh(p) ** 2) + np.append(more, 0.0)

        laws = []
        for i, x in enumerate(self.grid):
            p = max(map(self._half, range(max(i - 1, 0), min(i + 1, len(self.grid) - 1))))
            laws.append(at(x) / math.cosh(p))
            laws[-1][-1] = 2.0 * math.sinh(p / 2.0) ** 2 / math.cosh(p)
        # Nobody else sends what somebody who is left out does.
        sure = np.append(np.min(laws, axis=0)[:-1], 0.0)
        every, ones = np.arange(sure.size), np.ones(sure.size)
        others = {
            _number_name(x): OtherInput(every, ones, law)
            for x, law in zip(self.grid, laws, strict=True)
        }
        a, b = sent(v, marks[:, 0]), sent(w, marks[:, 1])
        return Crowd(a, b, sure, others, _point_err(self.eps0), attained=False)

    def _half(self, cell: int) -> float:
        """Half of a cell's width, times ε₀."""
        return self.eps0 * (self.grid[cell + 1] - self.grid[cell]) / 2.0

    def _components(
        self, v: tuple[int, int], w: tuple[int, int], overlap: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Ends y of cells, R(x) there over e^{−ε₀|y − x|}, and whether v and w mark it, (K, 2)."""
        y, weights, marks = [0.0, 1.0], [0.5, 0.5], [(False, False)] * 2
        for cell, ends in enumerate(itertools.pairwise(self.grid)):
            p, own = self._half(cell), [one == (cell, cell + 1) for one in (v, w)]
            if not any(own):
                count = math.ceil((ends[1] - ends[0]) * 2 * self.cells)
                heights = np.full(count + 1, math.tanh(p / count))
                heights[[0, -1]] /= 2.0
                y += np.linspace(*ends, count + 1).tolist()
                weights += heights.tolist()
                marks += [(False, False)] * (count + 1)
                continue
            marked = 1.0 / (1.0 + math.cosh(p) ** 2)
            for end, of_both in zip(ends, overlap, strict=True):
                both = marked * of_both if all(own) else 0.0
                shares = {
                    (True, True): both,
                    (True, False): marked - both if own[0] else 0.0,
                    (False, True): marked - both if own[1] else 0.0,
                    (False, False): marked * math.sinh(p) ** 2 + both if all(own) else 1.0 - marked,
                }
                y += [end] * 4
                weights += [0.5 * math.tanh(p) * share for share in shares.values()]
                marks += shares
        return np.array(y), np.array(weights), np.array(marks)


def _number_name(x: float) -> str:
    """Return a name that no other number has: in six digits if they give `x` back, else in all."""
    short = f"{x:g}"
    return short if float(short) == x else repr(x)


def _point_err(eps0: float) -> float:
    # Points err by some roundings of numbers up to 1, their exponents by ε₀ times as much.
    return CLOSED_FORM_ERR + 2.0**-49 * eps0
