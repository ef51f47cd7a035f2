"""Training with other noise than normal: enumeration in fractions, quadrature, adaptive steps."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

import shufflebounds as sb
from shufflebounds.core.enclosure import reached
from shufflebounds.core.relation import Relation
from shufflebounds.randomizers.laplace_cells import laplace_pair

# Masses of a step with the example and without it; the second pair has outputs of one law only.
PAIRS = [
    (
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [Fraction(1, 8), Fraction(1, 4), Fraction(5, 8)],
    ),
    (
        [Fraction(1, 16), Fraction(7, 16), Fraction(1, 2), 0],
        [0, Fraction(3, 8), Fraction(1, 2), Fraction(1, 8)],
    ),
]
E0, E1 = 0.1, 0.7


def epoch_laws(pair, steps, run, selected=1):
    """Return the laws of an epoch's outputs with the example and without it, as dictionaries."""
    a, b = ([Fraction(x) for x in law] for law in pair)
    draws = list(itertools.combinations(range(steps), selected))
    with_example, without = {}, {}
    for outputs in itertools.product(range(len(a)), repeat=run):

        def mass(chosen, outputs=outputs):
            return math.prod((a if i in chosen else b)[y] for i, y in enumerate(outputs))

        with_example[outputs] = sum(map(mass, draws)) / len(draws)
        without[outputs] = mass(())
    return with_example, without


def product_laws(first, second):
    """Return the laws of two independent epochs."""
    return tuple(
        {(y, z): p * q for y, p in x.items() for z, q in w.items()}
        for x, w in zip(first, second, strict=True)
    )


def exact_delta(laws, eps):
    """Return δ(ε), the larger one of both orders."""
    growth, (p, q) = Fraction(math.exp(eps)), laws
    sums = (sum(max(x[y] - growth * w[y], 0) for y in p) for x, w in ((p, q), (q, p)))
    return float(max(sums))


def assert_tight(enclosure, truth, width):
    assert enclosure.lower * (1.0 - 1e-12) <= truth <= enclosure.upper * (1.0 + 1e-12)
    assert enclosure.upper <= truth * (1.0 + width) + 1e-15


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("steps", "run"), [(1, 1), (2, 2), (4, 4), (5, 3)])
def test_one_epoch_is_enumerated(pair, steps, run):
    laws = epoch_laws(pair, steps, run)
    epoch = sb.RandomAllocation(step=pair, first_steps=None if run == steps else run)
    for eps in (0.0, E0, E1):
        assert_tight(sb.delta(epoch, eps, steps), exact_delta(laws, eps), 1e-6)


@pytest.mark.parametrize("pair", PAIRS)
def test_several_epochs_are_enumerated(pair):
    """Both orders are kept apart: the masses are not symmetric."""
    epoch = epoch_laws(pair, 2, 2)
    laws = product_laws(epoch, epoch)
    training = sb.RandomAllocation(step=pair)
    for eps in (E0, E1):
        enclosure = sb.delta(training, eps, 2, rounds=2, rtol=0.01)
        assert_tight(enclosure, exact_delta(laws, eps), 0.01)
    composed = sb.compose([(training, 2, 1), (sb.PoissonSampling(rate=0.5, step=pair), 1, 1)])
    one_step = [{y: sum(Fraction(1, 2) * z[y] for z in x) for y in x[0]} for x in poisson(pair)]
    truth = exact_delta(product_laws(epoch, one_step), E1)
    assert_tight(composed.delta(E1, rtol=0.01), truth, 0.01)


def poisson(pair):
    """Return the laws of which both hypotheses about one step are mixtures, by halves."""
    a, b = ({(i,): Fraction(x) for i, x in enumerate(law)} for law in pair)
    return (a, b), (b, b)


@pytest.mark.parametrize("pair", PAIRS)
def test_several_steps_of_an_epoch_are_below_the_bound(pair):
    laws = epoch_laws(pair, 4, 4, selected=2)
    bound = reached(lambda: sb.delta(sb.RandomAllocation(step=pair, selected=2), E0, 4))
    assert exact_delta(laws, E0) <= bound.upper


