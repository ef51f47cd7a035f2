"""Algorithms 1 to 6 of arXiv 2504.07414, the post-processing maps of its proofs, in rationals.

Each map takes the output of a reduction pair to the shuffled reports, or to the output of another
pair. The table compares the law of a map's output with the law that it must have. The inputs of a
randomizer are 0, 1, …; the victim's are x₁⁰ = 0 and x₁¹ = 1, and its outputs are 0, 1, …. A
histogram is the multiset of its indices in ascending order, which is also the sequence that
Algorithms 1 and 3 go through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias, TypeVar

import pandas as pd

from reproduction.papers.pages import Page
from reproduction.papers.su2026 import PostProcessing
from reproduction.papers.tables import Context

H = TypeVar("H", bound=Hashable)
K = TypeVar("K", bound=Hashable)
# Masses by outcome.
Law: TypeAlias = dict[H, Fraction]
# A multiset of outputs, or of indices of components, in ascending order. The blanket's pair outputs
# the reports of the victim and of those others who report from the blanket.
Multiset: TypeAlias = tuple[int, ...]
# The state of an algorithm: J, the users whose left-over laws were sampled, and the samples.
State: TypeAlias = tuple[frozenset[int], Multiset]
# A function that adds an element to a collection, which the paper writes as ∪.
Union: TypeAlias = Callable[[Multiset, int], Multiset]

# The outcome that nothing is sampled, which joins no collection.
NOTHING = -1


def union_of_multisets(collection: Multiset, element: int) -> Multiset:
    """Return the collection with one element more."""
    return tuple(sorted((*collection, element)))


def union_of_sets(collection: Multiset, element: int) -> Multiset:
    """Return the collection in which the element is once, as ∪ says of sets."""
    return tuple(sorted({*collection, element}))


def image(law: Law[H], kernel: Callable[[H], Law[K]]) -> Law[K]:
    """Return the law of a random function's value.

    `kernel` gives its law at each outcome of `law`.
    """
    masses: defaultdict[K, Fraction] = defaultdict(Fraction)
    for outcome, mass in law.items():
        for value, share in kernel(outcome).items():
            masses[value] += mass * share
    return {value: mass for value, mass in masses.items() if mass}


def distance(law: Law[H], other: Law[H]) -> Fraction:
    """Return the total variation distance."""
    zero = Fraction()
    differences = (law.get(y, zero) - other.get(y, zero) for y in {*law, *other})
    return sum(map(abs, differences), zero) / 2


def collection_law(
    draws: Iterable[Law[int] | None],
    left_over: Sequence[Law[int]] = (),
    union: Union = union_of_multisets,
) -> Law[Multiset]:
    """Return the law of the collection of independent samples.

    None stands for a sample of the left-over law of a user who is not in J, who is put into J.
    """
    states: Law[State] = {(frozenset(), ()): Fraction(1)}
    for draw in draws:
        if draw is None:
            states = image(states, partial(_with_left_over, laws=left_over, union=union))
        else:
            states = image(states, partial(_with_sample, law=draw, union=union))
    return image(states, lambda state: {state[1]: Fraction(1)})


def _with_sample(state: State, law: Law[int], union: Union) -> Law[State]:
    users, collection = state
    return image(
        law, lambda y: {(users, collection if y == NOTHING else union(collection, y)): Fraction(1)}
    )


def _with_left_over(state: State, laws: Sequence[Law[int]], union: Union) -> Law[State]:
    users, collection = state
    free = [j for j in range(len(laws)) if j not in users]
    chosen = dict.fromkeys(free, Fraction(1, len(free)))
    return image(chosen, lambda j: _with_sample((users | {j}, collection), laws[j], union))


@dataclass(frozen=True)
class Clone:
    """A decomposition as in Definition 7: components Q, and their shares a, b and c."""

    components: Sequence[Law[int]]
    a: Sequence[Fraction]
    b: Sequence[Fraction]
    c: Sequence[Fraction]

    @property
    def beta(self) -> Fraction:
        """β, the share of the others' left-over laws."""
        return 1 - sum(self.c, Fraction())

    def common(self) -> Law[int]:
        """Return what all others are certain to report.

        The masses Σ c_j Q_j, which sum to 1 − β.
        """
        masses: defaultdict[int, Fraction] = defaultdict(Fraction)
        for share, component in zip(self.c, self.components, strict=True):
            for y, mass in component.items():
                masses[y] += share * mass
        return dict(masses)

    def pair(self, victim: int, n: int) -> Law[Multiset]:
        """Return P₀ or P₁ of Definition 8, each histogram as the multiset of its indices.

        The index of the left-over laws is the number of components.
        """
        own = dict(enumerate(self.b if victim else self.a))
        other = dict(enumerate([*self.c, self.beta]))
        return collection_law([own, *[other] * (n - 1)])

    def draws(self, histogram: Multiset, residual: Law[int] | None) -> list[Law[int] | None]:
        """Return the component of each index, or `residual` for the index of the left-over laws."""
        return [[*self.components, residual][index] for index in histogram]


