"""Crowds of compositions: all combinations of the coordinates of a victim and of another user.

Inputs that differ in all coordinates are proved to be the worst for blankets only. So the victim's
two inputs may agree in some coordinates here.

Components of one ratio a : b : c are united. For each input of another user, its pieces of one
ratio to its law are united, too. A product is never written out, as every step unites its
components (docs/closing-the-gap.md, section 8).
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
    MERGE_GAP,
    NEARLY_EQUAL,
    SMALLEST_MASS,
    FloatArray,
    U,
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
from shufflebounds.randomizers.base import MAX_ENTRIES, Randomizer

# Largest number of inputs times components of one crowd, which takes seconds at most.
_MAX_CROWD_SIZE = 250_000
# Largest number of pairs of components of one step of a joint, which takes seconds at most.
_MAX_PAIRS_PER_STEP = 2**22
# Largest number of inputs of another user from which the promising ones are picked.
_MAX_COUNTED_INPUTS = 50_000
# Largest number of inputs that are tried as datasets with different inputs of different parts.
_MAX_TRIED_INPUTS = 30

T = TypeVar("T")
# The crowds of a part for a victim whose inputs differ, and for one whose inputs are equal.
Crowds = tuple[Crowd, Crowd]


def single_crowds(parts: Sequence[Randomizer]) -> list[Crowds] | None:
    """Return the crowds of every part, or None unless each part has one crowd for all pairs."""
    crowds_of: dict[Randomizer, Crowds] = {}
    for part in dict.fromkeys(parts):
        crowds = part.crowds()
        if len(crowds) != 1 or crowds[0].extremes or crowds[0].kinds:
            return None
        crowds_of[part] = _unite_crowd(crowds[0]), _unite_crowd(crowds[0].same_input())
    return [crowds_of[part] for part in parts]


def coordinate_crowds(crowds: Sequence[Crowds], differing: Sequence[int]) -> list[Crowd]:
    """Return one crowd for each part: the victim's inputs differ in the coordinates `differing`."""
    return [pair[0 if i in differing else 1] for i, pair in enumerate(crowds)]


def coordinate_kinds(parts: Sequence[Hashable], differing: Sequence[int]) -> list[Hashable]:
    """Return a key for each coordinate: its part, and whether the victim's inputs differ in it."""
    return [(part, i in differing) for i, part in enumerate(parts)]


def name_by_differing(
    size: int, crowds: Iterable[tuple[tuple[int, ...], Crowd | None]]
) -> tuple[Crowd, ...]:
    """Return the crowds, each with the names of the coordinates that differ, out of `size`.

    The result is empty if one crowd is None.
    """
    named_crowds = []
    for differing, crowd in crowds:
        if crowd is None:
            return ()
        name = "" if len(differing) == size else " ".join(str(i + 1) for i in differing)
        named_crowds.append(replace(crowd, differing=name))
    return tuple(named_crowds)


