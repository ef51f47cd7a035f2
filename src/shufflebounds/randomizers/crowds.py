"""Crowds of compositions: what the coordinates of a victim and of another user may be together.

Proved to be the worst for blankets only, inputs that differ in all coordinates are one case among
others here: the victim's two inputs may agree in some.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shufflebounds.core import validation
from shufflebounds.core.datasets import Crowd, Inputs, Kinds, OtherInput
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.products import (
    SMALLEST_MASS,
    FloatArray,
    component_gap,
    compounded,
    merge_labelled,
    merge_rows,
    ratio_labels,
    relative_gap,
)
from shufflebounds.divergence.coordinates import is_feasible
from shufflebounds.randomizers import sampling
from shufflebounds.randomizers.accuracy import Error, Spread
from shufflebounds.randomizers.base import Randomizer

# Inputs times components of one crowd, and pairs of components of a step: seconds at most.
_LARGEST, _MOST_PAIRS = 250_000, 2**22
# Inputs of another user of which the promising ones are picked.
_MOST_COUNTED = 50_000
# Inputs of all other users that are tried as datasets, each a part's by itself.
_MOST_TRIED = 30
# Pieces of one component whose ratios to a law are this close differ by rounding; so do those of
# two inputs that are as good as one.
_EQUAL = 2.0**-44
_U = 2.0**-53

T = TypeVar("T")
# The crowd of a part where the victim's inputs differ, and where they do not.
Crowds = tuple[Crowd, Crowd]


def single_crowds(parts: Sequence[Randomizer]) -> list[Crowds] | None:
    """The crowds of every part; None unless each has one that stands for all pairs."""
    found: dict[Randomizer, Crowds] = {}
    for part in dict.fromkeys(parts):
        crowds = part.crowds()
        if len(crowds) != 1 or crowds[0].extremes or crowds[0].kinds:
            return None
        found[part] = _distinct(crowds[0]), _distinct(crowds[0].same_input())
    return [found[part] for part in parts]


def coordinate_crowds(crowds: Sequence[Crowds], differing: Sequence[int]) -> list[Crowd]:
    """The parts' crowds, with one input for both of the victim's where they do not differ."""
    return [two[0 if i in differing else 1] for i, two in enumerate(crowds)]


def coordinate_kinds(parts: Sequence[Hashable], differing: Sequence[int]) -> list[Hashable]:
    """What makes coordinates equal: their parts, and whether the victim's inputs differ."""
    return [(part, i in differing) for i, part in enumerate(parts)]


def named(size: int, crowds: Iterable[tuple[tuple[int, ...], Crowd | None]]) -> tuple[Crowd, ...]:
    """All of them by the coordinates that differ, out of so many; none if one is missing."""
    found = []
    for differing, crowd in crowds:
        if crowd is None:
            return ()
        name = "" if len(differing) == size else " ".join(str(i + 1) for i in differing)
        found.append(replace(crowd, differing=name))
    return tuple(found)


# Components of one ratio a : b : c are united, and for each input of another user by itself those
# pieces of one ratio to its law, too. So a product is never written out: every step unites what it
# may (docs/closing-the-gap.md, section 8).


