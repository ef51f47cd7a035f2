"""A privacy profile as a discrete law of losses, above it or below it.

A pair of measures with an atom at each loss L = log(P/Q), P-mass p and Q-mass p·e^{−L}, and P-mass
p_∞ where Q has none, has the curve

    H(x) = Σ p (1 − x e^{−L})₊ + p_∞,        x = e^ε.

It is a convex polygon with a kink at each x = e^L, where the slope rises by p e^{−L}. The functions
`losses_above` and `losses_below` find pairs whose curves lie above or below one that is enclosed at
some ε, the *nodes*, and `losses_of` takes the losses of few outcomes as they are.
Nothing here needs P or Q to sum to 1. Proofs: docs/proofs/composition.md, sections 3 and 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.enumeration import Outcomes
from shufflebounds.divergence.law import Law, U

# Smallest bound of H, and smallest mass, that is used: products of smaller ones would lose
# precision.
SMALLEST = 1e-290
# Least mass at loss 0 of a pair below a curve. It takes up rounding, which would otherwise lower
# the total mass of every round.
LEAST_CENTRE = 1e-9
# Distance of a kink from the ends of its cell, as a share of its width.
MARGIN = 0.01
# Distance below which two losses count as equal, as a share of the largest loss.
EQUAL = 1e-12
# Share by which a polygon ends before its line is certain to be at the limit.
END_MARGIN = 1e-6
# A bound of what underflows in sums of a few terms.
UNDERFLOW_ERR = 1e-300


@dataclass(frozen=True, eq=False)
class Losses:
    """P-masses (J,) of privacy losses ``values`` (J,), natural logs, and p_∞, ``infinite``.

    The floats are meant as they are.
    """

    values: FloatArray
    masses: FloatArray
    infinite: float

    @cached_property
    def total(self) -> float:
        """The finite P-mass, to one rounding."""
        return math.fsum(self.masses)

    @cached_property
    def law(self) -> Law:
        """The finite part as a row of one law of total mass 1."""
        values = self.values[None, :]
        masses = self.masses / self.total
        return Law(values, masses, np.zeros(1, int), np.zeros_like(values), 2.1 * U, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class CurveBounds:
    """Bounds of H(x) = D(P‖xQ) of one order of a pair at the nodes, (K + 1,), and in the limit.

    ``limit`` ≥ 0 is a lower bound of H(∞).
    """

    lower: FloatArray
    upper: FloatArray
    limit: float = 0.0


def losses_above(nodes: FloatArray, upper: FloatArray) -> Losses:
    """Return a pair above every symmetric curve H with H(e^ε) ≤ `upper` at the nodes.

    A curve is symmetric if H(x) = 1 − x + x H(1/x). `nodes` ascend from 0. They and `upper` have
    shape (K + 1,), K ≥ 1. The pair's curve connects the vertices of the convex hull of these points
    and is constant beyond the last.
    """
    bound = np.minimum(np.minimum.accumulate(upper), 1.0)
    bound = np.where(bound > 0.0, np.maximum(bound, SMALLEST), 0.0)
    # At x = 1 the curve lies below each chord from e^{−L} to e^L.
    beyond = np.minimum(nodes[1:], 700.0)
    chords = np.tanh(0.5 * beyond) + 2.0 * bound[1:] / (1.0 + np.exp(beyond))
    bound[0] = min(float(bound[0]), float(chords.min()) * (1.0 + 16.0 * U))
    vertices = hull(np.expm1(nodes), bound)
    losses, bound = nodes[vertices], bound[vertices]
    masses, infinite = kinks(losses, bound), float(bound[-1])
    # Masses that underflow lift no curve. p_∞ takes their place.
    is_low = loss_curve(losses, masses, infinite) < 0.5 * bound
    infinite = max(infinite, float(bound[is_low].max(initial=0.0)))
    # A common factor of all masses lifts the curve above the bounds in spite of rounding.
    lifted = loss_curve(losses, masses, infinite) * (1.0 - curve_err(losses))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(bound > 0.0, bound / lifted, 0.0)
    factor = max(1.0, float(ratio.max())) * (1.0 + 8.0 * U)
    masses, infinite = masses * factor, infinite * factor
    # Q-masses mirror P-masses. The remaining mass has loss 0.
    mirrored = masses * np.exp(-losses[1:]) * (1.0 + 8.0 * U)
    centre = math.fsum([1.0, -infinite, *(-masses), *(-mirrored)])
    centre += 16.0 * U * float(mirrored.sum()) + 4.0 * U
    used = masses > 0.0
    return Losses(
        np.concatenate([-losses[1:][used][::-1], [0.0], losses[1:][used]]),
        np.concatenate([mirrored[used][::-1], [max(centre, U)], masses[used]]),
        infinite,
    )


def losses_below(nodes: FloatArray, forward: CurveBounds, backward: CurveBounds) -> Losses | None:
    """Return a pair below every (P, Q) with D(P‖xQ) within `forward` and D(Q‖xP) within `backward`.

    `nodes` ascend from 0; there are three or more. The answer is None if the bounds leave no room
    for a pair.
    """
    middle = max(float(forward.lower[0]), float(backward.lower[0]))
    right, left = (
        _Polygon.of(nodes, bounds, middle, float(reverse.upper[1]))
        for bounds, reverse in ((forward, backward), (backward, forward))
    )
    height = _height_at_one(right, left)
    if not height > 0.0:
        return None
    right_half, left_half = right.half(height), left.half(height)
    # P must not have more mass than Q, so the right half may not be higher than the left one.
    err = right_half.err + left_half.err + 64.0 * U
    share = min(1.0, left_half.height / right_half.height * (1.0 - err))
    masses, infinite = right_half.masses * share, right_half.infinite * share
    mirrored = left_half.masses * np.exp(-left_half.losses) * (1.0 - 24.0 * U)
    centre = math.fsum([1.0, -infinite, *(-masses), *(-mirrored)]) - 8.0 * U
    # The mass of P is at most 1. Less mass at all losses lowers the curve.
    scale = 1.0 if centre >= 0.0 else (1.0 - 4.0 * U) / (1.0 - centre)
    values = np.concatenate([-left_half.losses[::-1], [0.0], right_half.losses])
    masses = np.concatenate([mirrored[::-1], [max(centre, 0.0)], masses]) * scale
    used = masses > 0.0
    return Losses(values[used], masses[used], infinite * scale) if used.any() else None


def losses_of(outcomes: Outcomes) -> Losses:
    """Return a pair below that of the outcomes: their own losses and masses, rounded down."""
    masses = np.exp(np.maximum(outcomes.log_lower, -1e4)) * outcomes.gain * (1.0 - outcomes.err)
    masses = np.where(masses < SMALLEST, 0.0, masses) * (1.0 - 8.0 * U)
    is_infinite = outcomes.cost == 0.0
    infinite = math.fsum(masses[is_infinite]) * (1.0 - 4.0 * U)
    used = (masses > 0.0) & ~is_infinite
    if not used.any():
        return Losses(np.zeros(1), np.full(1, SMALLEST), infinite)
    log_gain, log_cost = np.log(outcomes.gain[used]), np.log(outcomes.cost[used])
    rounding = outcomes.ratio_err + 16.0 * U + 8.0 * U * (np.abs(log_gain) + np.abs(log_cost))
    values, masses = log_gain - log_cost - rounding, masses[used]
    order = np.argsort(values)
    values, masses = values[order], masses[order]
    # Equal losses count as the smallest of them.
    gap = EQUAL * float(np.abs(values).max())
    starts = np.append(0, np.flatnonzero(np.diff(values) > gap) + 1)
    counts = np.diff(starts, append=values.size)
    sums = np.add.reduceat(masses, starts) * (1.0 - (counts + 4.0) * U)
    return Losses(values[starts], sums, infinite)


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
    widths = np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    slopes = np.diff(heights) / widths
    return np.maximum(np.diff(slopes, append=0.0), 0.0) * np.exp(losses[1:])


def loss_curve(losses: FloatArray, masses: FloatArray, infinite: float) -> FloatArray:
    """Return H at each of the losses (J,), for P-masses (J − 1,) at all but the first, and p_∞.

    Only positive terms are added, so that the relative error is at most `curve_err`.
    """
    falls = np.cumsum((masses * np.exp(-losses[1:]))[::-1])[::-1]
    drops = falls * np.exp(losses[:-1]) * np.expm1(np.diff(losses))
    return np.append(np.cumsum(drops[::-1])[::-1], 0.0) + infinite


def curve_err(losses: FloatArray) -> float:
    """Return a bound of the relative error of `loss_curve`; a difference L counts 1 + L times."""
    return (2.0 * losses.size + 24.0 + 2.0 * float(np.diff(losses).max(initial=0.0))) * U


@dataclass(frozen=True, eq=False)
class Half:
    """P-masses at positive ``losses``, and p_∞.

    ``height`` is their curve at x = 1, with a relative error of at most ``err``.
    """

    losses: FloatArray
    masses: FloatArray
    infinite: float
    height: float
    err: float


@dataclass(frozen=True, eq=False)
class _Polygon:
    """Bounds of H at x = 1 and at kinks beyond: convex polygons below all of them lie below H.

    ``losses`` (J,) ascend from 0, and ``heights`` (J,) are the bounds, of which the last is lowered
    to ``limit``; a polygon is constant from there on.
    """

    losses: FloatArray
    heights: FloatArray
    limit: float

    @staticmethod
    def of(nodes: FloatArray, bounds: CurveBounds, middle: float, reverse_upper: float) -> _Polygon:
        """Return the polygon for one order; the arguments are those of `Lines.of`."""
        lines = Lines.of(nodes, bounds, middle, reverse_upper)
        losses = lines.kinks()
        # Chords between bounds that are below both lines lie below H.
        heights = np.minimum(*lines.at(losses))
        if losses[0] > 0.0:
            losses, heights = np.append(0.0, losses), np.append(middle, heights)
        is_clear = heights > max(bounds.limit, SMALLEST)
        size = max(heights.size if is_clear.all() else int(np.argmin(is_clear)), 1)
        # In the cell where the polygon ends, it may come down to the limit along the first line.
        end = lines.end(size - (losses.size - lines.start.size), bounds.limit)
        if end > losses[size - 1]:
            losses, heights = np.append(losses[:size], end), np.append(heights[:size], 0.0)
            size += 1
        return _Polygon(losses[:size], np.append(heights[: size - 1], bounds.limit), bounds.limit)

    def half(self, height: float) -> Half:
        """Return the masses of a polygon that is at most `height` at x = 1."""
        losses, limit = self.losses, self.limit
        if losses.size == 1:
            return Half(losses[1:], losses[1:], limit, limit, 0.0)
        bounds = np.append(height, self.heights[1:])
        vertices = hull(np.expm1(losses), bounds)
        masses = np.zeros(losses.size - 1)
        masses[vertices[1:] - 1] = kinks(losses[vertices], bounds[vertices])
        # A common factor of all masses keeps the curve below the bounds in spite of rounding.
        heights, err = loss_curve(losses, masses, limit), curve_err(losses)
        with np.errstate(divide="ignore"):
            factor = min(1.0, float(np.min(bounds[:-1] / heights[:-1])) * (1.0 - err))
        factor *= 1.0 - 8.0 * U
        used = masses > 0.0
        masses = masses[used] * factor
        return Half(losses[1:][used], masses, limit * factor, float(heights[0]) * factor, err)


def _height_at_one(right: _Polygon, left: _Polygon) -> float:
    """Return the largest height below both bounds at x = 1 that leaves a mass for loss 0.

    The first edges of both hulls determine the masses on either side. They are maxima of lines in
    the height, so that Newton's method ends after a few steps. Nothing depends on its precision.
    """
    height = min(float(right.heights[0]), float(left.heights[0]))
    if min(right.losses.size, left.losses.size) == 1:
        return height
    sides = [(side.heights[1:], np.expm1(side.losses[1:])) for side in (right, left)]
    while True:
        excess, rate = height - (1.0 - LEAST_CENTRE), 1.0
        for heights, growths in sides:
            slopes = (height - heights) / growths
            first = int(np.argmax(slopes))
            excess += float(slopes[first])
            rate += 1.0 / float(growths[first])
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
    that they are differences of. All arrays but ``nodes`` (K + 1,) have shape (K,).
    """

    nodes: FloatArray
    start: FloatArray
    stop: FloatArray
    down: FloatArray
    up: FloatArray
    sizes: tuple[FloatArray, FloatArray]

    @staticmethod
    def of(nodes: FloatArray, bounds: CurveBounds, middle: float, reverse_upper: float) -> Lines:
        """Return the lines for one order.

        `middle` is a lower bound of H(1), `reverse_upper` an upper bound of the reverse order's
        curve at x₁.
        """
        lower, upper, widths = bounds.lower, bounds.upper, np.diff(nodes)
        start, stop = np.append(middle, lower[1:-1]), lower[1:]
        width_before = -np.expm1(-np.append(widths[0], widths[:-1]))
        width_after = np.expm1(np.append(widths[1:], widths[-1]))
        upper_before = np.append(math.exp(-widths[0]) * reverse_upper, upper[:-2])
        upper_after = np.append(upper[2:], lower[-1])
        down, falls = (upper_before - start) / width_before, (upper_before + start) / width_before
        # At x = 1 the lines bound H(x) − 1 + x, which is x times the reverse order's curve at 1/x.
        down[0], falls[0] = 1.0 + down[0], 1.0 + falls[0]
        up, rises = (stop - upper_after) / width_after, (stop + upper_after) / width_after
        return Lines(nodes, start, stop, down, up, (falls, rises))

    def kinks(self) -> FloatArray:
        """Return a loss in each cell, about where both lines meet.

        It is within the cell, but that of the first cell may be 0.
        """
        widths = np.diff(self.nodes)
        inward = -np.expm1(-widths)
        with np.errstate(all="ignore"):
            growth = (self.start - self.stop - self.up * inward) / (
                self.down - self.up * (1.0 - inward)
            )
            distance = np.log1p(growth)
        distance = np.where(np.isfinite(distance), distance, widths)
        low = np.where(self.nodes[:-1] > 0.0, MARGIN * widths, 0.0)
        return self.nodes[:-1] + np.clip(distance, low, (1.0 - MARGIN) * widths)

    def at(self, losses: FloatArray, cells: int | slice = slice(None)) -> tuple[Any, Any]:
        """Return both lines at losses in the cells, rounded down."""
        before, after = losses - self.nodes[:-1][cells], self.nodes[1:][cells] - losses
        start, stop = self.start[cells], self.stop[cells]
        growth, decay = np.expm1(before), -np.expm1(-after)
        size = start + stop + self.sizes[0][cells] * growth + self.sizes[1][cells] * decay
        # A rounding of a width counts 1 + width times in expm1.
        err = (24.0 + 4.0 * self._widest) * U * size + UNDERFLOW_ERR
        return start - self.down[cells] * growth - err, stop + self.up[cells] * decay - err

    def end(self, cell: int, limit: float) -> float:
        """Return a loss in a cell at which the first line is hardly above `limit`; 0 if none is."""
        if not (0 <= cell < self.start.size and self.start[cell] > limit and self.down[cell] > 0.0):
            return 0.0
        distance = math.log1p((float(self.start[cell]) - limit) / float(self.down[cell]))
        distance = min(distance * (1.0 - END_MARGIN), float(np.diff(self.nodes)[cell]))
        loss = float(self.nodes[cell]) + distance
        return loss if self.at(np.array(loss), cell)[0] >= limit else 0.0

    @cached_property
    def _widest(self) -> float:
        """The width of the widest cell."""
        return float(np.diff(self.nodes).max())
