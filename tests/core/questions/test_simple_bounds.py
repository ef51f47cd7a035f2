"""No answer is worse than pure privacy or the stronger clone, whatever the engines can do."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.core.clones import clone_of_mechanism
from shufflebounds.core.enclosure import reached
from shufflebounds.core.work import BUDGET, spend
from shufflebounds.profiles import datasets
from shufflebounds.questions.profile import SampledProfile
from shufflebounds.randomizers import matrix_pairs

N, DELTA = 10**6, 1e-6


def published_clone(eps0, n, delta):
    """ε of Feldman, McMillan and Talwar (FOCS 2021), Theorem 3.1, which no clone exceeds."""
    assert eps0 <= math.log(n / (16.0 * math.log(4.0 / delta)))
    noise = 8.0 * math.sqrt(math.exp(eps0) * math.log(4.0 / delta) / n) + 8.0 * math.exp(eps0) / n
    return math.log1p(math.tanh(eps0 / 2.0) * noise)


@pytest.fixture
def many_inputs(monkeypatch):
    """A matrix with more pairs of inputs than a question may compare."""
    monkeypatch.setattr(matrix_pairs, "_MAX_PAIRS", 20)
    rng = np.random.default_rng(1)
    return sb.MatrixRandomizer(rng.dirichlet(np.full(8, 5.0), size=20) * 0.8 + 0.2 / 8)


def test_questions_about_many_inputs_have_the_ends_of_the_clone(many_inputs):
    most = published_clone(many_inputs.eps0, N, DELTA)
    found = sb.epsilon(many_inputs, N, DELTA)
    assert 0.0 < found.lower < found.upper < most
    assert reached(lambda: sb.delta(many_inputs, most, N)).upper < DELTA
    assert reached(lambda: sb.epsilon(many_inputs, N, DELTA, rounds=3)).upper < 3.0 * most
    assert sb.fewest_users(many_inputs, most, DELTA).upper <= N
    assert sb.most_rounds(many_inputs, most, DELTA, N).lower >= 1


def test_a_joint_of_too_many_patterns_has_the_ends_of_the_clone():
    rng = np.random.default_rng(1)
    parts = [sb.MatrixRandomizer(rng.dirichlet(np.full(3, 5.0), size=10)) for _ in range(3)]
    joint = sb.Joint(parts)
    with pytest.raises(ValueError, match="parts must leave at most 2000 combinations"):
        joint.patterns()
    found = sb.epsilon(joint, 10**7, DELTA)
    assert 0.0 < found.lower < found.upper < published_clone(joint.eps0, 10**7, DELTA)


def test_renyi_accounting_is_no_worse_than_pure_privacy():
    found = sb.renyi_epsilon(sb.OUE(6.2e-8), 1, 6.8e-10, rounds=15)
    # Masses of the clone are known to 2⁻⁵⁰ only, which is 10⁻⁸ of so small an ε₀.
    assert found.upper <= 15 * 6.2e-8 * (1.0 + 1e-7)
    blanket = sb.KRR(2, 1e-6).blanket()
    assert 3e-6 <= sb.renyi_epsilon(blanket, 1, 1e-9, rounds=3).upper <= 3e-6 * (1.0 + 1e-8)


def test_a_profile_ends_where_pure_privacy_does():
    found = sb.profile(sb.RAPPOR(33.93), 6, rounds=20).epsilon(1e-6)
    assert found.upper <= 20 * 33.93 * (1.0 + 1e-12)


@pytest.mark.parametrize("end", [1e-9, 1.0, 40.0, 900.0])
def test_the_profile_of_pure_privacy_is_that_of_one_2_rr_rounded_up(end):
    ones = np.ones(3)
    curve = SampledProfile(end / 5.0, np.zeros(3), ones, 0.0, end)
    with mpmath.workdps(50):
        for share in (0.0, 0.3, 0.7, 1.0 - 2.0**-30, 1.0):
            eps = share * end
            exact = (mpmath.exp(end) - mpmath.exp(eps)) / (mpmath.exp(end) + 1)
            found = curve.delta(eps).upper
            assert exact <= found
            if eps > 2.0 * end / 5.0 or share == 0.0:
                assert found <= exact * (1 + mpmath.mpf(1e-14))
    assert curve.delta(end).upper == 0.0
    assert curve.epsilon(1e-300).upper <= end


@pytest.mark.parametrize("power", [0, 1, 20, 100])
def test_the_clone_of_a_rounded_eps0_is_above_that_of_the_exact_one(power):
    """Of a lone user δ = (e − ζ)/(e + 1), at e = 3^(3^…) whose logarithm is no float."""
    exact = Fraction(3) ** (power + 1)
    clone = clone_of_mechanism((power + 1) * math.log(3.0))
    for eps in (0.0, 0.5, 1.0):
        with mpmath.workdps(80):
            factor = mpmath.exp(eps)
            e = mpmath.mpf(exact.numerator)
            assert (e - factor) / (e + 1) <= sb.delta(clone, eps, 1).upper
    assert sb.epsilon(clone, 1, 1e-300).upper >= (power + 1) * math.log(3.0)
    assert clone_of_mechanism(None) is clone_of_mechanism(math.inf) is None


def test_a_report_of_the_same_value_has_one_output_for_each_multiset():
    mechanism = sb.OUE(1.0, domain_size=3)
    rows, folded = mechanism.matrix(), sb.KFold(mechanism, 3).matrix()
    multisets = list(itertools.combinations_with_replacement(range(rows.shape[1]), 3))
    expected = np.zeros(folded.shape)
    for outputs in itertools.product(range(rows.shape[1]), repeat=3):
        expected[:, multisets.index(tuple(sorted(outputs)))] += np.prod(rows[:, outputs], axis=1)
    np.testing.assert_allclose(folded, expected, rtol=1e-13)


def test_reports_of_one_value_are_no_worse_than_reports_of_several():
    part = sb.KRR(10, 4.0 / 6.0)
    one, several = (sb.epsilon(x, 10**5, DELTA) for x in (sb.KFold(part, 6), sb.Joint([part] * 6)))
    assert sb.KFold(part, 6).matrix().shape == (10, math.comb(15, 6))
    assert one.upper <= several.upper * (1.0 + 1e-9)


def test_an_answer_that_lacks_the_bound_for_all_datasets_is_refused(monkeypatch):
    """With the ends of datasets and blankets, which were found before."""

    def supremum(*_):
        spend(2.0 * BUDGET)

    monkeypatch.setattr(datasets, "supremum", supremum)
    randomizer = sb.BLH(2.0)
    with pytest.raises(sb.PrecisionError) as raised:
        sb.epsilon(randomizer, 1000, DELTA)
    found = raised.value.enclosure
    assert str(found.upper) in str(raised.value)
    blanket = sb.epsilon(randomizer.blanket(), 1000, DELTA)
    pairs = [sb.epsilon(pair, 1000, DELTA) for pair in randomizer.known_datasets().values()]
    assert blanket.lower <= found.upper == pytest.approx(blanket.upper, rel=1e-4)
    assert found.lower == pytest.approx(max(pair.lower for pair in pairs), rel=1e-4)
    with pytest.raises(sb.PrecisionError) as raised:
        sb.fewest_users(randomizer, 0.5, DELTA)
    blanket = sb.fewest_users(randomizer.blanket(), 0.5, DELTA)
    assert raised.value.enclosure.upper == pytest.approx(blanket.upper, rel=1e-3)
