"""Closed forms of finite mechanisms against their definitions, in rationals and 50 digits.

The definitions are written down here once more, for h = e^{ε₀/2} of any type of number.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from components import assert_same
from oracles import exact
from scipy.linalg import hadamard

import shufflebounds as sb
from shufflebounds.randomizers.base import CLOSED_FORM_ERR, pairs_of_channel

OVER_DOMAINS = [sb.BLH, sb.RAPPOR, sb.OUE, sb.HadamardResponse]


def matched(matches, h):
    """Rows of the reports that match every input, with e^{ε₀} = h² times the chance of others."""
    weights = [[h * h if match else h / h for match in row] for row in matches]
    return [[weight / sum(row) for weight in row] for row in weights]


def private_sets(d, s, k, h):
    held, sent = (list(itertools.combinations(range(d), size)) for size in (s, k))
    return matched([[bool({*x} & {*y}) for y in sent] for x in held], h)


def subsets(d, k, h):
    return private_sets(d, 1, k, h)


def krr(k, h):
    return subsets(k, 1, h)


def signs(d):
    """Rows of Sylvester's matrix, as many as values, without that of ones."""
    order = next(2**k for k in itertools.count() if 2**k > d)
    return hadamard(order)[1 : d + 1] > 0


def hadamard_response(d, h):
    return matched(signs(d), h)