@dataclass(frozen=True, eq=False)
class _United:
    """Components a, b, c, ``masses`` of shape (3, K), made of more.

    Those are part of the component ``place``, of which they have the ``share``; -1 where the
    victim's report never is.
    """

    masses: FloatArray
    place: NDArray[np.int64]
    share: FloatArray
    rel_err: float

    @staticmethod
    def of(masses: FloatArray) -> _United:
        """From masses of shape (3, …)."""
        told = masses[:2].any(axis=0)
        a, b, c = masses[:, told]
        label = ratio_labels(a, b, c)
        order = np.argsort(label, kind="stable")
        rows, spread = merge_labelled(masses[:, told][:, order], label[order])
        weight = np.where(c > 0.0, c, a + b)
        place, share = np.full(told.shape, -1), np.zeros(told.shape)
        place[told] = label
        share[told] = weight / np.bincount(label, weights=weight)[label]
        return _United(rows, place, share, spread)

    def held(
        self, where: tuple[NDArray, ...], share: FloatArray, one: FloatArray, err: float
    ) -> OtherInput:
        """Another user's input: what is at `where`, of a `share` and a mass under its law."""
        place = self.place[where]
        used = place >= 0
        place, share, law = place[used], (share * self.share[where])[used], one[used]
        ratio = law / share
        order = np.lexsort((ratio, place))
        place, ratio = place[order], ratio[order]
        starts = (np.diff(ratio) > _EQUAL * ratio[1:]) | (np.diff(place) != 0)
        label = np.concatenate([[0], np.cumsum(starts)])
        # NumPy's stubs have bincount count, whether there are weights or not.
        shares, laws = (
            np.bincount(label, weights=x[order]).astype(np.float64) for x in (share, law)
        )
        off = np.abs(ratio - (laws / shares)[label]) / np.where(ratio > 0.0, ratio, 1.0)
        rounding = (16.0 + float(np.bincount(label).max())) * _U
        rel_err = compounded(err, self.rel_err, 1.01 * float(off.max()), rounding)
        first = np.concatenate([[True], starts])
        return OtherInput(place[first], shares, laws, rel_err)


def _distinct(crowd: Crowd) -> Crowd:
    """The same with components united, and of inputs that are as good as one the first."""
    united = _United.of(np.stack([crowd.a, crowd.b, crowd.c]))
    kept: dict[str, OtherInput] = {}
    for name, one in crowd.others.items():
        held = united.held((one.part,), one.share, one.law, one.rel_err)
        for other, known in kept.items():
            gap = _gap(held, known)
            if gap <= _EQUAL:
                kept[other] = replace(known, rel_err=compounded(known.rel_err, held.rel_err, gap))
                break
        else:
            kept[name] = held
    a, b, c = united.masses
    rel_err = compounded(crowd.rel_err, united.rel_err)
    return replace(crowd, a=a, b=b, c=c, others=kept, rel_err=rel_err)


def _gap(one: OtherInput, two: OtherInput) -> float:
    """The largest relative difference of two inputs' shares and laws."""
    if not np.array_equal(one.part, two.part):
        return math.inf
    return relative_gap(*(np.stack([held.share, held.law]) for held in (one, two)))


def joint_crowd(
    parts: Sequence[Crowd], kinds: Sequence[Hashable], most: int | None = None
) -> Crowd | None:
    """Of all reports together; parts of one kind are equal, so that their order does not matter.

    None where it would be too large, or its masses too small for floats. At most so many inputs of
    another user are counted if a number is given, and promising ones alone are listed.
    """
    if math.fsum(math.log(_smallest(part)) for part in parts) < math.log(SMALLEST_MASS):
        return None
    first, *more = parts
    masses, steps = np.stack([first.a, first.b, first.c]), []
    for part in more:
        if masses.shape[1] * part.a.size > _MOST_PAIRS:
            return None
        factors = np.stack([part.a, part.b, part.c])
        steps.append(_United.of(masses[:, :, None] * factors[:, None]))
        masses = steps[-1].masses

    @cache
    def held(chosen: tuple[str, ...]) -> OtherInput:
        *before, last = (part.others[x] for part, x in zip(parts, chosen, strict=False))
        if not before:
            return last
        one = held(chosen[:-1])
        where = np.repeat(one.part, last.part.size), np.tile(last.part, one.part.size)
        share, law = (
            np.multiply.outer(x, y).ravel()
            for x, y in ((one.share, last.share), (one.law, last.law))
        )
        return steps[len(before) - 1].held(where, share, law, compounded(one.rel_err, last.rel_err))

    errors = *(part.rel_err for part in parts), *(step.rel_err for step in steps)
    rel_err = compounded(*errors, (len(parts) + 1.0) * _U)
    return _composed(parts, kinds, masses, held, rel_err, most)


