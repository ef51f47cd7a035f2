"""Conversion of Rényi divergences to (ε, δ), against pairs whose divergences are known."""

import math

import mpmath
import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.accounting.renyi_conversion import least_epsilon


def formula(order, loss, delta):
    """Canonne, Kamath and Steinke, Proposition 12, in 40 digits."""
    with mpmath.workdps(40):
        alpha = mpmath.mpf(order)
        return loss + mpmath.log1p(-1 / alpha) - mpmath.log(alpha * delta) / (alpha - 1)


@pytest.mark.parametrize("delta", [1e-300, 1e-8, 0.3])
@pytest.mark.parametrize("rounds", [1, 1000])
def test_formula_is_rounded_up(delta, rounds):
    orders = np.array([1.0 + 1e-6, 1.05, 2.0, 7.5, 5000.0, 1e6])
    losses = 0.01 * orders
    exact = min(formula(x, rounds * y, delta) for x, y in zip(orders, losses, strict=True))
    found = sb.epsilon_of_orders(orders, losses, delta, rounds=rounds)
    assert max(exact, 0) <= found <= max(exact, 0) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("slope", [1e-6, 0.003, 0.5])
@pytest.mark.parametrize("delta", [1e-10, 1e-3])
def test_least_over_all_orders(slope, delta):
    """Of D_α = ρα, where the least is found by a fine search."""
    found = least_epsilon(lambda orders: (slope * orders, slope * orders), delta, 1e-4)
    fine = 1.0 + np.geomspace(0.05, 4999.0, 200_001)
    least = (slope * fine + np.log1p(-1.0 / fine) - np.log(fine * delta) / (fine - 1.0)).min()
    assert found.lower <= max(least, 0.0) <= found.upper
    assert found.relative_width < 2e-3


def test_nothing_to_convert():
    nothing = least_epsilon(lambda orders: (0.0 * orders, 0.0 * orders), 1e-6, 1e-3)
    assert nothing.upper < 0.01
    no_bound = least_epsilon(lambda orders: (orders * math.inf, orders * math.inf), 1e-6, 1e-3)
    assert no_bound == sb.Enclosure(math.inf, math.inf)


@pytest.mark.parametrize("rounds", [1, 50])
def test_converted_epsilon_covers_the_exact_one(rounds):
    clone = sb.stronger_clone(2.0)
    exact = sb.epsilon(clone, 3000, 1e-7, rounds=rounds)
    found = sb.renyi_epsilon(clone, 3000, 1e-7, rounds=rounds)
    assert exact.lower <= found.upper
    assert found.relative_width <= 2e-3
    # The conversion costs little.
    assert found.upper < 1.3 * exact.upper
    some = 1.0 + np.geomspace(0.05, 300.0, 40)
    values = sb.renyi(clone, 3000, some).upper
    assert found.lower <= sb.epsilon_of_orders(some, values, 1e-7, rounds=rounds)


def test_outputs_that_tell_are_beyond_it():
    telling = sb.Decomposition([0.875, 0.125, 0.0], [0.875, 0.0, 0.125], [0.5, 0.0, 0.0])
    assert sb.renyi_epsilon(telling, 10, 1e-3).lower == math.inf


@pytest.mark.parametrize(
    ("orders", "losses", "others", "sentence"),
    [
        ([2.0], [0.1, 0.2], {}, "orders and divergences must be arrays of the same, positive"),
        ([], [], {}, "orders and divergences must be arrays of the same, positive"),
        ([1.0], [0.1], {}, "order must be a finite number with 1 < order <= 1000000, got 1.0"),
        ([2.0], [-0.1], {}, "divergence must be a number >= 0, got -0.1"),
        ([2.0], [math.nan], {}, "divergence must be a finite number, got nan"),
        ([2.0], [0.1], {"delta": 1.0}, "delta must be"),
        ([2.0], [0.1], {"rounds": 0}, "rounds must be an integer >= 1, got 0"),
    ],
)
def test_bad_input(orders, losses, others, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        sb.epsilon_of_orders(orders, losses, **{"delta": 1e-6, **others})