def blocks(count, d, h):
    rows = signs(math.ceil(d / count))
    matches = np.zeros((d, count, rows.shape[1]), dtype=bool)
    for x in range(d):
        matches[x, x % count] = rows[x // count]
    return matched(matches.reshape(d, -1), h)


def hashes(size, values, h):
    """Functions of the domain, value 0 varying fastest, and z, the largest one first."""
    functions = [f[::-1] for f in itertools.product(range(values), repeat=size)]
    reports = list(itertools.product(reversed(range(values)), functions))
    return matched([[f[x] == z for z, f in reports] for x in range(size)], h)


def bits(size, own, other):
    """Bits that are 1 with these chances, in the order of the integers whose digits they are."""
    chances = [[own if i == x else other for i in range(size)] for x in range(size)]
    return [
        [
            math.prod((p if bit else 1 - p) for p, bit in zip(row, y[::-1], strict=True))
            for y in itertools.product((0, 1), repeat=size)
        ]
        for row in chances
    ]


def caps(share, h):
    """Directions of the circle, in eight steps."""
    return matched([[(y - x) % 8 < 8 * share for y in range(8)] for x in range(8)], h)


INPUTS = [Fraction(x, 4) for x in range(-4, 5)]


def windows(h):
    """The piecewise mechanism by the densities of its inventors, on cells that all windows fit."""
    end = (h + 1) / (h - 1)
    starts = [(end + 1) / 2 * x - (end - 1) / 2 for x in INPUTS]
    cuts = sorted({-end, end, *starts, *(start + end - 1 for start in starts)})
    high = (h * h - h) / (2 * h + 2)
    return [
        [
            (high if start <= low and up <= start + end - 1 else high / h**2) * (up - low)
            for low, up in itertools.pairwise(cuts)
        ]
        for start in starts
    ]


def duchi(h):
    slope = (h * h - 1) / (h * h + 1)
    return [[(1 + sign * x * slope) / 2 for sign in (-1, 1)] for x in INPUTS]


def every_pair(size):
    return list(itertools.permutations(range(size), 2))


# A mechanism, its parameters, its definition, the worst pairs of rows, and a third input that is as
# far from the worst pair as they are from each other: a row, or three rows that go together.
CASES = [
    *((sb.Subset, (d, k), subsets, every_pair(d), 2) for d, k in ((3, 2), (5, 2), (6, 4))),
    (sb.Subset, (2, 1), subsets, every_pair(2), None),
    (sb.PrivSet, (5, 2, 2), private_sets, [(0, 9)], None),
    (sb.PrivSet, (6, 2, 1), private_sets, [(0, 14)], (0, 9, 14)),
    (sb.PrivSet, (4, 3, 1), private_sets, [(0, 1)], None),
    (sb.PrivSet, (4, 1, 2), private_sets, every_pair(4), 3),
    (sb.HadamardBlocks, (2, 2), blocks, every_pair(2), None),
    (sb.HadamardBlocks, (2, 5), blocks, [(0, 1), (2, 3)], 2),
    (sb.HadamardBlocks, (3, 9), blocks, [(0, 1), (3, 2)], 2),
    (sb.HadamardBlocks, (4, 4), blocks, every_pair(4), 3),
    (sb.LocalHash, (2, 3), hashes, every_pair(2), None),
    (sb.LocalHash, (3, 3), hashes, every_pair(3), 2),
    (sb.LocalHash, (3, 5), hashes, [(0, 1), (2, 1)], 2),
    (sb.PrivUnit, (0.25,), caps, [(0, 4), (3, 5)], None),
    (sb.PrivUnit, (0.5,), caps, [(0, 4)], None),
    (sb.Piecewise, (), windows, [(0, 8)], 4),
    (sb.Duchi, (), duchi, [(0, 8), (8, 0)], 4),
]
for size in (2, 3, 4, 6, 7, 8, 15):
    for kind, definition in (
        (sb.HadamardResponse, hadamard_response),
        (lambda eps0, k: sb.KRR(k, eps0), krr),
        (sb.BLH, lambda d, h: hashes(d, 2, h)),
        (sb.OUE, lambda d, h: bits(d, h / (2 * h), 1 / (h * h + 1))),
        (sb.RAPPOR, lambda d, h: bits(d, h / (h + 1), 1 / (h + 1))),
    )[: 5 if size < 7 else 1]:
        CASES.append((kind, (size,), definition, every_pair(size), 2 if size > 2 else None))
NAMES = [f"{kind(1.0, *args).label} {args}" for kind, args, *_ in CASES]
every_case = pytest.mark.parametrize(
    ("kind", "args", "definition", "worst", "third"), CASES, ids=NAMES
)
roots = pytest.mark.parametrize("h", [Fraction(17, 16), Fraction(2), Fraction(7)], ids=float)
# Windows that just touch, but for the rounding of ε₀.
TOUCHING = 1e-14


def least(rows):
    return [min(column) for column in zip(*rows, strict=True)]


@roots
@every_case
def test_blanket_and_dataset_pairs_are_those_of_the_worst_pair(
    kind, args, definition, worst, third, h
):
    randomizer, rows = kind(2.0 * math.log(h), *args), definition(*args, h)
    assert all(sum(row) == 1 for row in rows)
    assert max(max(column) / min(column) for column in zip(*rows, strict=True)) == h * h
    blanket, pairs = randomizer.blanket(), randomizer.dataset_pairs()
    for x0, x1 in worst:
        assert_same(blanket, rows[x0], rows[x1], least(rows), least=TOUCHING)
    assert blanket.is_symmetric()
    x0, x1 = worst[0]
    assert_same(pairs["x1"], rows[x0], rows[x1], rows[x1], least=TOUCHING)
    assert list(pairs) == (["x1"] if third is None else ["third", "x1"])
    if third is not None:
        x0, x1, x2 = third if isinstance(third, tuple) else (x0, x1, third)
        assert_same(pairs["third"], rows[x0], rows[x1], rows[x2], least=TOUCHING)


@roots
@every_case
def test_matrix_is_the_definition(kind, args, definition, worst, third, h):
    """Of PrivUnit, Duchi and local hashing it is one of pairs of inputs, or of bits."""
    rows = definition(*args, h)
    if kind is sb.LocalHash:
        size, values = args
        rows = bits(size, h * h / (h * h + values - 1), Fraction(1, values))
    elif kind in (sb.PrivUnit, sb.Duchi):
        # Reports that are alike for both inputs are one.
        rows = [rows[x] for x in worst[0]]
        if kind is sb.PrivUnit:
            rows = [
                [sum(x[0:k]), sum(x[4 : 4 + k]), sum(x[k:4]) + sum(x[4 + k :])]
                for x in rows
                for k in (int(8 * args[0]),)
            ]
    if kind is not sb.Piecewise:
        expected = np.array(rows, float)
        np.testing.assert_allclose(kind(2.0 * math.log(h), *args).matrix(), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("kind", "args", "definition", "h"),
    [
        (kind, args, definition, h)
        for kind, args, definition, worst, _ in CASES
        for h in ((Fraction(3, 2), 2, 5) if kind is sb.Piecewise else (2,))
        if len(worst) <= 20 and kind is not sb.HadamardResponse
    ],
)
def test_no_pair_of_inputs_is_worse_than_the_blanket(kind, args, definition, h):
    """One pair of those with the same masses in another order of the outputs."""
    randomizer, rows = kind(2.0 * math.log(h), *args), definition(*args, Fraction(h))
    different = {}
    for x0, x1 in itertools.permutations(rows[:9], 2):
        masses = tuple(sorted(zip(x0, x1, least(rows), strict=True)))
        different[masses] = sb.Decomposition(*np.array(masses, float).T, rel_err=1e-14).merge()
    for n, share in itertools.product((1, 2, 5), (0.0, 0.2, 0.5, 0.9)):
        eps = share * randomizer.eps0
        bound = exact(randomizer.blanket(), eps, n).upper
        assert all(exact(pair, eps, n).lower <= bound for pair in different.values())


def test_harmony_is_duchi():
    """Vectors of two numbers in {−1, 1}: opposite ones, and two that agree in a coordinate."""
    one = [[Fraction(4, 5), Fraction(1, 5)], [Fraction(1, 5), Fraction(4, 5)]]
    rows = {
        x: [mass / 2 for i in (0, 1) for mass in one[x[i]]]
        for x in itertools.product((0, 1), repeat=2)
    }
    sure = [min(column) for column in zip(*rows.values(), strict=True)]
    blanket = sb.Duchi(math.log(4)).blanket()
    assert_same(blanket, rows[0, 0], rows[1, 1], sure)
    assert_same(blanket, rows[0, 1], rows[1, 0], sure)
    partly = sb.Decomposition(*np.array([rows[0, 0], rows[0, 1], sure], float), rel_err=1e-14)
    for n, eps in itertools.product((1, 2, 6), (0.0, 0.3, 1.0)):
        assert exact(partly, eps, n).lower <= exact(blanket, eps, n).upper


def collisions(values, held, size, e):
    """Rows of inputs (tuples of items), and the law that is e/Ω or less of all of them."""
    rows = []
    for items in held:
        total = len(items) * e + values - len(items)
        row = []
        for h in itertools.product(range(values), repeat=size):
            own = {h[item] for item in items}
            rest = (1 - Fraction(len(own)) * e / total) / (values - len(own))
            row += [Fraction(e) / total if z in own else rest for z in range(values)]
        rows.append([mass / values**size for mass in row])
    return rows, [1 / (Fraction(total) * values**size)] * len(rows[0])


@pytest.mark.parametrize(("items", "values"), [(1, 2), (1, 4), (2, 3), (2, 4)])
def test_collision_is_its_definition(items, values):
    held = [tuple(range(i * items, (i + 1) * items)) for i in range(3)]
    (x0, x1, x2), sure = collisions(values, held, 3 * items, 4)
    assert sum(x0) == 1
    assert all(min(x) >= y for x, y in zip(zip(x0, x1, x2, strict=True), sure, strict=True))
    collision = sb.Collision(math.log(4), items, values)
    assert_same(collision.blanket(), x0, x1, sure)
    assert collision.blanket().is_symmetric()
    assert_same(collision.dataset_pairs()["third"], x0, x1, x2)
    assert_same(collision.dataset_pairs()["x1"], x0, x1, x1)
    if items == 1:
        hashing = sb.LocalHash(math.log(4), hash_values=values).blanket()
        assert_same(collision.blanket(), hashing.a, hashing.b, hashing.c)


@pytest.mark.parametrize(
    "held", [[(0, 1), (0, 2)], [(0, 1), (2, 3)], [(0, 1, 2), (0, 1, 3)], [(0, 1, 2), (2, 3, 4)]]
)
def test_shared_items_are_nothing_worse_for_collision(held):
    (a, b), sure = collisions(4, held, 5, 4)
    shared = sb.Decomposition(*np.array([a, b, sure], float), rel_err=1e-14).merge()
    collision = sb.Collision(math.log(4), len(held[0]), 4)
    for n, eps in itertools.product((1, 2, 4), (0.0, 0.2, 0.6, 1.1)):
        assert exact(shared, eps, n).lower <= exact(collision.blanket(), eps, n).upper


# How accurate closed forms are, in 400 digits.


def blanket_masses(randomizer):
    """p, q and r: Table 2 of the paper, Hadamard response at K columns.

    docs/proofs/variation-ratio.md derives them.
    """
    e, size = mpmath.exp(mpmath.mpf(randomizer.eps0)), getattr(randomizer, "domain_size", None)
    h, p = mpmath.sqrt(e), 1 / (2 * (e + 1))

    def power(base):
        return mpmath.mpf(0) if size is None else 1 / mpmath.mpf(base) ** (size - 1)

    match randomizer:
        case sb.BLH():
            return p, p - power(2) / (e + 1), p + e * power(2) / (e + 1)
        case sb.RAPPOR():
            p, tail = 1 / (h + 1) ** 2, power(1 + h) / (1 + h)
            return p, p / h - tail / h, h * p + h * tail
        case sb.UnaryEncoding(noise=noise):
            odds = (1 - mpmath.mpf(noise)) / mpmath.mpf(noise)
            p, ones = odds / ((1 + odds) * (odds + e)), power(1 + odds) * (1 + odds)
            return p, p * (1 - ones) / odds, p * (odds + ones * e / odds)
        case sb.OUE():
            return p, p / e - power(1 + e) / (2 * e), e * p + power(1 + e) / 2
        case sb.HadamardResponse():
            columns = next(2**k for k in itertools.count() if 2**k > size) if size else mpmath.inf
            return p, p - 2 / (columns * (e + 1)), p + 2 * e / (columns * (e + 1))
        case sb.Subset(domain_size=d, subset_size=k):
            sets = mpmath.mpf(d - 1) * (k * e + d - k)
            return k * (d - k) / sets, k * (k - 1) / sets, (d - k) * (d - k - 1) / sets
        case sb.PrivUnit(cap=cap):
            total = mpmath.mpf(cap) * e + 1 - mpmath.mpf(cap)
            return mpmath.mpf(cap) / total, mpmath.mpf(0), (1 - 2 * mpmath.mpf(cap)) / total
        case sb.Piecewise():
            return 1 / (h * (h + 1)), mpmath.mpf(0), (h - 1) / (h + 1) / h
        case sb.HadamardBlocks(blocks=count):
            total = e + 2 * count - 1
            return 1 / total, mpmath.mpf(0), (2 * count - 2) / total
        case sb.LocalHash(hash_values=l):
            total, one = e + l - 1, 1 / mpmath.mpf(l)
            return (1 - one) / total, one / total, (1 - one) * (l - 1) / total
        case sb.Duchi():
            return 1 / (e + 1), mpmath.mpf(0), mpmath.mpf(0)


@pytest.mark.parametrize("eps0", [1e-6, 1e-3, 0.1, 1.0, 4.0, 12.5, 50.0, 300.0])
@pytest.mark.parametrize(
    ("kind", "args"),
    [
        *itertools.product(OVER_DOMAINS, [(2,), (3,), (10,), (100,), (1000,), (None,)]),
        (sb.Subset, (128, 30)),
        (sb.PrivUnit, (0.3,)),
        (sb.HadamardBlocks, (5,)),
        (sb.LocalHash, (None, 7)),
        (sb.Piecewise, ()),
        (sb.Duchi, ()),
        # Bits that are nearly always 1: the blanket depends on the number of values.
        *itertools.product(
            [sb.UnaryEncoding], itertools.product((3, 100, 10**6, None), (0.9, 0.9999, 1 - 1e-9))
        ),
    ],
)
def test_blankets_keep_their_promise_of_accuracy(kind, args, eps0):
    with mpmath.workdps(400):
        randomizer = kind(eps0, *args)
        e, (p, q, r) = mpmath.exp(mpmath.mpf(eps0)), blanket_masses(randomizer)
        rows = [(e * p, p, p), (p, e * p, p), (e * q, e * q, q), (r, r, r)]
        blanket = randomizer.blanket()
        got = zip(blanket.a.tolist(), blanket.b.tolist(), blanket.c.tolist(), strict=True)
        # Some have no q, nor r: all that is left of it here is rounding.
        for mine, its in zip(got, [row for row in rows if row[2] > 1e-300 * p], strict=True):
            for x, y in zip(mine, its, strict=True):
                assert abs(mpmath.mpf(x) / y - 1) <= blanket.rel_err < 2.0**-44


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 1.0, 4.0, 50.0, 300.0])
@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        (kind, definition)
        for kind, args, definition, *_ in CASES
        if kind in OVER_DOMAINS and args == (3,)
    ],
)
def test_dataset_pairs_keep_their_promise_of_accuracy(kind, definition, eps0):
    """Over many values they are those of three."""
    # 1 − e/(e + 1) alone costs 130 digits at ε₀ = 300.
    with mpmath.workdps(200):
        rows = definition(3, mpmath.exp(mpmath.mpf(eps0) / 2))
        pair = kind(eps0).dataset_pair()
        # ε₀ is known to a rounding, and with it e^{ε₀} to ε₀ times as much.
        assert pair.rel_err < (4 + eps0) * CLOSED_FORM_ERR
        assert_same(pair, *rows, err=pair.rel_err)


