"""Theorems that compose one (ε, δ) of each round, against their formulas and real shuffles."""

import math
from dataclasses import dataclass

import mpmath
import pytest
import shuffles

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.bounds.rounds import advanced, basic, optimal
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.histograms import DecisionTrees
from shufflebounds.subjects.base import ANY_AIM, GivenSource, Shuffle, Subject
from shufflebounds.subjects.reports import Reports

THEOREMS = ("basic_composition", "advanced_composition", "optimal_composition")
SINGLE_ROUNDS = (*THEOREMS, "clone_advanced")


def ask(name, protocol, **setting):
    found = BOUNDS[name].answer(protocol, "epsilon", Setting(**setting))
    assert not found.shortfall
    return found.enclosure


@dataclass(frozen=True, eq=False)
class Sent(Subject):
    """One report per user, of some blankets."""

    blankets: tuple
    eps0: float

    def shuffles(self, n, aim=ANY_AIM):
        named = {str(i): blanket for i, blanket in enumerate(self.blankets)}
        return [Shuffle(GivenSource(named, eps0=self.eps0), n)]


@pytest.mark.parametrize("eps", [0.1, 0.7])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
@pytest.mark.parametrize(("times", "i"), [(3, 1), (5, 1), (40, 12)])
def test_optimal_composition_is_that_of_the_theorem(eps, delta, times, i):
    """Kairouz, Oh and Viswanath, Theorem 3.3: ((T − 2i)ε, 1 − (1 − δ)^T (1 − δ_i))."""
    with mpmath.workdps(50):
        e = mpmath.exp(mpmath.mpf(eps))
        missed = (
            mpmath.fsum(
                mpmath.binomial(times, k) * (e ** (times - k) - e ** (times - 2 * i + k))
                for k in range(i)
            )
            / (1 + e) ** times
        )
        whole = float(1 - (1 - mpmath.mpf(delta)) ** times * (1 - missed))
    found = optimal([(eps, times)], delta, whole * (1 + 1e-9))
    expected = (times - 2 * i) * eps
    assert found.lower <= expected * (1 + 1e-6)
    assert found.upper <= expected * 1.01
    assert expected * (1 - 1e-6) <= optimal([(eps, times)], delta, whole * (1 - 1e-9)).upper


def test_advanced_and_basic_are_their_formulas():
    rounds, each, delta = [(0.1, 30), (0.3, 4)], 1e-9, 1e-6
    assert 4.2 in basic(rounds, each, delta)
    with mpmath.workdps(40):
        drift = 30 * mpmath.mpf(0.1) * mpmath.tanh(mpmath.mpf(0.1) / 2)
        drift += 4 * mpmath.mpf(0.3) * mpmath.tanh(mpmath.mpf(0.3) / 2)
        spread = 30 * mpmath.mpf(0.1) ** 2 + 4 * mpmath.mpf(0.3) ** 2
        slack = mpmath.mpf(delta) - 34 * mpmath.mpf(each)
        expected = drift + mpmath.sqrt(2 * spread * mpmath.log(1 / slack))
    found = advanced(rounds, each, delta)
    assert found.lower <= min(expected, 4.2) <= found.upper
    many = advanced([(0.01, 10_000)], 1e-13, 1e-6)
    assert many.upper < 0.1 * basic([(0.01, 10_000)], 1e-13, 1e-6).lower


