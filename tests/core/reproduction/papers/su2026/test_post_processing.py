"""Algorithms 1 to 6: the maps are exact, their pairs are the library's, and a wrong map is seen."""

import math
from fractions import Fraction
from functools import partial

import pytest
from oracles import exact
from pydantic import ValidationError

from reproduction.papers.su2026 import PostProcessing
from reproduction.papers.su2026 import post_processing as maps
from shufflebounds import Decomposition

UNEVEN = [[6, 3, 2, 1], [2, 3, 6, 1], [3, 3, 4, 2]]


def shuffle(others=(1, 2, 2), weights=UNEVEN):
    laws = [{y: Fraction(w, sum(row)) for y, w in enumerate(row)} for row in weights]
    return maps.Shuffle(laws, others)


@pytest.mark.parametrize("others", [(0,), (2, 2), (0, 1, 2)])
def test_every_map_is_exact_and_only_unions_of_sets_differ(others):
    for map_ in maps.maps(shuffle(others)):
        for victim in (0, 1):
            law = maps.image(map_.start(victim), map_.kernel)
            assert sum(law.values()) == 1
            is_exact = maps.distance(law, map_.goal(victim)) == 0
            assert is_exact == ("sets" not in map_.algorithm)


def test_users_drawn_twice_would_be_seen(monkeypatch):
    """If J stays empty, a user's left-over law may be sampled twice."""
    given = shuffle()
    clone = given.simplified()
    original = maps._with_left_over

    def with_replacement(state, laws, union):
        samples = original((frozenset(), state[1]), laws, union)
        return maps.image(samples, lambda new: {(frozenset(), new[1]): Fraction(1)})

    monkeypatch.setattr(maps, "_with_left_over", with_replacement)
    kernel = partial(maps.algorithm_3, shuffle=given, clone=clone)
    law = maps.image(clone.pair(0, given.n), kernel)
    assert maps.distance(law, given.reports(0)) > 0


@pytest.mark.parametrize(
    "name", ["standard_clone", "formal_standard_clone", "primary", "simplified"]
)
def test_pairs_have_the_divergence_of_the_library(name):
    given = shuffle()
    clone = getattr(given, name)()
    first, second = (clone.pair(victim, given.n) for victim in (0, 1))
    eps = 0.25
    excess = [
        float(first.get(y, 0)) - math.exp(eps) * float(second.get(y, 0)) for y in {*first, *second}
    ]
    expected = sum(value for value in excess if value > 0.0)
    masses = [[float(mass) for mass in part] for part in (clone.a, clone.b, clone.c)]
    truth = exact(Decomposition(*masses), eps, given.n)
    assert expected == pytest.approx(truth.upper, rel=1e-12)


def test_the_blanket_is_that_of_the_primary_decomposition():
    """Theorem 5 calls Algorithm 4 a bijection: distinct outcomes have distinct images."""
    given = shuffle()
    outcomes = given.blanket_pair(0)
    images = {next(iter(maps.algorithm_4(outcome, given))) for outcome in outcomes}
    assert len(images) == len(outcomes)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1, 2], [2, 1, 1]], "must have as many outputs in every row"),
        ([[1, 2], [2, 1]], "has no row for the input 2 of its others"),
        ([[1, 2], [2, 4], [3, 6]], "must have two inputs that differ"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows, sentence):
    with pytest.raises(ValidationError, match=sentence):
        PostProcessing.model_validate({"randomizers": {"mine": rows}, "others": [2, 2]})
