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
    """P-masses of a privacy loss (natural log) at ``shift + index * step``, and p_∞, ``infinite``.

    ``step`` is a float of at most `STEP_BITS` bits and ``shift`` a multiple of step/2, so that all
    losses are exact. ``index`` and ``masses`` have shape (J,), J ≥ 1; the floats are meant as they
    are.
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
class LossSum:
    """Independent losses added up: ``rounds`` is a list of (law, how many times), all of one step.

    S is the sum where all of them are finite.
    """

    rounds: Sequence[tuple[LossLaw, int]]

    @staticmethod
    def of(rounds: Sequence[tuple[LossLaw, int]]) -> LossSum:
        """Of laws whose steps are powers of two of each other, all on the finest lattice."""
        step = min(law.step for law, _ in rounds)
        return LossSum([(law.on(step), times) for law, times in rounds])

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
        each = [times * law.largest for law, times in self.rounds]
        return math.fsum(each) + 8.0 * U * math.fsum(map(abs, each))

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

    Its losses are odd multiples of Δ/2 (`step` is Δ, natural log), and 0 where that says more. None
    where the bounds leave no room for one. Both sides have the same places.
    """
    middle = max(float(forward.lower[0]), float(backward.lower[0]))
    ahead = _Lines.of(forward, middle, float(backward.upper[1]), step)
    behind = _Lines.of(backward, middle, float(forward.upper[1]), step)
    # Where the curve has a kink at x = 1, an atom at loss 0, so may the polygon.
    for first in (0, 1) if ahead.meet_at_one and behind.meet_at_one else (1,):
        kinks = [one.kinks(first) for one in (ahead, behind)]
        bounds = [one.at(at) for one, at in zip((ahead, behind), kinks, strict=True)]
        if first == 0:
            bounds[0][0] = bounds[1][0] = min(bounds[0][0], bounds[1][0])
        for slack in _SLACKS:
            right = _Polygon.below(bounds[0], kinks[0], forward.limit, slack, step)
            left = _Polygon.below(bounds[1], kinks[1], backward.limit, slack, step)
            join = _joined if first else _joined_at_one
            found = join(right, left, step) if right and left else None
            if found is not None:
                return found
    return _telling(forward.limit, step) if 0.0 < forward.limit < 1.0 else None


def _telling(limit: float, step: float) -> LossLaw:
    """What outcomes of infinite loss alone say; all others count as if they spoke for Q."""
    index = -math.ceil(-math.log1p(-limit) / step * (1.0 + 8.0 * U)) - 1
    return LossLaw(
        step, 0.5 * step, np.array([index]), np.array([(1.0 - limit) * (1.0 - U)]), limit
    )


@dataclass(frozen=True, eq=False)
class _Lines:
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

    @staticmethod
    def of(side: Side, middle: float, other: float, step: float) -> _Lines:
        """`middle` is a lower bound of H(1) and `other` an upper one of the other order at x₁."""
        places, upper = side.places, side.upper
        start, stop = np.append(middle, side.lower[1:-1]), side.lower[1:]
        gaps = np.diff(places) * step
        back, on = -np.expm1(-np.append(step, gaps[:-1])), np.expm1(np.append(gaps[1:], step))
        before = np.append(math.exp(-step) * other, upper[:-2])
        further = np.append(upper[2:], side.lower[-1])
        down, falls = (before - start) / back, (before + start) / back
        # At x = 1, in terms of H(x) − 1 + x, which is x times the other order at 1/x.
        down[0], falls[0] = 1.0 + down[0], 1.0 + falls[0]
        rises = (stop + further) / on
        return _Lines(step, places, start, stop, down, (stop - further) / on, (falls, rises))

    @cached_property
    def _meeting(self) -> FloatArray:
        """Where both lines meet, in half steps from the beginning of each cell; an estimate."""
        gaps = np.diff(self.places)
        inward = -np.expm1(-gaps * self.step)
        with np.errstate(all="ignore"):
            along = (self.start - self.stop - self.up * inward) / (
                self.down - self.up * (1.0 - inward)
            )
            found = 2.0 * np.log1p(along) / self.step
        return np.where(np.isfinite(found), found, gaps)

    @property
    def meet_at_one(self) -> bool:
        """Whether they meet about x = 1 in the first cell."""
        return bool(self._meeting[0] < 0.5)

    def kinks(self, first: int) -> NDArray[np.int64]:
        """A kink for each cell, about where both lines meet: odd numbers of half steps.

        That of the first cell is at x = 1 if `first` is 0.
        """
        gaps = np.diff(self.places)
        cells = np.clip(np.floor(0.5 * self._meeting), 0, gaps - 1).astype(np.int64)
        found: NDArray[np.int64] = 2 * (self.places[:-1] + cells) + 1
        found[0] *= first
        return found

    def at(self, kinks: NDArray[np.int64]) -> FloatArray:
        """Bounds of H at these half steps, such that chords between them lie below H."""
        beyond = (0.5 * kinks - self.places[:-1]) * self.step
        ahead = np.expm1(beyond)
        back = -np.expm1(beyond - np.diff(self.places) * self.step)
        found = np.minimum(self.start - self.down * ahead, self.stop + self.up * back)
        size = self.start + self.stop + self.sizes[0] * ahead + self.sizes[1] * back
        return np.asarray(found - 24.0 * U * size)


