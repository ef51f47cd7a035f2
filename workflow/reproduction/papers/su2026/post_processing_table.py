"""The post-processing maps of arXiv 2504.07414 against the laws that they must have, as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from reproduction.papers.su2026 import PostProcessing
from reproduction.papers.su2026.post_processing import (
    Clone,
    Law,
    Multiset,
    Shuffle,
    algorithm_1,
    algorithm_2,
    algorithm_3,
    algorithm_4,
    algorithm_5,
    algorithm_6,
    distance,
    image,
    union_of_sets,
)
from reproduction.papers.tables import Context, Page, TableCode


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
    """Every map of the paper, each applied to the pairs that the paper applies it to."""
    n, reports, blanket = shuffle.n, shuffle.reports, shuffle.blanket_pair
    intuitive, formal = shuffle.standard_clone(), shuffle.formal_standard_clone()
    primary, simplified = shuffle.primary(), shuffle.simplified()

    def pair(clone: Clone) -> Callable[[int], Law[Multiset]]:
        return lambda victim: clone.pair(victim, n)

    return [
        Map(
            "1",
            "standard clone, Definition 5",
            "reports",
            pair(intuitive),
            lambda y: algorithm_1(y, shuffle, intuitive),
            reports,
        ),
        Map(
            "1",
            "standard clone, Theorem 1",
            "reports",
            pair(formal),
            lambda y: algorithm_1(y, shuffle, formal),
            reports,
        ),
        Map("2", "blanket", "reports", blanket, lambda y: algorithm_2(y, shuffle), reports),
        Map(
            "3",
            "simplified optimal decomposition",
            "reports",
            pair(simplified),
            lambda y: algorithm_3(y, shuffle, simplified),
            reports,
        ),
        Map(
            "4",
            "blanket",
            "primary optimal decomposition",
            blanket,
            lambda y: algorithm_4(y, shuffle),
            pair(primary),
        ),
        Map(
            "5",
            "standard clone, Theorem 1",
            "blanket",
            pair(formal),
            lambda y: algorithm_5(y, shuffle, formal),
            blanket,
        ),
        Map(
            "5",
            "simplified optimal decomposition",
            "blanket",
            pair(simplified),
            lambda y: algorithm_5(y, shuffle, simplified),
            blanket,
        ),
        Map(
            "6",
            "blanket",
            "simplified optimal decomposition",
            blanket,
            lambda y: algorithm_6(y, shuffle),
            pair(simplified),
        ),
        Map(
            "2, ∪ of sets",
            "blanket",
            "reports",
            blanket,
            lambda y: algorithm_2(y, shuffle, union_of_sets),
            reports,
        ),
        Map(
            "5, ∪ of sets",
            "standard clone, Theorem 1",
            "blanket",
            pair(formal),
            lambda y: algorithm_5(y, shuffle, formal, union_of_sets),
            blanket,
        ),
    ]


def measure(given: PostProcessing, _: Context) -> pd.DataFrame:
    """The exact total variation distance of what each map gives from what it must give.

    A row for each randomizer and map. ``distance_0`` and ``distance_1`` are of P₀ and P₁, as
    fractions; ``outcomes`` counts what the target's P₀ can be.
    """
    rows = []
    for name, weights in given.randomizers.items():
        laws = [{y: Fraction(w, sum(row)) for y, w in enumerate(row)} for row in weights]
        shuffle = Shuffle(laws, given.others)
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


def page(frame: pd.DataFrame) -> Page:
    """The page of the exhibit."""
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


TABLE = TableCode(measure, page)
