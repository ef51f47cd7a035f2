"""How large a joint composition gets, found out without composing.

The cost of a product of decompositions is its pairs of components at every step. How many remain
after merging depends on how many of their ratios a : b : c coincide.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import LARGEST_JOINT, Decomposition
from shufflebounds.masses import SMALLEST_MASS
from shufflebounds.products import distinct_products, log_ratios


def check_joint(factors: Sequence[Decomposition]) -> None:
    """Raise ValueError where the product of `factors` would not fit in memory or in floats.

    That of their inner or outer ends included.
    """
    factors = [factor.merge() for factor in factors]
    _check(factors)
    for end in ("inner", "outer"):
        if any(getattr(factor, end) is not None for factor in factors):
            _check([getattr(factor, end) or factor for factor in factors])


def _check(factors: Sequence[Decomposition]) -> None:
    for name in "abc":
        masses = [getattr(factor, name) for factor in factors]
        smallest = math.fsum(math.log(x[x > 0.0].min()) for x in masses if x.any())
        if smallest < math.log(SMALLEST_MASS):
            raise ValueError(
                f"a joint of {len(factors)} reports would have a component with {name} = "
                f"1e{smallest / math.log(10.0):.0f}, too small for floating point, which needs "
                f"{SMALLEST_MASS:g}: fewer reports are allowed"
            )
    pairs = _pairs_at_most(factors)
    if pairs > LARGEST_JOINT:
        pairs = _pairs(factors)
    if pairs > LARGEST_JOINT:
        raise ValueError(
            f"a joint of {len(factors)} reports with up to {max(map(len, factors))} components "
            f"each is too large for memory; at most {LARGEST_JOINT} pairs of components are allowed"
        )


def _pairs_at_most(factors: Sequence[Decomposition]) -> int:
    """The most pairs of a step, if ratios coincide only where equal factors change places."""
    most, size = 0, 1
    kinds: Counter[tuple[int, bytes]] = Counter()
    for factor in factors:
        most = max(most, size * len(factor))
        arrays = factor.a, factor.b, factor.c, factor.ties
        kinds[len(factor), b"".join(array.tobytes() for array in arrays)] += 1
        size = math.prod(math.comb(size + k - 1, k) for (size, _), k in kinds.items())
    return most


def _pairs(factors: Sequence[Decomposition]) -> int:
    """The most pairs of a step, told from the ratios alone, up to the first one too large.

    Of equal ratios, a product that is tied and one that is not stay apart.
    """
    nothing = np.zeros((2, 1), dtype=np.int64)
    most, tied, loose = 0, nothing, nothing[:, :0]
    for factor in factors:
        pairs = (tied.shape[1] + loose.shape[1]) * len(factor)
        if pairs > LARGEST_JOINT:
            return pairs
        most = max(most, pairs)
        ratios = log_ratios(factor.a, factor.b, factor.c)
        found = [_products(loose, ratios), _products(tied, ratios[:, ~factor.ties])]
        loose = _products(np.concatenate(found, axis=1), nothing)
        tied = _products(tied, ratios[:, factor.ties])
    return most


def _products(one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.int64]:
    """`distinct_products`, of which there are none where one side has none."""
    return distinct_products(one, two) if one.size and two.size else one[:, :0]
