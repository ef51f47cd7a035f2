"""Products of decompositions, united block by block, so that few pairs are in memory at once.

Which components of a product have one ratio a : b : c is told from integers, roughly: logarithms of
ratios in units that let rounding drown in what counts as equal. How far united components really
differed is measured and charged, so that a label that is wrong costs nothing but width.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shufflebounds.lattice_products import common_lattice, shifted_places, shifted_products
from shufflebounds.merging import FloatArray, merge_labelled_rows

# What stands for log 0 is beyond the logarithm of any mass, but a sum of a hundred of them fits
# in an int64; what counts as equal is 6e-11 wide.
_UNIT, _COARSE = 2.0**-44, 1 << 10
_ABSENT = -2e3
_U = 2.0**-53
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
    united, err = merge_labelled_rows(product, np.unique(keys, return_inverse=True)[1])
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
