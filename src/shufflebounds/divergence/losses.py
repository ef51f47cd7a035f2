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

from shufflebounds.core.products import FloatArray
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


# Convex polygons over a lattice e^{iΔ}, and the masses of their kinks.
#
# H(x) = Σ p_j (1 − x e^{−L_j})₊ + p_∞ has a kink at each e^{L_j}, where its slope rises by p_j
# e^{−L_j}.


def hull(points: FloatArray, heights: FloatArray) -> NDArray[np.int64]:
    """Indices of the vertices of the lower convex hull of points in ascending order.

    Both arrays have shape (J,). The first and the last point are always vertices.
    """
    x, y = (points - points[0]).tolist(), heights.tolist()
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            j, k = kept[-2], kept[-1]
            if (y[k] - y[j]) * (x[i] - x[k]) < (y[i] - y[k]) * (x[k] - x[j]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, dtype=np.int64)


def kinks(losses: FloatArray, heights: FloatArray) -> FloatArray:
    """P-masses at all `losses` (J,) but the first of a polygon, constant beyond the last.

    The losses are natural logs of the points at which the polygon has these heights. To within
    rounding, where slopes rise; 0 where they fall.
    """
    width = np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    slopes = np.diff(heights) / width
    return np.maximum(np.diff(slopes, append=0.0), 0.0) * np.exp(losses[1:])


def curve(losses: FloatArray, masses: FloatArray, infinite: float) -> FloatArray:
    """H at each of the losses (J,), of P-masses (J − 1,) at all but the first, and p_∞.

    Sums of sums of positive terms: the relative error is at most (2J + 16)u, u = 2⁻⁵³.
    """
    falls = np.cumsum((masses * np.exp(-losses[1:]))[::-1])[::-1]
    drops = falls * np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    return np.append(np.cumsum(drops[::-1])[::-1], 0.0) + infinite


# A discrete pair below a curve that is known through enclosures; see docs/composition.md.

# How far the polygon begins below the bounds, relatively, until rounding leaves it there: every
# polygon is checked, and the first that passes taken.
_SLACKS = (1e-11, 1e-8, 1e-5)
# Bounds of less than this would lose precision in products.
_TINY = 1e-290


@dataclass(frozen=True, eq=False)
class Side:
    """Bounds of H(x) = D(P‖xQ) for one order of a pair: at e^{iΔ} and in the limit.

    ``places`` are the numbers i, from 0 and 1 on, ascending; they, ``lower`` and ``upper`` have
    shape (K + 1,), K ≥ 2. ``limit`` ≥ 0 is a lower bound of H(∞).
    """

    places: NDArray[np.int64]
    lower: FloatArray
    upper: FloatArray
    limit: float


def optimistic(forward: Side, backward: Side, step: float) -> LossLaw | None:
    """A pair below every (P, Q) with D(P‖xQ) within `forward` and D(Q‖xP) within `backward`.

    Its losses are odd multiples of Δ/2 (`step` is Δ, natural log). None where the bounds leave no
    room for one. Both sides have the same places.
    """
    places = forward.places
    # One kink between neighbours, about half-way.
    kinks = (places[:-1] + places[1:]) // 2
    middle = max(float(forward.lower[0]), float(backward.lower[0]))
    ahead = _tents(forward, kinks, middle, float(backward.upper[1]), step)
    behind = _tents(backward, kinks, middle, float(forward.upper[1]), step)
    for slack in _SLACKS:
        right = _Polygon.below(ahead, kinks, forward.limit, slack, step)
        left = _Polygon.below(behind, kinks, backward.limit, slack, step)
        found = _joined(right, left, step) if right and left else None
        if found is not None:
            return found
    return _telling(forward.limit, step) if 0.0 < forward.limit < 1.0 else None


def _telling(limit: float, step: float) -> LossLaw:
    """What outcomes of infinite loss alone say; all others count as if they spoke for Q."""
    index = -math.ceil(-math.log1p(-limit) / step * (1.0 + 8.0 * U)) - 1
    return LossLaw(
        step, 0.5 * step, np.array([index]), np.array([(1.0 - limit) * (1.0 - U)]), limit
    )