@pytest.mark.parametrize(
    "rounds",
    [
        [(3.72471048517827e-159, 82)],
        [(2.866331422053154e-161, 7084)],
        [(1e-170, 5), (1e-300, 10**5), (0.0, 3)],
        [(1e-170, 5), (0.3, 2)],
        [(0.0, 4)],
    ],
)
@pytest.mark.parametrize("delta", [1e-290, 1e-6, 0.999])
def test_advanced_of_losses_whose_squares_are_no_floats(rounds, delta):
    each = 0.1 * delta / sum(times for _, times in rounds)
    found = advanced(rounds, each, delta)
    with mpmath.workdps(50):
        slack = mpmath.mpf(delta) - mpmath.mpf(each) * sum(times for _, times in rounds)
        exact = [(mpmath.mpf(eps), times) for eps, times in rounds]
        spread = mpmath.sqrt(sum(times * eps**2 for eps, times in exact))
        log = min(-mpmath.log(slack), mpmath.log(mpmath.e + spread / slack))
        drift = sum(times * eps * mpmath.tanh(eps / 2) for eps, times in exact)
        total = sum(times * eps for eps, times in exact)
        truth = min(total, drift + spread * mpmath.sqrt(2 * log))
        assert found.lower <= truth <= found.upper
        assert found.upper <= truth * (1 + 1e-11)


@pytest.mark.parametrize("name", SINGLE_ROUNDS)
def test_shares_of_delta_that_no_round_can_have_are_left_out(name):
    """None may be raised to the least δ: together the rounds would exceed theirs."""
    protocol, rounds = Reports(sb.KRR(2, 1.0)), 1000
    setting = Setting(n=100, delta=1e-299, rounds=rounds)
    found = BOUNDS[name].answer(protocol, "epsilon", setting)
    assert found.enclosure.upper == math.inf
    assert "1e-299 leaves each of 1000 rounds less than 1e-300" in found.shortfall
    few = ask("clone_advanced", protocol, n=100, delta=1e-299, rounds=2)
    assert few.upper <= 2.0 * (1 + 1e-9)


@pytest.mark.parametrize("name", THEOREMS)
@pytest.mark.parametrize("channel", [shuffles.BINARY, shuffles.TERNARY, shuffles.CROOKED])
def test_real_rounds_keep_the_promise(name, channel):
    # Its entries are floats, so that it can be enumerated.
    blanket = shuffles.blanket(channel, 0, 1)
    protocol = Sent((blanket,), math.log(2.0))
    pair = shuffles.pair_of(blanket, 3)
    for rounds in (1, 2):
        whole = shuffles.product([pair] * rounds)
        for delta in (0.2, 0.02):
            eps = ask(name, protocol, n=3, delta=delta, rounds=rounds).upper
            for order in (whole, shuffles.swapped(whole)):
                assert shuffles.divergence(order, eps)[0] <= delta


def test_one_round_is_not_split():
    protocol = Reports(sb.KRR(10, 2.0))
    once = sb.epsilon(sb.KRR(10, 2.0).blanket(), 10**4, 1e-6)
    for name in THEOREMS:
        assert ask(name, protocol, n=10**4, delta=1e-6) == once


def test_rounds_that_differ():
    protocol = DecisionTrees(height=2, attributes=3, messages=4, trees=2)
    asked = {"n": 2000, "delta": 1e-5}
    each = 1e-5 / 10 * (1.0 - 1e-12)
    total = 0.0
    for shuffle in protocol.shuffles(2000):
        (blanket,) = shuffle.source.blankets.values()
        total += shuffle.times * sb.epsilon(blanket, shuffle.draws, each).upper
    assert ask("basic_composition", protocol, **asked).upper == pytest.approx(total, rel=1e-11)
    best = ask("blanket", protocol, **asked)
    for name in THEOREMS:
        assert ask(name, protocol, **asked).upper >= best.lower


def test_what_gives_values_away_is_infinite():
    protocol = DecisionTrees(height=8, attributes=8, messages=2)
    for name in THEOREMS:
        assert ask(name, protocol, n=100, delta=1e-6).lower == math.inf


def test_several_pairs_count_by_the_largest():
    two = Sent(tuple(sb.KRR(k, 1.0).blanket() for k in (5, 2)), 1.0)
    found = ask("basic_composition", two, n=1000, delta=1e-6, rounds=2)
    alone = ask("basic_composition", Reports(sb.KRR(2, 1.0)), n=1000, delta=1e-6, rounds=2)
    assert found == alone
