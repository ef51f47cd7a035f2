"""Random reports, as simulations need them: what the mechanisms' `sample` and `estimate` share.

NumPy's generators are no source of secrets: reports of a real deployment need one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core.products import FloatArray

IntArray = NDArray[np.int64]
Words = NDArray[np.uint64]
# Hash values that a float tells apart.
_MOST_HASH_VALUES = 2**53
# The constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
_STEP, _FIRST, _SECOND = (
    np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def require_generator(rng: object) -> None:
    """ValueError unless it is a generator of NumPy."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"rng must be a numpy.random.Generator, such as np.random.default_rng(1), got {rng!r}"
        )


def checked_values(
    name: str, values: ArrayLike, count: float, items: int | None = None
) -> IntArray:
    """Integers from 0 to below `count`, one a user, or rows of so many different `items`."""
    found = np.asarray(values)
    wanted = "a 1-d array of" if items is None else f"an array with rows of {items} different"
    shape = found.shape[:1] if items is None else (*found.shape[:1], items)
    if found.ndim == 0 or found.shape != shape or not found.size or found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {wanted} integers, got {_shown(found)}")
    if found.min() < 0 or found.max() >= count:
        wrong = found[(found < 0) | (found >= count)][0]
        raise ValueError(f"{name} must be {wanted} integers from 0 to {count - 1:g}, got {wrong}")
    if items is not None and not np.all(np.diff(np.sort(found, axis=1), axis=1)):
        raise ValueError(f"{name} must be {wanted} integers, got a row with two equal ones")
    return found.astype(np.int64)


def checked_numbers(values: ArrayLike, low: float, high: float, name: str = "inputs") -> FloatArray:
    """Numbers in an interval, one a user."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not found.size or not np.all((found >= low) & (found <= high)):
        raise ValueError(
            f"{name} must be a 1-d array of numbers from {low:g} to {high:g}, got {_shown(found)}"
        )
    return found


def mean_of(reports: NDArray, low: float = -np.inf, high: float = np.inf) -> FloatArray:
    """Of all reports, which are numbers in an interval; a single one in an array."""
    numbers = checked_numbers(reports, low, high, "reports")
    return np.array([numbers.mean()])


def required(name: str, value: int | None) -> int:
    """A number of values that is known; ValueError for the limit of many."""
    if value is None:
        raise ValueError(f"{name} must be given to draw reports and to estimate from them")
    return value


def _shown(found: NDArray) -> str:
    return f"shape {found.shape} of {found.dtype}" if found.size != 1 else repr(found.tolist())


def truthful(inputs: IntArray, values: int, gap: float, rng: np.random.Generator) -> IntArray:
    """The input with probability `gap`, else any of the values: k-RR."""
    reports = rng.integers(values, size=inputs.size)
    true = rng.random(inputs.size) < gap
    reports[true] = inputs[true]
    return reports


def outputs(matrix: NDArray, inputs: IntArray, rng: np.random.Generator) -> IntArray:
    """Columns of a matrix of probabilities, each drawn from the row of its input."""
    reports = np.empty(inputs.size, dtype=np.int64)
    for x in np.unique(inputs):
        users = inputs == x
        steps = np.cumsum(matrix[x])
        drawn = rng.random(np.count_nonzero(users)) * steps[-1]
        reports[users] = np.searchsorted(steps, drawn, side="right")
    return reports


# Hashes of values, one a report.


def require_hashes(count: int) -> None:
    """ValueError where floats cannot tell so many hash values apart."""
    if count > _MOST_HASH_VALUES:
        raise ValueError(f"hash_values must be at most 2^53 to draw reports, got {count}")


def hashed(seeds: Words, values: NDArray, count: int) -> IntArray:
    """A value's hash, 0 to `count` − 1, by the function that a seed stands for."""
    mixed = seeds + (values.astype(np.uint64) + np.uint64(1)) * _STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(11)) * (count * 2.0**-53)).astype(np.int64)


def seeds(users: int, rng: np.random.Generator) -> Words:
    """Of as many hashes."""
    return rng.integers(2**64, size=users, dtype=np.uint64)


def hash_supporters(reports: NDArray, values: int, count: int) -> IntArray:
    """How many of the reports (seed, z) hash each value to z."""
    own, told = reports[:, 0], reports[:, 1].astype(np.int64)
    return np.array(
        [np.count_nonzero(hashed(own, np.array([v]), count) == told) for v in range(values)]
    )


# Random sets.


def sets(users: int, values: int, size: int, rng: np.random.Generator) -> IntArray:
    """Sets of `size` out of so many values, all equally likely, in random order; a row each."""
    found = np.empty((users, size), dtype=np.int64)
    # Floyd's algorithm: a number that is taken makes place for the largest one.
    for i, largest in enumerate(range(values - size, values)):
        drawn = rng.integers(largest + 1, size=users)
        taken = (found[:, :i] == drawn[:, np.newaxis]).any(axis=1)
        found[:, i] = np.where(taken, largest, drawn)
    return rng.permuted(found, axis=1)


def sets_with(
    own: IntArray, values: int, size: int, hits: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Sets of `size` values that hold i of the user's `own` with a probability of `hits`[i]."""
    users, items = own.shape
    count = rng.choice(hits.size, size=(users, 1), p=hits)
    mine = np.take_along_axis(own, sets(users, items, items, rng), axis=1)
    # Of the other values, which are enough to fill the set, numbered by themselves.
    rest = sets(users, values - items, size, rng)
    for item in np.sort(own, axis=1).T:
        rest += rest >= item[:, np.newaxis]
    both = np.hstack([mine, rest])
    place = np.arange(size)
    return np.take_along_axis(both, np.where(place < count, place, items + place), axis=1)


# Sylvester's Hadamard matrices: entry (x, y) is −1 to the number of ones that x and y share.


def columns(
    rows: IntArray, order: int, plus: NDArray[np.bool_], rng: np.random.Generator
) -> IntArray:
    """Random columns where the rows, none of them 0, hold +1 (`plus`), or −1."""
    drawn = rng.integers(order, size=rows.size)
    wrong = (np.bitwise_count(drawn & rows) % 2 == 0) != plus
    # One bit that both share changes the sign, and half of the columns to the other half.
    return np.where(wrong, drawn ^ (rows & -rows), drawn)


def walsh(counts: NDArray) -> IntArray:
    """The matrix times a vector, or several of them, along the last axis."""
    found, step = np.array(counts, dtype=np.int64), 1
    order = found.shape[-1]
    while step < order:
        pairs = found.reshape(*found.shape[:-1], order // (2 * step), 2, step)
        found = np.stack(
            [pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2
        ).reshape(found.shape)
        step *= 2
    return found
