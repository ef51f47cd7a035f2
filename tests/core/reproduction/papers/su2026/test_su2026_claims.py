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


def test_the_tail_of_a_sum_of_gparvs():
    """Five draws of the GPARV of 2-RR, by all sequences."""
    blanket = sb.KRR(2, 1.0).blanket()
    values, masses = blanket.gparv(0.5)
    least = -1.5
    total = sum(
        math.prod(masses[i] for i in draws)
        for draws in itertools.product(range(len(values)), repeat=5)
        if sum(values[i] for i in draws) > least
    )
    assert claims.tail_of_sum(blanket, 0.5, 5, least) == pytest.approx(total, rel=1e-12)
    assert claims.tail_of_sum(blanket, 0.5, 5, -1e9) == pytest.approx(1.0, rel=1e-12)


def test_the_printed_error_bound_is_exceeded():
    """ε₀ = 0.1, ε = 0.07: the step is below 2a²/b² but above a, so that S > −nl is all but sure."""
    a, b = math.expm1(0.07), math.expm1(0.1) * (math.exp(0.07) + 1.0)
    step = a * a / (b * b)
    assert a < step
    blanket = sb.KRR(10, 0.1).blanket()
    values, masses = blanket.gparv(0.07)
    assert float(values @ masses) == pytest.approx(-a, rel=1e-9)
    n = 40
    variance = float(values**2 @ masses) - a * a
    # Chebyshev's inequality, from the mean −na.
    least = 1.0 - variance / (n * (step - a) ** 2)
    assert least > 0.9
    assert claims.tail_of_sum(blanket, 0.07, n, -n * step) >= least
    assert math.exp(-step * n) < 0.02


def test_the_fft_grows_as_claimed():
    assert claims.fft_cost(None).verdict == REPRODUCED


def test_joint_reports_are_not_those_of_two_shuffles():
    found = claims.joint_apart(None)
    assert found.verdict == REPRODUCED
    # 0.193673 together, by a contour integral; 0.1156 apart.
    assert "can claim 0.1937 together and 0.1158 apart for 2 × 10-RR, ε₀ = 2 each" in found.measured


def test_losses_and_gparv_and_mixtures_agree():
    assert claims.loss_variable(None).verdict == REPRODUCED
    assert claims.lower_parallel(None).verdict == REPRODUCED
    assert claims.clones_doubled(None).verdict == IN_PART


def test_the_variance_of_joint_reports_is_that_of_their_laws():
    """Two reports of 2-RR whose inputs differ in one coordinate or in both."""
    assert claims.joint_variance(None).verdict == REPRODUCED
    eps, part = 0.3, sb.KRR(2, 0.5).blanket()
    laws = []
    for other in (part.a, part.b):
        a, b = np.kron(part.a, part.a), np.kron(part.b, other)
        laws.append(sb.Decomposition(a, b, np.kron(part.c, part.c)).gparv(eps))
    near, far = (float(v**2 @ m) - float(v @ m) ** 2 for v, m in laws)
    assert near < far
    square, product = (float(part.a @ (other / part.c)) for other in (part.a, part.b))
    scale = math.exp(eps)
    by_moments = (1 + scale**2) * square**2 - 2 * scale * product**2 - (1 - scale) ** 2
    assert far == pytest.approx(by_moments, rel=1e-9)


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
def test_no_pair_of_inputs_of_laplace_is_worse_than_0_and_1(eps0):
    """The proof's claim itself: E(pR(v)/c − qR(w)/c − t)₊ under c, for any t, p and q, by cells."""
    widest = claims.laplace_blanket(eps0, 0.0, 1.0)
    assert math.fsum(widest.c) == pytest.approx(math.exp(-eps0 / 2.0), rel=1e-12)
    for v, w in itertools.permutations((0.0, 0.1, 0.5, 0.6, 1.0), 2):
        pair = claims.laplace_blanket(eps0, v, w)
        assert pair.c == pytest.approx(widest.c, rel=1e-12)
        for q in (0.5, 1.0, 1.5, math.exp(eps0)):
            mine, most = (x.a / x.c - q * x.b / x.c for x in (pair, widest))
            for t in np.linspace(most.min(), most.max(), 41):
                excess = float(np.maximum(mine - t, 0.0) @ pair.c)
                assert excess <= float(np.maximum(most - t, 0.0) @ widest.c) * (1 + 1e-9) + 1e-13


def test_the_open_question_of_laplace_is_answered():
    judged = CLAIMS["laplace_interval"].judge(None)
    assert judged.verdict == REPRODUCED
    assert judged.holds_in.endswith("30 of 30 points")


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
