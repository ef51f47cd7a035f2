"""Components with equal a : b : c, up to rounding: finding and uniting them (Theorem 7)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_U = 2.0**-53
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


def merge_arrays(
    a: FloatArray, b: FloatArray, c: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Merged masses, and the largest relative distance of an entry from its merged ratio."""
    used = (a > 0.0) | (b > 0.0)
    a, b, c = a[used], b[used], c[used]
    return merge_labelled(a, b, c, ratio_labels(a, b, c))


def merge_rows(rows: FloatArray) -> tuple[FloatArray, float]:
    """`merge_arrays` of rows a, b, c and 0 or 1, shape (4, J), where only equals go together."""
    rows = rows[:, (rows[0] > 0.0) | (rows[1] > 0.0)]
    return merge_labelled_rows(rows, ratio_labels(*rows))


def merge_labelled_rows(rows: FloatArray, label: NDArray[np.int64]) -> tuple[FloatArray, float]:
    """`merge_labelled` of rows a, b, c and 0 or 1, which is 1 where it is for all of a label."""
    a, b, c, marks = rows
    a, b, c, error = merge_labelled(a, b, c, label)
    if a.size < label.size:
        marks = np.bincount(label, weights=marks) == np.bincount(label)
    return np.stack([a, b, c, marks]), error


def merge_labelled(
    a: FloatArray, b: FloatArray, c: FloatArray, label: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """What `merge_arrays` gives, for components that are to be united where labels are equal.

    The labels are 0, 1, … without a gap, and every component has a > 0 or b > 0.
    """
    count = int(label.max(initial=-1)) + 1
    if count == a.size:
        return a, b, c, 0.0
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
    rounding = (6.0 + float(np.bincount(label).max())) * _U
    # NumPy's stubs have bincount count, whether there are weights or not.
    return sums[0], sums[1], sums[2], spread + rounding  # type: ignore[return-value]


def mirror_gap(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Largest relative difference between a merged component and its mirror image (b, a, c).

    Infinite where a component has no counterpart, and 0 where there are none.
    """
    return component_gap(np.stack([a, b, c]), np.stack([b, a, c])) if a.size else 0.0


def component_gap(here: FloatArray, there: FloatArray) -> float:
    """Largest relative difference between merged components (a, b, c), shape (3, J), of two lists.

    Infinite where a component has no counterpart.
    """
    label = ratio_labels(*np.concatenate([here, there], axis=1))
    mine, others = label[: here.shape[1]], label[here.shape[1] :]
    if not np.array_equal(np.sort(mine), np.sort(others)):
        return math.inf
    here, there = here[:, np.argsort(mine)], there[:, np.argsort(others)]
    largest = np.maximum(here, there)
    gap = np.abs(here - there) / np.where(largest > 0.0, largest, 1.0)
    return float(gap.max())
