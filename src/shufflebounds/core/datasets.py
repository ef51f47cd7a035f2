"""A victim's two inputs together with all that the other users may hold.

Where a `Decomposition` knows of the other users only what they are sure to send, or one law that
all of them share, a crowd has the law of every input. That is what a bound needs which holds for
all datasets and is not a decomposition's: `divergence.supremum`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, compounded, ratio_labels

_U = 2.0**-53
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Crowd:
    """Laws of a report, aligned over components j of what may be sent.

    Parameters
    ----------
    a, b
        Arrays of shape (J,): the laws of the victim's report for its two inputs. They sum to 1.
    c
        Shape (J,): what every other user is sure to send, whatever its input.
    others
        Laws of another user's report by the name of its input, shape (J,) each. Every input that
        another user may hold is one of them, up to a permutation of components that leaves
        a, b and c themselves as they are, or a mixture of such.
    rel_err
        The real number that an entry x stands for lies within ``rel_err`` x of it.
    attained
        Whether the laws are those of a mechanism's inputs; otherwise they only bound it from above.
    differing
        The coordinates in which the victim's inputs differ, such as ``1 3``, if not in all.
    extremes
        Crowds of as many components, with the same ratios of a, b, c and all laws of others on
        each of them: of all their masses together, those of any three inputs (the victim's two and
        another user's) are a mixture. Where there are none, ``others`` is the whole list.

    Raises
    ------
    ValueError
        For arrays of different shapes, no other laws, laws that do not sum to 1, and where c is
        above one of them.

    """

    a: FloatArray
    b: FloatArray
    c: FloatArray
    others: Mapping[str, FloatArray]
    rel_err: float = 0.0
    attained: bool = True
    differing: str = ""
    extremes: tuple[Crowd, ...] = ()

    def __post_init__(self) -> None:
        if not self.others:
            raise ValueError("others must hold at least one law, got none")
        # Masses, sums and shapes are those of decompositions.
        checked = {name: Decomposition(self.a, self.b, w) for name, w in self.others.items()}
        sure = Decomposition(self.a, self.b, self.c, self.rel_err)
        rel_err = sure.rel_err
        for name, one in checked.items():
            off = abs(math.fsum([-1.0, *one.c.tolist()]))
            rel_err = max(rel_err, 2.0 * off)  # as of a decomposition's a and b
            if off > _SUM_TOLERANCE:
                raise ValueError(f"others must sum to 1, got {math.fsum(one.c)!r} for {name}")
            if (sure.c > one.c * (1.0 + _SUM_TOLERANCE)).any():
                raise ValueError(f"c must not be above any law of others, and is above {name}")
        laws = MappingProxyType({name: one.c for name, one in checked.items()})
        for name, value in (("a", sure.a), ("b", sure.b), ("c", sure.c), ("others", laws)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "rel_err", rel_err)

    @staticmethod
    def of_rows(
        rows: NDArray[np.float64], x0: int, x1: int, names: Iterable[str], rel_err: float
    ) -> Crowd:
        """The inputs `x0` and `x1` of a matrix R(x)(y), shape (inputs, outputs), among all."""
        return Crowd(
            rows[x0], rows[x1], rows.min(axis=0), dict(zip(names, rows, strict=True)), rel_err
        )

    def blanket(self) -> Decomposition:
        """What the crowd is without the laws of others."""
        return Decomposition(self.a, self.b, self.c, self.rel_err)

    def datasets(self) -> dict[str, Decomposition]:
        """Pairs of datasets in which all others hold the same input, if they are attained."""
        where = f" (inputs differ in {self.differing})" if self.differing else ""
        return {
            name + where: Decomposition(self.a, self.b, law, self.rel_err)
            for name, law in self.others.items()
        }

    def swap(self) -> Crowd:
        """The same with the victim's inputs exchanged."""
        extremes = tuple(one.swap() for one in self.extremes)
        return replace(self, a=self.b, b=self.a, extremes=extremes)

    def same_input(self) -> Crowd:
        """The victim holds x₁⁰ either way."""
        return replace(self, b=self.a)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """A number for every component, shape (J,), the same where a : b : c are, up to rounding.

        Components that the victim never uses have number 0, which no others have.
        """
        used = (self.a > 0.0) | (self.b > 0.0)
        labels = np.zeros(self.a.size, dtype=np.int64)
        labels[used] = 1 + ratio_labels(self.a[used], self.b[used], self.c[used])
        return labels

    def subsample(self, rate: float) -> Crowd:
        """Poisson subsampling: every user reports with probability `rate`, else sends ⊥."""
        share, absent = float(rate), float(1 - validation.fraction(rate))

        def mixed(law: FloatArray) -> FloatArray:
            return np.append(share * law, absent)

        others = {name: mixed(law) for name, law in self.others.items()}
        rel_err = compounded(self.rel_err, 4.0 * _U)
        laws = mixed(self.a), mixed(self.b), mixed(self.c)
        extremes = tuple(one.subsample(rate) for one in self.extremes)
        return Crowd(*laws, others, rel_err, self.attained, self.differing, extremes)


def both_directions(crowds: Iterable[Crowd]) -> list[Crowd]:
    """Each, and the same with the victim's inputs exchanged."""
    return [one for crowd in crowds for one in (crowd, crowd.swap())]
