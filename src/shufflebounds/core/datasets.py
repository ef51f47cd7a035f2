"""A victim's two inputs together with every input that the other users may hold.

A `Decomposition` describes the other users by the mass that they are sure to send, or by one law
that all of them share. A crowd has the law of every input. `divergence.supremum` needs all of them
for a bound that holds for all datasets and is smaller than the blanket's.
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
from shufflebounds.core.products import SUM_TOLERANCE, FloatArray, U, compounded, ratio_labels


@dataclass(frozen=True, eq=False)
class OtherInput:
    """An input x that another user may hold, and its law R(x) on the pieces of a crowd.

    The ratio R(x) : a may vary within a component of the crowd. So each component is split into
    pieces, on each of which a, b, c and R(x) are in one proportion.

    Parameters
    ----------
    part
        The component to which each piece belongs, shape (J,).
    share
        The share of its component's a, b and c that each piece has, shape (J,). The shares of a
        component sum to 1.
    law
        The mass of each piece under R(x), shape (J,). Missing mass lies where a = b = 0.
    rel_err
        Largest relative error of shares and masses, in addition to the crowd's own ``rel_err``.
    """

    part: NDArray[np.int64]
    share: FloatArray
    law: FloatArray
    rel_err: float = 0.0

    def pieces(self, masses: FloatArray) -> FloatArray:
        """Distribute masses of the crowd's components, shape (K,), to the pieces, shape (J,)."""
        piece_masses: FloatArray = masses[self.part] * self.share
        return piece_masses


class Inputs(Mapping[str, OtherInput]):
    """The inputs that other users may hold, by name; each is made at its first use and cached."""

    def __init__(self, names: Iterable[str], make: Callable[[str], OtherInput]) -> None:
        self._names = dict.fromkeys(names)
        self._make = cache(make)

    def __getitem__(self, name: str) -> OtherInput:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# The kinds of coordinates of a joint report. Each kind is the number of its coordinates and the
# crowds of one coordinate, one of which has the victim's two inputs there.
Kinds = tuple[tuple[int, tuple["Crowd", ...]], ...]