@dataclass(frozen=True, eq=False)
class _UnitedComponents:
    """Components that were united by their ratios, and where the original ones are.

    ``masses`` are a, b, c of the united components, shape (3, K). An original component is the
    ``share`` of the united component ``place``, which is -1 if the victim never sends it.
    """

    masses: FloatArray
    place: NDArray[np.int64]
    share: FloatArray
    rel_err: float

    @staticmethod
    def of(masses: FloatArray) -> _UnitedComponents:
        """Unite the components of the masses a, b, c, shape (3, …)."""
        used = masses[:2].any(axis=0)
        a, b, c = masses[:, used]
        label = ratio_labels(a, b, c)
        order = np.argsort(label, kind="stable")
        rows, spread = merge_labelled(masses[:, used][:, order], label[order])
        weight = np.where(c > 0.0, c, a + b)
        place, share = np.full(used.shape, -1), np.zeros(used.shape)
        place[used] = label
        share[used] = weight / np.bincount(label, weights=weight)[label]
        return _UnitedComponents(rows, place, share, spread)

    def other_input(
        self, where: tuple[NDArray, ...], share: FloatArray, law: FloatArray, err: float
    ) -> OtherInput:
        """Return an input of another user, its pieces united.

        Its pieces before are the `share` of the original components at the indices `where`, and
        have the masses `law`. Their relative error is `err`.
        """
        place = self.place[where]
        used = place >= 0
        place, share, law = place[used], (share * self.share[where])[used], law[used]
        ratio = law / share
        order = np.lexsort((ratio, place))
        place, ratio = place[order], ratio[order]
        starts = (np.diff(ratio) > MERGE_GAP * ratio[1:]) | (np.diff(place) != 0)
        label = np.concatenate([[0], np.cumsum(starts)])
        # NumPy's stubs say that bincount returns integers, which is wrong with weights.
        shares, laws = (
            np.bincount(label, weights=x[order]).astype(np.float64) for x in (share, law)
        )
        gaps = np.abs(ratio - (laws / shares)[label]) / np.where(ratio > 0.0, ratio, 1.0)
        rounding = (16.0 + float(np.bincount(label).max())) * U
        rel_err = compounded(err, self.rel_err, 1.01 * float(gaps.max()), rounding)
        is_first = np.concatenate([[True], starts])
        return OtherInput(place[is_first], shares, laws, rel_err)


def _unite_crowd(crowd: Crowd) -> Crowd:
    """Return the crowd with components united, and with one of the inputs that are equal then."""
    united = _UnitedComponents.of(np.stack([crowd.a, crowd.b, crowd.c]))
    distinct: dict[str, OtherInput] = {}
    for name, original in crowd.others.items():
        candidate = united.other_input(
            (original.part,), original.share, original.law, original.rel_err
        )
        for listed_name, listed in distinct.items():
            gap = _input_gap(candidate, listed)
            if gap <= MERGE_GAP:
                rel_err = compounded(listed.rel_err, candidate.rel_err, gap)
                distinct[listed_name] = replace(listed, rel_err=rel_err)
                break
        else:
            distinct[name] = candidate
    a, b, c = united.masses
    rel_err = compounded(crowd.rel_err, united.rel_err)
    return replace(crowd, a=a, b=b, c=c, others=distinct, rel_err=rel_err)


def _input_gap(left: OtherInput, right: OtherInput) -> float:
    """Return the largest relative difference of two inputs' shares and laws."""
    if not np.array_equal(left.part, right.part):
        return math.inf
    return relative_gap(*(np.stack([input_.share, input_.law]) for input_ in (left, right)))


def joint_crowd(
    parts: Sequence[Crowd], kinds: Sequence[Hashable], max_inputs: int | None = None
) -> Crowd | None:
    """Return the crowd of all reports together, or None.

    Parts of one kind are equal, so that the order of their inputs does not matter. The result is
    None if the crowd would be too large, or its masses too small for floats. If `max_inputs` is
    given, it limits the number of inputs of another user, and only promising inputs are listed.
    """
    if math.fsum(math.log(_smallest_mass(part)) for part in parts) < math.log(SMALLEST_MASS):
        return None
    first, *later_parts = parts
    masses, steps = np.stack([first.a, first.b, first.c]), []
    for part in later_parts:
        if masses.shape[1] * part.a.size > _MAX_PAIRS_PER_STEP:
            return None
        factors = np.stack([part.a, part.b, part.c])
        steps.append(_UnitedComponents.of(masses[:, :, None] * factors[:, None]))
        masses = steps[-1].masses

    @cache
    def joint_input(names: tuple[str, ...]) -> OtherInput:
        *before, last = (part.others[x] for part, x in zip(parts, names, strict=False))
        if not before:
            return last
        prefix = joint_input(names[:-1])
        where = np.repeat(prefix.part, last.part.size), np.tile(last.part, prefix.part.size)
        share, law = (
            np.multiply.outer(x, y).ravel()
            for x, y in ((prefix.share, last.share), (prefix.law, last.law))
        )
        err = compounded(prefix.rel_err, last.rel_err)
        return steps[len(before) - 1].other_input(where, share, law, err)

    errors = *(part.rel_err for part in parts), *(step.rel_err for step in steps)
    rel_err = compounded(*errors, (len(parts) + 1.0) * U)
    return _composed_crowd(parts, kinds, masses, joint_input, rel_err, max_inputs)


