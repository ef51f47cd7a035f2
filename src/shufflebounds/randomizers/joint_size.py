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

# Logarithms of ratios in units that let rounding drown in `_COARSE`, which is 6e-11. What stands
# for log 0 is beyond the logarithm of any mass, but a sum of a hundred of them fits in an int64.
_UNIT, _COARSE = 2.0**-44, 1 << 10
_ABSENT = -2e3
_HASH = np.int64(0x1F3B0A5C7D96E84F)


def check_joint(factors: Sequence[Decomposition]) -> None:
    """Raise ValueError where the product of `factors` would not fit in memory or in floats."""
    factors = [factor.merge() for factor in factors]
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
    kinds: Counter[tuple[int, bytes, bytes, bytes]] = Counter()
    for factor in factors:
        most = max(most, size * len(factor))
        kinds[len(factor), factor.a.tobytes(), factor.b.tobytes(), factor.c.tobytes()] += 1
        size = math.prod(math.comb(size + k - 1, k) for (size, *_), k in kinds.items())
    return most


def _pairs(factors: Sequence[Decomposition]) -> int:
    """The most pairs of a step, told from the ratios alone, up to the first one too large."""
    most, ratios = 0, np.zeros((2, 1), dtype=np.int64)
    for factor in factors:
        pairs = ratios.shape[1] * len(factor)
        if pairs > LARGEST_JOINT:
            return pairs
        most = max(most, pairs)
        sums = (ratios[:, :, np.newaxis] + _log_ratios(factor)[:, np.newaxis, :]).reshape(2, -1)
        keys = (sums[0] // _COARSE) * _HASH + sums[1] // _COARSE
        ratios = sums[:, np.unique(keys, return_index=True)[1]]
    return most


def _log_ratios(factor: Decomposition) -> NDArray[np.int64]:
    """Logarithms of a/c and b/c, shape (2, J), in units."""
    with np.errstate(divide="ignore"):
        a, b, c = (np.maximum(np.log(x), _ABSENT) for x in (factor.a, factor.b, factor.c))
    return np.rint(np.stack([a - c, b - c]) / _UNIT).astype(np.int64)
