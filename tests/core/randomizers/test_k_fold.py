"""Several reports of one value, against all combinations of outputs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from engines import overlap

import shufflebounds as sb
from shufflebounds.randomizers import description


def combined(rows, k):
    """Masses of every combination of k outputs, by input."""
    outputs = range(rows.shape[1])
    return np.array(
        [[math.prod(row[list(y)]) for y in itertools.product(outputs, repeat=k)] for row in rows]
    )


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "mechanism", [sb.KRR(2, 1.0), sb.KRR(3, 0.7), sb.OUE(1.0, domain_size=3)], ids=repr
)
def test_it_is_what_all_combinations_of_outputs_say(mechanism, k):
    rows = combined(mechanism.matrix(), k)
    folded = sb.KFold(mechanism, k)
    blanket = sb.Decomposition(rows[0], rows[1], rows.min(axis=0), rel_err=1e-13)
    pair = sb.Decomposition(rows[0], rows[1], rows[-1], rel_err=1e-13)
    assert Fraction(folded.eps0) >= k * Fraction(mechanism.eps0)
    assert folded.eps0 == pytest.approx(k * mechanism.eps0, rel=1e-15)
    for found, expected in ((folded.blanket(), blanket), (folded.dataset_pair(), pair)):
        one, other = (sb.delta(x, eps=0.05, n=300) for x in (found, expected))
        assert overlap(one, other)


def test_it_is_no_worse_than_a_value_each_and_the_same_over_more_values_than_reports():
    def upper(randomizer):
        return sb.epsilon(randomizer.blanket(), n=1000, delta=1e-5)

    bits, digits = sb.KRR(2, 1.0), sb.KRR(5, 1.0)
    assert upper(sb.KFold(bits, 3)).upper < upper(sb.Joint([bits] * 3)).lower
    one, many = upper(sb.KFold(digits, 3)), upper(sb.Joint([digits] * 3))
    assert overlap(one, many)


def test_descriptions_share_eps0_equally():
    content = {"type": "k_fold", "mechanism": {"type": "krr", "k": 4}, "k": 3}
    parsed = description.parse(content)
    assert parsed.plain() == content
    assert str(parsed) == "k_fold(krr(k=4), 3)"
    assert parsed.randomizer(3.0) == sb.KFold(sb.KRR(4, 1.0), 3)
    assert parsed.randomizer(3.0).label == "3 × 4-RR of one value"


@pytest.mark.parametrize(
    ("mechanism", "k", "message"),
    [
        (sb.Laplace(1.0), 2, "randomizer must have finitely many outputs and a matrix"),
        (sb.KRR(100, 1.0), 8, "k must leave at most 16777216 values times combinations of outputs"),
        (sb.KRR(3, 1.0), 0, "k must be an integer >= 1, got 0"),
    ],
)
def test_what_cannot_be_folded_is_refused(mechanism, k, message):
    with pytest.raises(ValueError, match=message):
        sb.KFold(mechanism, k)