def linked_kinds(crowds: Sequence[Crowds], labels: Sequence[Hashable]) -> Kinds:
    """Return the kinds of coordinates of a joint report, one for each different label."""
    return tuple((len(group), crowds[group[0]]) for group in equal_places(labels))


def linked_crowd(
    crowds: Sequence[Crowds], labels: Sequence[Hashable], listed: Sequence[Crowds]
) -> Crowd | None:
    """Return one crowd for all pairs of inputs of a joint report, differing in any coordinates.

    It rests on moments of parts with equal labels (docs/closing-the-gap.md, section 8). Its listed
    inputs are those of the crowds `listed`. The result is None if there are too many inputs or
    patterns.
    """
    kinds = linked_kinds(crowds, labels)
    differ = coordinate_crowds(crowds, range(len(crowds)))
    if not (is_feasible(kinds) and all(crowd.symmetric for crowd in differ)):
        return None
    listed_differ = coordinate_crowds(listed, range(len(listed)))
    crowd = joint_crowd(listed_differ, labels, _MAX_COUNTED_INPUTS)
    return None if crowd is None else replace(crowd, kinds=kinds)


def parallel_crowd(
    weights: Sequence[float], parts: Sequence[Crowd], kinds: Sequence[Hashable]
) -> Crowd | None:
    """Return the crowd of one part's report, drawn by weight, or None as `joint_crowd` does.

    It is not attained, since the parts may all use one value, while their inputs are free here.
    """
    total = math.fsum(weights)
    shares = [float(weight) / total for weight in weights]
    weighted = list(zip(shares, parts, strict=True))
    if min(share * _smallest_mass(part) for share, part in weighted) < SMALLEST_MASS:
        return None
    masses = [share * np.stack([part.a, part.b, part.c]) for share, part in weighted]
    united = _UnitedComponents.of(np.concatenate(masses, axis=1))
    starts = np.cumsum([0, *(part.a.size for part in parts[:-1])])

    def mixed_input(names: tuple[str, ...]) -> OtherInput:
        inputs = [part.others[x] for part, x in zip(parts, names, strict=True)]
        where = [start + input_.part for start, input_ in zip(starts, inputs, strict=True)]
        laws = [share * input_.law for share, input_ in zip(shares, inputs, strict=True)]
        pieces = np.concatenate([input_.share for input_ in inputs])
        err = max(input_.rel_err for input_ in inputs)
        return united.other_input((np.concatenate(where),), pieces, np.concatenate(laws), err)

    rounding = 6.0 * U + 1.001 * abs(total - 1.0)
    rel_err = compounded(max(part.rel_err for part in parts), united.rel_err, rounding)
    crowd = _composed_crowd(parts, kinds, united.masses, mixed_input, rel_err)
    return None if crowd is None else replace(crowd, attained=False)


def _smallest_mass(crowd: Crowd) -> float:
    """Return the smallest positive mass of a, b, c and all laws of a crowd."""
    laws = (input_.law for input_ in crowd.others.values())
    return min(float(x[x > 0.0].min(initial=1.0)) for x in (crowd.a, crowd.b, crowd.c, *laws))