def test_adaptive_steps_are_below_the_bound():
    """Steps are random functions of reports, chosen by all earlier outputs."""
    rng = np.random.default_rng(63)
    pair, steps = PAIRS[1], 3
    bounds = {eps: sb.delta(sb.RandomAllocation(step=pair), eps, steps).upper for eps in (0.0, E1)}
    for _ in range(20):
        kernels = {}
        p, q = {(): np.ones(steps)}, {(): 1.0}
        for i in range(steps):
            new_p, new_q = {}, {}
            for past in p:
                kernel = kernels.setdefault(past, rng.dirichlet(np.full(3, 0.3), size=4))
                joins, stays = (np.array(x, dtype=float) @ kernel for x in pair)
                for y in range(3):
                    factors = np.where(np.arange(steps) == i, joins[y], stays[y])
                    new_p[*past, y], new_q[*past, y] = p[past] * factors, q[past] * stays[y]
            p, q = new_p, new_q
        for eps, bound in bounds.items():
            for first, second in ((p, q), (q, p)):
                terms = (np.mean(first[y]) - math.exp(eps) * np.mean(second[y]) for y in p)
                assert sum(max(x, 0.0) for x in terms) <= bound * (1.0 + 1e-12)


def test_a_pair_of_float_masses_is_that_of_its_decomposition():
    pair = ([0.75, 0.25], [0.25, 0.75])
    given = sb.Decomposition(*pair, pair[1])
    for scheme in (sb.RandomAllocation, lambda step: sb.PoissonSampling(rate=0.3, step=step)):
        ends = [sb.epsilon(scheme(step=x), 20, 1e-4) for x in (pair, given)]
        assert ends[0] == ends[1]


def laplace_ratios(distance, relation, count=4001):
    """Return masses of one step without the example, and the likelihood ratios of both others."""
    low = -distance if relation == "replace" else 0.0
    edges = np.linspace(low, distance, count + 1)
    y = np.concatenate([[low - 1.0], 0.5 * (edges[1:] + edges[:-1]), [distance + 1.0]])
    cdf = np.where(edges < 0.0, 0.5 * np.exp(edges), 1.0 - 0.5 * np.exp(-np.abs(edges)))
    masses = np.diff(np.concatenate([[0.0], cdf, [1.0]]))
    first = np.exp(np.abs(y) - np.abs(y - distance))
    second = np.exp(np.abs(y) - np.abs(y + distance)) if relation == "replace" else np.ones(y.size)
    return masses, first, second