# What is tied.

TELLING_NOTHING = [
    *((functools.partial(sb.KRR, k), (k - 2) / k) for k in (2, 256)),
    *((make, 0.5) for make in OVER_DOMAINS),
]


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("make", [make for make, _ in TELLING_NOTHING])
def test_ties_are_outputs_of_equal_likelihood(make, eps0):
    randomizer = make(eps0)
    for found in (randomizer.blanket(), *randomizer.dataset_pairs().values()):
        assert found.ties.tolist() == np.isclose(found.a, found.b, rtol=1e-9).tolist()


@pytest.mark.parametrize("eps0", [1e-300, 1e-15])
@pytest.mark.parametrize(("make", "share"), TELLING_NOTHING)
def test_what_rounding_makes_equal_is_not_tied(make, share, eps0):
    """At an ε₀ that floats cannot tell from 0 only what is equal by construction is."""
    randomizer = make(eps0)
    blanket = randomizer.blanket()
    assert math.isclose(blanket.a[blanket.ties].sum(), share, rel_tol=1e-9)
    assert not any(pair.ties.any() for pair in randomizer.dataset_pairs().values())


def test_equal_likelihoods_of_any_mechanism_are_not_tied():
    """They may differ by less than a rounding unless it is known that they do not."""
    rows = sb.KRR(3, 1.0).matrix()
    assert not any(pair.ties.any() for pair in pairs_of_channel(rows).values())
    assert all(pair.ties.any() for pair in pairs_of_channel(rows, 1.0).values())


