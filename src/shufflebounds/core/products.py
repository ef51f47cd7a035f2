"""Products of decompositions, united block by block, so that few pairs are in memory at once.

Which components of a product have one ratio a : b : c is told from integers, roughly: logarithms of
ratios in units that let rounding drown in what counts as equal. How far united components really
differed is measured and charged, so that a label that is wrong costs nothing but width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Below this, quotients of masses overflow and products lose precision as subnormal floats.
SMALLEST_MASS = 1e-300

_U = 2.0**-53


def compounded(*errors: float) -> float:
    """(1 + e₁)(1 + e₂)⋯ − 1 for errors e ≥ 0, rounded up.

    In doubles 1 + 2⁻⁵³ is 1, so that the same formula would lose errors of a rounding altogether.
    """
    total = math.prod(1 + Fraction(error) for error in errors) - 1
    nearest = float(total)
    return nearest if nearest >= total else math.nextafter(nearest, math.inf)


# Products of components whose log-ratios are multiples of one number, by shifting arrays.
#
# Such are the joints of equal Laplace reports. Then no ratios have to be compared: those of a
# product are sums of whole numbers, and components of one place are united as they come.

# How far log-ratios may be off a multiple: far more than rounding makes them.
_OFF = 1e-11
# Places of a product in memory at once, and the share of places that must hold a component.
_MOST_PLACES, _FILLED = 2**22, 0.05


@dataclass(frozen=True)
class Lattice:
    """Where two sets of components lie on one lattice of log a/c and log b/c.

    ``one`` and ``two`` are whole numbers >= 0 of shape (2, J). Products lie at the sums of both,
    within ``shape``; their log-ratios are ``step`` times that plus ``origin``, and those of both
    sets are off that by at most ``off``.
    """

    one: NDArray[np.int64]
    two: NDArray[np.int64]
    origin: NDArray[np.int64]
    step: float
    off: float

    @property
    def shape(self) -> tuple[int, int]:
        """The extent of products."""
        rows, columns = (self.one.max(axis=1) + self.two.max(axis=1) + 1).tolist()
        return rows, columns

    @property
    def terms(self) -> int:
        """The most products at one place."""
        return int(np.bincount(self.own).max()) * self.two.shape[1]

    @property
    def own(self) -> NDArray[np.int64]:
        """The places of ``one``, row by row."""
        return self.one[0] * (int(self.one[1].max()) + 1) + self.one[1]

    def logs(self, places: NDArray[np.int64]) -> FloatArray:
        """Log-ratios at places of the product."""
        return np.asarray(self.step * (places + self.origin), dtype=np.float64)


def common_lattice(one: FloatArray, two: FloatArray) -> Lattice | None:
    """That of the log-ratios of two sets, each of shape (2, J); None if there is none.

    None as well where its products would be too many places, or `one` fills hardly any of its own.
    """
    step = _step(two)
    if step is None:
        return None
    places = [np.rint(logs / step).astype(np.int64) for logs in (one, two)]
    pairs = zip((one, two), places, strict=True)
    off = max(float(np.abs(logs - step * at).max()) for logs, at in pairs)
    least = [at.min(axis=1, keepdims=True) for at in places]
    found = Lattice(places[0] - least[0], places[1] - least[1], least[0] + least[1], step, off)
    extent = np.prod(found.one.max(axis=1) + 1.0)
    if off > _OFF or math.prod(found.shape) > _MOST_PLACES or one.shape[1] < _FILLED * extent:
        return None
    return found


def shifted_products(one: FloatArray, two: FloatArray, lattice: Lattice) -> FloatArray:
    """Masses (a, b, c) of the products, shape (3, J), those at one place united."""
    total = _shifted(one, two, lattice)
    return total[:, total[2] > 0.0]


def _shifted(one: FloatArray, two: FloatArray, lattice: Lattice) -> FloatArray:
    """Rows of sums over all pairs, at every place of the lattice."""
    rows, columns = lattice.one.max(axis=1) + 1
    total = np.zeros((len(one), *lattice.shape))
    for part, masses, sums in zip(one, two, total, strict=True):
        # NumPy's stubs have bincount count, whether there are weights or not.
        filled = np.bincount(lattice.own, weights=part, minlength=rows * columns).reshape(
            rows, columns
        )
        for mass, i, j in zip(masses.tolist(), *lattice.two.tolist(), strict=True):
            sums[i : i + rows, j : j + columns] += mass * filled
    return total


def shifted_places(lattice: Lattice) -> NDArray[np.int64]:
    """The places of the products, shape (2, J)."""
    one, two = (np.ones((1, places.shape[1])) for places in (lattice.one, lattice.two))
    return np.stack(np.nonzero(_shifted(one, two, lattice)[0]))


def _step(logs: FloatArray) -> float | None:
    """What all may be multiples of: their smallest distance, told from the largest one."""
    values = np.unique(np.append(np.abs(logs), 0.0))
    gaps = np.diff(values)
    gaps = gaps[gaps > _OFF]
    return float(values[-1] / np.rint(values[-1] / gaps.min())) if gaps.size else None


# Components with equal a : b : c, up to rounding: finding and uniting them (Theorem 7).

# Ratios a:b:c closer than this are taken for one ratio that rounding has split.
_MERGE_GAP = 512 * _U


def ratio_labels(
    a: FloatArray, b: FloatArray, c: FloatArray, *others: FloatArray
) -> NDArray[np.int64]:
    """Number the distinct ratios a : b : c; ratios that rounding has split share a number.

    `others` are numbers, each of shape (J,), in which components of one number must agree, too.
    """
    scale = np.maximum(np.maximum(a, b), c)
    label = np.zeros(a.size, dtype=np.int64)
    for key in (a / scale, b / scale, c / scale, *others):
        order = np.lexsort((key, label))
        key, group = key[order], label[order]
        starts = (np.diff(key) > _MERGE_GAP * key[1:]) | (np.diff(group) != 0)
        label[order] = np.concatenate([[0], np.cumsum(starts)])
    return label


def merge_rows(rows: FloatArray) -> tuple[FloatArray, float]:
    """Unite components of one ratio a : b : c, and leave out what the victim never uses.

    Rows a, b, c, shape (3, J), or a fourth of 0 and 1 in which united components must agree, too.
    Returned besides is the largest relative distance of an entry from its merged ratio.
    """
    rows = rows[:, (rows[0] > 0.0) | (rows[1] > 0.0)]
    return merge_labelled(rows, ratio_labels(*rows))


def merge_labelled(rows: FloatArray, label: NDArray[np.int64]) -> tuple[FloatArray, float]:
    """`merge_rows` for components that are to be united where labels are equal.

    The labels are 0, 1, … without a gap, and every component has a > 0 or b > 0. A fourth row is 1
    where it is for all of a label.
    """
    count = int(label.max(initial=-1)) + 1
    if count == label.size:
        return rows, 0.0
    a, b, c, *marks = rows
    sums = [np.bincount(label, weights=x, minlength=count) for x in (a, b, c)]
    # A component stands in its group as a share of the group's c (of its a + b where c is 0).
    weight = np.where(sums[2][label] > 0.0, c, a + b)
    share = weight / np.bincount(label, weights=weight, minlength=count)[label]
    spread = 0.0
    for x, total in zip((a, b, c), sums, strict=True):
        present = x > 0.0
        ideal = share[present] * total[label][present]
        spread = max(spread, float(np.max(np.abs(x[present] / ideal - 1.0), initial=0.0)))
    # Recursive summation of positive terms: one rounding each, and a few in the ratios above.
    sizes = np.bincount(label)
    united = [*sums, *(np.bincount(label, weights=x) == sizes for x in marks)]
    return np.stack(united).astype(np.float64), spread + (6.0 + float(sizes.max())) * _U


def component_gap(here: FloatArray, there: FloatArray) -> float:
    """Largest relative difference between merged components (a, b, c), shape (3, J), of two lists.

    Infinite where a component has no counterpart, and 0 where there are none at all.
    """
    if not here.size and not there.size:
        return 0.0
    label = ratio_labels(*np.concatenate([here, there], axis=1))
    mine, others = label[: here.shape[1]], label[here.shape[1] :]
    if not np.array_equal(np.sort(mine), np.sort(others)):
        return math.inf
    return relative_gap(here[:, np.argsort(mine)], there[:, np.argsort(others)])


def relative_gap(x: FloatArray, y: FloatArray) -> float:
    """The largest relative difference of two entries; inf where they are not as many."""
    if x.shape != y.shape:
        return math.inf
    largest = np.maximum(x, y)
    return float(np.max(np.abs(x - y) / np.where(largest > 0.0, largest, 1.0)))


# What stands for log 0 is beyond the logarithm of any mass, but a sum of a hundred of them fits
# in an int64; what counts as equal is 6e-11 wide.
_UNIT, _COARSE = 2.0**-44, 1 << 10
_ABSENT = -2e3

_HASH, _TIED = np.int64(0x1F3B0A5C7D96E84F), np.int64(0x2545F4914F6CDD1D)
# Errors that no rounding makes.
_WRONG = 1e-9
# From so many pairs on it pays to look for a lattice.
_MANY = 2**15
# Pairs in memory at once, and united ones of several blocks, unless more of them remain.
_BLOCK, _KEPT = 2**18, 2**20


def log_ratios(a: FloatArray, b: FloatArray, c: FloatArray) -> NDArray[np.int64]:
    """Logarithms of a/c and b/c, shape (2, J), in units."""
    with np.errstate(divide="ignore"):
        a, b, c = (np.maximum(np.log(x), _ABSENT) for x in (a, b, c))
    return np.rint(np.stack([a - c, b - c]) / _UNIT).astype(np.int64)


def ratio_keys(ratios: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers that are equal where both ratios of shape (2, J) are, up to rounding."""
    return (ratios[0] // _COARSE) * _HASH + ratios[1] // _COARSE


def distinct_products(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct ratios of all pairs, from those of both sides as `log_ratios` gives them."""
    absent = max(float(np.abs(x).max()) for x in (one, two)) > -0.5 * _ABSENT / _UNIT
    if one.shape[1] * two.shape[1] >= _MANY and not absent:
        lattice = common_lattice(*(np.multiply(x, _UNIT) for x in (one, two)))
        if lattice is not None:
            return np.rint(lattice.logs(shifted_places(lattice)) / _UNIT).astype(np.int64)
    one = one[:, _by_ratio(one)]
    kept = np.empty((2, 0), dtype=np.int64)
    waiting: list[NDArray[np.int64]] = []
    for rows in _rows(one, two):
        waiting.append(_distinct(_pairs(one[:, rows], two, np.add)))
        if _are_many(waiting, kept):
            kept, waiting = _distinct(np.concatenate([kept, *waiting], axis=1)), []
    return _distinct(np.concatenate([kept, *waiting], axis=1)) if waiting else kept


def united_products(one: FloatArray, two: FloatArray) -> tuple[FloatArray, list[float]]:
    """Products of all pairs of components, shape (4, J), those of one ratio united.

    `one` and `two` are a, b, c, and 1 where a and b are tied, else 0, in rows: a product is tied
    where both factors are. Returned besides are the relative errors of uniting, one on top of the
    other, but not the rounding of the products.
    """
    if one.shape[1] * two.shape[1] >= _MANY and min(one[:3].min(), two[:3].min()) > 0.0:
        ratios = [np.log(masses[:2] / masses[2]) for masses in (one, two)]
        lattice = common_lattice(*ratios)
        if lattice is not None:
            # A quotient is good to u, a logarithm to 2 ulps, and the multiple to u.
            off = lattice.off + _U * (2.0 + 6.0 * max(float(np.abs(x).max()) for x in ratios))
            # Off the lattice by both factors, before they are united and after.
            rounding = (lattice.terms + 2.0) * _U
            products = shifted_products(one[:3], two[:3], lattice)
            # What is tied falls on places where other things are, too.
            ties = np.zeros((1, products.shape[1]))
            return np.concatenate([products, ties]), [*[1.01 * off] * 4, rounding]
    # Neighbours in a block have more products of equal ratios.
    one = one[:, _by_ratio(log_ratios(*one[:3]))]
    logs = log_ratios(*one[:3]), log_ratios(*two[:3])
    kept = np.empty((4, 0))
    waiting: list[FloatArray] = []
    first = 0.0
    errors: list[float] = []
    blocks = _rows(one, two)
    for rows in blocks:
        pairs = _pairs(one[:, rows], two, np.multiply)
        united, error = _united(pairs, _pairs(logs[0][:, rows], logs[1], np.add))
        first = max(first, error)
        waiting.append(united)
        if rows is blocks[-1] or _are_many(waiting, kept):
            together = np.concatenate([kept, *waiting], axis=1)
            if len(blocks) == 1:
                return together, [first]
            kept, error = _united(together, log_ratios(*together[:3]))
            errors.append(error)
            waiting = []
    return kept, [first, *errors]


def _by_ratio(ratios: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.lexsort(ratios // _COARSE)


def _are_many(waiting: Sequence[NDArray], kept: NDArray) -> bool:
    return sum(part.shape[1] for part in waiting) > max(_KEPT - kept.shape[1], kept.shape[1])


def _united(product: FloatArray, ratios: NDArray[np.int64]) -> tuple[FloatArray, float]:
    """Components of equal keys united, all of them tied or none, and the relative error of it."""
    used = (product[0] > 0.0) | (product[1] > 0.0)
    product = product[:, used]
    keys = ratio_keys(ratios[:, used]) + product[3].astype(np.int64) * _TIED
    united, err = merge_labelled(product, np.unique(keys, return_inverse=True)[1])
    if err > _WRONG:  # two ratios have one key by chance
        return product, 0.0
    return united, err


def _distinct(ratios: NDArray[np.int64]) -> NDArray[np.int64]:
    return ratios[:, np.unique(ratio_keys(ratios), return_index=True)[1]]


def _pairs(one: NDArray, two: NDArray, combine: np.ufunc) -> NDArray:
    """All pairs of columns, combined row by row."""
    return combine(one[:, :, None], two[:, None, :]).reshape(one.shape[0], -1)


def _rows(one: NDArray, two: NDArray) -> list[slice]:
    """Stretches of the columns of `one` that make a block of pairs each."""
    step = max(1, _BLOCK // two.shape[1])
    return [slice(start, start + step) for start in range(0, one.shape[1], step)]
