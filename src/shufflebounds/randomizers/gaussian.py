"""Gaussian noise: real numbers, or numbers that are cut off and rounded as a device sends them.

Proofs: docs/proofs/engine.md, sections 5 and 10. The masses are those of
`randomizers.gaussian_cells`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.number import Real
from shufflebounds.core.products import FloatArray, U
from shufflebounds.estimation import sampling
from shufflebounds.estimation.accuracy import WORD, SpreadOfNumbers, of_numbers
from shufflebounds.estimation.reporter import refuse_frequencies
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.gaussian_cells import (
    GaussianCells,
    gaussian_cells,
    loss_beyond,
    tail_delta,
)

# Smallest standard deviation of the noise.
MIN_SIGMA = 0.1
# Largest standard deviation of the noise.
MAX_SIGMA = 10_000.0
# Largest distance of a report from an input, in standard deviations: masses there are above 1e-290.
MAX_REACH = 36.0
# Largest number of cells on each side of 1/2, and of steps of a grid.
MAX_CELLS = 10_000
# Number of cells on each side of 1/2, if the user gives none and σ ≥ 1. The ends of ε differ by
# about 5e-5.
DEFAULT_CELLS = 400
# The same for σ < 1, where more cells take seconds. The ends of ε differ by 1e-3.
FEWER_CELLS = 250
# What losses beyond the last cell add to δ, if neither the user nor the question gives a number. A
# larger one makes bounds for small δ useless. A smaller one makes the bound for all datasets
# larger, and that of many rounds if σ is below 1.
DEFAULT_TAIL = 1e-13
# The same as a share of the δ of a question, of which the ends of ε differ by 1e-5 more.
TAIL_SHARE = 1e-4
# How much larger it is for the bound for all datasets.
TAIL_OF_ALL_DATASETS = 10.0
# Smallest such number: its masses are floats at the smallest standard deviation, too.
MIN_TAIL = 1e-150
# Largest such number.
MAX_TAIL = 1e-3
# Largest distance of clamp/grid or 1/grid from an integer that rounding explains, relatively.
MULTIPLE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Gaussian(Randomizer):
    """Gaussian noise: the report is normal with mean x and standard deviation sigma.

    It is not ε₀-LDP unless there is a clamp: without a shuffler it is (ε, δ)-LDP (`local_epsilon`).
    A report is a real number, or what a device sends in its place: rounded to the nearest multiple
    of ``grid``, and then cut off at −clamp and 1 + clamp.

    Parameters
    ----------
    sigma
        Standard deviation σ of the noise, 0.1 to 10 000. Inputs differ by at most 1.
    domain
        ``binary``, {0, 1}, or ``interval``, [0, 1]. The blanket of 0 and 1 bounds both. The bound
        for all datasets is for {0, 1} only.
    clamp
        How far reports may lie outside [0, 1], up to 36 sigma − 1. None for any number.
    grid
        The distance of neighbouring reports: 1/k for an integer k. It needs a clamp, which must be
        a multiple of it.
    cells
        Number of cells that each side of y = 1/2 is cut into, 1 to 10 000, without a grid. None
        stands for 400, or 250 if sigma is below 1. The ends of ε approach each other like 1/cells².
    tail
        What losses beyond the last cell may add to δ, 10⁻¹⁵⁰ to 10⁻³, without a clamp. None stands
        for 10⁻⁴ times the δ that is asked about, and for 10⁻¹³ where that is not known. No upper
        bound of δ is smaller. The bound for all datasets has ten times as much.

    Raises
    ------
    ValueError
        For an argument outside these ranges.

    Notes
    -----
    Proofs: docs/proofs/engine.md, sections 5 and 10. The local guarantee is that of Balle and Wang
    (ICML 2018).

    Examples
    --------
    >>> R = sb.Gaussian(2.0, clamp=8.0, grid=0.25)
    >>> f"{sb.epsilon(R, n=10_000, delta=1e-6):.5f}"
    '[0.01704, 0.01706]'
    """

    composable = True  # 0 and 1 are the worst values of [0, 1]: docs/proofs/engine.md, section 10

    sigma: float = field(metadata={"help": "standard deviation of the noise, 0.1 to 10000"})
    domain: str = field(
        default="binary",
        metadata={
            "help": "inputs are 0 and 1 (binary, the default), or 0 to 1 (interval)",
            "example": "interval",
        },
    )
    clamp: float | None = field(
        default=None,
        metadata={"help": "reports are cut off at -clamp and 1 + clamp", "example": 1.0},
    )
    grid: float | None = field(
        default=None,
        metadata={"help": "reports are rounded to its multiples; 1/grid is an integer"},
    )
    cells: int | None = field(
        default=None,
        metadata={"help": "cells per side, more for narrower enclosures (if left out, 400 or 250)"},
    )
    tail: float | None = field(
        default=None,
        metadata={
            "help": "what reports far out may add to delta (chosen by delta if left out)",
            "example": 1e-9,
        },
    )

    def __post_init__(self) -> None:
        Real("sigma", ge=MIN_SIGMA, le=MAX_SIGMA).check(self.sigma)
        validation.choice("domain", self.domain, ("binary", "interval"))
        if self.cells is not None:
            validation.whole("cells", self.cells, minimum=1, maximum=MAX_CELLS)
        if self.tail is not None:
            Real("tail", ge=MIN_TAIL, le=MAX_TAIL).check(self.tail)
        if self.clamp is not None:
            Real("clamp", ge=0.0, le=MAX_REACH * self.sigma - 1.0).check(self.clamp)
        if self.grid is not None:
            self._check_grid()

    def _check_grid(self) -> None:
        """Raise ValueError unless 0, 1 and both ends are points of the grid."""
        if self.clamp is None:
            raise ValueError(
                "clamp must be given with grid: a device sends finitely many numbers, such as "
                f"those up to 4 sigma outside [0, 1] (clamp = {4.0 * self.sigma:g})"
            )
        grid = Real("grid", ge=1.0 / MAX_CELLS, le=1.0).check(self.grid)
        for name, multiple in (("grid", 1.0), ("clamp", self.clamp)):
            steps = multiple / grid
            if abs(steps - round(steps)) > MULTIPLE_TOLERANCE * max(steps, 1.0):
                needed = "1/k for an integer k" if name == "grid" else f"a multiple of {grid:g}"
                raise ValueError(f"{name} must be {needed}, got {getattr(self, name)!r}")
        if 0.5 + self.clamp > MAX_CELLS * grid:
            raise ValueError(
                f"grid must be at least {(0.5 + self.clamp) / MAX_CELLS:.2g} with clamp = "
                f"{self.clamp:g}, got {self.grid!r}: more than {2 * MAX_CELLS} reports take too "
                "long"
            )

    @property
    def label(self) -> str:
        """The name with all parameters that change reports."""
        given = {"sigma": self.sigma, "clamp": self.clamp, "grid": self.grid}
        return ", ".join(
            ["Gaussian", *(f"{name} = {x:g}" for name, x in given.items() if x is not None)]
        )

    @property
    def caveat(self) -> str | None:
        """The inputs for which the best proven bound holds."""
        if self.domain == "interval":
            return None
        return (
            "The best proven bound of gaussian is for its inputs 0 and 1 only. For numbers between "
            "them ask for the domain interval."
        )

    @cached_property
    def eps0(self) -> float | None:  # type: ignore[override]  # mechanisms are frozen: read-only
        """ε₀ with a clamp, rounded up: the loss of reports at an end; None without a clamp."""
        if self.clamp is None:
            return None
        far, near = self._cells.above
        loss = math.log(near / far)
        return loss + 2.1 * self._rel_err + 8.0 * U * (1.0 + loss)

    def local_epsilon(self, delta: float, *, reports: int = 1) -> float:
        """Return an ε at which reports of one user are (ε, δ)-LDP without a shuffler, rounded up.

        Parameters
        ----------
        delta
            δ, 10⁻³⁰⁰ ≤ δ < 1.
        reports
            Number of reports of the user, each of which may be about another number.

        Returns
        -------
        float
            The smallest such ε (natural log) of reports without a clamp, which bounds all others.

        Examples
        --------
        >>> f"{sb.Gaussian(2.0).local_epsilon(1e-6):.3f}"
        '2.254'
        """
        validation.whole("reports", reports, minimum=1)
        return local_epsilon(self.sigma, validation.delta(delta), reports)

    def blanket(self) -> Decomposition:
        """Return the blanket with c = inf_x R(x) over [0, 1]; without a grid, arrays are outer."""
        inner, outer = (self._decomposition(laws, np.minimum(*laws)) for laws in self._ends)
        return inner if self.grid is not None else replace(outer, inner=inner)

    def dataset_pairs(self) -> dict[str, Decomposition]:
        """Return the pair of 0 and 1 among others with 1; without a grid, arrays are inner ones."""
        inner, outer = (self._decomposition(laws, laws[1]) for laws in self._ends)
        return {"1": inner if self.grid is not None else replace(inner, outer=outer)}

    def crowds(self) -> tuple[Crowd, ...]:
        """Return the crowd of 0 and 1, without a grid after spreading; none on the interval.

        Spreading makes a mechanism of which this one is a post-processing of every single report
        (Blackwell). So its divergence is no smaller for any inputs of the users.
        """
        if self.domain == "interval":
            return ()
        if self.clamp is None:
            tail = TAIL_OF_ALL_DATASETS * (self.tail or DEFAULT_TAIL)
            return replace(self, tail=min(tail, MAX_TAIL))._crowd
        return self._crowd

    @property
    def _crowd(self) -> tuple[Crowd, ...]:
        """The crowd of 0 and 1, with this mechanism's last cell."""
        laws = self._ends[1]
        inputs = {"0": laws[0], "1": laws[1]}
        on_grid, err = self.grid is not None, self._rel_err
        sure = np.minimum(*laws)
        return (Crowd.of_laws(*laws, sure, inputs, err, attained=on_grid, symmetric=True),)

    def coarser(self, components: int) -> Gaussian:
        """Return the mechanism without a grid, with fewer cells to whose ends masses are spread."""
        if self._ends[1][0].size <= components:
            return self
        return replace(self, grid=None, cells=max(1, (components - 3) // 2))

    def for_delta(self, delta: float) -> Gaussian:
        """Return the mechanism with a `tail` of 10⁻⁴ times δ, unless it was given."""
        if self.clamp is not None or self.tail is not None:
            return self
        return replace(self, tail=min(max(TAIL_SHARE * delta, MIN_TAIL), MAX_TAIL))

    @property
    def bits(self) -> float:
        """The number of bits of a report: 64 without a grid."""
        return WORD if self.grid is None else math.log2(self._ends[0][0].size)

    def _variances(self, frequencies: ArrayLike | None = None) -> SpreadOfNumbers:
        """Return the variance of the estimate of a report, for the mean of numbers in [0, 1]."""
        refuse_frequencies(self, frequencies)
        mean, variance = self._moments
        return of_numbers(variance / (1.0 - 2.0 * mean) ** 2, radius=0.5)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """The mean and the variance of a report of 0; raise ValueError if others are biased."""
        if self.clamp is None:
            return 0.0, self.sigma**2
        if self.domain == "interval":
            raise ValueError(
                f"{self.label} has no unbiased estimator on the interval: reports that are cut off "
                "or rounded are biased; leave out clamp and grid, or round inputs to 0 and 1"
            )
        if self.grid is not None:
            law = self._ends[0][0]
            values = 0.5 + self.grid * (np.arange(law.size) - 0.5 * (law.size - 1))
            mean = float(law @ values)
            return mean, float(law @ (values - mean) ** 2)
        return _clipped_moments(self.sigma, -self.clamp, 1.0 + self.clamp)

    def _draw_reports(self, inputs: ArrayLike, rng: np.random.Generator) -> NDArray:
        """Return the numbers with noise, rounded and cut off."""
        numbers = sampling.checked_numbers(inputs, 0.0, 1.0)
        if self.domain == "binary" and not np.isin(numbers, (0.0, 1.0)).all():
            raise ValueError(
                "inputs must be 0 or 1 on the binary domain; domain='interval' takes others"
            )
        reports = numbers + rng.normal(scale=self.sigma, size=numbers.size)
        if self.grid is not None:
            steps = round(1.0 / self.grid)
            reports = np.rint(reports * steps) / steps
        if self.clamp is not None:
            reports = np.clip(reports, -self.clamp, 1.0 + self.clamp)
        return reports

    def _estimate(self, reports: NDArray) -> FloatArray:
        """Return the mean of all reports, without the bias of a clamp."""
        bias = self._moments[0]
        reach = math.inf if self.clamp is None else self.clamp
        return (sampling.mean_of(reports, -reach, 1.0 + reach) - bias) / (1.0 - 2.0 * bias)

    @cached_property
    def _losses(self) -> FloatArray:
        """The losses at the ends of cells from y = 1/2 on, shape (N + 1,); on a grid, N may be 0.

        If 1/2 is on the grid, the first cell is half of that of 1/2.
        """
        if self.grid is None:
            cells = self.cells or (DEFAULT_CELLS if self.sigma >= 1.0 else FEWER_CELLS)
            largest = MAX_REACH * self.sigma - 0.5 if self.clamp is None else 0.5 + self.clamp
            last = largest / self.sigma**2
            if self.clamp is None:
                last = min(last, loss_beyond(self.sigma, self.tail or DEFAULT_TAIL))
            return np.linspace(0.0, last, cells + 1)
        assert self.clamp is not None
        steps = round(1.0 / self.grid)
        # Twice the distances of the ends of cells from 1/2, in steps of the grid.
        ends = np.arange(steps % 2 == 0, steps + 2 * round(self.clamp * steps), 2)
        return np.append([] if steps % 2 else [0.0], ends / (2.0 * steps)) / self.sigma**2

    @cached_property
    def _cells(self) -> GaussianCells:
        """The cells of reports above 1/2, of which those below are the mirror image."""
        return gaussian_cells(self.sigma, self._losses)

    @property
    def _rel_err(self) -> float:
        """The relative error of masses, that of rounded ends of cells included (section 5)."""
        if self.clamp is None:
            return self._cells.rel_err
        reach = (1.0 + self.clamp) / self.sigma
        narrowest = self.sigma * float(np.diff(self._losses).min(initial=np.inf))
        return self._cells.rel_err + 36.0 * U * reach * max(1.0 / narrowest, reach + 1.0)

    @cached_property
    def _ends(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """The laws of 0 and 1 in cells, and those spread to the ends of cells.

        On a grid, both are those in cells.
        """
        cells, losses = self._cells, self._losses
        first = np.searchsorted(cells.v, losses[:-1])
        far, near = (
            np.append(np.add.reduceat(mass, first) if first.size else [], tail)
            for mass, tail in zip((cells.mass, cells.ratio_mass), cells.above, strict=True)
        )
        has_middle = self.grid is not None and round(1.0 / self.grid) % 2 == 0
        inner = _mirrored(far, near, far[0] + near[0] if has_middle else None)
        if self.grid is not None:
            return inner, inner
        far, last, tails = cells.nodes, float(cells.v[-1]), cells.above
        if self.clamp is None:
            far[-1] += cells.above[0]
            tails = np.array([0.0, tail_delta(self.sigma, last)])
        near = np.append(np.exp(cells.v) * far, tails[1])
        far = np.append(far, tails[0])
        return inner, _mirrored(far, near, 2.0 * far[0])

    def _decomposition(
        self, laws: tuple[FloatArray, FloatArray], others: FloatArray
    ) -> Decomposition:
        """Return the decomposition of the laws of 0 and 1 among others."""
        return Decomposition(*laws, others, self._rel_err)


def local_epsilon(sigma: float, delta: float, reports: int) -> float:
    """Return an ε at which so many Gaussian reports with noise σ are (ε, δ)-LDP, rounded up.

    Together they say as much as one with noise σ/√reports (Balle and Wang 2018). ``sigma`` may be
    off by some roundings.
    """
    return loss_beyond(sigma / math.sqrt(reports) * (1.0 - 16.0 * U), delta)


def _mirrored(
    far: FloatArray, near: FloatArray, middle: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return the laws of 0 and 1 from their masses above 1/2, those of 0 being ``far``.

    ``middle`` is the mass of both at 1/2, which then takes the place of the first masses.
    """
    if middle is None:
        return np.append(near[::-1], far), np.append(far[::-1], near)
    far, near = (np.append(middle, x[1:]) for x in (far, near))
    return np.append(near[:0:-1], far), np.append(far[:0:-1], near)


def _clipped_moments(sigma: float, low: float, high: float) -> tuple[float, float]:
    """Return the mean and the variance of N(0, σ²) that is cut off at `low` and `high`."""
    from scipy.special import ndtr  # takes longer to load than most answers

    z = np.array([low, high]) / sigma
    below, above = ndtr(np.array([z[0], -z[1]]))
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    mean = sigma * (density[0] - density[1]) + low * below + high * above
    inside = sigma**2 * (1.0 - below - above + z[0] * density[0] - z[1] * density[1])
    return float(mean), float(inside + low**2 * below + high**2 * above - mean**2)
