"""Random reports for simulations: functions that `sample` and `estimate` of mechanisms share.

NumPy's generators are not cryptographically secure, as reports of a real deployment must be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core.products import FloatArray
from shufflebounds.core.validation import MAX_VALUES

IntArray = NDArray[np.int64]
Words = NDArray[np.uint64]
# Increment of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
_HASH_STEP = np.uint64(0x9E3779B97F4A7C15)
# First multiplier of splitmix64.
_HASH_FACTOR_1 = np.uint64(0xBF58476D1CE4E5B9)
# Second multiplier of splitmix64.
_HASH_FACTOR_2 = np.uint64(0x94D049BB133111EB)


def require_generator(rng: object) -> None:
    """Raise ValueError unless `rng` is a generator of NumPy."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"rng must be a numpy.random.Generator, such as np.random.default_rng(1), got {rng!r}"
        )


def checked_values(
    name: str, values: ArrayLike, count: float, items: int | None = None
) -> IntArray:
    """Return integers from 0 to `count` − 1, one for each user or rows of `items` distinct ones.

    Raises ValueError for anything else.
    """
    array = np.asarray(values)
    form = "a 1-d array of" if items is None else f"an array with rows of {items} different"
    shape = array.shape[:1] if items is None else (*array.shape[:1], items)
    if array.ndim == 0 or array.shape != shape or not array.size or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {form} integers, got {_describe(array)}")
    if array.min() < 0 or array.max() >= count:
        wrong = array[(array < 0) | (array >= count)][0]
        raise ValueError(f"{name} must be {form} integers from 0 to {count - 1:g}, got {wrong}")
    if items is not None and not np.all(np.diff(np.sort(array, axis=1), axis=1)):
        raise ValueError(f"{name} must be {form} integers, got a row with two equal ones")
    return array.astype(np.int64)


def checked_numbers(values: ArrayLike, low: float, high: float, name: str = "inputs") -> FloatArray:
    """Return numbers from `low` to `high`, one for each user; raise ValueError for others."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not numbers.size or not np.all((numbers >= low) & (numbers <= high)):
        raise ValueError(
            f"{name} must be a 1-d array of numbers from {low:g} to {high:g}, "
            f"got {_describe(numbers)}"
        )
    return numbers


def mean_of(reports: NDArray, low: float = -np.inf, high: float = np.inf) -> FloatArray:
    """Return the mean of all reports, shape (1,); ValueError unless they are in the interval."""
    numbers = checked_numbers(reports, low, high, "reports")
    return np.array([numbers.mean()])


def required(name: str, value: int | None) -> int:
    """Return a finite number of values; raise ValueError for the limit of many, None."""
    if value is None:
        raise ValueError(f"{name} must be given to draw reports and to estimate from them")
    return value


def _describe(array: NDArray) -> str:
    """Return the value of an array with one entry, and the shape and type of any other one."""
    return f"shape {array.shape} of {array.dtype}" if array.size != 1 else repr(array.tolist())


def truthful(inputs: IntArray, values: int, gap: float, rng: np.random.Generator) -> IntArray:
    """Return reports of k-RR: the input with probability `gap`, else any of the values."""
    reports = rng.integers(values, size=inputs.size)
    true = rng.random(inputs.size) < gap
    reports[true] = inputs[true]
    return reports


def outputs(matrix: NDArray, inputs: IntArray, rng: np.random.Generator) -> IntArray:
    """Return columns of a matrix of probabilities, each drawn from the row of its input."""
    reports = np.empty(inputs.size, dtype=np.int64)
    for x in np.unique(inputs):
        users = inputs == x
        steps = np.cumsum(matrix[x])
        quantiles = rng.random(np.count_nonzero(users)) * steps[-1]
        reports[users] = np.searchsorted(steps, quantiles, side="right")
    return reports


def require_hashes(count: int) -> None:
    """Raise ValueError if there are more hash values than floats can distinguish."""
    if count > MAX_VALUES:
        raise ValueError(f"hash_values must be at most 2^53 to draw reports, got {count}")


def hashed(seeds: Words, values: NDArray, count: int) -> IntArray:
    """Return the hashes of values, 0 to `count` − 1, by the functions with these seeds."""
    mixed = seeds + (values.astype(np.uint64) + np.uint64(1)) * _HASH_STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _HASH_FACTOR_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _HASH_FACTOR_2
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(11)) * (count * 2.0**-53)).astype(np.int64)


def seeds(users: int, rng: np.random.Generator) -> Words:
    """Return a random seed of a hash for each user."""
    return rng.integers(2**64, size=users, dtype=np.uint64)


def hash_supporters(reports: NDArray, values: int, count: int) -> IntArray:
    """Return for each value the number of reports (seed, z) that hash it to z."""
    seed, z = reports[:, 0], reports[:, 1].astype(np.int64)
    return np.array(
        [np.count_nonzero(hashed(seed, np.array([v]), count) == z) for v in range(values)]
    )


def sets(users: int, values: int, size: int, rng: np.random.Generator) -> IntArray:
    """Return a uniformly random set of `size` of the values for each user, in random order.

    The shape is (users, size).
    """
    elements = np.empty((users, size), dtype=np.int64)
    # Floyd's algorithm: the largest number replaces one that is already in the set.
    for i, largest in enumerate(range(values - size, values)):
        candidates = rng.integers(largest + 1, size=users)
        is_in_set = (elements[:, :i] == candidates[:, np.newaxis]).any(axis=1)
        elements[:, i] = np.where(is_in_set, largest, candidates)
    return rng.permuted(elements, axis=1)


def sets_with(
    own_items: IntArray, values: int, size: int, hits: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Return sets of `size` values with i of the user's `own_items` with probability `hits`[i]."""
    users, items = own_items.shape
    count = rng.choice(hits.size, size=(users, 1), p=hits)
    shuffled_items = np.take_along_axis(own_items, sets(users, items, items, rng), axis=1)
    # Numbers among the values without the user's items, which the loop turns into the values.
    other_values = sets(users, values - items, size, rng)
    for item in np.sort(own_items, axis=1).T:
        other_values += other_values >= item[:, np.newaxis]
    candidates = np.hstack([shuffled_items, other_values])
    place = np.arange(size)
    return np.take_along_axis(candidates, np.where(place < count, place, items + place), axis=1)


def hadamard_columns(
    rows: IntArray, order: int, plus: NDArray[np.bool_], rng: np.random.Generator
) -> IntArray:
    """Return random columns of Sylvester's Hadamard matrix, with entry +1 where `plus`, else −1.

    Entry (x, y) of the matrix is −1 to the number of one bits that x and y share. No row is 0.
    """
    candidates = rng.integers(order, size=rows.size)
    wrong = (np.bitwise_count(candidates & rows) % 2 == 0) != plus
    # Flipping a bit of the row changes the sign, and maps half of the columns to the other half.
    return np.where(wrong, candidates ^ (rows & -rows), candidates)


def walsh(counts: NDArray) -> IntArray:
    """Return Sylvester's Hadamard matrix times a vector, or several, along the last axis."""
    sums, step = np.array(counts, dtype=np.int64), 1
    order = sums.shape[-1]
    while step < order:
        pairs = sums.reshape(*sums.shape[:-1], order // (2 * step), 2, step)
        sums = np.stack(
            [pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2
        ).reshape(sums.shape)
        step *= 2
    return sums
