"""Rankings against an independent calculation, and what they promise of each choice."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import norm

import shufflebounds as sb
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.enclosure import reached
from shufflebounds.core.setting import Setting
from shufflebounds.estimation import accuracy
from shufflebounds.protocols import registry
from shufflebounds.protocols.messages import Dump
from shufflebounds.questions import ranking
from shufflebounds.questions.mechanism_families import Task, mechanism_families

# Total error over that of the central Gaussian at δ = 10⁻⁸, from a program of its own: errors by
# the formulas for supports, ε₀ by bisection of D(ε) of the mechanism.
TABLE = [
    (4, 10**4, 0.2, "krr", 1.32),
    (4, 10**4, 0.2, "oue", 4.1),
    (4, 10**4, 0.2, "blh", 7.8),
    (256, 2 * 10**6, 1.0, "krr", 2.37),
    (256, 2 * 10**6, 1.0, "oue", 152),
    (256, 2 * 10**6, 1.0, "rappor", 215),
]


@pytest.mark.parametrize(("eps", "delta"), [(0.0, 1e-3), (0.1, 1e-12), (1.0, 1e-8), (20.0, 1e-5)])
def test_noise_of_the_curator(eps, delta):
    """δ as the difference of two Gaussian tails, by SciPy's own distribution."""
    s = accuracy.gaussian_noise(eps, delta)
    found = norm.cdf(0.5 / s - eps * s) - math.exp(eps) * norm.cdf(-0.5 / s - eps * s)
    assert found == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("delta", [1e-12, 1e-40, 1e-300])
def test_gaussian_noise_where_both_tails_are_nearly_equal(delta):
    """The distance of two normal laws whose means differ by little, φ(0)/s."""
    expected = 1.0 / (delta * math.sqrt(2.0 * math.pi))
    assert accuracy.gaussian_noise(0.0, delta) == pytest.approx(expected, rel=1e-6)
    # So small an ε changes nothing, and needs no special case.
    assert accuracy.gaussian_noise(1e-9 * delta, delta) == pytest.approx(expected, rel=1e-6)


def geometric_variance(eps, delta):
    """Of noise that makes two counts, each changed by 1, (ε, δ)-DP: (e^{2α} − e^ε)/(1 + e^α)² = δ.

    A quadratic equation in e^α, the ratio of neighbouring masses.
    """
    gap = 1.0 - delta
    ratio = (delta + math.sqrt(delta**2 + gap * (math.exp(eps) + delta))) / gap
    return 2.0 / ratio / (1.0 - 1.0 / ratio) ** 2


@pytest.mark.parametrize(("eps", "delta"), [(0.0, 0.05), (0.2, 1e-2), (1.0, 1e-6), (4.0, 1e-3)])
def test_two_counts_with_geometric_noise(eps, delta):
    """δ of the noisy counts of both values themselves, of which a user leaves one for the other."""
    alpha = accuracy.eps_of_each(eps, delta, 2)
    reach = math.ceil(40.0 / alpha)
    noise = np.exp(-alpha * np.abs(np.arange(-reach, reach + 1.0)))
    noise /= noise.sum()
    one, other = np.outer(noise[1:], noise[:-1]), np.outer(noise[:-1], noise[1:])
    found = np.maximum(one - math.exp(eps) * other, 0.0).sum()
    assert found == pytest.approx(delta, rel=1e-6)
    assert 0.5 / math.sinh(alpha / 2.0) ** 2 == pytest.approx(geometric_variance(eps, delta))


