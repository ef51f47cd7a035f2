"""Crowds of compositions: all combinations of the coordinates of a victim and of another user.

Inputs that differ in all coordinates are proved to be the worst for blankets only. So the victim's
two inputs may agree in some coordinates here.

Components of one ratio a : b : c are united. For each input of another user, its pieces of one
ratio to its law are united, too. A product is never written out, as every step unites its
components (docs/proofs/closing-the-gap.md, section 8).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shufflebounds.core.datasets import Crowd, Inputs, Kinds, OtherInput
from shufflebounds.core.products import (
    MERGE_GAP,
    SMALLEST_MASS,
    FloatArray,
    U,
    compounded,
    merge_labelled,
    ratio_labels,
    relative_gap,
)
from shufflebounds.divergence.coordinates import is_feasible
from shufflebounds.randomizers.base import Randomizer

# Largest number of inputs times components of one crowd, which takes seconds at most.
_MAX_CROWD_SIZE = 250_000
# Largest number of pairs of components of one step of a joint, which takes seconds at most.
_MAX_PAIRS_PER_STEP = 2**22
# Largest number of inputs of another user from which the promising ones are picked.
_MAX_COUNTED_INPUTS = 50_000
# Largest number of inputs that are tried as datasets with different inputs of different parts.
_MAX_TRIED_INPUTS = 30

T = TypeVar("T")


class PartCrowds(NamedTuple):
    """The crowds of a part for a victim whose two inputs differ in it, and for equal inputs."""

    differing: Crowd
    equal: Crowd


def single_crowds(parts: Sequence[Randomizer]) -> list[PartCrowds] | None:
    """Return the crowds of every part, or None unless each part has one crowd for all pairs.

    The pairs are ordered, as it matters which input of one part goes with which of another.
    """
    crowds_of: dict[Randomizer, PartCrowds] = {}
    for part in dict.fromkeys(parts):
        crowds = part.crowds()
        if len(crowds) != 1 or not crowds[0].symmetric or not crowds[0].is_of_one_pair:
            return None
        crowds_of[part] = PartCrowds(_unite_crowd(crowds[0]), _unite_crowd(crowds[0].same_input()))
    return [crowds_of[part] for part in parts]


def coordinate_crowds(crowds: Sequence[PartCrowds], differing: Sequence[int]) -> list[Crowd]:
    """Return one crowd for each part: the victim's inputs differ in the coordinates `differing`."""
    return [part.differing if i in differing else part.equal for i, part in enumerate(crowds)]


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


def linked_kinds(crowds: Sequence[PartCrowds], labels: Sequence[Hashable]) -> Kinds:
    """Return the kinds of coordinates of a joint report, one for each different label."""
    return tuple((len(group), crowds[group[0]]) for group in equal_places(labels))


def linked_crowd(
    crowds: Sequence[PartCrowds], labels: Sequence[Hashable], listed: Sequence[PartCrowds]
) -> Crowd | None:
    """Return one crowd for all pairs of inputs of a joint report, differing in any coordinates.

    It rests on moments of parts with equal labels (docs/proofs/closing-the-gap.md, section 8). Its
    listed inputs are those of the crowds `listed`. The result is None if there are too many inputs
    or patterns.
    """
    kinds = linked_kinds(crowds, labels)
    differ = coordinate_crowds(crowds, range(len(crowds)))
    if not (is_feasible(kinds) and all(crowd.symmetric for crowd in differ)):
        return None
    listed_differ = coordinate_crowds(listed, range(len(listed)))
    crowd = joint_crowd(listed_differ, labels, _MAX_COUNTED_INPUTS)
    return None if crowd is None else replace(crowd, kinds=kinds)


def covering_crowd(
    crowds: Sequence[tuple[Crowd, ...]], listed: Sequence[tuple[Crowd, ...]]
) -> Crowd | None:
    """Return one crowd for all pairs of inputs of a joint report whose parts have several kinds.

    ``crowds`` are those of each coordinate (`Randomizer.coordinate_crowds`). The first of those of
    ``listed`` stand for all where it is estimated how large the bound is. The result is None if
    there is no list of a coordinate, or if there are too many patterns.
    """
    kinds: Kinds = tuple((1, coordinate) for coordinate in crowds)
    if not all(crowds) or not is_feasible(kinds):
        return None
    firsts = [coordinate[0] for coordinate in listed]
    crowd = joint_crowd(firsts, range(len(firsts)), _MAX_COUNTED_INPUTS)
    if crowd is None:
        return None
    return replace(crowd, kinds=kinds, attained=False, symmetric=True, tried=())


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