@dataclass(frozen=True)
class Shuffle:
    """Users of a randomizer: `rows` are its laws by input, `others` are x₂, …, x_n."""

    rows: Sequence[Law[int]]
    others: Sequence[int]

    @property
    def n(self) -> int:
        """The number of users."""
        return len(self.others) + 1

    @property
    def exp_eps0(self) -> Fraction:
        """e^{ε₀}, the largest ratio of two masses of an output."""
        return max(one[y] / two[y] for one in self.rows for two in self.rows for y in one)

    @property
    def infimum(self) -> Law[int]:
        """γω: the smallest mass of each output over all inputs."""
        return {y: min(row[y] for row in self.rows) for y in self.rows[0]}

    def reports(self, victim: int) -> Law[Multiset]:
        """Return M_S(X⁰) or M_S(X¹): the law of the shuffled reports."""
        return collection_law(self.rows[x] for x in (victim, *self.others))

    def left_over(self, clone: Clone) -> list[Law[int]]:
        """Return LO(x₂), …, LO(x_n): what a decomposition's components leave of each law."""
        common, beta = clone.common(), clone.beta
        return [
            {y: (mass - common.get(y, 0)) / beta for y, mass in self.rows[x].items()}
            for x in self.others
        ]

    def standard_clone(self) -> Clone:
        """Return the decomposition of Definition 5, whose components are R(x₁⁰) and R(x₁¹)."""
        zero, one, share = Fraction(0), Fraction(1), 1 / (2 * self.exp_eps0)
        return Clone(self.rows[:2], (one, zero), (zero, one), (share, share))

    def formal_standard_clone(self) -> Clone:
        """Return the decomposition of Theorem 1, whose components are those of Lemma 1."""
        e = self.exp_eps0
        first, second = self.rows[:2]
        components = [
            {y: (e * one[y] - two[y]) / (e - 1) for y in one}
            for one, two in ((first, second), (second, first))
        ]
        large, small, share = e / (e + 1), 1 / (e + 1), 1 / (2 * e)
        return Clone(components, (large, small), (small, large), (share, share))

    def primary(self) -> Clone:
        """Return the decomposition of Theorem 5, a component for every output."""
        first, second, infimum = *self.rows[:2], self.infimum
        points = [{y: Fraction(1)} for y in infimum]
        return Clone(points, *([law[y] for y in infimum] for law in (first, second, infimum)))

    def simplified(self) -> Clone:
        """Return the decomposition of Theorem 7, a component for every pair of ratios."""
        first, second, infimum = *self.rows[:2], self.infimum
        members: dict[tuple[Fraction, Fraction], list[int]] = {}
        for y in infimum:
            members.setdefault(self.ratios(y), []).append(y)
        a, b, c = (
            [sum((law[y] for y in outputs), Fraction()) for outputs in members.values()]
            for law in (first, second, infimum)
        )
        components = [
            {y: first[y] / whole for y in outputs}
            for whole, outputs in zip(a, members.values(), strict=True)
        ]
        return Clone(components, a, b, c)

    def ratios(self, y: int) -> tuple[Fraction, Fraction]:
        """Return r₀ and r₁ of an output."""
        least = self.infimum[y]
        return self.rows[0][y] / least, self.rows[1][y] / least

    def blanket_pair(self, victim: int) -> Law[Multiset]:
        """Return P₀ or P₁ of Definition 6."""
        silent = 1 - sum(self.infimum.values(), Fraction())
        other = self.infimum | {NOTHING: silent}
        return collection_law([self.rows[victim], *[other] * (self.n - 1)])


def algorithm_2(
    reports: Multiset, shuffle: Shuffle, union: Union = union_of_multisets
) -> Law[Multiset]:
    """Apply f^B, from the blanket's pair to the shuffled reports."""
    draws = [*[None] * (shuffle.n - len(reports)), *({y: Fraction(1)} for y in reports)]
    return collection_law(draws, shuffle.left_over(shuffle.primary()), union)


def algorithm_3(histogram: Multiset, shuffle: Shuffle, clone: Clone) -> Law[Multiset]:
    """Apply f^GC, from a general clone's pair to the shuffled reports; Algorithm 1 if k = 2."""
    return collection_law(clone.draws(histogram, None), shuffle.left_over(clone))


def algorithm_4(reports: Multiset, shuffle: Shuffle) -> Law[Multiset]:
    """Apply f₂, from the blanket's pair to that of the primary optimal decomposition."""
    residual = len(shuffle.infimum)
    return {(*reports, *[residual] * (shuffle.n - len(reports))): Fraction(1)}


def algorithm_5(
    histogram: Multiset, shuffle: Shuffle, clone: Clone, union: Union = union_of_multisets
) -> Law[Multiset]:
    """Apply f₃, from the pair of a general clone to the blanket's."""
    common = clone.common()
    # (μ/β) Q^com, to which the outcome that nothing is sampled adds the rest.
    residual = {y: (mass - common.get(y, 0)) / clone.beta for y, mass in shuffle.infimum.items()}
    residual[NOTHING] = 1 - sum(residual.values(), Fraction())
    return collection_law(clone.draws(histogram, residual), union=union)