def test_customary_parameters_follow_eps0():
    assert sb.LocalHash(math.log(4.2)).hash_values == 5
    assert sb.LocalHash(300.0).hash_values == math.floor(math.exp(300.0)) + 1
    assert sb.Subset(math.log(3.0), 16).subset_size == 6
    assert sb.Subset(1e-3, 16).subset_size == 15
    assert sb.Subset(10.0, 16).subset_size == 1


MISTAKES = [
    (lambda: sb.KRR(100_000, 1.0).matrix(), r"^k must be an integer from 2 to 4096, got 100000$"),
    (lambda: sb.RAPPOR(300.0, 6).matrix(), r"^eps0 must be smaller .* got 300.0"),
    (lambda: sb.UnaryEncoding(1.0, noise=1.0), "noise must be .* 1e-100 <= noise < 1, got 1"),
    (lambda: sb.Subset(1.0, 1), "domain_size must be an integer from 2 to 9007199254740992"),
    (lambda: sb.Subset(1.0, 5, 5), "subset_size must be an integer from 1 to 4, got 5"),
    (lambda: sb.Subset(1.0, 2**53, 2**52).matrix(), "at most 16777216 prob"),
    (lambda: sb.PrivSet(1.0, 6, 3, 4), "subset_size must be an integer from 1 to 3"),
    (lambda: sb.PrivSet(1.0, 6, 6, 1), "items must be an integer from 1 to 5"),
    (lambda: sb.PrivSet(1.0, 60, 6, 10).matrix(), "at most 16777216 prob"),
    (lambda: sb.PrivUnit(1.0, 0.51), "cap must be a finite number with .* 0.5, got 0.51"),
    (lambda: sb.HadamardBlocks(1.0, 1), "blocks must be an integer from 2 to 9007199254740992"),
    (lambda: sb.HadamardBlocks(1.0, 4, 3), "domain_size must be an integer from 4"),
    (lambda: sb.HadamardBlocks(1.0, 4).matrix(), "domain_size must leave"),
    (lambda: sb.LocalHash(1.0, 4, 1), "hash_values must be an integer from 2 to .*"),
    (lambda: sb.Collision(1.0, 3, 3), "hash_values must be an integer from 4 to 900.* got 3"),
    (lambda: sb.Collision(1.0, 0, 3), "items must be an integer from 1 to 20"),
    (lambda: sb.Duchi(math.inf), "eps0 must be"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES)
def test_mistakes_are_told_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kind", OVER_DOMAINS)
def test_eps0_and_domain_size_are_checked(kind):
    for eps0 in (0.0, -1.0, math.nan, math.inf, 301.0, True, "1", None):
        with pytest.raises(ValueError, match=r"^eps0 must be .*0 < eps0 <= 300, got "):
            kind(eps0, 3)
    allowed = "^domain_size must be an integer from 2 to 1e300, got "
    for size in (1, 0, -3, 2.0, math.nan, True, "3", 10**400):
        with pytest.raises(ValueError, match=allowed):
            kind(1.0, size)


@pytest.mark.parametrize("kind", OVER_DOMAINS)
def test_matrix_only_of_small_domains(kind):
    for size in (None, kind.LARGEST_MATRIX + 1):
        with pytest.raises(ValueError, match=rf"2 to {kind.LARGEST_MATRIX} .* got {size}$"):
            kind(1.0, size).matrix()
    largest = kind(1.0, kind.LARGEST_MATRIX).matrix()
    np.testing.assert_allclose(largest.sum(axis=1), 1.0, rtol=1e-13)


@pytest.mark.parametrize("noise", [0.2, 0.9, 0.9999, 1 - 1e-9])
@pytest.mark.parametrize("size", [3, 5, 100, 10**5])
def test_crowds_of_unary_encoding_share_as_much_as_blankets(noise, size):
    randomizer = sb.UnaryEncoding(2.0, domain_size=size, noise=noise)
    [crowd] = randomizer.crowds()
    shared = math.fsum(randomizer.blanket().c)
    assert math.fsum(crowd.c) <= shared * (1.0 + 2.0 * crowd.rel_err)
    assert math.fsum(crowd.c) == pytest.approx(shared, rel=1e-12)


@pytest.mark.parametrize("size", [2, 4, None])
def test_unary_encoding_has_the_others_among_its_choices(size):
    """Bits whose chances are those of OUE, RAPPOR and BLH have their decompositions."""
    for other, noise in (
        (sb.OUE, 1 / (math.e**2 + 1)),
        (sb.RAPPOR, 1 / (math.e + 1)),
        (sb.BLH, 0.5),
    ):
        one = sb.UnaryEncoding(2.0, domain_size=size, noise=noise)
        for found, expected in (
            (one.blanket(), other(2.0, domain_size=size).blanket()),
            (one.dataset_pair(), other(2.0, domain_size=size).dataset_pair()),
        ):
            assert_same(found, expected.a, expected.b, expected.c, 1e-13)