def _composed_crowd(
    parts: Sequence[Crowd],
    kinds: Sequence[Hashable],
    masses: FloatArray,
    make_input: Callable[[tuple[str, ...]], OtherInput],
    rel_err: float,
    max_inputs: int | None = None,
) -> Crowd | None:
    """Return the crowd of a composition, or None if it has too many inputs.

    `make_input` maps the names of the parts' inputs to an input of the composition.
    """
    limit = max_inputs or _MAX_CROWD_SIZE // masses.shape[1]
    inputs = {" ".join(x): x for x in itertools.islice(_input_names(parts, kinds), limit + 1)}
    if len(inputs) > limit:
        return None
    places = [{name: i for i, name in enumerate(part.others)} for part in parts]

    def names_at_equal_places(labels: Sequence[Hashable]) -> list[str]:
        """Return the inputs that have the same place in all parts of one label."""
        groups = equal_places(labels)
        return [
            name
            for name, names in inputs.items()
            if all(len({places[i][names[i]] for i in group}) == 1 for group in groups)
        ]

    tried_names = names_at_equal_places(kinds)
    if len(tried_names) > _MAX_TRIED_INPUTS:
        tried_names = names_at_equal_places([len(place) for place in places])
    a, b, c = masses
    return Crowd(
        a,
        b,
        c,
        Inputs(tried_names if max_inputs else inputs, lambda name: make_input(inputs[name])),
        rel_err,
        attained=all(part.attained for part in parts),
        symmetric=all(part.symmetric for part in parts),
        tried=tuple(tried_names),
    )


def _input_names(parts: Sequence[Crowd], kinds: Sequence[Hashable]) -> Iterator[tuple[str, ...]]:
    """Yield the names of the parts' inputs, without orders of inputs of equal parts."""
    groups = equal_places(kinds)
    return combinations([list(parts[group[0]].others) for group in groups], groups)


def equal_places(kinds: Sequence[Hashable]) -> list[list[int]]:
    """Return for each different kind the list of its positions."""
    return [[i for i, key in enumerate(kinds) if key == kind] for kind in dict.fromkeys(kinds)]


def combinations(
    options: Sequence[Sequence[T]], groups: Sequence[Sequence[int]]
) -> Iterator[tuple[T, ...]]:
    """Yield one of its group's options for every place, without orders within a group."""
    choices = (
        itertools.combinations_with_replacement(group_options, len(group))
        for group_options, group in zip(options, groups, strict=True)
    )
    for combination in itertools.product(*choices):
        placed = {
            i: option
            for group, group_choice in zip(groups, combination, strict=True)
            for i, option in zip(group, group_choice, strict=True)
        }
        yield tuple(placed[i] for i in sorted(placed))


class Composition(Randomizer):
    """A randomizer that is made of others, and may be a part of a composition itself."""

    @abstractmethod
    def lacking(self) -> str:
        """Return what it lacks for other compositions to use its blanket; empty if nothing."""

    @abstractmethod
    def check_size(self) -> None:
        """Raise ValueError for joints in it that are too large for memory."""

    @abstractmethod
    def _reported(self) -> Sequence[tuple[float, Randomizer]]:
        """Return pairs: the probability that a user reports on a part, and the part."""

    @abstractmethod
    def _reporting_users(self, users: int, rng: np.random.Generator) -> list[NDArray[np.bool_]]:
        """Return for each part an array that says which of the users report on it."""

    @property
    def caveat(self) -> str | None:
        """The caveats of its parts; None if they have none."""
        caveats = dict.fromkeys(part.caveat for _, part in self._reported() if part.caveat)
        return " ".join(caveats) or None

    def errors(self, n: int) -> tuple[Error, ...]:
        """Return the error of every part, each of which estimates a coordinate of its own.

        If only a random sample of the users reports on a part, its error includes the error of
        sampling, and holds if at least one user reports on it. Parts that are joint or parallel
        compositions have no error.

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
            For every part an array of all users' inputs: a coordinate of its own, or the same for
            all parts.
        rng
            See `Randomizer`.

        Returns
        -------
        list of ndarray
            For every part the reports of the users who run it.
        """
        sampling.require_generator(rng)
        parts = [part for _, part in self._reported()]
        if any(isinstance(part, Composition) for part in parts):
            raise ValueError(f"parts must not be compositions to draw reports, got {self.label}")
        arrays = [np.asarray(values) for values in inputs]
        if len(arrays) != len(parts) or len({len(x) for x in arrays if x.ndim}) != 1:
            raise ValueError(
                f"inputs must be {len(parts)} arrays, one for every part, with a row for every "
                f"user, got shapes {', '.join(str(x.shape) for x in arrays)}"
            )
        reporting = self._reporting_users(len(arrays[0]), rng)
        return [
            # If nobody reports, one report is drawn and dropped, for the type and shape of reports.
            part.sample(inputs[users], rng) if users.any() else part.sample(inputs[:1], rng)[:0]
            for part, inputs, users in zip(parts, arrays, reporting, strict=True)
        ]

    def estimate(self, reports: Sequence[ArrayLike]) -> list[FloatArray]:  # type: ignore[override]
        """Estimate the shares or the mean of every part's coordinate, each from its own reports.

        Parameters
        ----------
        reports
            The reports of `sample`.

        Returns
        -------
        list of ndarray
            See `Randomizer`; `errors` returns their errors. If nobody reports on a part, all of its
            estimates are nan.
        """
        parts = self._reported()
        return [
            part.estimate(part_reports) if len(np.asarray(part_reports)) else _no_estimate(part)
            for (_, part), part_reports in zip(parts, reports, strict=True)
        ]

    def _variances(self, frequencies: ArrayLike | None = None) -> Spread:
        """Raise ValueError: every part has variances of its own."""
        raise ValueError(f"{self.label} has an error for every part: ask errors(n) of it")


