"""Products of components whose log-ratios are multiples of one number, by shifting arrays.

Such are the joints of equal Laplace reports. Then no ratios have to be compared: those of a product
are sums of whole numbers, and components of one place are united as they come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shufflebounds.masses import FloatArray

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
    rows, columns = lattice.one.max(axis=1) + 1
    products = []
    for part, masses in zip(one, two, strict=True):
        # NumPy's stubs have bincount count, whether there are weights or not.
        filled = np.bincount(lattice.own, weights=part, minlength=rows * columns).reshape(
            rows, columns
        )
        total = np.zeros(lattice.shape)
        for mass, i, j in zip(masses.tolist(), *lattice.two.tolist(), strict=True):
            total[i : i + rows, j : j + columns] += mass * filled
        products.append(total)
    held = products[2] > 0.0
    return np.stack([total[held] for total in products])


def shifted_places(lattice: Lattice) -> NDArray[np.int64]:
    """The places of the products, shape (2, J)."""
    rows, columns = lattice.one.max(axis=1) + 1
    filled = np.zeros((rows, columns), dtype=np.bool_)
    filled[tuple(lattice.one)] = True
    held = np.zeros(lattice.shape, dtype=np.bool_)
    for i, j in lattice.two.T.tolist():
        held[i : i + rows, j : j + columns] |= filled
    return np.stack(np.nonzero(held))


def _step(logs: FloatArray) -> float | None:
    """What all may be multiples of: their smallest distance, told from the largest one."""
    values = np.unique(np.append(np.abs(logs), 0.0))
    gaps = np.diff(values)
    gaps = gaps[gaps > _OFF]
    return float(values[-1] / np.rint(values[-1] / gaps.min())) if gaps.size else None
