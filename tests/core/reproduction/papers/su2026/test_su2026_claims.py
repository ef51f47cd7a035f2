"""What single laws and datasets say of the paper by other ways, and what empty points decide."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import shufflebounds as sb
from reproduction.papers.base import research
from reproduction.papers.judging import IN_PART, NOT_REPRODUCED, REPRODUCED
from reproduction.papers.points import Evidence
from reproduction.papers.su2026 import claims

CLAIMS = {claim.name: claim for claim in research("su2026").load_claims()[1]}


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
    assert claims.count_distance(right, claims.corrected_counts(k, 4, 1)) == 0
    assert claims.count_distance(right, claims.corrected_counts(k, 4, 0)) > 0


def test_verdicts():
    assert claims.dependent_counts(None).verdict == IN_PART
    assert claims.lower_support(None).verdict == REPRODUCED
    assert claims.gparv_range(None).verdict == claims.five_values(None).verdict == REPRODUCED
    worst = CLAIMS["worst_dataset"].judge(None)
    assert worst.verdict == NOT_REPRODUCED
    # ε of all datasets is 0.904839 there, that of a third value 0.791728, by another enumeration.
    assert "up to 14.2 % larger" in worst.measured
    assert "3-RR, ε₀ = 1, n = 4, δ = 0.01" in worst.extreme


def test_values_of_the_gparv_of_10_rr():
    """Two of the values of Table 1 belong to the victim's inputs, and no output is of both."""
    eps, e, scale = 0.4, math.exp(4.0), math.exp(0.4)
    p = 1.0 / (e + 9.0)
    expected = {e - scale: p, 1.0 - e * scale: p, 1.0 - scale: 8.0 * p, 0.0: 1.0 - 10.0 * p}
    found = claims._gparv_law(sb.KRR(10, 4.0).blanket(), eps)
    assert sorted(found) == pytest.approx(sorted(expected), abs=1e-8)
    assert [found[x] for x in sorted(found)] == pytest.approx(
        [expected[x] for x in sorted(expected)], rel=1e-9
    )


@pytest.mark.parametrize("name", claims.BESIDE_CLONE)
def test_the_blanket_is_surer_than_the_clone_where_laws_differ(name):
    """The clone counts on (a + b)/(2e^ε₀) of each output."""
    blanket = claims.BESIDE_CLONE[name](1.0).blanket().bounds()[1]
    clone = (blanket.a + blanket.b) / (2.0 * math.e)
    assert np.all(blanket.c[blanket.a != blanket.b] > clone[blanket.a != blanket.b])
    assert np.all(blanket.c >= clone * (1.0 - 1e-12))


def test_the_four_points_are_those_of_closed_forms():
    """10-RR has p = 1/(e^ε₀ + 9), q = 8p; BLH p = 1/(2(e^ε₀ + 1)), q = e^−ε₀/2."""
    for eps0 in (0.1, 4.0):
        e = math.exp(eps0)
        p = 1.0 / (e + 9.0)
        found = claims.four_points(sb.KRR(10, eps0).blanket())
        assert found.a == pytest.approx([e * p, p, 8.0 * p], rel=1e-12)
        assert found.b == pytest.approx([p, e * p, 8.0 * p], rel=1e-12)
        assert found.c == pytest.approx([p, p, 8.0 * p], rel=1e-12)
        p = 0.5 / (e + 1.0)
        found = claims.four_points(sb.BLH(eps0).blanket())
        assert found.a == pytest.approx([e * p, p, 0.5], rel=1e-12)
        assert found.c == pytest.approx([p, p, 0.5 / e], rel=1e-12)


def test_every_setting_of_the_four_points_counts():
    assert CLAIMS["four_point_clone"].judge(None).holds_in == "8 of 8 panels, 24 of 24 points"


# Points that could not be computed narrowly enough decide nothing.


EMPTY = (np.nan, np.nan)


def row(bound, ends, **others):
    common = {"mechanism": "krr(k=4)", "k_joint": 1, "distance": 1, "eps0": 1.0}
    common |= {"delta": 1e-6, "n": 10, "bound": bound}
    return common | dict(zip(("epsilon_lower", "epsilon_upper"), ends, strict=True)) | others


def test_the_largest_of_several_is_unknown_where_one_is():
    """Else the upper bound would be that of the easier pair of inputs alone."""
    rows = [
        row("blanket", (0.1, 0.2), k_joint=2, distance=1),
        row("blanket", EMPTY, k_joint=2, distance=2),
        row("blanket", (0.5, 0.6)),
    ]
    points = claims.fall_with_k(Evidence(pd.DataFrame(rows), {}))
    assert not np.isfinite(points[["low", "high"]].to_numpy()).any()


def test_the_least_baseline_is_unknown_where_one_is():
    """Else the bound would be compared with a larger one."""
    rows = [row("blanket", (0.1, 0.2)), row("clone", EMPTY)]
    rows += [row(name, (0.5, 0.6)) for name in ("blanket_hoeffding", "blanket_bennett")]
    points = CLAIMS["improvement"].compare.points(Evidence(pd.DataFrame(rows), {}))
    assert points[["low", "high"]].to_numpy().tolist() == [[-np.inf, np.inf]]
