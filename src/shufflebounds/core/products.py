"""Products of decompositions, united block by block, so that few pairs are in memory at once.

Components of a product with equal ratios a : b : c are united (Theorem 7). Their ratios are
compared as integers: logarithms in units so coarse that rounding rarely separates equal ratios. The
real difference of united components is measured and added to the error, so that a wrong comparison
makes an enclosure wider but never wrong.

If the log-ratios of both factors are multiples of one number, as those of equal Laplace reports
are, no ratios are compared: the products lie on a lattice, and arrays are shifted and added.
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

# Smallest positive mass: quotients of smaller ones overflow, and products are subnormal floats.
SMALLEST_MASS = 1e-300
# Unit roundoff of doubles: one operation has at most this relative error.
U = 2.0**-53
# Relative error of masses that take at most eight roundings.
MASSES_ERR = 2.0**-50
# Relative error of products of powers and a dozen factors: at most 128 roundings.
POWER_ERR = 2.0**-46
# Largest absolute distance of a sum of masses from 1 that is accepted as rounding.
SUM_TOLERANCE = 1e-9
# Largest relative difference of masses at which decompositions count as one. It is added to their
# uncertainty.
NEARLY_EQUAL = 1e-12
# Largest distance of a log-ratio from a multiple of the lattice's step. Rounding moves it far less.
_MAX_LATTICE_OFFSET = 1e-11
# Largest number of places of a lattice of products: 32 MB for each row of masses.
_MAX_LATTICE_PLACES = 2**22
# Smallest share of the places of a factor's lattice that must hold a component. The
# choice affects speed and the charged error.
_MIN_FILLED_SHARE = 0.05
# Smallest number of pairs of components for which `common_lattice` is tried. The choice
# affects speed and the charged error.
_MIN_PAIRS_FOR_LATTICE = 2**15
# Largest relative difference of ratios a : b : c that counts as rounding of one ratio.
MERGE_GAP = 512 * U
# Unit of the integers that stand for log-ratios (natural logarithm).
_LOG_UNIT = 2.0**-44
# Log-ratios that agree when divided by so many units, rounded down, count as equal: 6e-11.
_UNITS_PER_KEY = 1 << 10
# Stands for log 0. It is below the logarithm of any mass, and a sum of a hundred of them, in units,
# still fits in an int64.
_LOG_ZERO = -2e3
# Odd factor that mixes the two log-ratios of a component into one integer key.
_KEY_FACTOR = np.int64(0x1F3B0A5C7D96E84F)
# Largest relative difference of united components that rounding can cause. A larger one means that
# different ratios have one key by chance.
_MAX_ROUNDING_SPREAD = 1e-9
# Largest number of pairs of components in one block: 2 MB for each row of masses. The choice
# affects speed, memory and the charged rounding error.
_PAIRS_PER_BLOCK = 2**18


def compounded(*errors: float) -> float:
    """Return (1 + e₁)(1 + e₂)⋯ − 1 for errors e ≥ 0, rounded up.

    The product is computed in fractions: in doubles 1 + 2⁻⁵³ is 1, and an error of one rounding
    would be lost.
    """
    total = math.prod(1 + Fraction(error) for error in errors) - 1
    nearest = float(total)
    return nearest if nearest >= total else math.nextafter(nearest, math.inf)


@dataclass(frozen=True)
class Lattice:
    """The places of two sets of components on one lattice of log a/c and log b/c.

    ``first`` and ``second`` are integers >= 0 of shape (2, J), one column for each component. A
    product lies at the sum of its factors' places, which is within ``shape``, and its log-ratios
    are ``step`` times (place + ``origin``). The log-ratios of each set differ from multiples of
    ``step`` by at most ``offset``.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    origin: NDArray[np.int64]
    step: float
    offset: float

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns of places that the products need."""
        rows, columns = (self.first.max(axis=1) + self.second.max(axis=1) + 1).tolist()
        return rows, columns

    @property
    def terms(self) -> int:
        """An upper bound on the number of products at one place."""
        return int(np.bincount(self.flat_first).max()) * self.second.shape[1]

    @property
    def flat_first(self) -> NDArray[np.int64]:
        """The places of ``first`` as indices of a flattened array, row by row."""
        return self.first[0] * (int(self.first[1].max()) + 1) + self.first[1]

    def logs(self, places: NDArray[np.int64]) -> FloatArray:
        """Return the log-ratios of products at these places, shape (2, J)."""
        return np.asarray(self.step * (places + self.origin), dtype=np.float64)


def common_lattice(first: FloatArray, second: FloatArray) -> Lattice | None:
    """Return the lattice of the log-ratios of two sets, each of shape (2, J), or None.

    It is None if the log-ratios are not multiples of one number, if the products would have more
    than `_MAX_LATTICE_PLACES` places, or if the components of `first` fill too few of their places.
    """
    step = _common_step(second)
    if step is None:
        return None
    places = [np.rint(logs / step).astype(np.int64) for logs in (first, second)]
    pairs = zip((first, second), places, strict=True)
    offset = max(float(np.abs(logs - step * place).max()) for logs, place in pairs)
    corners = [place.min(axis=1, keepdims=True) for place in places]
    lattice = Lattice(
        places[0] - corners[0], places[1] - corners[1], corners[0] + corners[1], step, offset
    )
    extent = np.prod(lattice.first.max(axis=1) + 1.0)
    if (
        offset > _MAX_LATTICE_OFFSET
        or math.prod(lattice.shape) > _MAX_LATTICE_PLACES
        or first.shape[1] < _MIN_FILLED_SHARE * extent
    ):
        return None
    return lattice


def shifted_products(first: FloatArray, second: FloatArray, lattice: Lattice) -> FloatArray:
    """Return the masses (a, b, c) of the products, shape (3, J), one column for each place."""
    total = _sums_at_places(first, second, lattice)
    return total[:, total[2] > 0.0]


def _sums_at_places(first: FloatArray, second: FloatArray, lattice: Lattice) -> FloatArray:
    """Return for each row the sums of products over all pairs, at every place of the lattice."""
    rows, columns = lattice.first.max(axis=1) + 1
    total = np.zeros((len(first), *lattice.shape))
    for first_masses, second_masses, sums in zip(first, second, total, strict=True):
        # NumPy's stubs say that bincount returns integers, which is wrong with weights.
        filled = np.bincount(
            lattice.flat_first, weights=first_masses, minlength=rows * columns
        ).reshape(rows, columns)
        for mass, i, j in zip(second_masses.tolist(), *lattice.second.tolist(), strict=True):
            sums[i : i + rows, j : j + columns] += mass * filled
    return total


def shifted_places(lattice: Lattice) -> NDArray[np.int64]:
    """Return the places of the products, shape (2, J)."""
    first, second = (np.ones((1, places.shape[1])) for places in (lattice.first, lattice.second))
    return np.stack(np.nonzero(_sums_at_places(first, second, lattice)[0]))


def _common_step(logs: FloatArray) -> float | None:
    """Return the number of which all log-ratios may be multiples, or None if all are 0.

    It is near the smallest distance of two absolute values, and divides the largest one.
    """
    values = np.unique(np.append(np.abs(logs), 0.0))
    gaps = np.diff(values)
    gaps = gaps[gaps > _MAX_LATTICE_OFFSET]
    return float(values[-1] / np.rint(values[-1] / gaps.min())) if gaps.size else None


def ratio_labels(
    a: FloatArray, b: FloatArray, c: FloatArray, *marks: FloatArray
) -> NDArray[np.int64]:
    """Number the distinct ratios a : b : c; ratios that differ by rounding share a number.

    Each array of `marks`, shape (J,), must agree as well in components that share a number.
    """
    scale = np.maximum(np.maximum(a, b), c)
    label = np.zeros(a.size, dtype=np.int64)
    for key in (a / scale, b / scale, c / scale, *marks):
        order = np.lexsort((key, label))
        key, group = key[order], label[order]
        starts = (np.diff(key) > MERGE_GAP * key[1:]) | (np.diff(group) != 0)
        label[order] = np.concatenate([[0], np.cumsum(starts)])
    return label


def merge_rows(rows: FloatArray) -> tuple[FloatArray, float]:
    """Unite components of one ratio a : b : c, and drop those that the victim never uses.

    `rows` are a, b, c, shape (3, J). A fourth row of 0 and 1 is allowed, in which united components
    must agree, too. Returns the united rows and the largest relative distance of an entry from its
    united ratio.
    """
    rows = rows[:, (rows[0] > 0.0) | (rows[1] > 0.0)]
    return merge_labelled(rows, ratio_labels(*rows))


def merge_labelled(rows: FloatArray, label: NDArray[np.int64]) -> tuple[FloatArray, float]:
    """Unite components of equal labels; returns what `merge_rows` returns.

    The labels are 0, 1, … without a gap, and every component has a > 0 or b > 0. In the result, a
    fourth row is 1 if it is 1 for all components of the label.
    """
    count = int(label.max(initial=-1)) + 1
    if count == label.size:
        return rows, 0.0
    a, b, c, *marks = rows
    sums = [np.bincount(label, weights=x, minlength=count) for x in (a, b, c)]
    # The share of a component in its group is its share of the group's c, or of a + b if c is 0.
    weight = np.where(sums[2][label] > 0.0, c, a + b)
    share = weight / np.bincount(label, weights=weight, minlength=count)[label]
    spread = 0.0
    for x, total in zip((a, b, c), sums, strict=True):
        present = x > 0.0
        ideal = share[present] * total[label][present]
        spread = max(spread, float(np.max(np.abs(x[present] / ideal - 1.0), initial=0.0)))
    # A sum of positive terms has one rounding for each term, and the ratios above have a few more.
    sizes = np.bincount(label)
    united = [*sums, *(np.bincount(label, weights=x) == sizes for x in marks)]
    return np.stack(united).astype(np.float64), spread + (6.0 + float(sizes.max())) * U


def component_gap(first: FloatArray, second: FloatArray) -> float:
    """Return the largest relative difference of two lists of merged components, shape (3, J).

    It is infinite if a component has no counterpart, and 0 if both lists are empty.
    """
    if not first.size and not second.size:
        return 0.0
    label = ratio_labels(*np.concatenate([first, second], axis=1))
    first_label, second_label = label[: first.shape[1]], label[first.shape[1] :]
    if not np.array_equal(np.sort(first_label), np.sort(second_label)):
        return math.inf
    return relative_gap(first[:, np.argsort(first_label)], second[:, np.argsort(second_label)])


def relative_gap(x: FloatArray, y: FloatArray) -> float:
    """Return the largest relative difference of two entries; inf if the shapes differ."""
    if x.shape != y.shape:
        return math.inf
    largest = np.maximum(x, y)
    return float(np.max(np.abs(x - y) / np.where(largest > 0.0, largest, 1.0)))


def log_ratios(a: FloatArray, b: FloatArray, c: FloatArray) -> NDArray[np.int64]:
    """Return the logarithms of a/c and b/c, shape (2, J), as integers in units of `_LOG_UNIT`."""
    with np.errstate(divide="ignore"):
        a, b, c = (np.maximum(np.log(x), _LOG_ZERO) for x in (a, b, c))
    return np.rint(np.stack([a - c, b - c]) / _LOG_UNIT).astype(np.int64)


def ratio_keys(ratios: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each column of shape (2, J), the same for equal ratios.

    The ratios are those of `log_ratios`. Ratios that differ by rounding may have different keys,
    and different ratios may have one key by chance; both are rare.
    """
    return (ratios[0] // _UNITS_PER_KEY) * _KEY_FACTOR + ratios[1] // _UNITS_PER_KEY


def distinct_products(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct log-ratios of all pairs; all log-ratios are those of `log_ratios`."""
    has_zeros = max(float(np.abs(x).max()) for x in (first, second)) > -0.5 * _LOG_ZERO / _LOG_UNIT
    if first.shape[1] * second.shape[1] >= _MIN_PAIRS_FOR_LATTICE and not has_zeros:
        lattice = common_lattice(*(np.multiply(x, _LOG_UNIT) for x in (first, second)))
        if lattice is not None:
            return np.rint(lattice.logs(shifted_places(lattice)) / _LOG_UNIT).astype(np.int64)
    first = first[:, _ratio_order(first)]
    collected = np.empty((2, 0), dtype=np.int64)
    waiting: list[NDArray[np.int64]] = []
    for columns in _column_blocks(first, second):
        waiting.append(_distinct_ratios(_all_pairs(first[:, columns], second, np.add)))
        if _are_many(waiting, collected):
            collected, waiting = (
                _distinct_ratios(np.concatenate([collected, *waiting], axis=1)),
                [],
            )
    return _distinct_ratios(np.concatenate([collected, *waiting], axis=1)) if waiting else collected


def united_products(first: FloatArray, second: FloatArray) -> tuple[FloatArray, list[float]]:
    """Unite the products of all pairs of components by their ratios a : b : c.

    The rows of `first` and `second` are a, b, c, and 1 for tied components, else 0. A product is
    tied if both factors are. Returns the united products, shape (4, J), and the relative errors of
    uniting, each on top of the one before; the rounding of the products is not among them.
    """
    many_pairs = first.shape[1] * second.shape[1] >= _MIN_PAIRS_FOR_LATTICE
    if many_pairs and min(first[:3].min(), second[:3].min()) > 0.0:
        ratios = [np.log(masses[:2] / masses[2]) for masses in (first, second)]
        lattice = common_lattice(*ratios)
        if lattice is not None:
            # A quotient is good to u, a logarithm to 2 ulps, and the multiple to u.
            offset = lattice.offset + U * (2.0 + 6.0 * max(float(np.abs(x).max()) for x in ratios))
            rounding = (lattice.terms + 2.0) * U
            products = shifted_products(first[:3], second[:3], lattice)
            # Tied products may share a place with others, so that none counts as tied.
            ties = np.zeros((1, products.shape[1]))
            # Both factors are off the lattice, before they are united and after: four offsets.
            return np.concatenate([products, ties]), [*[1.01 * offset] * 4, rounding]
    # Sorted neighbours have more products of equal ratios, which a block unites at once.
    first = first[:, _ratio_order(log_ratios(*first[:3]))]
    logs = log_ratios(*first[:3]), log_ratios(*second[:3])
    collected = np.empty((4, 0))
    waiting: list[FloatArray] = []
    block_error = 0.0
    errors: list[float] = []
    blocks = _column_blocks(first, second)
    for columns in blocks:
        pairs = _all_pairs(first[:, columns], second, np.multiply)
        united, error = _unite_by_keys(pairs, _all_pairs(logs[0][:, columns], logs[1], np.add))
        block_error = max(block_error, error)
        waiting.append(united)
        if columns is blocks[-1] or _are_many(waiting, collected):
            components = np.concatenate([collected, *waiting], axis=1)
            if len(blocks) == 1:
                return components, [block_error]
            collected, error = _unite_by_keys(components, log_ratios(*components[:3]))
            errors.append(error)
            waiting = []
    return collected, [block_error, *errors]


def _ratio_order(ratios: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the permutation that sorts components by their log-ratios."""
    return np.lexsort(ratios // _UNITS_PER_KEY)


def _are_many(waiting: Sequence[NDArray], collected: NDArray) -> bool:
    """Return whether the waiting components should be united with the collected ones now.

    They wait until the collected ones would double, and for a block of components at least.
    """
    size = max(collected.shape[1], _PAIRS_PER_BLOCK)
    return sum(part.shape[1] for part in waiting) > size


def _unite_by_keys(product: FloatArray, ratios: NDArray[np.int64]) -> tuple[FloatArray, float]:
    """Return the components united by equal keys, and their relative error.

    Tied components are only united with tied ones. If different ratios have one key by
    chance, the components are returned as they are, with error 0.
    """
    used = (product[0] > 0.0) | (product[1] > 0.0)
    product = product[:, used]
    # Tied components have odd keys.
    keys = 2 * ratio_keys(ratios[:, used]) + product[3].astype(np.int64)
    united, error = merge_labelled(product, np.unique(keys, return_inverse=True)[1])
    if error > _MAX_ROUNDING_SPREAD:
        return product, 0.0
    return united, error


def _distinct_ratios(ratios: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one of the columns of each key, sorted by keys."""
    return ratios[:, np.unique(ratio_keys(ratios), return_index=True)[1]]


def _all_pairs(first: NDArray, second: NDArray, combine: np.ufunc) -> NDArray:
    """Return all pairs of columns, combined row by row."""
    return combine(first[:, :, None], second[:, None, :]).reshape(first.shape[0], -1)


def _column_blocks(first: NDArray, second: NDArray) -> list[slice]:
    """Return slices of the columns of `first`, each of which makes one block of pairs."""
    step = max(1, _PAIRS_PER_BLOCK // second.shape[1])
    return [slice(start, start + step) for start in range(0, first.shape[1], step)]