def linked_kinds(crowds: Sequence[Crowds], labels: Sequence[Hashable]) -> Kinds:
    """What the coordinates of a joint report may be, those with equal labels together."""
    return tuple((len(group), crowds[group[0]]) for group in equal_places(labels))


def linked_crowd(
    crowds: Sequence[Crowds], labels: Sequence[Hashable], listed: Sequence[Crowds]
) -> Crowd | None:
    """One that stands for all pairs of inputs of a joint report, differing in any coordinates.

    Of parts with equal labels, by moments (docs/closing-the-gap.md, section 8); the inputs that it
    lists are of the crowds `listed`. None where there are too many of them or of patterns.
    """
    kinds = linked_kinds(crowds, labels)
    differ = coordinate_crowds(crowds, range(len(crowds)))
    if not (is_feasible(kinds) and all(one.symmetric for one in differ)):
        return None
    shown = coordinate_crowds(listed, range(len(listed)))
    found = joint_crowd(shown, labels, _MOST_COUNTED)
    return None if found is None else replace(found, kinds=kinds)


def parallel_crowd(
    weights: Sequence[float], parts: Sequence[Crowd], kinds: Sequence[Hashable]
) -> Crowd | None:
    """Of one part's report, drawn by weight; all else as for `joint_crowd`.

    Not attained: the parts may all look at one value, and their inputs are free here.
    """
    total = math.fsum(weights)
    shares = [float(weight) / total for weight in weights]
    weighted = list(zip(shares, parts, strict=True))
    if min(share * _smallest(part) for share, part in weighted) < SMALLEST_MASS:
        return None
    masses = [share * np.stack([part.a, part.b, part.c]) for share, part in weighted]
    united = _United.of(np.concatenate(masses, axis=1))
    starts = np.cumsum([0, *(part.a.size for part in parts[:-1])])

    def held(chosen: tuple[str, ...]) -> OtherInput:
        some = [part.others[x] for part, x in zip(parts, chosen, strict=True)]
        where = [start + one.part for start, one in zip(starts, some, strict=True)]
        laws = [share * one.law for share, one in zip(shares, some, strict=True)]
        pieces = np.concatenate([one.share for one in some])
        err = max(one.rel_err for one in some)
        return united.held((np.concatenate(where),), pieces, np.concatenate(laws), err)

    rounding = 6.0 * _U + 1.001 * abs(total - 1.0)
    rel_err = compounded(max(part.rel_err for part in parts), united.rel_err, rounding)
    found = _composed(parts, kinds, united.masses, held, rel_err)
    return None if found is None else replace(found, attained=False)


def _smallest(crowd: Crowd) -> float:
    laws = (one.law for one in crowd.others.values())
    return min(float(x[x > 0.0].min(initial=1.0)) for x in (crowd.a, crowd.b, crowd.c, *laws))


def _composed(
    parts: Sequence[Crowd],
    kinds: Sequence[Hashable],
    masses: FloatArray,
    held: Callable[[tuple[str, ...]], OtherInput],
    rel_err: float,
    counted: int | None = None,
) -> Crowd | None:
    most = counted or _LARGEST // masses.shape[1]
    inputs = {" ".join(x): x for x in itertools.islice(_inputs(parts, kinds), most + 1)}
    if len(inputs) > most:
        return None
    places = [{name: i for i, name in enumerate(part.others)} for part in parts]

    def alike(labels: Sequence[Hashable]) -> list[str]:
        """The inputs that have the same place in all parts of one label."""
        groups = equal_places(labels)
        return [
            name
            for name, chosen in inputs.items()
            if all(len({places[i][chosen[i]] for i in group}) == 1 for group in groups)
        ]

    tried = alike(kinds)
    if len(tried) > _MOST_TRIED:
        tried = alike([len(at) for at in places])
    a, b, c = masses
    return Crowd(
        a,
        b,
        c,
        Inputs(tried if counted else inputs, lambda name: held(inputs[name])),
        rel_err,
        attained=all(part.attained for part in parts),
        symmetric=all(part.symmetric for part in parts),
        tried=tuple(tried),
    )


