"""What single laws and datasets say of the paper, by other ways."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from shufflebounds.reproduce.papers.judging import IN_PART, NOT_REPRODUCED, REPRODUCED
from shufflebounds.reproduce.papers.su2026 import claims


@pytest.mark.parametrize("k", [2, 3])
def test_counts_are_those_of_all_that_others_report(k):
    """Each of three others reports a value of the blanket or, at e^ε₀ = 2, its own: neither."""
    p = Fraction(1, k + 1)
    law = Counter()
    for sent in itertools.product(range(k + 1), repeat=3):
        # The last one stands for a user's own value, which has 1 − kp = p here.
        law[1 + sent.count(0), sent.count(1)] += p**3
    right = claims.blanket_counts(k, 4)
    assert {counts: mass for counts, mass in right.items() if mass} == dict(law)
    assert claims._distance(right, claims.corrected_counts(k, 4, 1)) == 0
    assert claims._distance(right, claims.corrected_counts(k, 4, 0)) > 0


def test_verdicts():
    assert claims.dependent_counts(None).verdict == IN_PART
    assert claims.lower_support(None).verdict == REPRODUCED
    found = claims.worst_dataset(None)
    assert found.verdict == NOT_REPRODUCED
    assert "the victim holds" in found.extreme
