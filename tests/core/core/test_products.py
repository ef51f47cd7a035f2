"""Products of decompositions in blocks, against sums over exact ratios in fractions."""

import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from convex_order import assert_ordered

import shufflebounds as sb
from shufflebounds.core import products


def exact_product(factors):
    """The (a, b, c) of a joint by their ratio a : b : c and whether a and b are tied."""
    product = {(True,): [Fraction(1)] * 3}
    for factor in factors:
        columns = (map(Fraction, x.tolist()) for x in (factor.a, factor.b, factor.c))
        masses = list(zip(factor.ties.tolist(), *columns, strict=True))
        united = defaultdict(lambda: [Fraction(0)] * 3)
        for (*_, tied), one in product.items():
            for both, *two in masses:
                entry = [x * y for x, y in zip(one, two, strict=True)]
                key = (*(x / max(entry) for x in entry), tied and both)
                united[key] = [x + y for x, y in zip(united[key], entry, strict=True)]
        product = united
    return [(*masses, tied) for (*_, tied), masses in product.items()]


def components(decomposition):
    """Tuples (a, b, c, tied)."""
    arrays = decomposition.a, decomposition.b, decomposition.c, decomposition.ties
    return list(zip(*(array.tolist() for array in arrays), strict=True))


def dyadic(random, size):
    """Masses that are exact, whose ratios often coincide."""
    a = [random.choice([0, 1, 2, 4]) for _ in range(size)]
    b = [random.choice([1, 2, 4]) for _ in range(size)]
    c = [random.choice([0, 1, 1]) for _ in range(size)]
    return sb.Decomposition(*(np.array([*x, 256 - sum(x)]) * 2.0**-8 for x in (a, b, c)))


@pytest.mark.parametrize("block", [1, 7, 64, 2**20])
@pytest.mark.parametrize("seed", range(5))
def test_blocks_against_fractions(monkeypatch, block, seed):
    monkeypatch.setattr(products, "_PAIRS_PER_BLOCK", block)
    source = random.Random(seed)
    factors = [dyadic(source, source.randint(2, 7)) for _ in range(3)]
    joint = factors[0].joint(factors[1]).joint(factors[2])
    truth, found = sorted(exact_product(factors)), sorted(components(joint))
    assert len(found) == len(truth)
    slack = Fraction(joint.rel_err)
    for entry, exact in zip(found, truth, strict=True):
        assert entry[3] == exact[3]
        for x, y in zip(entry[:3], exact[:3], strict=True):
            assert abs(Fraction(x) - y) <= slack * y
    assert joint.rel_err <= 200 * 2.0**-53


def test_a_block_of_what_the_victim_never_sends(monkeypatch):
    monkeypatch.setattr(products, "_PAIRS_PER_BLOCK", 2)
    one = sb.Decomposition([1.0, 0.0], [1.0, 0.0], [0.5, 0.5])
    two = sb.Decomposition([0.25, 0.75], [0.75, 0.25], [0.25, 0.25])
    expected = [(0.25, 0.75, 0.125, False), (0.75, 0.25, 0.125, False)]
    assert sorted(components(one.joint(two))) == expected


@pytest.mark.parametrize("block", [50, 2**20])
def test_ratios_that_rounding_splits_are_united(monkeypatch, block):
    monkeypatch.setattr(products, "_PAIRS_PER_BLOCK", block)
    joint = sb.Joint([sb.KRR(10, 0.7)] * 6).blanket()
    # By how many reports are x1⁰, and how many x1¹.
    assert len(joint) == 28
    assert joint.rel_err < 1e-13


# Ratios on a lattice.


def on_a_lattice(source, size, off):
    """Components of ratios e^{0.01 i} and their mirror images, off that by up to `off`."""
    c = [source.uniform(0.02, 1.0) for _ in range(size)]
    a, b = (np.exp(0.01 * np.array([source.randrange(12) for _ in c])) * c for _ in "ab")
    noise = np.array([1.0 + off * source.uniform(-1.0, 1.0) for _ in c])
    a, b, c = np.concatenate([a * noise, b]), np.concatenate([b, a * noise]), np.tile(c, 2)
    return sb.Decomposition(a / a.sum(), b / a.sum(), c / a.sum())


def lattices_found(monkeypatch):
    """What looking for lattices comes to, from now on."""
    found = []
    common_lattice = products.common_lattice

    def looked(one, two):
        found.append(common_lattice(one, two))
        return found[-1]

    monkeypatch.setattr(products, "_MIN_PAIRS_FOR_LATTICE", 0)
    monkeypatch.setattr(products, "common_lattice", looked)
    monkeypatch.setattr(products, "_MIN_FILLED_SHARE", 0.0)
    return found


@pytest.mark.parametrize("off", [0.0, 1e-12])
@pytest.mark.parametrize("seed", range(3))
def test_products_on_a_lattice_against_all_pairs_in_fractions(monkeypatch, seed, off):
    """Convex functions tell both apart by no more than errors of the entries."""
    source = random.Random(seed)
    one, two = (on_a_lattice(source, 9, off) for _ in range(2))
    pairs = (np.multiply.outer(getattr(one, x), getattr(two, x)).ravel() for x in "abc")
    truth = sb.Decomposition(*pairs)
    found = lattices_found(monkeypatch)
    joint = one.joint(two)
    assert len(joint) < 0.8 * len(truth)
    assert found[0].offset >= off / 10.0
    assert max(1e-15, off) < joint.rel_err < 40.0 * off + 1e-12
    for sign in (-1, 1):
        assert_ordered(truth, joint, sign, source, sums=20)


def test_what_is_on_no_lattice_or_a_large_one(monkeypatch):
    found = lattices_found(monkeypatch)
    rappor, krr = sb.RAPPOR(1.0).blanket(), sb.KRR(10, 0.7).blanket()
    assert len(rappor.joint(krr)) == 12
    assert found == [None]
    # Too many places, or hardly any of them filled.
    one = sb.Laplace(1.0, 9).blanket()
    for name, value in (("_MAX_LATTICE_PLACES", 100), ("_MIN_FILLED_SHARE", 1.1)):
        with monkeypatch.context() as patch:
            patch.setattr(products, name, value)
            assert len(one.joint(one)) == len(one.joint(one))
        assert found[-1] is None


def test_keys_that_coincide_by_chance_unite_nothing(monkeypatch):
    """Labels that are wrong cost nothing: what differs is left apart."""
    monkeypatch.setattr(products, "_KEY_FACTOR", np.int64(0))
    monkeypatch.setattr(products, "_UNITS_PER_KEY", 1 << 62)
    one = sb.KRR(3, 1.0).blanket()
    joint = one.joint(one)
    monkeypatch.undo()
    expected = one.joint(one)
    assert len(joint) == len(expected)
    np.testing.assert_allclose(np.sort(joint.a), np.sort(expected.a), rtol=1e-13)


@pytest.mark.parametrize("block", [1, 3, 2**20])
def test_distinct_products_of_ratios(monkeypatch, block):
    monkeypatch.setattr(products, "_PAIRS_PER_BLOCK", block)
    logs = products.log_ratios(np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    distinct = products.distinct_products(logs, logs)
    assert distinct.shape == (2, 3)
    assert products.distinct_products(distinct, logs).shape == (2, 4)


def test_a_lattice_of_more_places_than_an_int64_can_count_is_none():
    """Its 2³² by 2³² places are 0 modulo 2⁶⁴."""
    places = np.array([0.0, 1.0, 2.0**32 - 1.0])
    two = 2.0**-36 * np.stack([places, places])
    assert products.common_lattice(np.zeros((2, 1)), two) is None