@dataclass(frozen=True, eq=False)
class Crowd:
    """The laws of a report for the victim's two inputs and for every input of another user.

    Parameters
    ----------
    a, b
        Arrays of shape (K,): the laws of the victim's report for its two inputs. They sum to 1.
    c
        Shape (K,): the mass that every other user is sure to send, whatever its input.
    others
        The inputs that another user may hold, by name. Every possible input is one of them, up to a
        permutation of outputs that does not change a, b and c, or a mixture of such inputs.
    rel_err
        The real number that an entry x stands for lies within ``rel_err`` x of it.
    attained
        Whether the laws are those of a mechanism's inputs; else they only give upper bounds.
    symmetric
        Whether the victim's inputs may change places: a permutation of outputs exchanges a and b,
        and maps every listed input to a listed input.
    differing
        The coordinates in which the victim's inputs differ, such as ``1 3``, if not in all.
    extremes
        Crowds with the same number of components and the same ratios of a, b, c and all laws of
        others on each component. The masses of any three inputs (the victim's two and another
        user's) are a mixture of the masses of this crowd and its ``extremes``. If there are no
        extremes, ``others`` is the whole list.
    tried
        Names of the inputs that `datasets` uses because they are promising; empty for all inputs.
    kinds
        The kinds of coordinates of a joint report that has too many patterns of inputs to list. If
        it is not empty, the crowd stands for all patterns, also for victims' inputs that agree in
        some coordinates, and ``others`` has promising inputs only.
    rate
        The probability that a user takes part, if there are ``kinds``, which describe a report of a
        user who does.
    rows
        The probabilities R(x)(y) of all inputs, shape (inputs, outputs), if the crowd stands for
        all pairs of them in both orders; ``others`` has the promising input of a promising pair.

    Raises
    ------
    ValueError
        For arrays of different shapes, no other laws, and laws that do not sum to 1.

    """

    a: FloatArray
    b: FloatArray
    c: FloatArray
    others: Mapping[str, OtherInput]
    rel_err: float = 0.0
    attained: bool = True
    symmetric: bool = False
    differing: str = ""
    extremes: tuple[Crowd, ...] = ()
    tried: tuple[str, ...] = ()
    kinds: Kinds = ()
    rate: float = 1.0
    rows: FloatArray | None = None

    def __post_init__(self) -> None:
        if not self.others:
            raise ValueError("others must hold at least one law, got none")
        blanket = Decomposition(self.a, self.b, self.c, self.rel_err)  # checks masses and sums
        for name in ("a", "b", "c", "rel_err"):
            object.__setattr__(self, name, getattr(blanket, name))

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
        """Return the crowd of laws R(x) on the same components; the arguments are those of `Crowd`.

        Raises ValueError as `Crowd` does, and if c is above a law.
        """
        blanket = Decomposition(a, b, c, rel_err)  # type: ignore[arg-type]
        rel_err, inputs = blanket.rel_err, {}
        for name, law in laws.items():
            masses = Decomposition(a, b, law, rel_err).c  # type: ignore[arg-type]
            sum_error = abs(math.fsum([-1.0, *masses.tolist()]))
            # A decomposition charges twice the error of the sums of a and b in the same way.
            rel_err = max(rel_err, 2.0 * sum_error)
            if sum_error > SUM_TOLERANCE:
                raise ValueError(f"others must sum to 1, got {math.fsum(masses)!r} for {name}")
            if (blanket.c > masses * (1.0 + SUM_TOLERANCE)).any():
                raise ValueError(f"c must not be above any law of others, and is above {name}")
            inputs[name] = OtherInput(np.arange(masses.size), np.ones(masses.size), masses)
        laws_by_name = MappingProxyType(inputs)
        return Crowd(blanket.a, blanket.b, blanket.c, laws_by_name, rel_err, attained, symmetric)

    @staticmethod
    def of_rows(
        rows: NDArray[np.float64], x0: int, x1: int, names: Iterable[str], rel_err: float
    ) -> Crowd:
        """Return the crowd of the victim's inputs `x0` and `x1` among all inputs of a matrix.

        `rows` are the probabilities R(x)(y), shape (inputs, outputs).
        """
        laws = dict(zip(names, rows, strict=True))
        return Crowd.of_laws(rows[x0], rows[x1], rows.min(axis=0), laws, rel_err)

    @staticmethod
    def of_all_rows(rows: NDArray[np.float64], rel_err: float) -> Crowd:
        """Return the crowd of all pairs of inputs of a matrix with positive probabilities."""
        moments = second_moments(rows)
        x0, x1, x = (int(i) for i in np.unravel_index(int(np.argmax(moments)), moments.shape))
        law = OtherInput(np.arange(rows.shape[1]), np.ones(rows.shape[1]), rows[x])
        others, sure = MappingProxyType({str(x): law}), rows.min(axis=0)
        return Crowd(rows[x0], rows[x1], sure, others, rel_err, symmetric=True, rows=rows)

    def of_pair(self, x0: int, x1: int) -> Crowd:
        """Return the crowd of two of the ``rows``, in this order."""
        assert self.rows is not None
        names = [str(x) for x in range(len(self.rows))]
        return Crowd.of_rows(self.rows, x0, x1, names, self.rel_err)

    @property
    def is_of_one_pair(self) -> bool:
        """Whether (a, b, c) is the blanket of all pairs of inputs that the crowd is about."""
        return not self.extremes and not self.kinds and self.rows is None

    @property
    def largest_loss(self) -> float:
        """The largest log R(x)(y)/R(x′)(y) of the ``rows``, rounded up; 0 without them."""
        if self.rows is None:
            return 0.0
        loss = float(np.log(self.rows.max(axis=0) / self.rows.min(axis=0)).max())
        return loss + 2.1 * self.rel_err + 16.0 * U * (1.0 + loss)

    def blanket(self) -> Decomposition:
        """Return the decomposition (a, b, c), without the laws of others."""
        return Decomposition(self.a, self.b, self.c, self.rel_err)

    def dataset(self, name: str) -> Decomposition:
        """Return the pair of datasets in which all others hold the input of this name."""
        input_ = self.others[name]
        rel_err = compounded(self.rel_err, input_.rel_err, U)
        return Decomposition(input_.pieces(self.a), input_.pieces(self.b), input_.law, rel_err)

    def datasets(self) -> dict[str, Decomposition]:
        """Return by name the pairs of datasets in which all others hold the same input."""
        where = f" (inputs differ in {self.differing})" if self.differing else ""
        return {name + where: self.dataset(name) for name in self.tried or self.others}

    @property
    def size(self) -> float:
        """The number of laws of others times that of components; inf for many pairs of inputs."""
        if self.kinds or self.rows is not None:
            return math.inf
        return len(self.others) * (1 + len(self.extremes)) * self.c.size

    def swap(self) -> Crowd:
        """Return the crowd with the victim's inputs exchanged."""
        extremes = tuple(crowd.swap() for crowd in self.extremes)
        return replace(self, a=self.b, b=self.a, extremes=extremes)

    def same_input(self) -> Crowd:
        """Return the crowd of a victim whose input is x₁⁰ in both cases."""
        return replace(self, b=self.a, symmetric=True)

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """A number for every component, shape (K,), equal for equal a : b : c, up to rounding.

        The number is 0 if and only if the victim never uses the component.
        """
        used = (self.a > 0.0) | (self.b > 0.0)
        labels = np.zeros(self.a.size, dtype=np.int64)
        labels[used] = 1 + ratio_labels(self.a[used], self.b[used], self.c[used])
        return labels

    def subsample(self, rate: float) -> Crowd:
        """Return the crowd of Poisson subsampling: users report with probability `rate`, else ⊥."""
        share, absence = float(rate), float(1 - validation.fraction(rate))

        def append_absence(law: FloatArray) -> FloatArray:
            return np.append(share * law, absence)

        def subsample_input(name: str) -> OtherInput:
            input_ = self.others[name]
            part = np.append(input_.part, self.a.size)
            law = append_absence(input_.law)
            return OtherInput(part, np.append(input_.share, 1.0), law, input_.rel_err)

        return replace(
            self,
            a=append_absence(self.a),
            b=append_absence(self.b),
            c=append_absence(self.c),
            others=Inputs(self.others, subsample_input),
            rel_err=compounded(self.rel_err, 4.0 * U),
            extremes=tuple(crowd.subsample(rate) for crowd in self.extremes),
            rate=self.rate * share,
            rows=None if self.rows is None else np.array([*map(append_absence, self.rows)]),
        )


def second_moments(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ(R(x₀) − R(x₁))²/R(x) for all inputs x₀, x₁ and x of a matrix without zeros."""
    inverse = 1.0 / rows.T
    return np.array([(row - rows) ** 2 @ inverse for row in rows])


def both_directions(crowds: Iterable[Crowd]) -> list[Crowd]:
    """Return all crowds, each asymmetric one followed by itself with the inputs exchanged."""
    return [
        direction
        for crowd in crowds
        for direction in ((crowd,) if crowd.symmetric else (crowd, crowd.swap()))
    ]