@pytest.mark.parametrize("relation", ["add or remove", "replace"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_laplace_noise_of_one_and_two_steps(scale, relation):
    """One step has a closed form; of two, quadrature from the definition."""
    shift = (2.0 if relation == "replace" else 1.0) / scale
    epoch = sb.RandomAllocation(scale, noise="laplace", neighbours=relation)
    one = sb.epsilon(epoch, 1, 0.01, rtol=1e-4)
    assert_tight(one, shift + 2.0 * math.log1p(-0.01), 1e-4)
    masses, first, second = laplace_ratios(1.0 / scale, relation)
    for eps in (0.0, 0.3 / scale):
        growth, truth = math.exp(eps), 0.0
        for x, y in ((first, second), (second, first)):
            part = x - growth * y
            sums = np.maximum(part[:, None] + part, 0.0)
            truth = max(truth, 0.5 * float(masses @ sums @ masses))
        enclosure = sb.delta(epoch, eps, 2, rtol=1e-3)
        assert enclosure.lower <= truth * (1.0 + 1e-5)
        assert truth * (1.0 - 1e-5) <= enclosure.upper <= truth * 1.002


def test_cells_of_laplace_noise_keep_masses():
    for relation, scale in itertools.product(Relation, (0.2, 1.0, 1000.0)):
        inner, outer = laplace_pair(scale, relation).bounds()
        for x in (inner, outer):
            assert math.fsum(x.a) == pytest.approx(1.0, abs=1e-13)
            assert math.fsum(x.b) == pytest.approx(1.0, abs=1e-13)
            assert math.fsum(x.c) == pytest.approx(1.0, abs=1e-13)
        # Spreading within a cell keeps what a report beyond a middle cell says.
        assert np.max(outer.a / outer.b) <= math.exp((1 + (relation == "replace")) / scale) * 1.001


def test_two_coordinates_of_laplace_noise_are_dominated_by_one():
    rng = np.random.default_rng(1)
    for _ in range(30):
        distance = rng.uniform(0.1, 5.0)
        first = rng.uniform(0.0, 1.0) * distance
        parts = [laplace_ratios(x, "add or remove", 1001)[:2] for x in (first, distance - first)]
        masses = np.outer(parts[0][0], parts[1][0])
        ratios = np.outer(parts[0][1], parts[1][1])
        for eps in rng.uniform(-1.0, 1.0, 5) * distance:
            growth = math.exp(eps)
            delta = float((masses * np.maximum(ratios - growth, 0.0)).sum())
            assert delta <= -math.expm1(0.5 * (eps - distance)) * (1.0 + 1e-6) + 1e-9


def test_adaptive_replacements_with_laplace_noise_are_below_the_bound():
    """Gradients in the plane, of L1 norm 1, follow random functions of the first output."""
    rng = np.random.default_rng(2)
    eps, count, scale = 0.5, 200_000, 0.7
    bound = sb.delta(
        sb.RandomAllocation(scale, noise="laplace", neighbours="replace"), eps, 2
    ).upper

    def ratios(noise, gradient):
        return np.exp((np.abs(noise) - np.abs(noise - gradient / scale)).sum(axis=1))

    def gradients(output):
        x = output @ rng.normal(size=(2, 2)) + rng.normal(size=2)
        return x / np.abs(x).sum(axis=1, keepdims=True)

    for place in range(6):
        noise = rng.laplace(size=(2, count, 2))
        pair = [gradients(np.zeros((count, 2))), gradients(noise[0])]
        others = (
            [-x for x in pair]
            if place % 2
            else [gradients(np.zeros((count, 2))), gradients(noise[0])]
        )
        p, q = (sum(map(ratios, noise, x)) / 2.0 for x in (pair, others))
        gains = np.maximum(p - math.exp(eps) * q, 0.0)
        assert gains.mean() - 5.0 * gains.std() / math.sqrt(count) <= bound


def test_poisson_sampling_with_laplace_noise_against_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    enclosure = sb.epsilon(sb.PoissonSampling(1.0, 0.05, noise="laplace"), n=50, delta=1e-4)
    ends = []
    for is_pessimistic in (False, True):
        step = pld.from_laplace_mechanism(
            1.0, pessimistic_estimate=is_pessimistic, sampling_prob=0.05
        )
        ends.append(step.self_compose(50).get_epsilon_for_delta(1e-4))
    assert ends[0] * (1.0 - 1e-3) <= enclosure.upper <= ends[1] * (1.0 + 2e-3)


def test_noise_for_a_target():
    found = sb.smallest_noise_multiplier(
        1.0, 1e-3, steps=1, scheme=lambda x: sb.RandomAllocation(x, noise="laplace")
    )
    assert found.lower <= 1.0 / (1.0 - 2.0 * math.log1p(-1e-3)) <= found.upper


def test_known_steps_of_other_noise():
    """The largest losses add up, with each order kept."""
    training = sb.RandomAllocation(0.5, noise="laplace", neighbours="replace")
    assert training.epsilon_of_known_steps(10, 3, 1e-5) == pytest.approx(12.0)
    assert math.isinf(sb.RandomAllocation(step=PAIRS[1]).epsilon_of_known_steps(10, 3, 1e-5))
    given = sb.RandomAllocation(step=PAIRS[0])
    assert given.epsilon_of_known_steps(10, 1, 1e-5) == pytest.approx(math.log(4.0))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sb.RandomAllocation(), "noise_multiplier must be a finite number with"),
        (lambda: sb.PoissonSampling(1.0), "rate must be a finite number with"),
        (
            lambda: sb.RandomAllocation(1.0, noise="normal"),
            "noise must be one of gaussian, laplace",
        ),
        (
            lambda: sb.RandomAllocation(0.1, noise="laplace"),
            "noise_multiplier must be a finite number with",
        ),
        (
            lambda: sb.RandomAllocation(1.0, noise="laplace", bins="kept"),
            "bins must be redrawn unless noise is gaussian",
        ),
        (lambda: sb.RandomAllocation(1.0, step=PAIRS[0]), "must be left out if step is given"),
        (lambda: sb.RandomAllocation(step=[1.0]), "step must be a pair"),
        (lambda: sb.RandomAllocation(step=sb.KRR(2, 1.0)), "step must be a pair"),
        (lambda: sb.RandomAllocation(step=([0.5, 0.6], [0.5, 0.5])), "a must sum to 1"),
        (
            lambda: sb.RandomAllocation(step=PAIRS[0], neighbours="replace"),
            "neighbours of a given step must be one of",
        ),
    ],
)
def test_bad_values_are_named(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_losses_of_tiny_masses_are_rounded_up():
    """In 50 digits: ε of known steps is their largest loss, small beside the logarithms."""
    for k in range(200):
        tiny = 1e-290 * (1.0 + k / 7.0)
        masses = (1.001 * tiny, 1.0), (tiny, 1.0)
        scheme = sb.RandomAllocation(step=tuple(map(np.array, masses)))
        with mp.workdps(50):
            loss = mp.log(mp.mpf(masses[0][0]) / mp.mpf(masses[1][0]))
            assert loss <= scheme._epsilon_of_steps(1, 1e-6)
