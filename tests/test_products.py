"""Products of decompositions in blocks, against sums over exact ratios in fractions."""

import functools
import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds import products


def exact_product(factors):
    """The (a, b, c) of a joint by their ratio a : b : c, in fractions."""
    product = [(Fraction(1), Fraction(1), Fraction(1))]
    for factor in factors:
        columns = (map(Fraction, x.tolist()) for x in (factor.a, factor.b, factor.c))
        masses = list(zip(*columns, strict=True))
        united = defaultdict(lambda: [Fraction(0)] * 3)
        for one in product:
            for two in masses:
                entry = tuple(x * y for x, y in zip(one, two, strict=True))
                scale = max(entry)
                ratio = tuple(x / scale for x in entry)
                united[ratio] = [x + y for x, y in zip(united[ratio], entry, strict=True)]
        product = list(united.values())
    return product


def dyadic(random, size):
    """Masses that are exact, whose ratios often coincide."""
    a = [random.choice([0, 1, 2, 4]) for _ in range(size)]
    b = [random.choice([1, 2, 4]) for _ in range(size)]
    c = [random.choice([0, 1, 1]) for _ in range(size)]
    return sb.Decomposition(*(np.array([*x, 256 - sum(x)]) * 2.0**-8 for x in (a, b, c)))


@pytest.mark.parametrize("block", [1, 7, 64, 2**20])
@pytest.mark.parametrize("seed", range(5))
def test_blocks_against_fractions(monkeypatch, block, seed):
    monkeypatch.setattr(products, "_BLOCK", block)
    source = random.Random(seed)
    factors = [dyadic(source, source.randint(2, 7)) for _ in range(3)]
    joint = factors[0].joint(factors[1]).joint(factors[2])
    truth = sorted(exact_product(factors))
    found = sorted(zip(joint.a.tolist(), joint.b.tolist(), joint.c.tolist(), strict=True))
    assert len(found) == len(truth)
    slack = Fraction(joint.rel_err)
    for entry, exact in zip(found, truth, strict=True):
        for x, y in zip(entry, exact, strict=True):
            assert abs(Fraction(x) - y) <= slack * y
    assert joint.rel_err <= 200 * 2.0**-53


@pytest.mark.parametrize("kept", [1, 12, 40])
@pytest.mark.parametrize("seed", range(3))
def test_uniting_as_blocks_go_against_fractions(monkeypatch, kept, seed):
    """United products of some blocks are united with those of later ones, again and again."""
    monkeypatch.setattr(products, "_BLOCK", 9)
    monkeypatch.setattr(products, "_KEPT", kept)
    source = random.Random(seed)
    factors = [dyadic(source, source.randint(4, 7)) for _ in range(4)]
    joint = functools.reduce(sb.Decomposition.joint, factors)
    truth = sorted(exact_product(factors))
    found = sorted(zip(joint.a.tolist(), joint.b.tolist(), joint.c.tolist(), strict=True))
    assert len(found) == len(truth)
    for entry, exact in zip(found, truth, strict=True):
        for x, y in zip(entry, exact, strict=True):
            assert abs(Fraction(x) - y) <= Fraction(joint.rel_err) * y
    assert joint.rel_err <= 1e-12


@pytest.mark.parametrize("block", [50, 2**20])
def test_ratios_that_rounding_splits_are_united(monkeypatch, block):
    monkeypatch.setattr(products, "_BLOCK", block)
    joint = sb.Joint([sb.KRR(10, 0.7)] * 6).blanket()
    # By how many reports are x1⁰, and how many x1¹.
    assert len(joint) == 28
    assert joint.rel_err < 1e-13


def test_keys_that_coincide_by_chance_unite_nothing(monkeypatch):
    """Labels that are wrong cost nothing: what differs is left apart."""
    monkeypatch.setattr(products, "_HASH", np.int64(0))
    monkeypatch.setattr(products, "_COARSE", 1 << 62)
    one = sb.KRR(3, 1.0).blanket()
    joint = one.joint(one)
    monkeypatch.undo()
    expected = one.joint(one)
    assert len(joint) == len(expected)
    np.testing.assert_allclose(np.sort(joint.a), np.sort(expected.a), rtol=1e-13)


@pytest.mark.parametrize("block", [1, 3, 2**20])
@pytest.mark.parametrize("kept", [1, 2**20])
def test_distinct_products_of_ratios(monkeypatch, block, kept):
    monkeypatch.setattr(products, "_BLOCK", block)
    monkeypatch.setattr(products, "_KEPT", kept)
    logs = products.log_ratios(np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    distinct = products.distinct_products(logs, logs)
    assert distinct.shape == (2, 3)
    assert products.distinct_products(distinct, logs).shape == (2, 4)