@pytest.mark.parametrize("count", [1, 3, 16, 730])
@pytest.mark.parametrize(("eps", "delta"), [(0.2, 1e-8), (4.0, 1e-2)])
def test_many_counts_with_geometric_noise(count, eps, delta):
    """By dp_accounting, on a lattice of the losses, and by the certified rounds of one user."""
    alpha = accuracy.eps_of_each(eps, delta, count)
    noise = pld.from_discrete_laplace_mechanism(alpha, 1, value_discretization_interval=alpha)
    found = noise.self_compose(count).get_delta_for_epsilon(eps)
    assert found == pytest.approx(delta, rel=1e-3)
    reported = sb.compose([(sb.KRR(2, alpha), 1, count)]).epsilon(delta)
    assert reported.lower <= eps * (1.0 + 1e-9)
    assert eps * (1.0 - 1e-9) <= reported.upper <= eps * (1.0 + 2e-3)


@pytest.mark.parametrize("count", [1, 2, 10])
def test_means_with_laplace_noise(count):
    """Numbers in [−1, 1] change their sum by 2; the certified rounds are those of one user."""
    eps, delta, n = 4.0, 1e-8, 1000
    alpha = accuracy.eps_of_each(eps, delta, count)
    noise = pld.from_laplace_mechanism(2.0 / alpha, 2.0, value_discretization_interval=1e-3)
    composed = noise.self_compose(count).get_epsilon_for_delta(delta)
    assert 0.99 * eps < composed <= eps + 1e-3 * count
    reported = reached(partial(sb.compose([(sb.Laplace(alpha), 1, count)]).epsilon, delta))
    assert reported.lower <= eps
    expected = 2.0 * (2.0 / alpha / n) ** 2
    assert accuracy.curator_mse_of_mean(n, eps, delta, sums=count) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("eps", "gaussian", "geometric"), [(0.2, 1121, 199.8), (1.0, 52.0, 7.8), (4.0, 3.9, 0.36)]
)
def test_the_curator_adds_the_better_noise(eps, gaussian, geometric):
    """Variances of a count at δ = 10⁻⁸, from a program of its own."""
    assert 2.0 * accuracy.gaussian_noise(eps, 1e-8) ** 2 == pytest.approx(gaussian, rel=0.01)
    assert accuracy.curator_mse(4, 1, eps, 1e-8) == pytest.approx(4 * geometric, rel=0.01)
    # Over a year the Gaussian is the better one.
    year = accuracy.curator_mse(4, 1, eps, 1e-8, sums=365)
    assert year == pytest.approx(4 * 365 * gaussian, rel=0.01)


def test_what_the_curator_publishes():
    """One of two counts; and sets of 3 of 4 items differ in as many items as those they miss."""
    two = 2.0 * 0.5 / math.sinh(0.5) ** 2
    assert accuracy.curator_mse(2, 10, 1.0, 1e-12) == pytest.approx(two / 100)
    single = accuracy.curator_mse(4, 10, 1.0, 1e-12)
    assert accuracy.curator_mse(4, 10, 1.0, 1e-12, items=3) == single
    # At ε = 0 the Gaussian is the better one even in one round.
    expected = 4 * 2 * accuracy.gaussian_noise(0.0, 1e-3) ** 2
    assert accuracy.curator_mse(4, 1, 0.0, 1e-3) == pytest.approx(expected)


@pytest.mark.parametrize(("values", "n", "eps"), [(4, 10**4, 0.2), (256, 2 * 10**6, 1.0)])
def test_ranking_of_values(values, n, eps):
    found = sb.choose(values, n=n, eps=eps, delta=1e-8)
    s = accuracy.gaussian_noise(eps, 1e-8)
    gaussian = values * (math.sqrt(2.0) / n * s) ** 2
    curator = values * geometric_variance(eps, 1e-8) / n**2
    assert found.curator_mse == pytest.approx(curator, rel=1e-9)
    ratios = {one.name: one.mse.upper / gaussian for one in found.choices}
    for k, users, target, name, expected in TABLE:
        if (k, users, target) == (values, n, eps):
            assert ratios[name] == pytest.approx(expected, rel=0.02)
    assert found.best.name == "krr"
    assert list(ratios.values()) == sorted(ratios.values())
    for one in found.choices:
        assert one.proof == "best"
        # By the definitions in place of the classes.
        e = math.exp(one.eps0.lower)
        if one.name == "krr":
            p, q = e / (e + values - 1), 1.0 / (e + values - 1)
        elif one.name == "local_hash":
            hash_values = one.parameters["hash_values"]
            p, q = e / (e + hash_values - 1), 1.0 / hash_values
        else:
            continue
        mse = (p * (1 - p) + (values - 1) * q * (1 - q)) / (n * (p - q) ** 2)
        assert one.mse.upper == pytest.approx(mse, rel=1e-9)
        assert one.error.mse == one.mse.upper
        assert one.mse.lower <= one.mse.upper < 1.01 * one.mse.lower


