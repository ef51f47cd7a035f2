"""Cohorts of fixed size against exact enumeration, and the numbers of docs/proofs/cohorts.md."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from tests.support.cohorts import (
    cohort_law,
    datasets,
    histogram_law,
    hockey_stick,
    product,
    shuffle_pair,
)

import shufflebounds as sb
from shufflebounds.bounds.base import Kind
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.cohorts import in_cohort
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.core.setting import Setting
from shufflebounds.divergence.cohort_supremum import cohort_supremum
from shufflebounds.questions.intervals import joined

# The setting of the specification: 100 of 3012 users, 2-RR at ε₀ = 4, δ = 10⁻⁵.
SMALL = sb.Cohort(sb.KRR(2, 4.0), 100)
# What enclosures of exact numbers may miss by rounding of ε.
SLACK = 1.0 + 1e-12


def random_law(rng, outputs):
    weights = [rng.choice([0, 1, 2, 5, 9]) for _ in range(outputs)]
    return (
        random_law(rng, outputs)
        if not any(weights)
        else [Fraction(x, sum(weights)) for x in weights]
    )


def random_case(rng, most_users=5):
    """Return rows, the two inputs of the victim, n, the size of the cohort and e^ε."""
    outputs, inputs = rng.randint(2, 3), rng.randint(2, 3)
    rows = [random_law(rng, outputs) for _ in range(inputs)]
    n = rng.randint(2, most_users)
    zeta = 1 + Fraction(rng.choice([0, 1, 3, 8, 20, 60]), 20)
    return rows, rng.sample(range(inputs), 2), n, rng.randint(1, n - 1), zeta


def decomposition(a, b, c):
    return Decomposition(*([float(x) for x in law] for law in (a, b, c)), rel_err=1e-15)


def labelled_divergence(a, b, laws, share, zeta):
    """Return D of the labelled reports of users, in the place of one of whom the victim may be."""
    total = Fraction(0)
    for y in itertools.product(range(len(a)), repeat=len(laws)):
        excess = sum(
            math.prod(law[z] for j, (law, z) in enumerate(zip(laws, y, strict=True)) if j != i)
            * (share * (a[y[i]] - zeta * b[y[i]]) - (1 - share) * (zeta - 1) * laws[i][y[i]])
            for i in range(len(laws))
        )
        total += max(excess, 0)
    return total / len(laws)


@pytest.mark.parametrize("seed", range(30))
def test_bounds_of_every_dataset(seed):
    rng = random.Random(seed)
    rows, (x0, x1), n, size, zeta = random_case(rng)
    share, a, b = Fraction(size, n), rows[x0], rows[x1]
    sure = [min(column) for column in zip(*rows, strict=True)]
    blanket = shuffle_pair(a, b, sure, size, share)
    laws = [in_cohort(decomposition(a, b, row), share, is_upper=True) for row in rows]
    supremum = cohort_supremum(laws, math.log(zeta), size)
    for others in datasets(len(rows), n - 1):
        laws_of_victim = [cohort_law(rows, (x, *others), size) for x in (x0, x1)]
        delta = hockey_stick(*laws_of_victim, zeta)
        assert delta <= hockey_stick(*blanket, zeta)
        assert delta <= supremum * SLACK
        if len(set(others)) == 1:
            equal = shuffle_pair(a, b, rows[others[0]], size, share)
            assert hockey_stick(*equal, zeta) == delta
        subsets = list(itertools.combinations(others, size))
        mean = sum(
            labelled_divergence(a, b, [rows[x] for x in chosen], share, zeta) for chosen in subsets
        ) / len(subsets)
        assert delta <= mean


@pytest.mark.parametrize("seed", range(12))
def test_two_rounds_of_every_dataset(seed):
    rng = random.Random(seed)
    rows, (x0, x1), n, size, zeta = random_case(rng, most_users=4)
    share = Fraction(size, n)
    sure = [min(column) for column in zip(*rows, strict=True)]
    above = [product(x, x) for x in shuffle_pair(rows[x0], rows[x1], sure, size, share)]
    for others in datasets(len(rows), n - 1):
        both = [product(x, x) for x in (cohort_law(rows, (x, *others), size) for x in (x0, x1))]
        assert hockey_stick(*both, zeta) <= hockey_stick(*above, zeta)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_enclosures_of_matrices(seed, rounds):
    """The upper end is above all datasets, and a dataset of equal others is at the lower end."""
    rng = random.Random(100 + seed)
    rows, _, n, size, zeta = random_case(rng, most_users=4)
    rows = [[(x + 1) / (1 + len(row)) for x in row] for row in rows]
    mechanism = sb.MatrixRandomizer([[float(x) for x in row] for row in rows])
    enclosure = sb.delta(sb.Cohort(mechanism, size), math.log(zeta), n, rounds=rounds)
    worst = equal = Fraction(0)
    for others in datasets(len(rows), n - 1):
        for pair in itertools.permutations(range(len(rows)), 2):
            laws = [cohort_law(rows, (x, *others), size) for x in pair]
            laws = laws if rounds == 1 else [product(x, x) for x in laws]
            delta = hockey_stick(*laws, zeta)
            worst = max(worst, delta)
            equal = max(equal, delta) if len(set(others)) == 1 else equal
    assert worst <= enclosure.upper * SLACK
    assert enclosure.lower <= worst * Fraction(SLACK)
    if rounds == 1:
        assert enclosure.lower == pytest.approx(float(equal), rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_more_users_are_drawn_less_often(seed):
    rng = random.Random(seed)
    rows, (x0, x1), n, _, zeta = random_case(rng, most_users=4)
    size = rng.randint(1, n)

    def largest(users):
        return max(
            hockey_stick(*(cohort_law(rows, (x, *others), size) for x in (x0, x1)), zeta)
            for others in datasets(len(rows), users - 1)
        )

    assert (n + 1) * largest(n + 1) <= n * largest(n)


@pytest.mark.parametrize("others", [(0, 0, 0), (0, 1, 1), (1, 1, 1)])
def test_poisson_sampling_is_a_mixture(others):
    rows = [[Fraction(7, 9), Fraction(2, 9)], [Fraction(2, 9), Fraction(7, 9)]]
    rate, zeta, n = Fraction(3, 10), Fraction(11, 10), 4
    sampled = [[rate * x for x in row] + [1 - rate] for row in rows]
    poisson = [histogram_law([sampled[x] for x in (victim, *others)]) for victim in (0, 1)]
    mixture = sum(
        math.comb(n, s)
        * rate**s
        * (1 - rate) ** (n - s)
        * hockey_stick(*(cohort_law(rows, (x, *others), s) for x in (0, 1)), zeta)
        for s in range(1, n + 1)
    )
    assert hockey_stick(*poisson, zeta) == mixture


def test_numbers_of_the_specification():
    """Of 100 of 3012 users: the lower end is that of equal others, the upper one holds for all."""
    one = sb.epsilon(SMALL, 3012, 1e-5)
    assert one.lower == pytest.approx(0.09078, abs=1e-5)
    assert 0.09078 < one.upper < 0.0945
    many = sb.epsilon(SMALL, 3012, 1e-5, rounds=100)
    assert many.lower == pytest.approx(0.9230, abs=5e-4)
    assert many.upper < 1.06
    blanket = BOUNDS["blanket"]
    for rounds, expected in ((1, 0.1084), (100, 1.284)):
        setting = Setting(n=3012, delta=1e-5, rounds=rounds)
        [answer] = blanket.answers(SMALL, "epsilon", [setting])
        assert answer.enclosure.upper == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("mechanism", "looseness"),
    [(sb.BLH(4.0), 1e-3), (sb.KRR(10, 4.0), 2e-4), (sb.RAPPOR(2.0), 1e-3), (sb.OUE(2.0), 1e-3)],
)
def test_bound_for_all_datasets_is_nearly_attained(mechanism, looseness):
    enclosure = sb.epsilon(sb.Cohort(mechanism, 1000), 10_000, 1e-6)
    assert enclosure.relative_width < looseness


def test_a_cohort_of_all_users_is_no_sample():
    R = sb.KRR(10, 2.0)
    assert sb.epsilon(sb.Cohort(R, 1000), 1000, 1e-6) == sb.epsilon(R, 1000, 1e-6)


def test_too_few_users():
    with pytest.raises(ValueError, match=r"^n must be at least 100, the size of the cohort"):
        sb.epsilon(SMALL, 99, 1e-5)
    for size in (0, 1.5, "many"):
        with pytest.raises(ValueError, match=r"^size must be"):
            sb.Cohort(sb.KRR(2, 1.0), size)
    with pytest.raises(ValueError, match=r"^randomizer must be a Randomizer"):
        sb.Cohort(sb.KRR(2, 1.0).blanket(), 10)


def test_questions_about_cohorts():
    several = sb.epsilon(SMALL, [100, 200, 3012], 1e-5)
    for n, enclosure in zip([100, 200, 3012], several, strict=True):
        assert enclosure == sb.epsilon(SMALL, n, 1e-5)
    users = sb.fewest_users(SMALL, 0.1, 1e-5)
    assert sb.epsilon(SMALL, int(users.upper), 1e-5).upper <= 0.1
    assert sb.epsilon(SMALL, int(users.lower) - 1, 1e-5).lower > 0.1
    assert sb.fewest_users(SMALL, 4.5, 1e-5).lower == 100
    rounds = sb.most_rounds(SMALL, 0.9, 1e-5, 3012)
    assert sb.epsilon(SMALL, 3012, 1e-5, rounds=int(rounds.lower)).upper <= 0.9
    eps0 = sb.largest_eps0(lambda eps0: sb.Cohort(sb.KRR(2, eps0), 100), 0.1, 1e-5, 3012)
    assert 4.0 < eps0.lower < 4.2
    renyi = sb.renyi(SMALL, 3012, 4.0)
    assert 0.001 < renyi.lower < renyi.upper < 0.002
    advantage = sb.advantage(SMALL, 3012)
    assert 0.00962 < advantage.lower < advantage.upper < 0.00964
    both = sb.compose([(SMALL, 3012, 2), (sb.KRR(10, 1.0), 1000, 1)]).epsilon(1e-5)
    assert 0.1 < both.lower < both.upper < 0.4


def test_days_with_similar_numbers_of_users_are_joined():
    shuffles = [SMALL.shuffles(n)[0] for n in (3012, 3000, 3000)]
    [kind] = joined(shuffles, 1.01)
    assert kind.shuffle.times == 3
    # Upper ends are those of the fewest users, and lower ends those of the most.
    assert kind.shuffle.source.key == shuffles[1].source.key
    assert kind.last.source.key == shuffles[0].source.key
    days = sb.compose([(SMALL, n, 1) for n in (3000, 3001, 3012)]).epsilon(1e-5)
    fewest, most = (sb.epsilon(SMALL, n, 1e-5, rounds=3) for n in (3000, 3012))
    assert most.lower * 0.998 <= days.lower <= days.upper <= fewest.upper * 1.002


def test_bounds_by_name():
    """Those that compare decompositions hold; formulas of all users' reports are refused."""
    truth = sb.epsilon(SMALL, 3012, 1e-5).lower
    for bound in BOUNDS.values():
        if "epsilon" not in bound.quantities or bound.kind is Kind.UNPROVEN:
            continue
        try:
            [answer] = bound.answers(SMALL, "epsilon", [Setting(n=3012, delta=1e-5)])
        except ValueError:
            continue
        if bound.kind is Kind.UPPER:
            assert answer.enclosure.upper >= truth, bound.name
        else:
            assert answer.enclosure.lower <= truth * 1.0001, bound.name
    with pytest.raises(ValueError, match="needs reports of all users, got 2-RR by cohorts of 100"):
        BOUNDS["clone_closed_form"].answers(SMALL, "epsilon", [Setting(n=3012, delta=1e-5)])


