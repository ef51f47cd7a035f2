"""Joint reports of continuous randomizers in fewer components, at little cost of precision.

The ends of a product, `inner` and `outer`, have a component per pair of components of its factors,
many more than it takes to tell one end from the other. Components lie in the plane at (a/c, b/c),
which is cut into boxes, small where precision is worth most (`stakes`). The inner end *unites*
what a box holds, which is post-processing. The outer end *spreads* it to the corners of the box,
with the means of a/c and b/c kept: a dilation. docs/engine.md, section 5, proves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, compounded

# Boxes that components lie in, at the ratios (a/c, b/c), small where precision costs most.

# An axis has 2**_LEVELS strips, of equal width in logarithms.
_LEVELS = 12
STRIPS = 2**_LEVELS
# No box is wider, in logarithms: shares of masses at its corners keep within floats.
_WIDEST = 4.0
# Ratios no further apart differ by rounding; strips are wider than some roundings then.
_EQUAL = 1e-11


@dataclass(frozen=True)
class Cuts:
    """Where boxes lie along an axis: component j of ratio ``ratios[j]`` in ``lower[j]`` and up.

    ``borders`` are floats that ascend, and ``lower`` and ``upper`` numbers of those on either side
    of a ratio. Where ratios differ by rounding only, there is one border, and no ratio is further
    from it than ``spread``, relatively.
    """

    ratios: FloatArray
    borders: FloatArray
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    spread: float


@dataclass(frozen=True)
class Boxes:
    """A box for every component. ``labels`` are 0, 1, … without a gap; ``sides`` a/c and b/c."""

    labels: NDArray[np.int64]
    sides: tuple[Cuts, Cuts]


def cut(ratios: FloatArray, costs: FloatArray, least: int = 0) -> Boxes:
    """Boxes around the points `ratios`, shape (2, J) and > 0, whose costs sum to at most 1.

    `costs`, shape (2, J), are what a component costs if its box is wide by one in the logarithm of
    either ratio; they grow with the square of the width. Boxes are halved where they cost most, and
    on until there are `least`.
    """
    borders = [_borders(axis) for axis in ratios]
    steps = np.array([math.log(edges[-1] / edges[0]) / STRIPS for edges in borders])
    strips = np.stack([_strips(*axis) for axis in zip(ratios, borders, strict=True)])
    # A box is 2**size strips wide.
    sizes = np.repeat([[_first_size(step)] for step in steps], ratios.shape[1], axis=1)
    labels = _numbered(*(strips >> sizes))
    # In the end most boxes cost about as much.
    limit = 1e-2
    while True:
        cost = _costs(labels, sizes, steps, costs)
        total, count = float(cost.sum()), cost.shape[1]
        if not total > 0.0 or (total <= 1.0 and count >= least):
            break
        dear = cost.sum(axis=0) > limit
        if not dear.any():
            limit /= 2.0
            continue
        longer = np.argmax(cost, axis=0)
        halved = np.stack([dear & (longer == 0), dear & (longer == 1)])[:, labels]
        sizes = sizes - halved
        labels = _numbered(labels, np.where(halved, strips >> sizes & 1, 0).max(axis=0))
    one, two = (_side(*axis) for axis in zip(ratios, borders, strips, sizes, strict=True))
    return Boxes(labels, (one, two))


def _borders(ratios: FloatArray) -> FloatArray:
    least, largest = float(ratios.min()), float(ratios.max())
    if largest - least <= _EQUAL * least:
        return np.array([least])
    step = math.log1p((largest - least) / least) / STRIPS
    borders: FloatArray = least + least * np.expm1(step * np.arange(STRIPS + 1))
    borders[-1] = largest
    return borders


def _strips(ratios: FloatArray, borders: FloatArray) -> NDArray[np.int64]:
    """The last border, but for the topmost, that is no larger than the ratio."""
    return np.searchsorted(borders[1:-1], ratios, side="right")


def _first_size(step: float) -> int:
    return math.floor(min(_LEVELS, math.log2(_WIDEST / step))) if step else 0


def _costs(
    labels: NDArray[np.int64], sizes: NDArray[np.int64], steps: FloatArray, costs: FloatArray
) -> FloatArray:
    """Of every box along either axis, shape (2, number of boxes); 0 where it is not to be cut."""
    member = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    member[labels] = np.arange(labels.size)
    size = sizes[:, member]
    widths = np.where(size > 0, steps[:, None] * 2.0**size, 0.0)
    return np.stack([np.bincount(labels, weights=row) for row in costs]) * widths**2


def _numbered(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers 0, 1, … of the distinct pairs; `two` is below `STRIPS`."""
    return np.unique(one * STRIPS + two, return_inverse=True)[1]