def test_what_is_deployed_meets_the_target():
    """At δ of the randomizer that is returned, asked for itself."""
    for one in sb.choose(8, n=10_000, eps=0.5, delta=1e-6, most_bits=5).choices:
        assert one.randomizer.eps0 == one.eps0.lower
        assert sb.delta(one.randomizer, eps=0.5, n=10_000).upper <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("values", "n", "eps", "delta", "rounds"),
    [
        (2, 885, 1.622, 3.111517274112651e-07, 1),
        (7, 481, 0.521, 5.9572313724768655e-05, 1),
        (2, 63_146, 1.101, 1.6900018757436126e-06, 1),
        (16, 300_000, 0.1, 1e-9, 1),
        (4, 10_000, 1.0, 1e-6, 5),
    ],
)
def test_epsilon_of_what_is_deployed_ends_at_the_target(values, n, eps, delta, rounds):
    """`epsilon`, with its own and wider enclosures, reports no more than the target."""
    found = sb.choose(values, n=n, eps=eps, delta=delta, rounds=rounds, most_bits=4)
    for choice in found.choices:
        reported = sb.epsilon(choice.randomizer, n=n, delta=delta, rounds=rounds)
        assert reported.upper <= eps, choice.name
        # Of several rounds the proof is the blanket's, and `epsilon` knows better.
        assert rounds > 1 or reported.upper > 0.99 * eps, choice.name


@pytest.mark.parametrize("cap", [0.7, 1.1, 4.0])
def test_the_cap_is_of_all_shuffles_of_a_round(cap):
    """Thirds of these numbers are no floats."""
    task = Task(4, 1, 10**6, 1.0, 1e-6, attributes=3, rounds=1, most_eps0=cap)
    krr = next(mechanism_families(task))
    for way, shuffles in (("separate", 3), ("one", 1), ("linked", 1)):
        choice = ranking._TaskMechanism(task, krr, way).certified()
        exact = Fraction(choice.eps0.lower) * shuffles
        assert exact <= Fraction(choice.eps0_of_round) <= Fraction(cap)
        assert choice.eps0.lower == pytest.approx(cap / shuffles, rel=1e-12)


@pytest.mark.parametrize("values", [12, 40])
def test_parameters_are_the_best_of_all(values):
    """All sizes of subsets are tried, by what the blanket allows."""
    task = Task(values, 1, 3000, 0.3, 1e-6, 1, 1)
    subset = next(one for one in mechanism_families(task) if one.name == "subset")
    found = ranking._TaskMechanism(task, subset, "separate", 2).with_best_parameter()

    def mse(size):
        eps0 = sb.largest_eps0(
            lambda eps0: sb.Subset(eps0, values, size).blanket(), eps=0.3, delta=1e-6, n=3000
        )
        return sb.Subset(eps0.lower, values, size).error(3000).mse

    assert mse(found.parameter) <= 1.005 * min(map(mse, range(2, values)))