@pytest.mark.parametrize("residual", [0.0, 1e-12, 1e-7, 1e-5])
def test_nearly_alike_inputs(residual):
    """A residual that floats hardly resolve moves upper ends up, and lower ends down."""
    a, b = np.array([0.6, 0.4]), np.array([0.4, 0.6])
    c = np.array([0.5, 0.5]) * (1.0 - residual)
    share, eps, size = Fraction(1, 4), 0.01, 8
    pair = Decomposition(a, b, c)
    high, low = (in_cohort(pair, share, is_upper=x) for x in (True, False))
    exact = in_exact_cohort(pair, share, size, eps)
    assert sb.delta(low, eps, size).lower <= exact <= sb.delta(high, eps, size).upper
    assert sb.delta(high, eps, size).upper <= exact * (1.0 + 1e-4)
    assert sb.delta(low, eps, size).lower >= exact * (1.0 - 1e-4)


def in_exact_cohort(pair, share, size, eps):
    """Return the larger D of both orders by enumeration in rationals."""
    a, b, c = ([Fraction(x) for x in law] for law in (pair.a, pair.b, pair.c))
    a, b = ([x / sum(law) for x in law] for law in (a, b))
    pair_of_laws = shuffle_pair(a, b, c, size, share)
    zeta = Fraction(math.exp(eps))
    orders = (pair_of_laws, pair_of_laws[::-1])
    return max(float(hockey_stick(*order, zeta)) for order in orders)


