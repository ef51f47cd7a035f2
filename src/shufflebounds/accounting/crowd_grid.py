"""Upper bounds of the divergence at ε = 0, Δ, 2Δ, … that hold for all datasets of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

import numpy as np

from shufflebounds.accounting.grid import Grid, grid
from shufflebounds.crowd import Crowd
from shufflebounds.decomposition import Decomposition, FloatArray
from shufflebounds.divergence.supremum import supremum

# A discrete pair above a curve needs so many points.
_FEWEST = 3
# Mechanisms that are remembered; each took seconds.
_REMEMBERED = 32


@dataclass(frozen=True, eq=False)
class CrowdGrid:
    """The smaller of the blankets' divergence and what is proven for all datasets, at each point.

    ``blankets`` are of all pairs of inputs that may be the worst, and so are ``crowds``, in both
    directions; `supremum` says of what, and docs/closing-the-gap.md proves it.
    """

    blankets: tuple[Grid, ...]
    crowds: tuple[Crowd, ...]
    n: int
    step: float
    found: list[float] = field(default_factory=list)
    # A point that two threads append at once would shift all that follow.
    growing: Lock = field(default_factory=Lock, init=False, repr=False)

    def upper(self, level: float) -> FloatArray:
        """Bounds of D in both directions at iΔ, shape (K + 1,), as far as one is above `level`."""
        size = max(one.reach(level) for one in self.blankets)
        for one in self.blankets:
            one.extend(size)
        blanket = np.max([one.upper(size) for one in self.blankets], axis=0)
        with self.growing:
            for i in range(len(self.found), size):
                if i >= _FEWEST and self.found[-1] <= level:
                    break
                every = max(supremum(crowd, i * self.step, self.n) for crowd in self.crowds)
                self.found.append(min(every, float(blanket[i])))
        enough = next(
            (i for i, x in enumerate(self.found) if i + 1 >= _FEWEST and x <= level), size - 1
        )
        return np.array(self.found[: enough + 1])


@lru_cache(maxsize=_REMEMBERED)
def crowd_grid(
    blankets: tuple[Decomposition, ...],
    crowds: tuple[Crowd, ...],
    n: int,
    step: float,
    rtol: float,
) -> CrowdGrid:
    """That of a mechanism, from memory where these very objects were asked for.

    `rtol` is the relative width of the blankets' enclosures to aim at.
    """
    return CrowdGrid(tuple(grid(one, n, step, rtol) for one in blankets), crowds, n, step)