def _no_estimate(part: Randomizer) -> FloatArray:
    """Return nan for every value whose share the part estimates."""
    return np.full(int(part._variances().values), np.nan)


def check_parts(
    parts: Iterable[Randomizer], *, several: bool = False
) -> tuple[tuple[Randomizer, ...], tuple[bool, ...]]:
    """Return the parts, and for each whether any two of its inputs are alike.

    Raises ValueError unless all are, or if `several` is true, unless the others have `choices`.
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
        why = missing_property(part)
        if why and not (several and part.choices()):
            raise ValueError(f"parts must {why}, got {part!r}")
        alike[part] = not why
    return parts, tuple(alike[part] for part in parts)


def missing_property(part: Randomizer) -> str:
    """Return the property that the part must have for compositions to use its blanket alone.

    The result is empty if it has this property, else the end of a sentence "parts must …".
    """
    if isinstance(part, Composition):  # Its own parts were checked when it was constructed.
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
    """Return whether the matrix R(x)(y) gives any two inputs the same `blanket`, up to rounding."""
    try:
        # A part without a matrix raises AttributeError.
        rows = np.asarray(part.matrix())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
    if rows.size * len(rows) > MAX_ENTRIES:
        return False
    blanket, sure = part.blanket(), rows.min(axis=0)
    # `Decomposition.merge` would not unite tied components with others of the same ratio.
    expected = merge_rows(np.stack([blanket.a, blanket.b, blanket.c]))[0]
    gaps = (
        component_gap(expected, merge_rows(np.stack([x, y, sure]))[0])
        for x, y in itertools.combinations(rows, 2)
    )
    return all(gap <= NEARLY_EQUAL for gap in gaps)


def check_sizes(parts: Iterable[Randomizer]) -> None:
    """Raise ValueError for joints among the parts that are too large for memory."""
    for part in parts:
        if isinstance(part, Composition):
            part.check_size()


def combine_dataset_pairs(
    pairs: Iterable[Mapping[str, Decomposition]],
) -> dict[str, list[Decomposition]]:
    """Return lists of the parts' dataset pairs, for every name of x₂ that a part has.

    A part without the name uses its first pair. The names of the parts' x₂ make the name of a list,
    such as ``third third 1``, or ``x1`` if they are all the same.
    """
    pairs = list(pairs)
    names = dict.fromkeys(name for part in pairs for name in part)
    choices = [[name if name in part else next(iter(part)) for part in pairs] for name in names]
    return {
        " ".join(choice if len(set(choice)) > 1 else choice[:1]): [
            part[name] for part, name in zip(pairs, choice, strict=True)
        ]
        for choice in choices
    }