def _tents(
    side: Side, kinks: NDArray[np.int64], middle: float, other: float, step: float
) -> FloatArray:
    """Bounds w_i of H at y_i, between x_i and x_{i+1}, such that chords between them lie below H.

    Above x_i, H is at least the line through (x_{i−1}, upper) and (x_i, lower); below x_i, at least
    the line through (x_i, lower) and (x_{i+1}, upper). w_i is the smaller of what the lines through
    x_i and x_{i+1} say of y_i. `middle` is a lower bound of H(1) and `other` an upper one of the
    other order at x₁. Shape (K,).
    """
    upper = side.upper
    lower = np.append(middle, side.lower[1:])
    gaps = np.diff(side.places) * step
    beyond = (kinks + 0.5 - side.places[:-1]) * step
    rise = np.expm1(beyond) / -np.expm1(-np.append(step, gaps[:-1]))
    fall = -np.expm1(beyond - gaps) / np.expm1(np.append(gaps[1:], step))
    before = np.append(0.0, upper[:-2])
    from_left = lower[:-1] - rise * (before - lower[:-1])
    # At x = 1, in terms of H(x) − 1 + x, which is x times the other order at 1/x.
    from_left[0] = middle + rise[0] * (middle - math.exp(-step) * other) - math.expm1(0.5 * step)
    from_right = lower[1:] + fall * (lower[1:] - np.append(upper[2:], lower[-1]))
    size = lower[:-1] + lower[1:] + before
    size[0] += other + math.expm1(step)
    return np.minimum(from_left, from_right) - 16.0 * U * (1.0 + rise + fall) * size


