"""Sums of noisy bits, against all datasets of a few users in rational arithmetic."""

import itertools
import math
from fractions import Fraction

import pytest
import shuffles

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.enclosure import reached
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.histograms import CoordinateSums, coordinate_sums
from shufflebounds.protocols.registry import PROTOCOLS

MECHANISMS = [sb.RAPPOR(1.5), sb.OUE(3.0)]


def rounds_of_pairs(protocol, n, times=1):
    """The rounds of the two sums, by what all others hold."""
    shuffles = protocol.shuffles(n)
    return {
        name: [(x.dataset_pairs[name], x.most_draws, times) for x in shuffles]
        for name in shuffles[0].dataset_pairs
    }


def bits(randomizer):
    """The probabilities of a one, of the own value's bit and of another one's."""
    e, odds = math.exp(randomizer.eps0), randomizer.odds
    return Fraction(e / (odds + e)), Fraction(1.0 / (1.0 + odds))


def sums(randomizer, values, size):
    """The law of all sums, by enumeration of every bit."""
    own, other = bits(randomizer)
    law = {(0,) * size: Fraction(1)}
    for value in values:
        for j in range(size):
            one = own if j == value else other
            following = {}
            for counts, mass in law.items():
                for bit, share in ((1, one), (0, 1 - one)):
                    key = (*counts[:j], counts[j] + bit, *counts[j + 1 :])
                    following[key] = following.get(key, Fraction(0)) + mass * share
            law = following
    return law


def pair_of(randomizer, others, size=3):
    p, q = (sums(randomizer, [victim, *others], size) for victim in (0, 1))
    return [(p[key], q[key]) for key in p]


def binomials(shares):
    """The law of a sum of independent bits."""
    law = [Fraction(1)]
    for share in shares:
        law = [
            mass * (1 - share) + before * share
            for mass, before in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)
        ]
    return law


def coordinate(own, other, others, held):
    """Both laws of a sum in which so many of the others hold its value."""
    rest = [own] * held + [other] * (others - held)
    return list(zip(binomials([own, *rest]), binomials([other, *rest]), strict=True))


def divergence(randomizer, n, held0, held1, exp_eps):
    """The larger D of both sums, of which so many others hold the values x₁⁰ and x₁¹."""
    own, other = bits(randomizer)
    first, second = (coordinate(own, other, n - 1, held) for held in (held0, held1))
    directions = [
        sum(max(p0 * q1 - exp_eps * q0 * p1, 0) for (p0, q0) in one for (p1, q1) in two)
        for one, two in ((first, second), (second, first))
    ]
    return max(directions)


@pytest.mark.parametrize("randomizer", [sb.RAPPOR(5.0), sb.OUE(4.0), sb.RAPPOR(0.3)], ids=str)
def test_sums_of_all_numbers_of_holders_lie_below_theorem_a(randomizer):
    """And the bound is close to the worst of them, where the blanket is far above."""
    n = 9
    composed = sb.compose([(CoordinateSums(randomizer), n, 1)])
    for exp_eps in (Fraction(1), Fraction(3, 2), Fraction(4)):
        worst = max(
            float(divergence(randomizer, n, held0, held1, exp_eps))
            for held0 in range(n)
            for held1 in range(n - held0)
        )
        upper = composed.delta(math.log(exp_eps)).upper
        assert worst <= upper


@pytest.mark.parametrize(("randomizer", "n"), [(sb.OUE(7.0), 30), (sb.OUE(3.0), 25)], ids=str)
def test_few_sums_of_oue_are_nearly_those_of_the_worst_dataset(randomizer, n):
    """The bound for all datasets, and the larger order of both sums, are up to 3 times as large."""
    composed = sb.compose([(CoordinateSums(randomizer), n, 1)])
    for exp_eps in (Fraction(1), Fraction(2)):
        worst = max(
            float(divergence(randomizer, n, held0, held1, exp_eps))
            for held0, held1 in ((0, 0), (0, 1), (1, 0), (1, 1), (0, n - 1))
        )
        assert worst <= composed.delta(math.log(exp_eps)).upper <= 1.02 * worst


@pytest.mark.parametrize(("randomizer", "times"), [(sb.RAPPOR(10.0), 1), (sb.RAPPOR(10.0), 5)])
def test_rappor_is_known_to_a_thousandth(randomizer, times):
    """The exact ε of all others at x₁¹, of 50-digit sums: 0.297408 and 0.6685."""
    exact = {1: 0.297408, 5: 0.6685}[times]
    upper = sb.compose([(CoordinateSums(randomizer), 10**5, times)]).epsilon(1e-9).upper
    assert exact * (1 - 1e-4) <= upper <= 1.004 * exact


