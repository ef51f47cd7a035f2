"""Multi-message protocols: their reductions against enumeration of all that the users may send."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from enumeration import truth
from oracles import exact

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.histograms import HierarchicalHistogram
from shufflebounds.protocols.messages import BallsIntoBins, BinarySum, CheuZhilyaev, Dump

F = Fraction
LOSSES = [F(1), F(9, 8), F(2), F(7)]


def flipped(bits, f):
    """The law of a vector of bits, each flipped with chance f."""
    return [
        math.prod(f if x != y else 1 - f for x, y in zip(bits, sent, strict=True))
        for sent in itertools.product((0, 1), repeat=len(bits))
    ]


def one_hot(x, size):
    return [int(x == y) for y in range(size)]


def even(members, size):
    return [F(int(y in members), len(members)) for y in range(size)]


def mixed(x, d, f):
    return [1 - f if x == y else f / (d - 1) for y in range(d)]


# Messages by input and the law of a blanket, as their inventors define them. The last entry says
# whether knowing what others sent is no help in the worst case, so that the reduction is exact.
CASES = {
    "fair coin": (BinarySum(), [even([0], 2), even([1], 2)], even([0, 1], 2), True),
    "biased coin": (
        BinarySum(coin=0.125, blankets=2),
        [even([0], 2), even([1], 2)],
        [F(7, 8), F(1, 8)],
        True,
    ),
    "fake users": (
        CheuZhilyaev(0.125),
        [flipped(one_hot(x, 3), F(1, 8)) for x in range(3)],
        flipped([0, 0, 0], F(1, 8)),
        False,
    ),
    "fake users of three values": (
        CheuZhilyaev(0.125, 3),
        [flipped(one_hot(x, 3), F(1, 8)) for x in range(3)],
        flipped([0, 0, 0], F(1, 8)),
        False,
    ),
    "fake users of two values": (
        CheuZhilyaev(0.375, blankets=2),
        [flipped(one_hot(x, 2), F(3, 8)) for x in range(2)],
        flipped([0, 0], F(3, 8)),
        False,
    ),
    "balls": (
        BallsIntoBins(8, 2),
        [even([0, 1], 8), even([2, 3], 8), even([1, 2], 8), even([5, 6], 8)],
        even(range(8), 8),
        True,
    ),
    "balls of two values": (
        BallsIntoBins(8, 2),
        [even([0, 1], 8), even([2, 3], 8)],
        even(range(8), 8),
        True,
    ),
    "two bins": (BallsIntoBins(2), [even([0], 2), even([1], 2)], even([0, 1], 2), True),
    "pureDUMP": (Dump(4), [mixed(x, 4, F(0)) for x in range(4)], even(range(4), 4), True),
    "pureDUMP of two": (Dump(2), [mixed(x, 2, F(0)) for x in range(2)], even(range(2), 2), True),
    "mixDUMP": (
        Dump(4, 0.25, blankets=2),
        [mixed(x, 4, F(1, 4)) for x in range(4)],
        even(range(4), 4),
        False,
    ),
    "mixDUMP of two": (
        Dump(2, 0.25),
        [mixed(x, 2, F(1, 4)) for x in range(2)],
        even(range(2), 2),
        False,
    ),
}


def evaluated(protocol, n, exp_eps, end):
    """The largest D over blankets and directions."""
    (shuffle,) = protocol.shuffles(n)
    return max(
        getattr(exact(direction, math.log(exp_eps), shuffle.draws), end)
        for blanket in shuffle.source.blankets.values()
        for direction in (blanket, blanket.swap())
    )


def worst(messages, blankets, others, exp_eps):
    """The largest D of two inputs among fixed messages and those of others, of any inputs."""
    inputs = range(len(messages))
    return max(
        truth(messages[x0], messages[x1], [messages[x] for x in sent] + blankets, exp_eps)
        for x0, x1 in itertools.permutations(inputs, 2)
        for sent in itertools.combinations_with_replacement(inputs, others)
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n", [1, 2])
def test_no_dataset_exceeds_the_reduction(name, n):
    protocol, messages, blanket, tight = CASES[name]
    blankets = [blanket] * (n * protocol.blankets)
    for exp_eps in LOSSES:
        wanted = float(worst(messages, blankets, n - 1, exp_eps))
        assert wanted <= evaluated(protocol, n, exp_eps, "upper") * (1.0 + 1e-13)
        if tight or n == 1:
            found = evaluated(protocol, n, exp_eps, "lower")
            assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_reduction_is_exact_if_others_tell_what_their_inputs_made_them_send(name):
    protocol, messages, blanket, _ = CASES[name]
    n = 3
    blankets = [blanket] * (n * protocol.blankets)
    for exp_eps in LOSSES:
        wanted = float(worst(messages, blankets, 0, exp_eps))
        found = evaluated(protocol, n, exp_eps, "lower")
        assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n", [1, 2])
def test_lower_bounds_are_below_a_dataset(name, n):
    """Of as many values as there are: where nothing is said of them, of two."""
    protocol, messages, blanket, _ = CASES[name]
    (shuffle,) = protocol.shuffles(n)
    if not shuffle.dataset_pairs:
        pytest.skip("none is known")
    blankets = [blanket] * (n * protocol.blankets)
    for exp_eps in LOSSES:
        wanted = float(worst(messages, blankets, n - 1, exp_eps))
        found = max(
            exact(direction, math.log(exp_eps), shuffle.most_draws).lower
            for pair in shuffle.dataset_pairs.values()
            for direction in (pair, pair.swap())
        )
        assert found <= wanted * (1.0 + 1e-12)


def test_messages_of_others_hide_in_the_lower_bound_of_fake_users():
    protocol = CheuZhilyaev(0.25, 3, blankets=2)
    (shuffle,) = protocol.shuffles(100)
    assert (shuffle.draws, shuffle.most_draws) == (201, 300)
    for name, draws in (("blanket", 201), ("lower", 300)):
        answer = BOUNDS[name].answer(protocol, "epsilon", Setting(n=100, delta=1e-6))
        assert answer.enclosure == sb.epsilon(protocol.decomposition(), n=draws, delta=1e-6)


def test_two_values_of_fake_users_have_no_third():
    """By exact enumeration δ is 0.5138 with two values, less than where others hold a third."""
    f, exp_eps, n = F(1, 20), F(739, 100), 4  # e² is 7.389
    messages, blankets = [flipped(x, f) for x in ([1, 0], [0, 1])], [flipped([0, 0], f)] * n
    wanted = float(worst(messages, blankets, n - 1, exp_eps))
    setting = Setting(n=n, eps=math.log(exp_eps))
    lower = {
        size: BOUNDS["lower"].answer(CheuZhilyaev(0.05, size), "delta", setting)
        for size in (None, 2, 3)
    }
    assert lower[2].enclosure.lower <= wanted < lower[3].enclosure.lower
    assert lower[None] == lower[2]
    assert (lower[2].others, lower[3].others) == ("x1", "third")


def test_hierarchical_histograms_over_four_values():
    """Inputs that share their half differ on one level of two."""
    e = F(4)
    halves = [[(e if x // 2 == y else 1) / (2 * (e + 1)) for y in range(2)] for x in range(4)]
    values = [[(e if x == y else 1) / (2 * (e + 3)) for y in range(4)] for x in range(4)]
    rows = [[*half, *value] for half, value in zip(halves, values, strict=True)]
    protocol = HierarchicalHistogram(math.log(4.0), 4)
    (shuffle,) = protocol.shuffles(2)
    assert shuffle.draws == 2
    (found,) = shuffle.source.blankets.values()
    sure = [min(column) for column in zip(*rows, strict=True)]
    for exp_eps in LOSSES:
        eps = math.log(exp_eps)
        apart, near = (
            exact(sb.Decomposition(*np.array([rows[0], rows[x], sure], float)), eps, 2)
            for x in (2, 1)
        )
        mine = exact(found, eps, 2)
        assert mine.lower == pytest.approx(apart.lower, rel=1e-12)
        assert near.lower <= mine.upper
        worst = max(
            truth(rows[x0], rows[x1], [rows[x2]], exp_eps)
            for x0, x1, x2 in itertools.product(range(4), repeat=3)
        )
        assert float(worst) <= mine.upper


MISTAKES = [
    (lambda: BinarySum(coin=0.0), "coin must be"),
    (lambda: BinarySum(blankets=0), "blankets must be an integer >= 1"),
    (lambda: CheuZhilyaev(0.4, 1), "domain_size must be an integer from 2 to"),
    (lambda: CheuZhilyaev(0.5), "flip must be .* < 0.5, got 0.5"),
    (lambda: BallsIntoBins(5, 3), "special must be an integer from 1 to 2, got 3"),
    (lambda: BallsIntoBins(1), "bins must be an integer from 2 to 9007199254740992"),
    (lambda: Dump(1), "domain_size must be an integer from 2 to 9007199254740992"),
    (lambda: Dump(4, 0.75), "flip must be 0 or .* < 0.75, got 0.75"),
    (lambda: HierarchicalHistogram(1.0, 48), "domain_size must be a power of 2, got 48"),
    (
        lambda: HierarchicalHistogram(1.0, 1),
        "domain_size must be an integer from 2 to 9007199254740992",
    ),
    (lambda: HierarchicalHistogram(0.0, 4), "eps0 must be"),
    (
        lambda: sb.epsilon(HierarchicalHistogram(1.0, 4), 2.5, 1e-6),
        "n must be an integer",
    ),
    (lambda: Dump(4).draws(0), "n must be an integer from 1 to 1e15"),
    (lambda: Dump(4, blankets=10).draws(10**15), "n must leave at most 1e[+]15 blanket"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES)
def test_mistakes_are_told_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Errors of histograms, against draws by the protocols' definitions.

N, K, REPEATS = 60, 4, 20_000
HELD = np.repeat([0, 1], [40, 20])
SHARES = np.array([40, 20, 0, 0]) / N
RNG = np.random.default_rng(7)


def by_dump(flip, blankets):
    """Shares by counts of own values, or others of all, and of dummies."""
    q = flip / (K - 1)
    laws = np.where(np.eye(K, dtype=bool), 1.0 - flip, q)
    sent = sum(
        RNG.multinomial(count, law, REPEATS) for count, law in zip([40, 20], laws[:2], strict=True)
    )
    sent = sent + RNG.multinomial(N * blankets, np.full(K, 1 / K), REPEATS)
    return (sent / N - blankets / K - q) / (1.0 - flip - q)


def by_bits(flip, blankets):
    """Every bit of every message is flipped."""
    ones = (N * SHARES).astype(int)
    kept = RNG.binomial(ones, 1.0 - flip, (REPEATS, K))
    zeros = RNG.binomial(N * (1 + blankets) - ones, flip, (REPEATS, K))
    return ((kept + zeros) / N - (1 + blankets) * flip) / (1.0 - 2.0 * flip)


@pytest.mark.parametrize(
    ("error", "estimates"),
    [
        (BallsIntoBins(bins=K, blankets=3).error(N), by_dump(0.0, 3)),
        (Dump(K, flip=0.2, blankets=2).error(N), by_dump(0.2, 2)),
        (CheuZhilyaev(0.1, blankets=2).error(N, K), by_bits(0.1, 2)),
    ],
)
def test_errors_are_those_of_draws(error, estimates):
    off = estimates - SHARES
    np.testing.assert_allclose(off.mean(axis=0), 0.0, atol=5.0 * np.sqrt(error.largest / REPEATS))
    squares = np.mean(off**2, axis=0)
    assert squares.sum() == pytest.approx(error.mse, rel=0.03)
    np.testing.assert_allclose(squares[2:], error.rare, rtol=0.05)


def test_mistakes_about_errors_are_told():
    with pytest.raises(ValueError, match="special must be an integer from 1 to 1"):
        BallsIntoBins(bins=8, special=2).error(10)
    with pytest.raises(ValueError, match="values must be an integer >= 2"):
        CheuZhilyaev(0.1).error(10, 1)