def test_numbers_and_sets():
    numbers = sb.choose(None, n=10_000, eps=1.0, delta=1e-6)
    names = [one.name for one in numbers.choices]
    assert names == ["krr", "piecewise", "laplace", "duchi", "gaussian", "gaussian"]
    laplace = numbers.choices[2]
    assert laplace.proof == "best"
    variance = 4.0 * (2.0 / laplace.eps0.lower**2 + 0.25 / 16**2)
    assert laplace.mse.upper == pytest.approx(variance / 10_000, rel=1e-9)
    sets = sb.choose(30, n=10_000, eps=1.0, delta=1e-6, items=3)
    assert {one.name for one in sets.choices} == {"krr", "privset", "collision"}
    one = next(x for x in sets.choices if "drawn" in x.preparation)
    e = math.exp(one.eps0.lower)
    q = 1.0 / (e + 29)
    p = (e / (e + 29) + 2.0 * q) / 3.0
    expected = (3 * p * (1 - p) + 27 * q * (1 - q)) / (10_000 * (p - q) ** 2)
    assert one.mse.upper == pytest.approx(expected, rel=1e-9)


def test_gaussian_noise_for_numbers():
    """Rounding costs 1 − x² of variance, and lets the bound for all datasets certify less noise."""
    n, eps, delta = 100_000, 0.01, 1e-6
    ranking_ = sb.choose(None, n=n, eps=eps, delta=delta)
    rounded, plain = (choice for choice in ranking_.choices if choice.name == "gaussian")
    assert (rounded.proof, plain.proof) == ("best", "blanket")
    assert "rounded at random to −1 or 1" in rounded.preparation
    for choice, variance in ((rounded, 1.0), (plain, 0.0)):
        sigma, domain = choice.parameters["sigma"], choice.parameters["domain"]
        assert choice.randomizer.sigma == sigma
        assert choice.eps0_of_round is None
        assert choice.error.mse == pytest.approx((4 * sigma**2 + variance) / n, rel=1e-9)
        # The noise is enough, and 1 % less is not, by the same bound.
        assert sb.epsilon(sb.Gaussian(sigma, domain), n=n, delta=delta).upper <= eps
        assert sb.epsilon(sb.Gaussian(0.99 * sigma, domain), n=n, delta=delta).upper > eps
    assert ranking_.by_clone.name != "gaussian"
    limited = sb.choose(None, n=n, eps=eps, delta=delta, most_eps0=2.0)
    assert "gaussian" not in {choice.name for choice in limited.choices}


def test_ways_to_report_two_attributes():
    task = Task(16, 1, 20_000, 1.0, 1e-6, attributes=2, rounds=1)
    krr = next(mechanism_families(task))
    ways = {
        way: ranking._TaskMechanism(task, krr, way).with_best_parameter().certified()
        for way in task.ways
    }
    assert min(ways, key=lambda way: ways[way].mse.upper) == "separate"
    expected = sb.largest_eps0(
        lambda eps0: sb.KRR(16, eps0).blanket(), eps=1.0, delta=1e-6, n=20_000, rounds=2
    )
    assert ways["separate"].eps0.lower == pytest.approx(expected.lower, rel=5e-3)
    linked = ways["linked"]
    assert linked.randomizer.eps0 == pytest.approx(linked.eps0.lower / 2)
    assert linked.bits == 8.0
    # Half of the users report on an attribute, and are a sample of all of them.
    one = ways["one"]
    half = sb.KRR(16, one.eps0.lower).error(10_000).mse
    # The number of these users varies by a relative 1/√20 000, so that E 1/m is not quite 1/E m.
    assert one.mse.upper == pytest.approx(half + (1 - 1 / 16) / 20_000, rel=2e-4)
    assert one.bits == 5.0