@dataclass(frozen=True, eq=False)
class _Polygon:
    """A convex polygon below the bounds at y_0, y_1, … of one order, and constant at the end.

    Their losses are `places` (J,) + ½ steps. ``bounds`` (J,) are those bounds, ``heights`` (J,) a
    little less; the last is ``limit``. ``vertices`` are indices, of which `_joined` drops the first
    where the centre needs it.
    """

    places: NDArray[np.int64]
    bounds: FloatArray
    heights: FloatArray
    limit: float
    vertices: NDArray[np.int64]
    step: float

    @staticmethod
    def below(
        bounds: FloatArray, places: NDArray[np.int64], limit: float, slack: float, step: float
    ) -> _Polygon | None:
        above = bounds * (1.0 - 2.0 * slack) > max(limit, _TINY)
        size = bounds.size if above.all() else int(np.argmin(above))
        if size == 0:
            return None
        heights = bounds[:size] * (1.0 - slack)
        heights[-1] = limit
        vertices = hull(np.expm1(step * (places[:size] + 0.5)), heights)
        return _Polygon(places[:size], bounds[:size], heights, limit, vertices, step)

    def losses(self, some: NDArray[np.int64]) -> FloatArray:
        return np.asarray(self.step * (self.places[some] + 0.5), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Half:
    """The masses beyond the first vertex of a polygon, at loss ``start``, and their curve.

    ``index`` and ``masses`` are theirs, ``told`` their masses under the other measure. ``height``
    is the curve at ``start``, known to within the relative error ``err``.
    """

    start: float
    index: NDArray[np.int64]
    masses: FloatArray
    told: FloatArray
    height: float
    err: float

    @staticmethod
    def of(polygon: _Polygon) -> _Half | None:
        """None where rounding lifts the curve above a bound."""
        vertices = polygon.vertices
        masses = kinks(polygon.losses(vertices), polygon.heights[vertices])
        everywhere = np.arange(vertices[0], polygon.heights.size)
        dense = np.zeros(everywhere.size - 1)
        dense[vertices[1:] - vertices[0] - 1] = masses
        losses = polygon.losses(everywhere)
        heights = curve(losses, dense, polygon.limit)
        err = (2.0 * everywhere.size + 20.0) * U
        if not np.all(heights[:-1] * (1.0 + err) <= polygon.bounds[everywhere[:-1]]):
            return None
        told = masses * np.exp(-polygon.losses(vertices[1:]))
        index = polygon.places[vertices[1:]]
        return _Half(float(losses[0]), index, masses, told, float(heights[0]), err)

    def centre(self, other: _Half) -> tuple[float, float, float]:
        """Of the mass of the other measure: Σ at and beyond ``start``, how much of it sits there.

        From the line that joins both halves; the third number bounds the error of each.
        """
        width = math.exp(-other.start) * math.expm1(self.start + other.start)
        gap, height = -math.expm1(-other.start), math.exp(-other.start) * other.height
        total = (gap + height - self.height) / width
        beyond = float(self.told.sum())
        err = (self.err + other.err + 16.0 * U) * (gap + height + self.height) / width
        err += (self.err + 16.0 * U) * (abs(total) + beyond)
        return total, total - beyond, err


def _joined(right: _Polygon, left: _Polygon, step: float) -> LossLaw | None:
    """The pair of two polygons and the line between them; None where rounding spoils it."""
    while True:
        ahead, behind = _Half.of(right), _Half.of(left)
        if ahead is None or behind is None:
            return None
        q, q_first, q_err = ahead.centre(behind)
        p, p_first, p_err = behind.centre(ahead)
        # A slope that falls at a vertex: the line passes below it.
        if q_first >= q_err and p_first >= p_err:
            break
        spoilt = right if q_first < q_err else left
        if spoilt.vertices.size == 1:
            return None
        shorter = replace(spoilt, vertices=spoilt.vertices[1:])
        right, left = (shorter, left) if spoilt is right else (right, shorter)
    for polygon, half, slope in ((right, ahead, q + q_err), (left, behind, p + p_err)):
        dropped = np.arange(polygon.vertices[0])
        losses = polygon.losses(dropped)
        line = slope * np.exp(losses) * np.expm1(half.start - losses) * (1.0 + 16.0 * U)
        if not np.all(half.height * (1.0 + half.err) + line <= polygon.bounds[dropped]):
            return None
    # Less mass lowers the curve, so that all masses may be rounded down.
    down = 1.0 - 16.0 * U
    first = (q_first - q_err) * math.exp(ahead.start) * down
    firsts = np.array([(p_first - p_err) * down, first])
    masses = np.concatenate([behind.told[::-1] * down, firsts, ahead.masses])
    start = np.array([-left.places[left.vertices[0]] - 1, right.places[right.vertices[0]]])
    index = np.concatenate([-behind.index[::-1] - 1, start, ahead.index])
    kept = masses > 0.0
    if not kept.any():
        return None
    return LossLaw(step, 0.5 * step, index[kept], masses[kept], right.limit)


# A discrete pair above a curve that is known from above; see docs/composition.md.

# How far the polygon begins above the bounds, relatively: more than rounding takes.
_SLACK = 1e-12
# Bounds of less than this would lose precision in products.


def pessimistic(places: NDArray[np.int64], upper: FloatArray, step: float) -> LossLaw:
    """A pair (P, Q) above every symmetric curve H(x) = 1 − x + x H(1/x) with H(e^{iΔ}) ≤ `upper`.

    ``places`` are the i, from 0 on, ascending; they and ``upper`` have shape (K + 1,), K ≥ 1;
    `step` is Δ (natural log). The pair's curve connects the vertices of the convex hull of these
    points and is constant beyond the last.
    """
    losses = np.asarray(step * places, dtype=np.float64)
    found, mirrored, centre, masses, infinite = connected(losses, upper)
    index = places[found]
    return LossLaw(
        step,
        0.0,
        np.concatenate([-index[::-1], [0], index]),
        np.concatenate([mirrored[::-1], [centre], masses]),
        infinite,
    )


def connected(
    losses: FloatArray, upper: FloatArray
) -> tuple[NDArray[np.int64], FloatArray, float, FloatArray, float]:
    """The pair of `pessimistic` for H(e^L) ≤ `upper`, L in `losses`: 0, and others that ascend.

    Which of the losses have masses, those at their negatives, the mass at 0, those at the losses
    and p_∞.
    """
    bound = np.minimum(np.minimum.accumulate(upper), 1.0)
    bound = np.where(bound > 0.0, np.maximum(bound, _TINY), 0.0)
    # At x = 1 the curve lies below its chord from e^{−L} to e^L, L the first, too.
    near = float(losses[1])
    chord = math.tanh(0.5 * near) + 2.0 * float(bound[1]) / (1.0 + math.exp(near))
    bound[0] = min(float(bound[0]), chord * (1.0 + 16.0 * U))
    raised = bound * (1.0 + _SLACK)
    index = hull(np.expm1(losses), raised)
    losses, bound, infinite = losses[index], bound[index], float(raised[-1])
    masses = kinks(losses, raised[index])

    # Whatever rounding did to the masses: more of all of them lifts the curve.
    least = curve(losses, masses, infinite) * (1.0 - (2.0 * index.size + 20.0) * U)
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.where(bound > 0.0, bound / least, 0.0)
    factor = max(1.0, float(short.max())) * (1.0 + 8.0 * U)
    masses, infinite = masses * factor, infinite * factor

    # Q-masses mirror P-masses, and what is left is told apart by nothing.
    mirrored = masses * np.exp(-losses[1:]) * (1.0 + 8.0 * U)
    centre = math.fsum([1.0, -infinite, *(-masses), *(-mirrored)])
    centre += 16.0 * U * float(mirrored.sum()) + 4.0 * U
    kept = masses > 0.0
    return index[1:][kept], mirrored[kept], max(centre, U), masses[kept], infinite