@dataclass(frozen=True, eq=False)
class _Polygon:
    """A convex polygon below the bounds at y_0, y_1, … of one order, and constant at the end.

    Their losses are `places` (J,) half steps. ``bounds`` (J,) are those bounds, ``heights`` (J,) a
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
        vertices = hull(np.expm1(0.5 * step * places[:size]), heights)
        return _Polygon(places[:size], bounds[:size], heights, limit, vertices, step)

    def losses(self, some: NDArray[np.int64]) -> FloatArray:
        return np.asarray(0.5 * self.step * self.places[some], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Half:
    """The masses beyond the first vertex of a polygon, at loss ``start``, and their curve.

    ``index`` (in half steps) and ``masses`` are theirs, ``told`` their masses under the other
    measure. ``height`` is the curve at ``start``, known to within the relative error ``err``.
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
    first = (q_first - q_err) * math.exp(ahead.start)
    starts = left.places[left.vertices[0]], right.places[right.vertices[0]]
    index = np.concatenate([-behind.index[::-1], [-starts[0], starts[1]], ahead.index])
    masses = np.concatenate([behind.told[::-1], [p_first - p_err, first], ahead.masses])
    return _on_lattice(index, masses * (1.0 - 16.0 * U), right.limit, step)


def _joined_at_one(right: _Polygon, left: _Polygon, step: float) -> LossLaw | None:
    """The pair of two polygons that meet at x = 1; None where rounding spoils it."""
    ahead, behind = _Half.of(right), _Half.of(left)
    if ahead is None or behind is None or not min(ahead.height, behind.height) > 0.0:
        return None
    # P must not have more mass than Q: no more of it ahead than behind.
    spare = ahead.err + behind.err + 64.0 * U
    share = min(1.0, behind.height / ahead.height * (1.0 - spare))
    masses, infinite = ahead.masses * share, right.limit * share
    told = behind.told * (1.0 - 16.0 * U)
    first = math.fsum([1.0, -infinite, *(-masses), *(-told)]) - 8.0 * U
    if not first > 0.0:
        return None
    index = np.concatenate([-behind.index[::-1], [0], ahead.index])
    return _on_lattice(index, np.concatenate([told[::-1], [first], masses]), infinite, step)


def _on_lattice(
    index: NDArray[np.int64], masses: FloatArray, infinite: float, step: float
) -> LossLaw | None:
    """Of losses in half steps; None without any mass."""
    index, masses = index[masses > 0.0], masses[masses > 0.0]
    if not index.size:
        return None
    if np.all(index % 2 == 1):
        return LossLaw(step, 0.5 * step, index // 2, masses, infinite)
    return LossLaw(0.5 * step, 0.0, index, masses, infinite)


# A discrete pair above a curve that is known from above; see docs/composition.md.

# How far the polygon begins above the bounds, relatively: more than rounding takes.
_SLACK = 1e-12


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
