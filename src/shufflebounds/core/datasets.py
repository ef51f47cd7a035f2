"""A victim's two inputs together with all that the other users may hold.

Where a `Decomposition` knows of the other users only what they are sure to send, or one law that
all of them share, a crowd has the law of every input. That is what a bound needs which holds for
all datasets and is not a decomposition's: `divergence.supremum`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import FloatArray, compounded, ratio_labels

_U = 2.0**-53
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Held:
    """What a report is worth if another user holds some input: a crowd's components, split.

    Its law tells more of a report than the ratio a : b : c. So component k of the crowd is split
    into pieces, on each of which a, b, c and the law R(x) are in one proportion.

    Parameters
    ----------
    part
        Of which component each piece is, shape (J,).
    share
        Which share of a, b and c of that component, shape (J,); those of a component sum to 1.
    law
        The mass of the piece under R(x), shape (J,). What is missing lies where a = b = 0.
    rel_err
        By how much shares and masses may be off, relatively, beyond the crowd's own ``rel_err``.
    """

    part: NDArray[np.int64]
    share: FloatArray
    law: FloatArray
    rel_err: float = 0.0

    def pieces(self, masses: FloatArray) -> FloatArray:
        """What masses of the crowd's components, shape (K,), are of the pieces, shape (J,)."""
        found: FloatArray = masses[self.part] * self.share
        return found