def test_curves_of_cohorts():
    direct = sb.epsilon(SMALL, 3012, 1e-5)
    for mechanism, settings in (
        (SMALL, {}),
        ({"type": "cohort", "mechanism": {"type": "krr", "k": 2}, "size": 100}, {"eps0": 4.0}),
    ):
        curve = sb.curve(mechanism, n=[50, 3012], delta=1e-5, **settings)
        assert curve.enclosures[1] == direct
        assert math.isinf(curve.enclosures[0].upper)
    with pytest.raises(ValueError, match=r"^size is missing; cohort needs: mechanism, size"):
        sb.curve({"type": "cohort", "mechanism": {"type": "krr", "k": 2}}, n=[50], delta=1e-5)
    with pytest.raises(ValueError, match=r"^mechanism must be a randomizer, a cohort or a mapping"):
        sb.curve(3, n=[50], delta=1e-5)


def deployment(users=10_000, **cohort):
    report = {"mechanism": {"type": "krr", "k": 10}, "eps0": 4, "answers": "fresh", **cohort}
    return {"reports": {"visits": report}, "users": users, "days": 3}


def test_deployments_of_cohorts():
    total = sb.Deployment(deployment(cohort=1000)).epsilon(1e-6)
    direct = sb.epsilon(sb.Cohort(sb.KRR(10, 4.0), 1000), 10_000, 1e-6, rounds=3)
    assert total.lower == pytest.approx(direct.lower, rel=5e-3)
    assert total.upper == pytest.approx(direct.upper, rel=5e-3)
    everybody = sb.Deployment(deployment(cohort=10_000)).epsilon(1e-6)
    assert everybody == sb.Deployment(deployment()).epsilon(1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (deployment(cohort=20_000), "reports.visits.cohort must be at most 10000, the number of"),
        (deployment(cohort=0), "reports.visits.cohort must be an integer from 1"),
        (deployment(cohort=10, rate=0.5), "cohort must be left out, since there is a rate"),
        ({**deployment(cohort=10), "dropout": 0.1}, "cohort must be left out, since dropout is"),
        ({**deployment(cohort=10), "colluding": 5}, "cohort must be left out, since colluding is"),
        (
            {**deployment(cohort=10), "groups": {"a": {"share": 0.5}, "b": {"share": 0.5}}},
            "cohort must be left out with groups",
        ),
    ],
)
def test_deployments_that_are_no_cohorts(content, message):
    with pytest.raises(ValueError, match=message):
        sb.Deployment(content)