def _inputs(parts: Sequence[Crowd], kinds: Sequence[Hashable]) -> Iterator[tuple[str, ...]]:
    """What another user may hold, by the names of the parts' inputs, once for equal parts."""
    groups = equal_places(kinds)
    return combinations([list(parts[group[0]].others) for group in groups], groups)


def equal_places(kinds: Sequence[Hashable]) -> list[list[int]]:
    """Where equal ones are, kind by kind."""
    return [[i for i, other in enumerate(kinds) if other == kind] for kind in dict.fromkeys(kinds)]


def combinations(
    options: Sequence[Sequence[T]], groups: Sequence[Sequence[int]]
) -> Iterator[tuple[T, ...]]:
    """One of its group's options for every place, the order within a group left out."""
    choices = (
        itertools.combinations_with_replacement(some, len(group))
        for some, group in zip(options, groups, strict=True)
    )
    for chosen in itertools.product(*choices):
        placed = {
            i: x
            for group, some in zip(groups, chosen, strict=True)
            for i, x in zip(group, some, strict=True)
        }
        yield tuple(placed[i] for i in sorted(placed))


# What compositions ask of their parts, and what they have in common.

# Entries of a matrix times its rows, and how closely components must agree.
_LARGEST_COMPARED, _ALIKE = 10**7, 1e-12