class Inputs(Mapping[str, Held]):
    """What other users may hold, by name; each is made when it is asked for, and remembered."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Held]) -> None:
        self._names = dict.fromkeys(names)
        self._make = cache(make)

    def __getitem__(self, name: str) -> Held:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# How many coordinates of a joint report are of a kind, and its crowds, of one of which the victim's
# inputs are there.
Kinds = tuple[tuple[int, tuple["Crowd", ...]], ...]


@dataclass(frozen=True, eq=False)
class Crowd:
    """Laws of a report, by components k of what may be sent.

    Parameters
    ----------
    a, b
        Arrays of shape (K,): the laws of the victim's report for its two inputs. They sum to 1.
    c
        Shape (K,): what every other user is sure to send, whatever its input.
    others
        What another user may hold, by name. Every input that it may hold is one of them, up to a
        permutation of outputs that leaves a, b and c themselves as they are, or a mixture of such.
    rel_err
        The real number that an entry x stands for lies within ``rel_err`` x of it.
    attained
        Whether the laws are those of a mechanism's inputs; otherwise they only bound it from above.
    symmetric
        Whether the victim's inputs may change places: a permutation of outputs exchanges a and b,
        and makes of every input that is listed one that is listed.
    differing
        The coordinates in which the victim's inputs differ, such as ``1 3``, if not in all.
    extremes
        Crowds of as many components, with the same ratios of a, b, c and all laws of others on
        each of them: of all their masses together, those of any three inputs (the victim's two and
        another user's) are a mixture. Where there are none, ``others`` is the whole list.
    tried
        Names of the inputs that are promising for `datasets`; all of them where there are none.
    kinds
        Of a joint report with too many patterns of inputs to list: what its coordinates may be.
        Then the crowd stands for all of them, also for victims' inputs that agree in some
        coordinates, and ``others`` has promising inputs only.
    rate
        With which probability a user takes part, where there are ``kinds``, of those who do.

    Raises
    ------
    ValueError
        For arrays of different shapes, no other laws, and laws that do not sum to 1.

    """

    a: FloatArray
    b: FloatArray
    c: FloatArray
    others: Mapping[str, Held]
    rel_err: float = 0.0
    attained: bool = True
    symmetric: bool = False
    differing: str = ""
    extremes: tuple[Crowd, ...] = ()
    tried: tuple[str, ...] = ()
    kinds: Kinds = ()
    rate: float = 1.0

    def __post_init__(self) -> None:
        if not self.others:
            raise ValueError("others must hold at least one law, got none")
        # Masses, sums and shapes are those of decompositions.
        sure = Decomposition(self.a, self.b, self.c, self.rel_err)
        for name in ("a", "b", "c", "rel_err"):
            object.__setattr__(self, name, getattr(sure, name))

    @staticmethod
    def of_laws(
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        laws: Mapping[str, ArrayLike],
        rel_err: float = 0.0,
        *,
        attained: bool = True,
        symmetric: bool = False,
    ) -> Crowd:
        """Of laws of the others' reports on the same components; `Crowd` says what all of it is.

        Raises ValueError as `Crowd` does, and where c is above a law.
        """
        sure = Decomposition(a, b, c, rel_err)  # type: ignore[arg-type]
        rel_err, others = sure.rel_err, {}
        for name, law in laws.items():
            checked = Decomposition(a, b, law, rel_err).c  # type: ignore[arg-type]
            off = abs(math.fsum([-1.0, *checked.tolist()]))
            rel_err = max(rel_err, 2.0 * off)  # as of a decomposition's a and b
            if off > _SUM_TOLERANCE:
                raise ValueError(f"others must sum to 1, got {math.fsum(checked)!r} for {name}")
            if (sure.c > checked * (1.0 + _SUM_TOLERANCE)).any():
                raise ValueError(f"c must not be above any law of others, and is above {name}")
            others[name] = Held(np.arange(checked.size), np.ones(checked.size), checked)
        held = MappingProxyType(others)
        return Crowd(sure.a, sure.b, sure.c, held, rel_err, attained, symmetric)

    @staticmethod
    def of_rows(
        rows: NDArray[np.float64], x0: int, x1: int, names: Iterable[str], rel_err: float
    ) -> Crowd:
        """The inputs `x0` and `x1` of a matrix R(x)(y), shape (inputs, outputs), among all."""
        laws = dict(zip(names, rows, strict=True))
        return Crowd.of_laws(rows[x0], rows[x1], rows.min(axis=0), laws, rel_err)

    def blanket(self) -> Decomposition:
        """What the crowd is without the laws of others."""
        return Decomposition(self.a, self.b, self.c, self.rel_err)

    def dataset(self, name: str) -> Decomposition:
        """The pair of datasets in which all others hold the input of this name."""
        held = self.others[name]
        rel_err = compounded(self.rel_err, held.rel_err, _U)
        return Decomposition(held.pieces(self.a), held.pieces(self.b), held.law, rel_err)

    def datasets(self) -> dict[str, Decomposition]:
        """Pairs of datasets in which all others hold the same input, if they are attained."""
        where = f" (inputs differ in {self.differing})" if self.differing else ""
        return {name + where: self.dataset(name) for name in self.tried or self.others}

    @property
    def size(self) -> float:
        """Laws of others times components; inf where they are not written out."""
        if self.kinds:
            return math.inf
        return len(self.others) * (1 + len(self.extremes)) * self.c.size

    def swap(self) -> Crowd:
        """The same with the victim's inputs exchanged."""
        extremes = tuple(one.swap() for one in self.extremes)
        return replace(self, a=self.b, b=self.a, extremes=extremes)

    def same_input(self) -> Crowd:
        """The victim holds x₁⁰ either way."""
        return replace(self, b=self.a, symmetric=True)

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

        def sampled(name: str) -> Held:
            one = self.others[name]
            part = np.append(one.part, self.a.size)
            return Held(part, np.append(one.share, 1.0), mixed(one.law), one.rel_err)

        return replace(
            self,
            a=mixed(self.a),
            b=mixed(self.b),
            c=mixed(self.c),
            others=Inputs(self.others, sampled),
            rel_err=compounded(self.rel_err, 4.0 * _U),
            extremes=tuple(one.subsample(rate) for one in self.extremes),
            rate=self.rate * share,
        )


def both_directions(crowds: Iterable[Crowd]) -> list[Crowd]:
    """Each, and the same with the victim's inputs exchanged where that makes a difference."""
    return [
        one for crowd in crowds for one in ((crowd,) if crowd.symmetric else (crowd, crowd.swap()))
    ]