def algorithm_6(reports: Multiset, shuffle: Shuffle) -> Law[Multiset]:
    """Apply f₄, from the blanket's pair to that of the simplified optimal decomposition."""
    ratios = list(dict.fromkeys(map(shuffle.ratios, shuffle.infimum)))
    indices = [ratios.index(shuffle.ratios(y)) for y in reports]
    indices += [len(ratios)] * (shuffle.n - len(reports))
    return {tuple(sorted(indices)): Fraction(1)}


@dataclass(frozen=True)
class Map:
    """A map with the pair it is applied to and what must come out, by the victim's input."""

    algorithm: str
    source: str
    target: str
    start: Callable[[int], Law[Any]]
    kernel: Callable[[Any], Law[Any]]
    goal: Callable[[int], Law[Any]]


def maps(shuffle: Shuffle) -> list[Map]:
    """Return every map of the paper, each applied to the pairs that the paper applies it to."""
    clones = {
        "standard clone, Definition 5": shuffle.standard_clone(),
        "standard clone, Theorem 1": shuffle.formal_standard_clone(),
        "primary optimal decomposition": shuffle.primary(),
        "simplified optimal decomposition": shuffle.simplified(),
    }
    definition_5, theorem_1, primary, simplified = clones
    laws: dict[str, Callable[[int], Law[Any]]] = {
        "blanket": shuffle.blanket_pair,
        "reports": shuffle.reports,
        **{name: partial(clone.pair, n=shuffle.n) for name, clone in clones.items()},
    }

    def map_of(
        number: str, source: str, target: str, algorithm: Callable[..., Law[Any]], **options: Any
    ) -> Map:
        if source in clones:
            options["clone"] = clones[source]
        kernel = partial(algorithm, shuffle=shuffle, **options)
        return Map(number, source, target, laws[source], kernel, laws[target])

    sets = {"union": union_of_sets}
    return [
        map_of("1", definition_5, "reports", algorithm_3),
        map_of("1", theorem_1, "reports", algorithm_3),
        map_of("2", "blanket", "reports", algorithm_2),
        map_of("3", simplified, "reports", algorithm_3),
        map_of("4", "blanket", primary, algorithm_4),
        map_of("5", theorem_1, "blanket", algorithm_5),
        map_of("5", simplified, "blanket", algorithm_5),
        map_of("6", "blanket", simplified, algorithm_6),
        map_of("2, ∪ of sets", "blanket", "reports", algorithm_2, **sets),
        map_of("5, ∪ of sets", theorem_1, "blanket", algorithm_5, **sets),
    ]


def post_processing_table(parameters: PostProcessing, _: Context) -> pd.DataFrame:
    """Return the exact total variation distance of what each map gives from what it must give.

    A row for each randomizer and map. ``distance_0`` and ``distance_1`` are of P₀ and P₁, as
    fractions; ``outcomes`` counts what the target's P₀ can be.
    """
    rows = []
    for name, weights in parameters.randomizers.items():
        laws = [{y: Fraction(w, sum(row)) for y, w in enumerate(row)} for row in weights]
        shuffle = Shuffle(laws, parameters.others)
        for map_ in maps(shuffle):
            distances = [
                distance(image(map_.start(victim), map_.kernel), map_.goal(victim))
                for victim in (0, 1)
            ]
            rows.append(
                {
                    "randomizer": name,
                    "exp_eps0": float(shuffle.exp_eps0),
                    "n": shuffle.n,
                    "algorithm": map_.algorithm,
                    "source": map_.source,
                    "target": map_.target,
                    "outcomes": len(map_.goal(0)),
                    "distance_0": str(distances[0]),
                    "distance_1": str(distances[1]),
                    "verdict": "differs" if any(distances) else "exact",
                }
            )
    return pd.DataFrame(rows)


def post_processing_page(frame: pd.DataFrame) -> Page:
    """Return the page of a measurement."""
    return Page.of(
        frame,
        [
            ("randomizer", "{randomizer}"),
            (r"$e^{\varepsilon_0}$", "{exp_eps0:g}"),
            ("algorithm", "{algorithm}"),
            ("from the pair of", "{source}"),
            ("to", "{target}"),
            ("outcomes", "{outcomes}"),
            ("distance from $P_0$", "{distance_0}"),
            ("distance from $P_1$", "{distance_1}"),
            ("verdict", "{verdict}"),
        ],
        title="Algorithms 1 to 6: the post-processing maps",
        above=f"Each map is applied to the pair in the fourth column, for {frame['n'].iloc[0]} "
        "users. The distance is the total variation distance between the law of its output and the "
        "law that the paper says it has, computed in rationals: 0 means that the two are equal.",
        below="Algorithms 2 and 5 write $\\cup$ where a sample joins a collection. Their "
        "collections are multisets, as Definition 6 says of $Y$: then the maps are exact. The last "
        "two rows of each randomizer show what they give if equal samples are counted once.",
    )