def _side(
    ratios: FloatArray, borders: FloatArray, strips: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Cuts:
    if borders.size == 1:
        spread = float(np.ptp(ratios)) / borders[0]
        return Cuts(ratios, borders, strips, strips, spread)
    lower = strips >> sizes << sizes
    return Cuts(ratios, borders, lower, lower + (1 << sizes), 0.0)


def corners(sides: Sequence[Cuts]) -> tuple[NDArray[np.int64], FloatArray]:
    """Numbers of the corners of all boxes, shape (corners, J), and each component's share there.

    Either ratio's mean over the corners of its box is the ratio.
    """
    (i, p), (j, q) = (_ends(side) for side in sides)
    places = (i[:, None] * (STRIPS + 1) + j).reshape(-1, i.shape[1])
    return places, (p[:, None] * q).reshape(places.shape)


def _ends(side: Cuts) -> tuple[NDArray[np.int64], FloatArray]:
    if side.borders.size == 1:
        return side.lower[None], np.ones((1, side.lower.size))
    below, above = side.borders[side.lower], side.borders[side.upper]
    share = (side.ratios - below) / (above - below)
    return np.stack([side.lower, side.upper]), np.stack([1.0 - share, share])


# What precision of the components is worth: how far ε moves if their ratios a/c and b/c do.
#
# For many users D(ε) is about e^{nK}, K = min over θ of log E e^{θG}. So whatever n is, a change
# of E e^{θG} moves the ε of a given δ by that over −∂/∂ε E e^{θG}. That is looked at for a range
# of ε, and for each of it at the θ of several rates of participation. For few users D(ε) is about
# E e^{sL − sε}, L = log a/b, at the best s: ε moves by the change of the logarithm over s. All
# this decides where components are kept apart, and nothing else depends on it.

# Rates of participation, and −n K or −log D and n of questions that are asked.
_LEAST_RATE = 1e-6
_EXPONENT, _FEWEST, _MOST = 20.0, 1.0, 1e10
_EXPONENTS = (2.0, 40.0)
# Of θ times the largest value of G.
_LEAST_TILT, _LARGEST_TILT = 1e-9, 300.0
_ORDERS = tuple(2.0**k for k in range(-6, 10))
# Nobody asks for more.
_FLOOR = 1e-9


@dataclass(frozen=True)
class Stakes:
    """How far ε moves, relatively, at most.

    ``distance`` is that between both ends. ``inner`` and ``outer``, each of shape (2, J), tell by
    how much it grows with the variance of a component's log a/c, and of its log b/c.
    """

    distance: float
    inner: FloatArray
    outer: FloatArray


@dataclass(frozen=True)
class _Tilt:
    """An ε, its θ, and what E e^{θG} of those who take part counts for in ε, relatively."""

    eps: float
    theta: float
    weight: float


def stakes(inner: FloatArray, outer: FloatArray) -> Stakes:
    """Of the masses a, b, c > 0 of both ends, each of shape (3, J), in either direction."""
    distance = _FLOOR
    found = [np.zeros((2, end.shape[1])) for end in (inner, outer)]
    for rows in ([0, 1, 2], [1, 0, 2]):
        ends = inner[rows], outer[rows]
        largest = [np.zeros_like(end) for end in found]
        for question in _questions(ends[1]):
            moments = []
            for most, masses in zip(largest, ends, strict=True):
                moment, costs = _of_many(question, masses)
                np.maximum(most, costs, out=most)
                moments.append(moment)
            distance = max(distance, question.weight * (moments[1] - moments[0]))
        for order in _ORDERS:
            logarithms = []
            for most, masses in zip(largest, ends, strict=True):
                logarithm, weight, costs = _of_few(order, masses)
                np.maximum(most, costs, out=most)
                logarithms.append(logarithm)
            distance = max(distance, weight * (logarithms[1] - logarithms[0]))
        for total, most in zip(found, largest, strict=True):
            np.maximum(total, most[rows[:2]], out=total)
    return Stakes(distance, *found)


def _of_many(question: _Tilt, masses: FloatArray) -> tuple[float, FloatArray]:
    """E e^{θG} − 1 of those who take part, and the costs of their components."""
    a, b, c = masses
    exponents = question.theta * _values(question.eps, masses)
    density = c * np.exp(exponents) * (0.5 * question.weight * question.theta**2)
    scaled = np.stack([a, math.exp(question.eps) * b]) / c
    return _mean(np.expm1(exponents), c), density * scaled**2


def _of_few(order: float, masses: FloatArray) -> tuple[float, float, FloatArray]:
    """The logarithm of E e^{sL}, what it counts for in ε, and the costs of the components."""
    a, b, _ = masses
    losses = np.log(a / b)
    highest = float(losses.max())
    tilted = a * np.exp(order * (losses - highest))
    total = float(tilted.sum())
    eps = _mean(losses, tilted) / total
    logarithm = order * highest + math.log(total)
    if not (eps > 0.0 and _EXPONENTS[0] < order * eps - logarithm < _EXPONENTS[1]):
        return 0.0, 0.0, np.zeros((2, a.size))
    weight = 1.0 / (order * eps)
    # Both ratios make up the loss.
    return logarithm, weight, np.stack([tilted, tilted]) * (0.5 * weight * order**2 / total)


def _questions(masses: FloatArray) -> Iterator[_Tilt]:
    a, b, c = masses
    for eps in _epsilons(math.log(float(np.max(a / b)))):
        values = _values(eps, masses)
        largest = float(values.max())
        if largest <= 0.0:
            continue
        absent = -math.expm1(eps)
        theta = _least_tilt(values, c, largest)
        while theta * largest <= _LARGEST_TILT:
            tilted = c * np.exp(theta * values)
            # The rate at which θ is the minimiser: those who are absent have the value 1 − e^ε.
            pull = math.exp(theta * absent)
            away, towards = -absent * pull, max(0.0, _mean(values, tilted))
            rate = away / (away + towards) if away > 0.0 else 0.0
            if rate < _LEAST_RATE:
                break
            change = rate * _mean(np.expm1(theta * values), c)
            change += (1.0 - rate) * math.expm1(theta * absent)
            cumulant = math.log1p(change) if change > -1.0 else -math.inf
            if _EXPONENT / _MOST < -cumulant < _EXPONENT / _FEWEST:
                mean = rate * _mean(b / c, tilted) + (1.0 - rate) * pull
                yield _Tilt(eps, theta, rate / (theta * math.exp(eps) * eps * mean))
            theta *= 2.0


def _epsilons(largest: float) -> list[float]:
    """Of every size, and about as close as it takes: e^ε is a factor in G."""
    many = min(60, max(8, math.ceil(1.5 * largest)))
    return [
        *(np.geomspace(1e-3, 0.06, 6) * largest).tolist(),
        *(np.linspace(0.1, 0.97, many) * largest).tolist(),
    ]


def _least_tilt(values: FloatArray, masses: FloatArray, largest: float) -> float:
    """About the θ that minimises E e^{θG}, from above; infinite if beyond what is looked at."""
    lower, upper = 0.0, _LEAST_TILT / largest
    while _mean(values, masses * np.exp(upper * values)) < 0.0:
        lower, upper = upper, 4.0 * upper
        if upper * largest > _LARGEST_TILT:
            return math.inf
    for _ in range(6):
        middle = 0.5 * (lower + upper)
        if _mean(values, masses * np.exp(middle * values)) < 0.0:
            lower = middle
        else:
            upper = middle
    return upper


def _values(eps: float, masses: FloatArray) -> FloatArray:
    a, b, c = masses
    return np.asarray(((a - b) - math.expm1(eps) * b) / c)


def _mean(values: FloatArray, masses: FloatArray) -> float:
    # Not by BLAS, whose threads wait for each other where processors are busy.
    return float(np.sum(values * masses))


# Ends this short are left as they are, and so are those that would hardly become shorter. Fewer
# boxes than this save nothing.
_FEW, _SHORTER, _LEAST_BOXES = 6000, 0.95, 2000
# How far either end may move, in terms of how far they are apart at most. That is a sum of worst
# cases: by 2.1e-5 at most were they found to move apart, relatively in ε (docs/engine.md).
_INNER_SHARE, _OUTER_SHARE = 0.3, 0.6
# Beyond, masses at the corners or squares of ratios might not fit in floats.
_SMALLEST_MASS, _WIDEST_RATIO = 1e-250, 1e70
# Components this close to their own mirror image belong to both halves of a symmetric law. None may
# be only about so close, or its own image might be on the other side of the limit.
_ON_THE_AXIS, _DOUBTFUL = 1e-9, 1.01
_U = 2.0**-53

# Fewer masses a, b, c, shape (3, J), and their rounding, from masses and costs as in `cut`.
_Coarsen = Callable[[FloatArray, FloatArray], tuple[FloatArray, float]]


def coarsened(joint: Decomposition) -> Decomposition:
    """The same with fewer components in both ends, which then lie hardly further apart.

    As it is where the arrays are the whole truth, and where components are few or masses 0 or
    so small that nothing is gained.
    """
    bounds = joint.bounds()
    if joint.is_finite() or max(map(len, bounds)) <= _FEW:
        return joint
    inner, outer = (np.stack([end.a, end.b, end.c]) for end in bounds)
    for masses in (inner, outer):
        if masses.min() < _SMALLEST_MASS or masses[:2].max() / masses.min() > _WIDEST_RATIO:
            return joint
    found = stakes(inner, outer)
    symmetric = joint.is_symmetric()
    below = _shorter(
        bounds[0], found.inner / (_INNER_SHARE * found.distance), _united, symmetric=symmetric
    )
    above = _shorter(
        bounds[1], found.outer / (_OUTER_SHARE * found.distance), _spread, symmetric=symmetric
    )
    if joint.inner is None:
        return Decomposition(below.a, below.b, below.c, below.rel_err, outer=above)
    return Decomposition(above.a, above.b, above.c, above.rel_err, inner=below)


def _shorter(
    end: Decomposition, costs: FloatArray, coarsen: _Coarsen, *, symmetric: bool
) -> Decomposition:
    """One end by itself, coarser if that makes it much shorter."""
    masses, rel_err = np.stack([end.a, end.b, end.c]), end.rel_err
    distances = np.abs(end.a - end.b) / (_ON_THE_AXIS * end.a)
    doubtful = (distances > 1.0 / _DOUBTFUL) & (distances < _DOUBTFUL)
    symmetric = symmetric and not doubtful.any()
    if symmetric:
        # The law is one half and its mirror image, so that what bounds the half does for both.
        on_the_axis = distances <= 1.0
        half = on_the_axis | (end.a > end.b)
        share = np.where(on_the_axis, 0.5, 1.0)[half]
        masses, costs = masses[:, half] * share, costs[:, half] * (2.0 * share)
        rel_err = compounded(rel_err, 2.0 * end.asymmetry)
    masses, rounding = coarsen(masses, costs)
    if symmetric:
        masses = np.concatenate([masses, masses[[1, 0, 2]]], axis=1)
    if masses.shape[1] > _SHORTER * len(end):
        return Decomposition(end.a, end.b, end.c, end.rel_err)
    a, b, c = masses
    return Decomposition(a, b, c, compounded(rel_err, rounding)).merge()


def _united(masses: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    """What the boxes hold."""
    # The mean square distance from the mean of an interval is a twelfth of its square.
    labels = cut(masses[:2] / masses[2], costs / 12.0, _LEAST_BOXES).labels
    return _sums(labels, masses), _rounding(labels)


def _spread(masses: FloatArray, costs: FloatArray) -> tuple[FloatArray, float]:
    """What the corners of the boxes hold."""
    c = masses[2]
    # It is a sixth where masses are moved to its ends.
    sides = cut(masses[:2] / c, costs / 6.0, _LEAST_BOXES).sides
    places, shares = corners(sides)
    used = shares > 0.0
    numbers, labels = np.unique(places[used], return_inverse=True)
    x, y = (
        side.borders[number]
        for side, number in zip(sides, np.divmod(numbers, STRIPS + 1), strict=True)
    )
    at_corners = _sums(labels, (shares * c)[used][None])[0]
    rounding = compounded(*(side.spread for side in sides), _rounding(labels))
    return np.stack([x * at_corners, y * at_corners, at_corners]), rounding


def _sums(labels: NDArray[np.int64], rows: FloatArray) -> FloatArray:
    """Of each row over equal labels."""
    return np.stack([np.bincount(labels, weights=row) for row in rows])


def _rounding(labels: NDArray[np.int64]) -> float:
    """Relatively, of sums of positive terms that are good to a dozen roundings each."""
    return (12.0 + float(np.bincount(labels).max())) * _U