@pytest.mark.parametrize("name", ["rappor", "oue"])
@pytest.mark.parametrize("eps0", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("n", [2, 4, 9])
def test_the_dataset_that_is_named_has_the_number(name, eps0, n):
    protocol = coordinate_sums(name, eps0)
    for exp_eps in (Fraction(1), Fraction(3, 2), Fraction(5)):
        setting = Setting(n=n, eps0=eps0, eps=math.log(exp_eps))
        answer = BOUNDS["lower"].answer(protocol, "delta", setting)
        truth = {
            "third": float(divergence(protocol.randomizer, n, 0, 0, exp_eps)),
            "x1": float(divergence(protocol.randomizer, n, 0, n - 1, exp_eps)),
        }
        # From ε₀ on δ is 0, and no dataset is named.
        named = truth[answer.others] if setting.eps < eps0 else 0.0
        assert answer.enclosure.lower <= named * (1 + 1e-12)
        # Two rounds promise this width.
        assert answer.enclosure.lower >= max(truth.values()) * (1 - 0.05)


def test_two_values_have_no_third_to_name():
    """0.0622621 is δ where the others hold x₁¹, by enumeration; with a third value 0.0571834."""
    for size in (None, 2):
        setting = Setting(n=4, eps0=2.0, eps=1.0)
        answer = BOUNDS["lower"].answer(coordinate_sums("rappor", 2.0, size), "delta", setting)
        assert answer.others == "x1"
        assert 0.0571835 < answer.enclosure.lower <= 0.0622622


@pytest.mark.parametrize("name", ["lower", "merged_lower"])
def test_no_lower_bound_of_a_renyi_divergence_mixes_directions(name):
    setting = Setting(n=100, eps0=2.0, order=4.0)
    with pytest.raises(ValueError, match="no lower bound of a Rényi divergence is known"):
        BOUNDS[name].answer(coordinate_sums("oue", 2.0), "renyi", setting)


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
@pytest.mark.parametrize("times", [1, 2])
def test_sums_of_every_dataset_lie_below_the_upper_bound(randomizer, times):
    upper = sb.compose([(CoordinateSums(randomizer), 3, times)])
    points = (0.0, 0.5, 1.2, 2.5)
    ends = [upper.delta(eps).upper for eps in points]
    for others in itertools.combinations_with_replacement(range(3), 2):
        pair = shuffles.product([united(pair_of(randomizer, others))] * times)
        for eps, end in zip(points, ends, strict=True):
            for order in (pair, shuffles.swapped(pair)):
                assert shuffles.divergence(order, eps)[0] <= end


def united(pair):
    """Outcomes of the same likelihood ratio as one: they tell the same."""
    found = {}
    for p, q in pair:
        key = p / q
        mass = found.get(key, (Fraction(0), Fraction(0)))
        found[key] = (mass[0] + p, mass[1] + q)
    return list(found.values())


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
@pytest.mark.parametrize(("name", "held"), [("third", 2), ("x1", 1)])
def test_the_lower_bound_is_that_of_its_dataset(randomizer, name, held):
    composed = sb.compose(rounds_of_pairs(CoordinateSums(randomizer), 3)[name])
    pair = pair_of(randomizer, [held, held])
    for eps in (0.0, 0.5, 1.2):
        truth = max(
            float(shuffles.divergence(order, eps)[0]) for order in (pair, shuffles.swapped(pair))
        )
        found = reached(lambda eps=eps: composed.delta(eps))
        assert found.lower <= truth * (1 + 1e-9)
        assert truth <= found.upper * (1 + 1e-9)
        assert found.lower >= 0.5 * truth or eps > 0.0


def test_bits_of_rappor_are_binary_randomized_response_at_half_of_it():
    found = sb.epsilon(CoordinateSums(sb.RAPPOR(4.0)), 10**4, 1e-6)
    expected = sb.compose([(sb.KRR(2, 2.0), 10**4, 2)]).epsilon(1e-6)
    assert found.upper == pytest.approx(expected.upper, rel=1e-3)


@pytest.mark.parametrize("randomizer", [sb.RAPPOR(5.0), sb.OUE(5.0)], ids=str)
def test_sums_tell_less_than_vectors(randomizer):
    protocol = CoordinateSums(randomizer)
    upper = sb.epsilon(protocol, 10**5, 1e-9).upper
    tried = [sb.compose(one).epsilon(1e-9) for one in rounds_of_pairs(protocol, 10**5).values()]
    lower = max(one.lower for one in tried)
    assert 0.7 * upper < lower < upper
    assert upper < sb.epsilon(randomizer.dataset_pair(), 10**5, 1e-9).lower


@pytest.mark.parametrize("bits", ["oue"])
def test_curves_know_them(bits):
    """The bounds of curves compose the same shuffles, and find the better dataset."""
    protocol = coordinate_sums(bits, 3.0)
    setting = Setting(n=100, eps0=3.0, delta=1e-2, rounds=2)
    tight, upper, lower = (
        BOUNDS[name].answer(protocol, "epsilon", setting).enclosure
        for name in ("best", "blanket", "lower")
    )
    assert tight.upper == pytest.approx(sb.epsilon(protocol, 100, 1e-2, rounds=2).upper, rel=1e-3)
    assert tight.upper <= upper.upper * (1 + 1e-12)
    ends = [sb.compose(one).epsilon(1e-2) for one in rounds_of_pairs(protocol, 100, 2).values()]
    assert lower.lower == pytest.approx(max(one.lower for one in ends), rel=1e-3)
    assert set(PROTOCOLS["coordinate_sums"].needs) == {"eps0"}


def test_two_values_leave_no_third():
    assert list(rounds_of_pairs(CoordinateSums(sb.OUE(1.0, 2)), 10)) == ["x1"]
    assert list(rounds_of_pairs(CoordinateSums(sb.OUE(1.0, 3)), 10)) == ["third", "x1"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CoordinateSums(sb.KRR(10, 1.0)), "randomizer must make bit vectors, such as"),
        (lambda: coordinate_sums("blh", 1.0), "bits must be one of oue, rappor, got 'blh'"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
