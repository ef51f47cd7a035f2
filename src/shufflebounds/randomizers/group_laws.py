"""The laws of users of several groups, who send reports of one form with randomizers of their own.

docs/proofs/personal-epsilon.md, section 5, says which inputs are enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.groups import MAX_BLOCK_USERS, GroupCrowd
from shufflebounds.core.products import POWER_ERR, SMALLEST_MASS, FloatArray, compounded
from shufflebounds.randomizers.base import Randomizer
from shufflebounds.randomizers.matrix_pairs import MatrixPairs, check_matrix

# Largest number of pairs of the victim's inputs, times combinations of inputs of a block, times
# outputs of matrices for which the bound for all datasets is computed.
MAX_MATRIX_SIZE = 10**6
# Largest relative change of masses that makes those equal that differ by rounding.
ROUNDING = 2.0**-46


def require_one_form(randomizers: Sequence[Randomizer]) -> None:
    """Raise ValueError unless all reports have one form, so that they can be shuffled together."""
    forms = {r.report_form for r in randomizers}
    if len(forms) == 1 and None not in forms:
        return
    try:
        sizes = [_matrix_pairs(r).matrix.shape[1] for r in randomizers]
    except ValueError as error:
        labels = ", ".join(dict.fromkeys(r.label for r in randomizers))
        raise ValueError(f"groups must send reports of one form, got {labels}: {error}") from None
    if len(set(sizes)) > 1:
        first, other = 0, next(i for i, size in enumerate(sizes) if size != sizes[0])
        raise ValueError(
            f"groups must have the same outputs, got {sizes[first]} outputs of "
            f"{randomizers[first].label} and {sizes[other]} of {randomizers[other].label}"
        )


def group_crowds(randomizers: Sequence[Randomizer], victim: int) -> tuple[GroupCrowd, ...]:
    """Return a crowd for each different pair of inputs of a victim of one of the groups.

    The result is empty if there are too many, or if a mass is too small for floats.
    """
    forms = {r.report_form for r in randomizers}
    if len(forms) == 1 and None not in forms:
        crowd = _crowd_of_values(randomizers, victim)
        return () if crowd is None else (crowd,)
    return _crowds_of_matrices(randomizers, victim)


def _crowd_of_values(randomizers: Sequence[Randomizer], victim: int) -> GroupCrowd | None:
    """Return the crowd of values that may change places.

    They are x₁⁰, x₁¹, and one more for each user of a block.
    """
    tables = [r.value_laws(2 + min(len(randomizers), MAX_BLOCK_USERS)) for r in randomizers]
    laws = [rows for rows, _ in tables]
    used = np.vstack(laws).any(axis=0)
    if (np.vstack(laws)[:, used] < SMALLEST_MASS).any():
        return None
    names = ("x0", "x1", "third", "fourth", "fifth")
    return _united(
        [rows[:, used] for rows in laws],
        [sure[used] for _, sure in tables],
        [POWER_ERR] * len(laws),
        names,
        victim,
        (0, 1),
        symmetric=True,
    )


def _matrix_pairs(mechanism: Randomizer) -> MatrixPairs:
    """Return the pairs of inputs of a mechanism's matrix; raise ValueError if it has none."""
    if mechanism.by_matrix is not None:
        return mechanism.by_matrix
    if not callable(make := getattr(mechanism, "matrix", None)):
        raise ValueError(f"{mechanism.label} has no matrix() of probabilities")
    return MatrixPairs(check_matrix(make()), POWER_ERR)


def _crowds_of_matrices(randomizers: Sequence[Randomizer], victim: int) -> tuple[GroupCrowd, ...]:
    """Return the crowds of all pairs of rows of the victim's matrix.

    Of those that are alike, one is kept, unless blocks do not have users of all groups.
    """
    matrices = [_matrix_pairs(r) for r in randomizers]
    used = np.vstack([x.rows for x in matrices]).any(axis=0)
    laws = [x.rows[:, used] for x in matrices]
    errors = [x.rel_err for x in matrices]
    count = len(laws[victim])
    largest = sorted(len(x) for x in laws)[-MAX_BLOCK_USERS:]
    if count * (count - 1) // 2 * int(used.sum()) * int(np.prod(largest)) > MAX_MATRIX_SIZE:
        return ()
    names = [str(x) for x in range(max(len(x) for x in laws))]
    sure = [rows.min(axis=0) for rows in laws]
    crowds = [
        replace(
            _united(laws, sure, errors, names, victim, pair, symmetric=False),
            pair=f"{pair[0]} against {pair[1]}",
        )
        for pair in itertools.combinations(range(count), 2)
    ]
    # If no pair tells inputs apart, the first one stands for all.
    crowds = crowds[:1] + [x for x in crowds[1:] if (x.a != x.b).any()]
    return tuple(crowds if len(laws) > MAX_BLOCK_USERS else _without_alike(crowds))


def _without_alike(crowds: Sequence[GroupCrowd]) -> list[GroupCrowd]:
    """Return the first of crowds that are alike, and say which are symmetric."""
    distinct: dict[frozenset[bytes], GroupCrowd] = {}
    for crowd in crowds:
        kinds, swapped = crowd.kinds(), crowd.swap().kinds()
        if kinds not in distinct and swapped not in distinct:
            distinct[kinds] = replace(crowd, symmetric=kinds == swapped)
    return [*distinct.values()]


def _united(
    laws: Sequence[NDArray[np.float64]],
    sure: Sequence[NDArray[np.float64]],
    errors: Sequence[float],
    names: Sequence[str],
    victim: int,
    pair: tuple[int, int],
    *,
    symmetric: bool,
) -> GroupCrowd:
    """Return a crowd in which entries that differ by rounding are equal."""
    rows = [_rounded(x) for x in laws]
    return GroupCrowd(
        rows[victim][pair[0]],
        rows[victim][pair[1]],
        tuple(rows),
        tuple(_rounded(x) for x in sure),
        compounded(max(errors), 2.0 * ROUNDING),
        tuple(tuple(names[: len(x)]) for x in laws),
        symmetric=symmetric,
    )


def _rounded(masses: NDArray[np.float64]) -> FloatArray:
    """Return masses rounded by a relative `ROUNDING`, so that nearly equal ones are equal."""
    mantissas, exponents = np.frexp(masses)
    return np.ldexp(np.round(mantissas / ROUNDING) * ROUNDING, exponents)