class Composition(Randomizer):
    """A randomizer made of randomizers, which may be a part itself."""

    @abstractmethod
    def lacking(self) -> str:
        """What it must have for other compositions to rest on its blanket; empty if it has it."""

    @abstractmethod
    def check_size(self) -> None:
        """Raise ValueError for joints in it that are too large for memory."""

    @abstractmethod
    def _reported(self) -> Sequence[tuple[float, Randomizer]]:
        """The parts, and how likely a user is to report each of them."""

    @abstractmethod
    def _asked(self, users: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        """Which of so many users report on every part."""

    @property
    def caveat(self) -> str | None:
        """What nobody has proved of its parts."""
        return (
            " ".join(dict.fromkeys(one.caveat for _, one in self._reported() if one.caveat)) or None
        )

    def errors(self, n: int) -> tuple[Error, ...]:
        """Of every part, whose estimates are of a coordinate of its own.

        A part that not all users report asks a sample of them, the error of which counts; the error
        is then that if at least one user reports on it. Not of parts that are joint or parallel
        compositions.

        Parameters
        ----------
        n
            Number of all users, 1 to 10¹⁵.

        Returns
        -------
        tuple of Error
            See `Randomizer.error`, which raises what this raises.
        """
        n = validation.users(n)
        return tuple(
            part._variances().sampled(rate).error(n, None) for rate, part in self._reported()
        )

    def sample(  # type: ignore[override]
        self, inputs: Sequence[ArrayLike], rng: np.random.Generator
    ) -> list[NDArray]:
        """Draw the reports of users on every part.

        Parameters
        ----------
        inputs
            For every part what each user holds, as the part takes it: a coordinate of its own, or
            the same for all parts.
        rng
            See `Randomizer`.

        Returns
        -------
        list of ndarray
            The reports on every part, of those users alone who run it.
        """
        sampling.require_generator(rng)
        parts = [part for _, part in self._reported()]
        if any(isinstance(part, Composition) for part in parts):
            raise ValueError(f"parts must not be compositions to draw reports, got {self.label}")
        held = [np.asarray(one) for one in inputs]
        if len(held) != len(parts) or len({len(one) for one in held if one.ndim}) != 1:
            raise ValueError(
                f"inputs must be {len(parts)} arrays, one for every part, with a row for every "
                f"user, got shapes {', '.join(str(one.shape) for one in held)}"
            )
        asked = self._asked(len(held[0]), rng)
        return [
            # No report at all has the type and shape of others, one of which is drawn and dropped.
            part.sample(inputs[who], rng) if who.any() else part.sample(inputs[:1], rng)[:0]
            for part, inputs, who in zip(parts, held, asked, strict=True)
        ]

    def estimate(self, reports: Sequence[ArrayLike]) -> list[FloatArray]:  # type: ignore[override]
        """Estimate the shares or the mean of every part's coordinate, each from its own reports.

        Parameters
        ----------
        reports
            As `sample` returns them.

        Returns
        -------
        list of ndarray
            See `Randomizer`; `errors` says how far they lie off. Of a part on which nobody reports
            every estimate is nan.
        """
        parts = self._reported()
        return [
            part.estimate(some) if len(np.asarray(some)) else _no_estimate(part)
            for (_, part), some in zip(parts, reports, strict=True)
        ]

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        raise ValueError(f"{self.label} has an error for every part: ask errors(n) of it")


def _no_estimate(part: Randomizer) -> FloatArray:
    """Nan for every value whose share the part estimates."""
    return np.full(int(part._variances().values), np.nan)


def checked(
    parts: Iterable[Randomizer], *, several: bool = False
) -> tuple[tuple[Randomizer, ...], tuple[bool, ...]]:
    """The parts, and which of them have inputs any two of which are alike.

    All of them must, unless `several` allows for those that know their `choices`.
    """
    if not isinstance(parts, Iterable):
        raise ValueError(f"parts must be a list of randomizers, got {parts!r}")
    parts = tuple(parts)
    if not parts:
        raise ValueError("parts must hold at least one randomizer, got none")
    alike: dict[Randomizer, bool] = {}
    for part in dict.fromkeys(parts):
        if not isinstance(part, Randomizer):
            raise ValueError(
                f"parts must be randomizers, such as KRR(k=10, eps0=1.0), got {part!r}"
            )
        why = lacking(part)
        if why and not (several and part.choices()):
            raise ValueError(f"parts must {why}, got {part!r}")
        alike[part] = not why
    return parts, tuple(alike[part] for part in parts)


def lacking(part: Randomizer) -> str:
    """What the part must have for compositions to rest on its blanket alone; empty if it has it."""
    if isinstance(part, Composition):  # its own parts have been looked at
        return part.lacking()
    blankets = list(part.blankets().values())
    if len(blankets) == 1 and not blankets[0].is_symmetric():
        return (
            "have blankets that are their own mirror images, for nobody knows the worst pair of "
            "other ones"
        )
    if len(blankets) > 1 or not (part.composable or inputs_are_alike(part)):
        return (
            "have inputs any two of which are alike, by a matrix() that shows it or an attribute "
            "composable = True that says so"
        )
    return ""


def inputs_are_alike(part: Randomizer) -> bool:
    """Whether the matrix R(x)(y) makes `blanket` of every two inputs, up to rounding."""
    try:
        # Those that have none raise AttributeError.
        rows = np.asarray(part.matrix())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
    if rows.size * len(rows) > _LARGEST_COMPARED:
        return False
    blanket, least = part.blanket(), rows.min(axis=0)
    # Not `merge`, which keeps apart what is tied and what is not.
    expected = merge_rows(np.stack([blanket.a, blanket.b, blanket.c]))[0]
    gaps = (
        component_gap(expected, merge_rows(np.stack([x, y, least]))[0])
        for x, y in itertools.combinations(rows, 2)
    )
    return all(gap <= _ALIKE for gap in gaps)


def check_sizes(parts: Iterable[Randomizer]) -> None:
    """Raise ValueError for joints among the parts that are too large for memory."""
    for part in parts:
        if isinstance(part, Composition):
            part.check_size()


def by_others(
    pairs: Iterable[Mapping[str, Decomposition]],
) -> dict[str, list[Decomposition]]:
    """The parts' dataset pairs with every x₂ that one of them has; it takes its first for others.

    What the parts take makes the name: ``third third 1``, or ``x1`` where they take the same.
    """
    pairs = list(pairs)
    names = dict.fromkeys(name for part in pairs for name in part)
    taken = [[name if name in part else next(iter(part)) for part in pairs] for name in names]
    return {
        " ".join(choice if len(set(choice)) > 1 else choice[:1]): [
            part[name] for part, name in zip(pairs, choice, strict=True)
        ]
        for choice in taken
    }
