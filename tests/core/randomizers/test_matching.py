"""Mechanisms with reports that match or not, and Duchi's: their bounds against their definitions.

The definitions are written down here once more, in rational arithmetic at e^{ε₀} = 4 or 9/4.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from oracles import exact
from scipy.linalg import hadamard

import shufflebounds as sb
from shufflebounds.randomizers.base import CLOSED_FORM_ERR


def normalized(weights):
    return [[Fraction(w) / sum(row) for w in row] for row in weights]


def subsets(d, k, e):
    sets = list(itertools.combinations(range(d), k))
    return normalized([[e if x in y else 1 for y in sets] for x in range(d)])


def private_sets(d, s, k, e):
    sent = list(itertools.combinations(range(d), k))
    held = itertools.combinations(range(d), s)
    return normalized([[e if set(x) & set(y) else 1 for y in sent] for x in held])


def blocks(count, d, e):
    order = next(2**j for j in itertools.count(1) if 2**j > math.ceil(d / count))
    signs = hadamard(order)
    rows = []
    for x in range(d):
        row = [1] * (count * order)
        for column in range(order):
            if signs[x // count + 1][column] > 0:
                row[(x % count) * order + column] = e
        rows.append(row)
    return normalized(rows)


def hashes(size, values, e):
    functions = itertools.product(range(values), repeat=size)
    reports = list(itertools.product(functions, range(values)))
    return normalized([[e if h[x] == z else 1 for h, z in reports] for x in range(size)])


def windows(points, length, e):
    """Directions of the circle, in steps of 1/points."""
    return normalized(
        [[e if (y - x) % points < length else 1 for y in range(points)] for x in range(points)]
    )


def pieces(h, inputs):
    """The piecewise mechanism by the densities of its inventors, on cells that all windows fit."""
    end = (h + 1) / (h - 1)
    starts = [(end + 1) / 2 * x - (end - 1) / 2 for x in inputs]
    cuts = sorted({-end, end, *starts, *(start + end - 1 for start in starts)})
    high = (h * h - h) / (2 * h + 2)
    return [
        [
            (high if start <= low and up <= start + end - 1 else high / h**2) * (up - low)
            for low, up in itertools.pairwise(cuts)
        ]
        for start in starts
    ]


HALF = [Fraction(x, 4) for x in range(-4, 5)]
CASES = {
    "subset 2 1": (sb.Subset(math.log(4), 2, 1), subsets(2, 1, 4), [(0, 1)]),
    "subset 3 2": (sb.Subset(math.log(4), 3, 2), subsets(3, 2, 4), [(0, 1), (2, 1)]),
    "subset 5 2": (sb.Subset(math.log(4), 5, 2), subsets(5, 2, 4), [(0, 1), (3, 4)]),
    "subset 6 4": (sb.Subset(math.log(4), 6, 4), subsets(6, 4, 4), [(0, 1), (5, 2)]),
    "privset 5 2 2": (sb.PrivSet(math.log(4), 5, 2, 2), private_sets(5, 2, 2, 4), [(0, 9)]),
    "privset 6 2 1": (sb.PrivSet(math.log(4), 6, 2, 1), private_sets(6, 2, 1, 4), [(0, 14)]),
    "privset 4 3 1": (sb.PrivSet(math.log(4), 4, 3, 1), private_sets(4, 3, 1, 4), [(0, 1)]),
    "privset 4 1 2": (sb.PrivSet(math.log(4), 4, 1, 2), subsets(4, 2, 4), [(0, 1)]),
    "blocks 2 2": (sb.HadamardBlocks(math.log(4), 2, 2), blocks(2, 2, 4), [(0, 1)]),
    "blocks 2 5": (sb.HadamardBlocks(math.log(4), 2, 5), blocks(2, 5, 4), [(0, 1), (2, 3)]),
    "blocks 3 9": (sb.HadamardBlocks(math.log(4), 3, 9), blocks(3, 9, 4), [(0, 1), (3, 2)]),
    "blocks 4 4": (sb.HadamardBlocks(math.log(4), 4, 4), blocks(4, 4, 4), [(0, 1), (3, 2)]),
    "hash 2 3": (sb.LocalHash(math.log(4), 2, 3), hashes(2, 3, 4), [(0, 1)]),
    "hash 3 3": (sb.LocalHash(math.log(4), 3, 3), hashes(3, 3, 4), [(0, 1), (2, 1)]),
    "hash 3 5": (sb.LocalHash(math.log(4), 3), hashes(3, 5, 4), [(0, 1), (2, 1)]),
    "hash 4 2": (sb.LocalHash(math.log(4), 4, 2), hashes(4, 2, 4), [(0, 1), (2, 1)]),
    "cap 1/4": (sb.PrivUnit(math.log(4), 0.25), windows(8, 2, 4), [(0, 4), (3, 5)]),
    "cap 1/2": (sb.PrivUnit(math.log(4), 0.5), windows(8, 4, 4), [(0, 4)]),
    "piecewise h = 2": (sb.Piecewise(math.log(4)), pieces(Fraction(2), HALF), [(0, 8)]),
    "piecewise h = 3/2": (sb.Piecewise(math.log(2.25)), pieces(Fraction(3, 2), HALF), [(0, 8)]),
    "piecewise h = 5": (sb.Piecewise(math.log(25)), pieces(Fraction(5), HALF), [(0, 8)]),
    "duchi": (
        sb.Duchi(math.log(4)),
        [[(1 + x * Fraction(3, 5)) / 2, (1 - x * Fraction(3, 5)) / 2] for x in HALF],
        [(0, 8), (8, 0)],
    ),
}
# A third input that is as far from the worst pair as they are from each other, by its row.
THIRD = {
    "subset 3 2": 2,
    "subset 5 2": 4,
    "subset 6 4": 2,
    "privset 6 2 1": (0, 9, 14),
    "privset 4 1 2": 3,
    "blocks 3 9": 2,
    "blocks 4 4": 3,
    "hash 3 3": 2,
    "hash 3 5": 2,
    "hash 4 2": 3,
    "piecewise h = 2": 4,
    "piecewise h = 3/2": 4,
    "piecewise h = 5": 4,
    "duchi": 4,
}


def merged(a, b, c):
    """Masses by the ratios a : b : c, the outputs that neither input gives left out."""
    masses = {}
    for x, y, z in zip(a, b, c, strict=True):
        if max(x, y) > 1e-14:  # windows that just touch, but for the rounding of ε₀
            key = (round(float(x / z), 9), round(float(y / z), 9)) if z else (math.inf,) * 2
            masses[key] = np.add(masses.get(key, 0.0), [float(x), float(y), float(z)])
    return masses


def assert_same(decomposition, a, b, c):
    mine = merged(decomposition.a, decomposition.b, decomposition.c)
    its = merged(a, b, c)
    assert mine.keys() == its.keys()
    for key, masses in its.items():
        np.testing.assert_allclose(mine[key], masses, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_blanket_is_that_of_the_worst_pair(name):
    randomizer, rows, worst = CASES[name]
    assert all(sum(row) == 1 for row in rows)
    sure = [min(column) for column in zip(*rows, strict=True)]
    ratios = [max(column) / min(column) for column in zip(*rows, strict=True)]
    assert float(max(ratios)) == pytest.approx(math.exp(randomizer.eps0), rel=1e-12)
    blanket = randomizer.blanket()
    for x0, x1 in worst:
        assert_same(blanket, rows[x0], rows[x1], sure)
    assert blanket.is_symmetric()


@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_inputs_is_worse_than_the_blanket(name):
    """One pair of those with the same masses in another order of the outputs."""
    randomizer, rows, _ = CASES[name]
    blanket = randomizer.blanket()
    sure = [min(column) for column in zip(*rows, strict=True)]
    different = {}
    for x0, x1 in itertools.permutations(rows[:9], 2):
        masses = tuple(sorted(zip(x0, x1, sure, strict=True)))
        different[masses] = sb.Decomposition(*np.array(masses, float).T, rel_err=1e-14).merge()
    for n, share in itertools.product((1, 2, 5), (0.0, 0.2, 0.5, 0.9)):
        eps = share * randomizer.eps0
        bound = exact(blanket, eps, n).upper
        assert all(exact(pair, eps, n).lower <= bound for pair in different.values())


@pytest.mark.parametrize("name", CASES)
def test_dataset_pairs_are_those_of_the_definition(name):
    randomizer, rows, [(x0, x1), *_] = CASES[name]
    pairs = randomizer.dataset_pairs()
    assert set(pairs) == ({"x1", "third"} if name in THIRD else {"x1"})
    assert_same(pairs["x1"], rows[x0], rows[x1], rows[x1])
    if name in THIRD:
        third = THIRD[name]
        x0, x1, x2 = third if isinstance(third, tuple) else (x0, x1, third)
        assert list(pairs) == ["third", "x1"]
        assert_same(pairs["third"], rows[x0], rows[x1], rows[x2])


@pytest.mark.parametrize("name", [n for n in CASES if n[:4] in ("subs", "priv", "bloc")])
def test_matrix_is_the_definition(name):
    randomizer, rows, _ = CASES[name]
    np.testing.assert_allclose(randomizer.matrix(), np.array(rows, float), rtol=1e-13)


def test_matrix_of_privunit_and_of_duchi():
    expected = np.array([[4, 1, 2], [1, 4, 2]]) / 7
    np.testing.assert_allclose(sb.PrivUnit(math.log(4), 0.25).matrix(), expected, rtol=1e-14)
    expected = np.array([[4, 1], [1, 4]]) / 5
    np.testing.assert_allclose(sb.Duchi(math.log(4)).matrix(), expected, rtol=1e-14)


def test_density_of_the_piecewise_mechanism():
    """At e^{ε₀} = 4 reports lie in [−3, 3] and the window of x runs from 2x − 1 to 2x + 1."""
    piecewise = sb.Piecewise(math.log(4))
    for x, y, density in [
        (0.0, 0.0, 1 / 3),
        (0.0, 0.99, 1 / 3),
        (0.0, 1.01, 1 / 12),
        (1.0, 2.9, 1 / 3),
        (1.0, 0.9, 1 / 12),
        (-0.5, -1.9, 1 / 3),
        (0.0, 3.01, 0.0),
        (0.0, -3.01, 0.0),
    ]:
        assert piecewise.density(x, y) == pytest.approx(density, rel=1e-13)


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


@pytest.mark.parametrize("eps0", [1e-6, 0.1, 1.0, 12.5, 50.0, 300.0])
def test_blankets_keep_their_promise_of_accuracy(eps0):
    with mpmath.workdps(400):
        e, h = mpmath.exp(mpmath.mpf(eps0)), mpmath.exp(mpmath.mpf(eps0) / 2)
        d, k = mpmath.mpf(128), mpmath.mpf(30)
        sets = (d - 1) * (k * e + d - k)
        cap = mpmath.mpf(0.3)
        l = mpmath.mpf(7)  # noqa: E741
        wanted = {
            sb.Subset(eps0, 128, 30): [
                k * (d - k) / sets,
                k * (k - 1) / sets,
                (d - k) * (d - k - 1) / sets,
            ],
            sb.PrivUnit(eps0, 0.3): [x / (cap * e + 1 - cap) for x in (cap, 0, 1 - 2 * cap)],
            sb.Piecewise(eps0): [1 / (h * (h + 1)), 0, (h - 1) / (h + 1) / h],
            sb.HadamardBlocks(eps0, 5): [1 / (e + 9), 0, 8 / (e + 9)],
            sb.LocalHash(eps0, hash_values=7): [
                x / (e + l - 1) for x in (1 - 1 / l, 1 / l, (1 - 1 / l) * (l - 2) + (l - 1) / l)
            ],
            sb.Duchi(eps0): [1 / (e + 1), 0, 0],
        }
        for randomizer, (p, q, r) in wanted.items():
            blanket = randomizer.blanket()
            rows = [(e * p, p, p), (p, e * p, p), (e * q, e * q, q), (r, r, r)]
            got = zip(blanket.a, blanket.b, blanket.c, strict=True)
            for mine, its in zip(got, [row for row in rows if row[2]], strict=True):
                for x, y in zip(mine, its, strict=True):
                    assert abs(mpmath.mpf(float(x)) / y - 1) <= blanket.rel_err == CLOSED_FORM_ERR


def test_customary_parameters_follow_eps0():
    assert sb.LocalHash(math.log(4.2)).hash_values == 5
    assert sb.LocalHash(300.0).hash_values == math.floor(math.exp(300.0)) + 1
    assert sb.Subset(math.log(3.0), 16).subset_size == 6
    assert sb.Subset(1e-3, 16).subset_size == 15
    assert sb.Subset(10.0, 16).subset_size == 1


MISTAKES = [
    (lambda: sb.Subset(1.0, 1), "domain_size must be an integer from 2 to 9007199254740992"),
    (lambda: sb.Subset(1.0, 5, 5), "subset_size must be an integer from 1 to 4, got 5"),
    (lambda: sb.Subset(1.0, 60, 30).matrix(), "at most 10000000 prob"),
    (lambda: sb.Subset(1.0, 2**53, 2**52).matrix(), "at most 10000000 prob"),
    (lambda: sb.PrivSet(1.0, 6, 3, 4), "subset_size must be an integer from 1 to 3"),
    (lambda: sb.PrivSet(1.0, 6, 6, 1), "items must be an integer from 1 to 5"),
    (lambda: sb.PrivSet(1.0, 60, 6, 10).matrix(), "at most 10000000 prob"),
    (lambda: sb.PrivUnit(1.0, 0.51), "cap must be a number with .* 0.5, got 0.51"),
    (lambda: sb.HadamardBlocks(1.0, 1), "blocks must be an integer from 2 to 9007199254740992"),
    (lambda: sb.HadamardBlocks(1.0, 4, 3), "domain_size must be an integer >= 4"),
    (lambda: sb.HadamardBlocks(1.0, 4).matrix(), "domain_size must leave"),
    (lambda: sb.LocalHash(1.0, 4, 1), "hash_values must be an integer from 2 to .*"),
    (
        lambda: sb.Collision(1.0, 3, 3),
        "hash_values must be an integer from 4 to 9007199254740992, got 3",
    ),
    (lambda: sb.Collision(1.0, 0, 3), "items must be an integer from 1 to 20"),
    (lambda: sb.Duchi(math.inf), "eps0 must be"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES)
def test_mistakes_are_told_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
