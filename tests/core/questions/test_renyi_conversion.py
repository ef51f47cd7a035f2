"""Conversion of Rényi divergences to (ε, δ), against pairs whose divergences are known."""

import math

import mpmath
import numpy as np
import pytest
import shuffles
from test_curves_of_mechanisms import each_channel, renyi_of

import shufflebounds as sb
from shufflebounds.questions.renyi_conversion import least_epsilon


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


@pytest.mark.parametrize("delta", [0.9, 0.999])
def test_orders_next_to_1_keep_their_digits(delta):
    for order in 1.0 + np.geomspace(1e-12, 1e-3, 50):
        found = sb.epsilon_of_orders([order], [1000.0], delta)
        assert found >= formula(order, 1000, delta)
        assert found <= formula(order, 1000, delta) + 1e-13 / (order - 1.0)


@pytest.mark.parametrize("slope", [1e-6, 0.003, 0.5])
@pytest.mark.parametrize("delta", [1e-10, 1e-3])
def test_least_over_all_orders(slope, delta):
    """Of D_α = ρα, where the least is found by a fine search."""
    fine = 1.0 + np.geomspace(0.05, 4999.0, 200_001)

    def least(rate):
        found = rate * fine + np.log1p(-1.0 / fine) - np.log(fine * delta) / (fine - 1.0)
        return max(found.min(), 0.0)

    found = least_epsilon(lambda orders, _: (slope * orders, slope * orders), delta, 2e-4).epsilon
    assert found.lower <= least(slope) <= found.upper
    assert found.relative_width < 2e-3
    # Of divergences that are known to 10 % each end is that of its own.
    vague = least_epsilon(
        lambda orders, _: (slope * orders, 1.1 * slope * orders), delta, 2e-4
    ).epsilon
    assert vague.lower <= least(slope)
    assert vague.upper == pytest.approx(least(1.1 * slope), rel=1e-6)


def test_nothing_to_convert():
    nothing = least_epsilon(lambda orders, _: (0.0 * orders, 0.0 * orders), 1e-6, 1e-3).epsilon
    assert nothing.upper < 0.01
    no_bound = least_epsilon(
        lambda orders, _: (orders * math.inf, orders * math.inf), 1e-6, 1e-3
    ).epsilon
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


def test_reports_of_many_kinds_have_an_epsilon():
    """Cells of a continuous mechanism, at every order up to those that may give less."""
    pair = sb.Laplace(1.0, cells=24).dataset_pair()
    exact, found = sb.epsilon(pair, 10**4, 1e-6), sb.renyi_epsilon(pair, 10**4, 1e-6)
    assert exact.lower <= found.upper < 1.2 * exact.upper
    assert found.relative_width <= 5e-3


def test_outputs_that_tell_are_beyond_it():
    telling = sb.Decomposition([0.875, 0.125, 0.0], [0.875, 0.0, 0.125], [0.5, 0.0, 0.0])
    assert sb.renyi_epsilon(telling, 10, 1e-3).lower == math.inf


def least_by_search(loss, delta):
    """The least of the formula and the order of it: a grid, then a golden section, in 40 digits."""

    def value(log_excess):
        order = 1.0 + math.exp(log_excess)
        return formula(order, loss(order), delta)

    grid = np.linspace(math.log(0.05), math.log(4999.0), 16)
    found = [value(x) for x in grid]
    place = int(np.argmin(found))
    left, right = grid[max(place - 1, 0)], grid[min(place + 1, grid.size - 1)]
    share = (math.sqrt(5.0) - 1.0) / 2.0
    one, two = right - share * (right - left), left + share * (right - left)
    ends = [value(one), value(two)]
    for _ in range(16):
        if ends[0] < ends[1]:
            right, two, one = two, one, two - share * (two - left)
            ends = [value(one), ends[0]]
        else:
            left, one, two = one, two, one + share * (right - one)
            ends = [ends[1], value(two)]
    return min(*found, *ends)


def largest_loss(pair):
    """The largest |log p/q| of the outcomes of a pair; inf where one of both is 0."""
    return max(
        abs(mpmath.log(mpmath.mpf(p) / q)) if p > 0 and q > 0 else mpmath.inf
        for p, q in pair
        if p > 0 or q > 0
    )


@each_channel
@pytest.mark.parametrize(("rounds", "delta"), [(1, 1e-6), (3, 0.05)])
def test_epsilon_of_a_mechanism_covers_every_dataset(channel, n, rounds, delta):
    """What all datasets give lies below the upper end, what the known ones give on the lower."""
    randomizer, datasets = sb.MatrixRandomizer(np.array(channel)), shuffles.all_datasets(channel, n)
    found = sb.renyi_epsilon(randomizer, n, delta, rounds=rounds)
    known, everything = (
        min(
            least_by_search(
                lambda order, pairs=pairs: rounds * max(renyi_of(one, order) for one in pairs),
                delta,
            ),
            # The divergence of order ∞ is the largest loss, of either direction.
            rounds * max(largest_loss(one) for one in pairs),
        )
        for pairs in (list(shuffles.uniform(datasets)), list(datasets.values()))
    )
    if known == mpmath.inf:
        assert found == sb.Enclosure(math.inf, math.inf)
        return
    assert (1 - 3e-3) * known <= found.lower <= known * (1 + mpmath.mpf(10) ** -12)
    assert max(everything, 0) * (1 - 1e-9) <= found.upper
    if rounds == 1:
        for pair in datasets.values():
            for order in (pair, shuffles.swapped(pair)):
                assert shuffles.divergence(order, found.upper)[0] <= delta


@pytest.mark.parametrize(
    ("orders", "losses", "others", "sentence"),
    [
        ([2.0], [0.1, 0.2], {}, "orders and divergences must be arrays of the same, positive"),
        ([], [], {}, "orders and divergences must be arrays of the same, positive"),
        ([1.0], [0.1], {}, "order must be a finite number with 1 < order <= 1000000, got 1.0"),
        ([2.0], [-0.1], {}, "divergence must be a finite number with divergence >= 0, got -0.1"),
        ([2.0], [math.nan], {}, "divergence must be a finite number with divergence >= 0, got nan"),
        ([2.0], [0.1], {"delta": 1.0}, "delta must be"),
        ([2.0], [0.1], {"rounds": 0}, "rounds must be an integer from 1 to 1000000, got 0"),
    ],
)
def test_bad_input(orders, losses, others, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        sb.epsilon_of_orders(orders, losses, **{"delta": 1e-6, **others})


def test_a_surrounded_decomposition_needs_no_orders_beyond_its_own_width():
    """Cells of 1/12 and of 1/24 surround the same mechanism."""
    coarse, fine = (
        sb.renyi_epsilon(sb.Laplace(2.0, cells=cells).blanket(), 1_000, 1e-6) for cells in (12, 24)
    )
    assert max(coarse.lower, fine.lower) <= min(coarse.upper, fine.upper)
    assert coarse.relative_width < 5e-3


def test_epsilon_of_a_mechanism_uses_the_bound_for_all_datasets():
    """The blanket of BLH is 40 % larger, and so was the upper end once."""
    mechanism = sb.BLH(4.0)
    eps = sb.renyi_epsilon(mechanism, 10_000, 1e-6)
    assert eps.upper < 0.75 * sb.renyi_epsilon(mechanism.blanket(), 10_000, 1e-6).lower
    # Rényi accounting is never better than the exact conversion.
    assert sb.epsilon(mechanism, 10_000, 1e-6).lower <= eps.upper
