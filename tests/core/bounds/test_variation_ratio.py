"""The variation-ratio pair and the stronger clone against enumeration of random protocols.

Everything is rational: what is compared are exact probabilities, and one violation is a
counterexample to the theorem of docs/proofs/variation-ratio.md.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from enumeration import hockey_stick, truth
from oracles import exact
from strategies import FUZZ

import shufflebounds as sb

INF = math.inf


def induced(a, b, c, n, exp_eps):
    """What a decomposition gives: everybody else reports from c, or an output of its own."""
    others = [*c, 1 - sum(c)]
    return truth([*a, 0], [*b, 0], [others] * (n - 1), exp_eps)


def components(p, beta, q0, q1):
    """The pair as docs/proofs/variation-ratio.md has it, valid in the direction (a, b)."""
    inverse = Fraction(0) if p == INF else 1 / Fraction(p)
    common = beta / (1 - inverse)
    rare = common * inverse
    rest = 1 - common - rare
    return (common, rare, rest), (rare, common, rest), (common / q0, common / q1, rest / q1)


def random_law(rng, size, largest=8):
    while True:
        weights = [rng.choice([0, 1, rng.randint(1, largest)]) for _ in range(size)]
        if any(weights):
            return [Fraction(w, sum(weights)) for w in weights]


def positive_law(rng, size, largest=8):
    weights = [rng.randint(1, largest) for _ in range(size)]
    return [Fraction(w, sum(weights)) for w in weights]


def extremal_channel(rng, inputs, e):
    """A random channel all of whose columns hold two values, one e times the other."""
    patterns = [s for k in range(1, inputs) for s in itertools.combinations(range(inputs), k)]
    theta = defaultdict(int)
    for pattern in rng.sample(patterns, rng.randint(1, min(3, len(patterns)))):
        theta[pattern] += rng.randint(1, 5)
    shares = [sum(t for s, t in theta.items() if x in s) for x in range(inputs)]
    for x in range(inputs):  # rows sum to the same
        if shares[x] < max(shares):
            theta[(x,)] += max(shares) - shares[x]
    theta = dict(sorted(theta.items()))
    flat = rng.choice([0, rng.randint(1, 5)])
    rows = [[t * (e if x in s else 1) for s, t in theta.items()] + [flat] for x in range(inputs)]
    return [[Fraction(m) / sum(row) for m in row] for row in rows]


def ldp_channel(rng, inputs, e):
    """A random e-ratio channel in the inside: mixtures of extremal ones with coins."""
    rows = extremal_channel(rng, inputs, e)
    weights = [Fraction(rng.randint(0, 3), 3) for _ in range(inputs)]
    mean = [sum(column) / inputs for column in zip(*rows, strict=True)]
    return [
        [w * x + (1 - w) * m for x, m in zip(row, mean, strict=True)]
        for row, w in zip(rows, weights, strict=True)
    ]


def ratio(first, second):
    """The least q with first ≤ q·second; None where there is none."""
    pairs = [(x, y) for x, y in zip(first, second, strict=True) if x]
    if any(y == 0 for _, y in pairs):
        return None
    return max(x / y for x, y in pairs)


def random_exp_eps(rng, largest):
    return 1 + (largest - 1) * Fraction(rng.choice([0, 0, 1, 2, 3, 5, 7, 8, 9]), 9)


def random_users(rng):
    """How many, and of how many outputs: what is enumerated in a few milliseconds."""
    return rng.choice([(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2), (4, 3), (5, 2)])


def test_no_protocol_exceeds_the_pair():
    """Every user has a law of its own; p, β, q₀ and q₁ are those of the laws, or larger."""
    rng = random.Random(12)
    cases = closest = 0
    while cases < 2000 * FUZZ:
        n, size = random_users(rng)
        a, b = (rng.choice([random_law, positive_law])(rng, size) for _ in "ab")
        others = [rng.choice([random_law, positive_law])(rng, size) for _ in range(n - 1)]
        if rng.random() < 0.5:  # few others give tighter cases where they resemble the victim
            others = [[(x + y + z) / 3 for x, y, z in zip(a, b, w, strict=True)] for w in others]
        q0, q1 = ([ratio(law, w) for w in others] for law in (a, b))
        if None in q0 + q1:
            continue
        q0, q1 = max(1, *q0), max(1, *q1)
        there, back = ratio(a, b), ratio(b, a)
        p = INF if there is None or back is None else max(there, back)
        beta = sum(max(x - y, 0) for x, y in zip(a, b, strict=True))
        inverse = Fraction(0) if p == INF else 1 / p
        if inverse == 1:
            continue
        beta += (  # larger than need be, up to its maximum
            ((1 - inverse) / (1 + inverse) - beta) * rng.choice([0, 0, Fraction(1, 2), 1])
        )
        if rng.random() < 0.3:
            q0 = q1 = max(q0, q1)
        pair = components(p, beta, q0, q1)
        if sum(pair[2]) > 1:
            continue
        exp_eps = random_exp_eps(rng, 6 if p == INF else p)
        bound = induced(*pair, n, exp_eps)
        found = truth(a, b, others, exp_eps)
        assert found <= bound
        closest = max(closest, found / bound if bound else 0)
        cases += 1
    assert closest > Fraction(9, 10)


@pytest.mark.parametrize("channel", [extremal_channel, ldp_channel])
def test_no_common_randomizer_exceeds_the_stronger_clone(channel):
    rng = random.Random(3)
    for _ in range(1500 * FUZZ):
        e = Fraction(rng.choice([2, 3, 5, 9, 30])) / rng.choice([1, 1, Fraction(3, 2)])
        inputs = rng.choice([2, 3, 3, 4])
        rows = channel(rng, inputs, e)
        n = rng.choice([2, 3, 4, 5] if len(rows[0]) <= 3 else [2, 3])
        others = [rng.choice(rows) for _ in range(n - 1)]
        exp_eps = random_exp_eps(rng, e)
        pair = [[e / (e + 1), 1 / (e + 1)], [1 / (e + 1), e / (e + 1)], [1 / (e + 1)] * 2]
        assert truth(rows[0], rows[1], others, exp_eps) <= induced(*pair, n, exp_eps)


def adaptive_law(rng, n, inputs, e):
    """A random sequence of channels, one for every slot and history of binary reports."""
    return {
        history: ldp_channel(rng, inputs, e)
        for slot in range(n)
        for history in itertools.product((0, 1), repeat=slot)
    }


def shuffled_first(channels, data):
    """The law of what n slots report on a random order of the data, all reports in order."""
    law = defaultdict(Fraction)
    orders = list(itertools.permutations(data))
    for order in orders:
        paths = {(): Fraction(1, len(orders))}
        for x in order:
            longer = defaultdict(Fraction)
            for history, chance in paths.items():
                for y, mass in enumerate(channels[tuple(z % 2 for z in history)][x]):
                    longer[(*history, y)] += chance * mass
            paths = longer
        for path, chance in paths.items():
            law[path] += chance
    return law


def test_no_adaptive_protocol_on_shuffled_inputs_exceeds_the_stronger_clone():
    rng = random.Random(4)
    for _ in range(150 * FUZZ):
        n, e = rng.choice([2, 2, 3]), Fraction(rng.choice([2, 3, 9]))
        inputs = rng.choice([2, 3])
        channels = adaptive_law(rng, n, inputs, e)
        others = [rng.randrange(inputs) for _ in range(n - 1)]
        laws = [shuffled_first(channels, [x, *others]) for x in (0, 1)]
        exp_eps = random_exp_eps(rng, e)
        pair = [[e / (e + 1), 1 / (e + 1)], [1 / (e + 1), e / (e + 1)], [1 / (e + 1)] * 2]
        assert hockey_stick(*laws, exp_eps) <= induced(*pair, n, exp_eps)


def test_where_the_stronger_clone_fails():
    """Unrelated randomizers: user 1 answers by 2-RR and user 2 says nothing."""
    e, exp_eps = Fraction(3), Fraction(2)
    pair = [[e / (e + 1), 1 / (e + 1)], [1 / (e + 1), e / (e + 1)], [1 / (e + 1)] * 2]
    bound = induced(*pair, 2, exp_eps)
    assert bound == Fraction(3, 16)
    rr = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    alone = truth([*rr[0], 0], [*rr[1], 0], [[0, 0, 1]], exp_eps)
    # Adaptive in the order of the users: user 2 repeats what user 1 said.
    copied = [{(y, y): row[y] for y in (0, 1)} for row in rr]
    assert alone == hockey_stick(*copied, exp_eps) == Fraction(1, 4)


def test_the_published_pair_fails_for_three_values_and_two_users():
    """3-RR at e^{ε₀} = 3, the other user holding what the victim may hold."""
    e, exp_eps = Fraction(3), Fraction(9, 4)
    rows = [[Fraction(3 if x == y else 1, 5) for y in range(3)] for x in range(3)]
    assert truth(rows[0], rows[1], [rows[0]], exp_eps) == Fraction(9, 100)
    a, b, c = components(e, Fraction(2, 5), e, e)
    r = c[0]
    published = (a, b, (r, r, 1 - 2 * r))
    assert induced(*published, 2, exp_eps) == Fraction(7, 100)
    assert induced(a, b, c, 2, exp_eps) >= Fraction(9, 100)
    # The code's pair is this one, to the rounding.
    code = sb.variation_ratio(3.0, 0.4, 3.0, published=True)
    np.testing.assert_allclose([code.a, code.b, code.c], np.array(published, float), rtol=1e-14)
    assert exact(code, math.log(2.25), 2).upper < 0.0701


def parameters(rng):
    p = rng.choice([1.0 + 1e-9, 1.5, 3.0, math.exp(1.0), 100.0, 1e10, INF])
    largest = (1 - 1 / p) / (1 + 1 / p)
    beta = largest * rng.choice([0.0, 1e-9, 0.3, 0.9, 1.0])
    return p, beta, (1.0 + beta) * rng.choice([1.0, 1.2, 3.0, 1e6])


def test_the_code_is_the_formula():
    rng = random.Random(5)
    for _ in range(300):
        p, beta, q = parameters(rng)
        found = sb.variation_ratio(p, beta, q)
        largest = 1 - 2 / (1 + (Fraction(p) if p < INF else 10**400))
        wanted = components(p, min(Fraction(beta), largest), Fraction(q), Fraction(q))
        wanted = [j for j in zip(*wanted, strict=True) if j[0] or j[1]]
        got = zip(found.a.tolist(), found.b.tolist(), found.c.tolist(), strict=True)
        for mine, its in itertools.zip_longest(got, wanted, fillvalue=(0, 0, 0)):
            if max(its) < Fraction(1, 10**20):  # clipped to the largest β, in another order
                continue
            for x, y in zip(mine, its, strict=True):
                assert abs(Fraction(x) - y) <= Fraction(1, 10**11) * y + Fraction(1, 10**30)
        assert found.is_symmetric()


def test_no_direction_of_two_ratios_exceeds_the_codes_pair():
    """The code takes one c for both directions, the smaller one on (1, 1)."""
    rng = random.Random(6)
    for _ in range(100 * FUZZ):
        p, beta, q = parameters(rng)
        if p in (1.0 + 1e-9, 1e10):
            continue
        other = q * rng.choice([1.1, 2.0, 10.0])
        code = sb.variation_ratio(p, beta, rng.choice([(q, other), (other, q)]))
        exp_eps, n = 1.3, rng.choice([1, 2, 3])
        tight = max(
            induced(
                *components(
                    Fraction(p) if p < INF else p,
                    Fraction(beta) * (1 - Fraction(1, 10**9)),
                    *ratios,
                ),
                n,
                Fraction(exp_eps),
            )
            for ratios in [(Fraction(q), Fraction(other)), (Fraction(other), Fraction(q))]
        )
        ends = [exact(d, math.log(exp_eps), n).upper for d in (code, code.swap())]
        assert max(ends) >= float(tight) * (1.0 - 1e-12)


def test_the_divergence_grows_with_each_parameter():
    rng = random.Random(7)
    for _ in range(200 * FUZZ):
        p, beta, q = parameters(rng)
        if p == INF:
            continue
        n, eps = rng.choice([2, 3, 5]), rng.choice([0.0, 0.1, 0.7, 2.0])
        here = exact(sb.variation_ratio(p, beta, q), eps, n)
        largest = (1 - 1 / p) / (1 + 1 / p)
        for larger in (
            (p, min(1.2 * beta, largest), max(q, 1.0 + 1.2 * beta)),
            (2.0 * p, beta, q),
            (INF, beta, q),
            (p, beta, 1.3 * q),
        ):
            there = exact(sb.variation_ratio(*larger), eps, n)
            assert here.lower <= there.upper * (1.0 + 1e-12) + 1e-300


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 1.0, 4.0, 50.0, 300.0])
def test_the_stronger_clone_is_the_pair_of_the_largest_beta(eps0):
    found = sb.stronger_clone(eps0)
    e = Fraction(math.exp(eps0))
    general = sb.variation_ratio(math.exp(eps0), math.tanh(eps0 / 2.0), math.exp(eps0))
    for mine, its in zip(
        (found.a, found.b, found.c), (general.a, general.b, general.c), strict=True
    ):
        np.testing.assert_allclose(mine, its[:2], rtol=1e-9)
    np.testing.assert_allclose(found.a, [float(e / (e + 1)), float(1 / (e + 1))], rtol=1e-13)
    blanket = sb.KRR(2, eps0).blanket()
    np.testing.assert_allclose(
        [blanket.a, blanket.b, blanket.c], [found.a, found.b, found.c], 1e-13
    )
    assert found.is_symmetric()


@pytest.mark.parametrize(
    ("arguments", "published", "word"),
    [
        ((1.0, 0.0, 2.0), False, "p must be above 1"),
        ((0.5, 0.1, 2.0), False, "p must be a finite number with p >= 1"),
        (("3", 0.1, 2.0), False, "p must be a finite"),
        ((3.0, 0.51, 2.0), False, "beta must be at most .* = 0.5, got 0.51"),
        ((3.0, -0.1, 2.0), False, "beta must be"),
        ((10.0, 0.4, 1.2), False, "q >= 1 [+] beta, got 1.2"),
        ((10.0, 0.4, INF), False, "q must be a finite"),
        ((10.0, 0.4, 0.9), False, "q must be a finite number with q >= 1"),
        ((10.0, 0.4, (1.2, 1.3)), False, "q must be such that"),
        ((10.0, 0.4, (1.2, 1.3, 1.4)), False, "q must be a number or a pair"),
        ((10.0, 0.8, 1.2), True, "q must be such that"),
    ],
)
def test_what_is_refused(arguments, published, word):
    with pytest.raises(ValueError, match=word):
        sb.variation_ratio(*arguments, published=published)


def test_rounding_at_the_edges_is_forgiven_on_the_safe_side():
    e = math.exp(1.0)
    for beta in (math.nextafter((e - 1) / (e + 1), 1.0), math.tanh(0.5)):
        assert sb.variation_ratio(e, beta, e).c.sum() == pytest.approx(2.0 / (e + 1.0), rel=1e-12)
    full = sb.variation_ratio(10.0, 0.4, 1.4)
    assert full.c.sum() == pytest.approx(1.0, abs=1e-15)


def test_two_distinct_laws_are_told_apart_when_nobody_else_hides_the_victim():
    """p = ∞, β = 1: ε is infinite where δ is below the probability of that."""
    pair = sb.variation_ratio(INF, 1.0, 4.0)
    np.testing.assert_array_equal([pair.a, pair.b, pair.c], [[1, 0], [0, 1], [0.25, 0.25]])
    for n in (1, 2, 20):
        limit = 0.75 ** (n - 1)
        assert math.isinf(sb.epsilon(pair, n, 0.99 * limit).lower)
    assert math.isfinite(sb.epsilon(pair, 20, 1.01 * 0.75**19).upper)
