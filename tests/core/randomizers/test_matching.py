"""The kinds of three inputs that reports match or not, against enumeration."""

import itertools
from fractions import Fraction

import pytest

import shufflebounds as sb
from shufflebounds.randomizers.matching import PATTERNS, MatchingRandomizer


def enumerated(inputs, outputs, match):
    """Return the laws of `PATTERNS` of all three inputs, of which the first two differ."""
    laws = set()
    for x0, x1, x in itertools.product(inputs, repeat=3):
        if x0 != x1:
            patterns = [tuple(match(z, y) for z in (x0, x1, x)) for y in outputs]
            counts = [patterns.count(pattern) for pattern in PATTERNS]
            laws.add(tuple(Fraction(count, len(patterns)) for count in counts))
    return laws


@pytest.mark.parametrize(
    ("items", "of_user", "of_report"),
    [(4, 2, 1), (5, 2, 2), (5, 3, 1), (6, 3, 2), (6, 3, 3), (5, 4, 1), (6, 4, 2)],
)
def test_sets_are_of_the_kinds_of_their_common_items(items, of_user, of_report):
    mechanism = sb.PrivSet(1.0, items, of_user, of_report)
    sets = [list(itertools.combinations(range(items), size)) for size in (of_user, of_report)]
    expected = enumerated(*sets, lambda x, y: bool(set(x) & set(y)))
    assert set(mechanism._triples()) == expected
    assert mechanism.crowds()


@pytest.mark.parametrize(("blocks", "values"), [(2, 12), (3, 12), (4, 16)])
def test_values_of_blocks_are_of_ten_kinds(blocks, values):
    mechanism = sb.HadamardBlocks(1.0, blocks, values)
    rows = mechanism.matrix()
    is_match = rows > rows.min()
    expected = enumerated(range(values), range(rows.shape[1]), lambda x, y: bool(is_match[x, y]))
    assert set(mechanism._triples()) == expected
    assert len(expected) == (9 if blocks == 2 else 10)


def test_kinds_lie_in_the_polytope_and_are_closer():
    for mechanism in (sb.PrivSet(2.0, 100, 5, 10), sb.HadamardBlocks(2.0, 2)):
        polytope = MatchingRandomizer._triples(mechanism)
        least = min(sum(masses[:2]) for masses in polytope)
        for masses in mechanism._triples():
            assert sum(masses) == 1
            assert min(masses) >= 0
            assert sum(masses[:2]) >= least
        assert sb.epsilon(mechanism, 10_000, 1e-6).relative_width < 1e-3


def test_many_kinds_of_sets_leave_the_polytope():
    mechanism = sb.PrivSet(2.0, 100, 10, 5)
    assert mechanism._triples() == MatchingRandomizer._triples(mechanism)


def test_two_blocks_are_those_of_their_matrix():
    """Of few users every dataset is tried."""
    mechanism = sb.HadamardBlocks(1.5, 2, 4)
    found = sb.delta(mechanism, 0.4, 4)
    of_rows = sb.delta(sb.MatrixRandomizer(mechanism.matrix()), 0.4, 4)
    assert found.lower <= of_rows.upper
    assert of_rows.lower <= found.upper
