"""Rounds of few outcomes against rational enumeration of all their sums."""

import math
from fractions import Fraction

import pytest

import shufflebounds as sb


@pytest.mark.parametrize("rounds", [2, 3, 20])
@pytest.mark.parametrize("eps0", [0.3, 2.5])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.7])
def test_randomized_response_of_a_lone_user(rounds: int, eps0: float, share: float) -> None:
    p = Fraction(math.exp(eps0)) / (1 + Fraction(math.exp(eps0)))
    eps = share * rounds * eps0
    x = Fraction(math.exp(eps))
    truth = sum(
        math.comb(rounds, k)
        * max(Fraction(0), p**k * (1 - p) ** (rounds - k) - x * p ** (rounds - k) * (1 - p) ** k)
        for k in range(rounds + 1)
    )
    found = sb.delta(sb.KRR(2, eps0).blanket(), eps, 1, rounds=rounds)
    assert found.lower * (1.0 - 1e-13) <= float(truth) <= found.upper * (1.0 + 1e-13)
    assert found.relative_width <= 1e-8


def test_rare_losses_say_no_more_than_single_rounds() -> None:
    blanket, n, delta, rounds = sb.Subsampled(sb.KRR(2, 4.0), 1e-3).blanket(), 100, 1e-6, 10
    found = sb.epsilon(blanket, n, delta, rounds=rounds)
    basic = rounds * sb.epsilon(blanket, n, delta / rounds * (1.0 - 1e-12)).upper
    assert 0.0 < found.lower < found.upper <= basic * (1.0 + 1e-12)
