"""Privacy losses on a lattice: the discrete pairs (P, Q) that composition works with.

A pair of measures with an atom at each loss L = log(P/Q) of a lattice, P-mass p and Q-mass
p·e^{−L}, and P-mass p_∞ where Q has none, has the curve

    H(x) = Σ p (1 − x e^{−L})₊ + p_∞.

It is a convex polygon with a kink at each x = e^L, where the slope rises by p e^{−L}. `optimistic`
and `pessimistic` find pairs whose curves lie below or above a curve known through enclosures.
Nothing here needs P or Q to sum to 1. Proofs: docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import Law, U

# Number of significant bits of a lattice step. Losses are multiples of it below 2^31, so that sums
# of 2^20 of them are floats.
STEP_BITS = 6
# Least mass at loss 0 of a pair below a curve. It takes up rounding, which would otherwise lower
# the total mass of every round.
_LEAST_CENTRE = 1e-9
# A bound of what underflows in sums of a few terms.
UNDERFLOW_ERR = 1e-300
# Smallest bound of H, and smallest mass, that is used: products of smaller ones would lose
# precision.
SMALLEST = 1e-290
# Largest number of halvings of a bisection. Neighbouring floats end it sooner, but near 0.
_MAX_BISECTIONS = 120


@dataclass(frozen=True, eq=False)
class LossLaw:
    """P-masses of a privacy loss (natural log) at ``index * step``, and p_∞, ``infinite``.

    ``step`` is a float of at most `STEP_BITS` bits, so that all losses are exact. ``index`` and
    ``masses`` have shape (J,), J ≥ 1; the floats are meant as they are.
    """

    step: float
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
        return float(self.index.max()) * self.step

    def on(self, step: float) -> LossLaw:
        """Return the same law on a lattice that is finer by a power of two."""
        return replace(self, step=step, index=self.index * round(self.step / step))

    @cached_property
    def law(self) -> Law:
        """The finite part as a law of total mass 1, for the functions of `law`."""
        values = np.asarray(self.index * self.step, dtype=np.float64)
        masses = self.masses / self.total
        return Law(values, masses, np.array(0), np.zeros_like(values), 2.1 * U, 0.0, 0.0)


def lattice_step(size: float) -> float:
    """Return the largest float of `STEP_BITS` significant bits that is not above `size` > 0."""
    mantissa, exponent = math.frexp(size)
    return math.ldexp(math.floor(mantissa * 2**STEP_BITS), exponent - STEP_BITS)


@dataclass(frozen=True, eq=False)
class LossSum:
    """A sum of independent losses: ``rounds`` lists pairs (law, multiplicity), all of one step.

    S is the sum if all losses are finite.
    """

    rounds: Sequence[tuple[LossLaw, int]]

    @staticmethod
    def of(rounds: Sequence[tuple[LossLaw, int]]) -> LossSum:
        """Return the sum on the finest lattice, for steps whose ratios are powers of two."""
        step = min(law.step for law, _ in rounds)
        return LossSum([(law.on(step), times) for law, times in rounds])

    @property
    def step(self) -> float:
        """The distance of the lattice points."""
        return self.rounds[0][0].step

    @cached_property
    def largest(self) -> float:
        """An upper bound of S."""
        terms = [times * law.largest for law, times in self.rounds]
        return math.fsum(terms) + 8.0 * U * math.fsum(map(abs, terms))

    @cached_property
    def infinite(self) -> tuple[float, float]:
        """Lower and upper bounds of the P-mass of all outcomes with an infinite loss.

        With M and p_∞ of each round, ΠM^T − Π(M − p_∞)^T = ΠM^T (1 − Π(1 − p_∞/M)^T). M is 1 up to
        roundings: at least 1 for a pessimistic pair, at most 1 for an optimistic one. So p_∞ in
        place of p_∞/M errs on the safe side in both cases.
        """
        log_finite = log_mass_err = 0.0
        for law, times in self.rounds:
            if law.infinite >= 1.0:
                return 1.0, 1.0
            log_finite += times * math.log1p(-law.infinite)
            mass = math.fsum([*law.masses, law.infinite])
            log_mass_err += times * (
                abs(math.log(mass)) * (1.0 + 4.0 * U) + 2.0 * U
            )  # at least |log M|
        infinite_share = abs(math.expm1(log_finite))
        if infinite_share == 0.0:
            return 0.0, 0.0
        # A probability is at most 1, however large the masses are.
        upper = math.exp(min(math.log(infinite_share) + log_mass_err, 0.0))
        return infinite_share * math.exp(-log_mass_err) * (1.0 - 1e-12), upper * (1.0 + 1e-12)


def bisect(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return two neighbouring floats between which a property is lost.

    It holds at `low` and not at `high`.
    """
    for _ in range(_MAX_BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def hull(points: FloatArray, heights: FloatArray) -> NDArray[np.int64]:
    """Return the indices of the vertices of the lower convex hull of points in ascending order.

    Both arrays have shape (J,). The first and the last point are always vertices.
    """
    x, y = (points - points[0]).tolist(), heights.tolist()
    vertices: list[int] = []
    for i in range(len(x)):
        while len(vertices) > 1:
            j, k = vertices[-2], vertices[-1]
            if (y[k] - y[j]) * (x[i] - x[k]) < (y[i] - y[k]) * (x[k] - x[j]):
                break
            vertices.pop()
        vertices.append(i)
    return np.array(vertices, dtype=np.int64)


def kinks(losses: FloatArray, heights: FloatArray) -> FloatArray:
    """Return the P-masses (J − 1,) at all `losses` (J,) but the first, for a polygon's curve.

    The losses are natural logs of the points at which the polygon has these heights; it is constant
    beyond the last. The masses are correct up to rounding where slopes rise, and 0 where they fall.
    """
    width = np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    slopes = np.diff(heights) / width
    return np.maximum(np.diff(slopes, append=0.0), 0.0) * np.exp(losses[1:])


def curve(losses: FloatArray, masses: FloatArray, infinite: float) -> FloatArray:
    """Return H at each of the losses (J,), for P-masses (J − 1,) at all but the first, and p_∞.

    Only positive terms are added, so the relative error is at most (2J + 16)u, u = 2⁻⁵³.
    """
    falls = np.cumsum((masses * np.exp(-losses[1:]))[::-1])[::-1]
    drops = falls * np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    return np.append(np.cumsum(drops[::-1])[::-1], 0.0) + infinite


@dataclass(frozen=True, eq=False)
class Side:
    """Bounds of H(x) = D(P‖xQ) for one order of a pair: at e^{iΔ} and in the limit.

    ``places`` are the numbers i, ascending, of which 0 and 1 are the first. They, ``lower`` and
    ``upper`` have shape (K + 1,), K ≥ 2. ``limit`` ≥ 0 is a lower bound of H(∞).
    """

    places: NDArray[np.int64]
    lower: FloatArray
    upper: FloatArray
    limit: float


def optimistic(forward: Side, backward: Side, step: float) -> LossLaw | None:
    """Return a pair below every (P, Q) with D(P‖xQ) within `forward` and D(Q‖xP) within `backward`.

    Its losses are multiples of Δ/2 (`step` is Δ, natural log). The answer is None if the bounds
    leave no room for a pair. Both sides have the same places.
    """
    middle = max(float(forward.lower[0]), float(backward.lower[0]))
    right, left = (
        _BoundsBelow.of(side, middle, float(reverse.upper[1]), step)
        for side, reverse in ((forward, backward), (backward, forward))
    )
    height = _height_at_one(right, left)
    if not height > 0.0:
        return None
    right_half, left_half = right.half(height), left.half(height)
    # P must not have more mass than Q, so the right half may not be higher than the left one.
    err = right_half.err + left_half.err + 64.0 * U
    share = min(1.0, left_half.height / right_half.height * (1.0 - err))
    masses, infinite = right_half.masses * share, right_half.infinite * share
    left_masses = left_half.other_masses * (1.0 - 16.0 * U)
    centre = math.fsum([1.0, -infinite, *(-masses), *(-left_masses)]) - 8.0 * U
    # The mass of P is at most 1. Less mass at all losses lowers the curve.
    scale = 1.0 if centre >= 0.0 else (1.0 - 4.0 * U) / (1.0 - centre)
    index = np.concatenate([-left_half.index[::-1], [0], right_half.index])
    masses = np.concatenate([left_masses[::-1], [max(centre, 0.0)], masses]) * scale
    used = masses > 0.0
    return LossLaw(0.5 * step, index[used], masses[used], infinite * scale) if used.any() else None


def _height_at_one(right: _BoundsBelow, left: _BoundsBelow) -> float:
    """Return the largest height below both bounds at x = 1 that leaves a mass for loss 0.

    The first edges of both hulls determine the masses on either side. They are maxima of lines in
    the height, so that Newton's method ends after a few steps. Nothing depends on its precision.
    """
    height = min(float(right.heights[0]), float(left.heights[0]))
    if min(right.places.size, left.places.size) == 1:
        return height
    growths = [np.expm1(side.losses[1:]) for side in (right, left)]
    while True:
        slopes = [
            (height - side.heights[1:]) / growth
            for side, growth in zip((right, left), growths, strict=True)
        ]
        first = [int(np.argmax(slope)) for slope in slopes]
        excess = height + sum(float(slope.max()) for slope in slopes) - (1.0 - _LEAST_CENTRE)
        rate = 1.0 + sum(1.0 / float(growth[i]) for growth, i in zip(growths, first, strict=True))
        lower_height = height - excess / rate
        if not lower_height < height * (1.0 - 4.0 * U):
            return height
        height = lower_height


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines below H in each cell from x_i to x_{i+1}, in units of H and of y/x − 1.

    Above x_i, H is at least the line through (x_{i−1}, upper) and (x_i, lower); below x_{i+1}, at
    least the line through (x_{i+1}, lower) and (x_{i+2}, upper). ``down`` is how fast the former
    falls beyond x_i, ``up`` how fast the latter rises before x_{i+1}, and ``sizes`` are the terms
    that they are differences of. All arrays but ``places`` (K + 1,) have shape (K,).
    """

    step: float
    places: NDArray[np.int64]
    start: FloatArray
    stop: FloatArray
    down: FloatArray
    up: FloatArray
    sizes: tuple[FloatArray, FloatArray]

    @cached_property
    def widths(self) -> FloatArray:
        """The widths of the cells, as differences of ε."""
        return np.asarray(np.diff(self.places) * self.step)

    @staticmethod
    def of(side: Side, middle: float, reverse_upper: float, step: float) -> Lines:
        """Return the lines for one side.

        `middle` is a lower bound of H(1), `reverse_upper` an upper bound of the reverse order's
        curve at x₁.
        """
        places, upper = side.places, side.upper
        start, stop = np.append(middle, side.lower[1:-1]), side.lower[1:]
        gaps = np.diff(places) * step
        width_before, width_after = (
            -np.expm1(-np.append(step, gaps[:-1])),
            np.expm1(np.append(gaps[1:], step)),
        )
        upper_before = np.append(math.exp(-step) * reverse_upper, upper[:-2])
        upper_after = np.append(upper[2:], side.lower[-1])
        down, falls = (upper_before - start) / width_before, (upper_before + start) / width_before
        # At x = 1 the lines bound H(x) − 1 + x, which is x times the reverse order's curve at 1/x.
        down[0], falls[0] = 1.0 + down[0], 1.0 + falls[0]
        rises = (stop + upper_after) / width_after
        return Lines(
            step, places, start, stop, down, (stop - upper_after) / width_after, (falls, rises)
        )

    def kinks(self) -> NDArray[np.int64]:
        """Return a kink in each cell, about where both lines meet, in numbers of half steps.

        It is within the cell, but that of the first cell may be at x = 1.
        """
        gaps = np.diff(self.places)
        inward = -np.expm1(-self.widths)
        with np.errstate(all="ignore"):
            growth = (self.start - self.stop - self.up * inward) / (
                self.down - self.up * (1.0 - inward)
            )
            half_steps = 2.0 * np.log1p(growth) / self.step
        half_steps = np.where(np.isfinite(half_steps), np.rint(half_steps), 2 * gaps)
        first = np.minimum(self.places[:-1], 1)
        return 2 * self.places[:-1] + np.clip(half_steps, first, 2 * gaps - 1).astype(np.int64)

    def at(
        self, distance: float | FloatArray, cells: int | slice = slice(None)
    ) -> tuple[FloatArray, FloatArray]:
        """Return both lines at a `distance` of ε from the beginnings of cells, rounded down."""
        start, stop = self.start[cells], self.stop[cells]
        growth = np.expm1(distance)
        decay = -np.expm1(distance - self.widths[cells])
        size = start + stop + self.sizes[0][cells] * growth + self.sizes[1][cells] * decay
        err = 24.0 * U * size + UNDERFLOW_ERR
        left, right = start - self.down[cells] * growth, stop + self.up[cells] * decay
        return np.asarray(left - err), np.asarray(right - err)


@dataclass(frozen=True, eq=False)
class _BoundsBelow:
    """Bounds of H at x = 1 and at kinks beyond: convex polygons below all of them lie below H.

    ``places`` (J,) are half steps from 0 on, and ``heights`` (J,) the bounds, of which the last is
    lowered to ``limit``; a polygon is constant from there on.
    """

    places: NDArray[np.int64]
    heights: FloatArray
    limit: float
    step: float

    @staticmethod
    def of(side: Side, middle: float, reverse_upper: float, step: float) -> _BoundsBelow:
        """Return the bounds for one side; the arguments are those of `Lines.of`."""
        lines = Lines.of(side, middle, reverse_upper, step)
        places = lines.kinks()
        # Chords between bounds that are below both lines lie below H.
        distances: FloatArray = np.asarray((0.5 * places - side.places[:-1]) * step)
        heights = np.minimum(*lines.at(distances))
        if places[0] > 0:
            places, heights = np.append(0, places), np.append(middle, heights)
        is_clear = heights > max(side.limit, SMALLEST)
        size = max(heights.size if is_clear.all() else int(np.argmin(is_clear)), 1)
        heights = np.append(heights[: size - 1], side.limit)
        return _BoundsBelow(places[:size], heights, side.limit, step)

    @cached_property
    def losses(self) -> FloatArray:
        """The losses at the places."""
        return np.asarray(0.5 * self.step * self.places, dtype=np.float64)

    def half(self, height: float) -> _Half:
        """Return the masses of a polygon that is at most `height` at x = 1."""
        losses, limit = self.losses, self.limit
        if losses.size == 1:
            return _Half(self.places[1:], np.zeros(0), np.zeros(0), limit, limit, 0.0)
        bounds = np.append(height, self.heights[1:])
        vertices = hull(np.expm1(losses), bounds)
        masses = np.zeros(losses.size - 1)
        masses[vertices[1:] - 1] = kinks(losses[vertices], bounds[vertices])
        # A common factor of all masses keeps the curve below the bounds in spite of rounding.
        err = (2.0 * losses.size + 20.0) * U
        heights = curve(losses, masses, limit)
        with np.errstate(divide="ignore"):
            factor = min(1.0, float(np.min(bounds[:-1] / heights[:-1])) * (1.0 - err))
        factor *= 1.0 - 8.0 * U
        used = masses > 0.0
        losses, masses = losses[1:][used], masses[used] * factor
        return _Half(
            self.places[1:][used],
            masses,
            masses * np.exp(-losses),
            limit * factor,
            float(heights[0]) * factor,
            err,
        )


@dataclass(frozen=True, eq=False)
class _Half:
    """Masses at positive losses, ``index`` half steps, and those under the other measure.

    ``height`` is their curve at x = 1, with a relative error of at most ``err``; ``infinite`` is
    the mass where the other measure has none.
    """

    index: NDArray[np.int64]
    masses: FloatArray
    other_masses: FloatArray
    infinite: float
    height: float
    err: float


def pessimistic(places: NDArray[np.int64], upper: FloatArray, step: float) -> LossLaw:
    """Return a pair (P, Q) above every symmetric curve H with H(e^{iΔ}) ≤ `upper`.

    A curve is symmetric if H(x) = 1 − x + x H(1/x). ``places`` are the i, ascending from 0. They
    and ``upper`` have shape (K + 1,), K ≥ 1; `step` is Δ (natural log). The pair's curve connects
    the vertices of the convex hull of these points and is constant beyond the last.
    """
    losses = np.asarray(step * places, dtype=np.float64)
    vertices, mirrored, centre, masses, infinite = connected(losses, upper)
    index = places[vertices]
    return LossLaw(
        step,
        np.concatenate([-index[::-1], [0], index]),
        np.concatenate([mirrored[::-1], [centre], masses]),
        infinite,
    )


def connected(
    losses: FloatArray, upper: FloatArray
) -> tuple[NDArray[np.int64], FloatArray, float, FloatArray, float]:
    """Return the pair of `pessimistic` for H(e^L) ≤ `upper` at `losses`, which ascend from 0.

    The answer has the indices of the losses with masses, the masses at their negatives, the mass
    at 0, the masses at the losses, and p_∞.
    """
    bound = np.minimum(np.minimum.accumulate(upper), 1.0)
    bound = np.where(bound > 0.0, np.maximum(bound, SMALLEST), 0.0)
    # At x = 1 the curve lies below its chord from e^{−L} to e^L, where L is the first loss above 0.
    first_loss = float(losses[1])
    chord = math.tanh(0.5 * first_loss) + 2.0 * float(bound[1]) / (1.0 + math.exp(first_loss))
    bound[0] = min(float(bound[0]), chord * (1.0 + 16.0 * U))
    index = hull(np.expm1(losses), bound)
    losses, bound = losses[index], bound[index]
    masses, infinite = kinks(losses, bound), float(bound[-1])
    # A common factor of all masses lifts the curve above the bounds in spite of rounding.
    lifted = curve(losses, masses, infinite) * (1.0 - (2.0 * index.size + 20.0) * U)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(bound > 0.0, bound / lifted, 0.0)
    factor = max(1.0, float(ratio.max())) * (1.0 + 8.0 * U)
    masses, infinite = masses * factor, infinite * factor
    # Q-masses mirror P-masses. The remaining mass has loss 0.
    mirrored = masses * np.exp(-losses[1:]) * (1.0 + 8.0 * U)
    centre = math.fsum([1.0, -infinite, *(-masses), *(-mirrored)])
    centre += 16.0 * U * float(mirrored.sum()) + 4.0 * U
    positive = masses > 0.0
    return index[1:][positive], mirrored[positive], max(centre, U), masses[positive], infinite