def test_several_messages():
    """Of dummies, every number of them is tried, and flips by bisection of δ itself."""
    values, n, eps, delta = 4, 100, 1.0, 1e-8
    found = sb.choose(values, n=n, eps=eps, delta=delta, most_messages=4, most_bits=16)
    dump = found.best
    assert (dump.name, dump.proof) == ("dump", "blanket")
    assert found.by_clone.messages == 1
    one, few = dump.randomizer, dump.messages - 1
    assert dump.bits == pytest.approx(2.0 * (1 + few))
    assert sb.delta(one.decomposition(), eps=eps, n=1 + n * few).upper <= delta * (1 + 1e-9)
    gap = 1.0 - one.flip - one.flip / (values - 1)
    noise = values * few * (1 / values) * (1 - 1 / values)
    kept = one.flip * (1 - one.flip) + one.flip * (1 - one.flip / (values - 1))
    assert dump.mse.upper == pytest.approx((kept + noise) / gap**2 / n, rel=1e-9)

    def mse(blankets):
        low, high = 0.0, 1.0 - 1.0 / values
        for _ in range(14):
            flip = (low + high) / 2.0
            at = Dump(values, flip, blankets=blankets)
            met = sb.delta(at.decomposition(), eps=eps, n=1 + n * blankets).upper <= delta
            low, high = (low, flip) if met else (flip, high)
        return Dump(values, high, blankets=blankets).error(n).mse

    assert dump.mse.upper <= 1.01 * min(map(mse, range(1, 4)))
    vectors = next(one for one in found.choices if one.name == "cheu_zhilyaev")
    assert vectors.messages == 4
    assert vectors.randomizer.error(n, values).mse == vectors.mse.upper
    assert vectors.bits == 4 * 4


def test_what_is_found_where_more_would_cost_too_much(monkeypatch):
    """The lower end was found to meet the target; without one there is nothing to deploy."""
    task = Task(4, 1, 1000, 1.0, 1e-6, 1, 1)
    krr = ranking._TaskMechanism(task, next(mechanism_families(task)), "separate")
    for lower in (2.0, 0.0):

        def spent(*_, lower=lower, **__):
            raise sb.PrecisionError("too much work", sb.Enclosure(lower, math.inf))

        monkeypatch.setattr(ranking, "largest_eps0", spent)
        if lower:
            found = krr.certified()
            assert (found.eps0.lower, found.eps0.upper) == (2.0, 300.0)
            assert found.mse.upper == sb.KRR(4, 2.0).error(1000).mse
        else:
            with pytest.raises(sb.PrecisionError):
                krr.certified()


def test_mistakes_are_told():
    asked = {"n": 1000, "eps": 1.0, "delta": 1e-6}
    for values, more, told in (
        (1, {}, "values must be an integer from 2 to 9007199254740992"),
        (2, {"most_bits": 0.5}, "most_bits must be at least 1, which krr takes"),
        (8, {"items": 8}, "items must be an integer from 1 to 7"),
        (None, {"items": 2}, "items must be left out of numbers"),
        (8, {"most_messages": 0}, "most_messages must be an integer from 1 to 1000000"),
        (8, {"attributes": 0}, "attributes must be an integer from 1 to 100"),
        (8, {"eps": 0.0, "delta": 1e-290}, "delta must be larger for eps = 0.0"),
        (8, {"rounds": 10**6, "attributes": 2}, "rounds must leave at most 1000000 shuffles"),
    ):
        with pytest.raises(ValueError, match=told):
            sb.choose(values, **{**asked, **more})


# Along curves.

SETTING = Setting(n=10_000, delta=1e-6, target=0.5)


def mse(bound, **parameters):
    protocol = registry.parse_sent({"type": "calibrated", "values": 4, **parameters}).protocol(
        SETTING
    )
    return BOUNDS[bound].answer(protocol, "mse", SETTING).enclosure


def test_errors_along_curves_are_those_of_the_ranking():
    found = sb.choose(4, n=10_000, eps=0.5, delta=1e-6, most_bits=2)
    assert mse("estimate_error", mechanism="krr") == found.best.mse
    assert mse("estimate_error", mechanism="krr", by="clone") == found.by_clone.mse
    assert found.curator_mse in mse("curator_error", mechanism="krr")
