"""What a decomposition takes for masses, and that nothing changes it afterwards."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import shuffles
from enumeration import brute_force, precise_exp
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import shufflebounds as sb
from shufflebounds.core.enclosure import reached

ULP = 2.0**-53
THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    "masses",
    [
        [0.25, 0.75],
        [Fraction(1, 4), 0.75],
        np.array([0.25, 0.75], dtype=np.float16),
        np.array([0.25, 0.75], dtype=np.longdouble),
        np.array([Fraction(1, 4), Decimal("0.75")], dtype=object),
        (np.float32(0.25), 0.75),
    ],
)
def test_numbers_that_are_floats_are_not_uncertain(masses):
    decomposition = sb.Decomposition(masses, masses, masses)
    assert decomposition.a.dtype == np.float64
    assert decomposition.a.tolist() == [0.25, 0.75]
    assert decomposition.rel_err == 0.0
    assert sb.Decomposition([1], [1], [0]).rel_err == 0.0


@pytest.mark.parametrize(
    "masses",
    [
        [THIRD, 2 * THIRD],
        np.array([THIRD, 2 * THIRD]),
        np.array([1, 2], dtype=np.longdouble) / 3,
        [Decimal("0.1"), Decimal("0.9")],
        [Decimal("0.1"), 0.9],
    ],
)
def test_rounding_is_charged(masses):
    exact = [0.25, 0.75]
    for arrays in ((masses, exact, exact), (exact, masses, exact), (exact, exact, masses)):
        assert sb.Decomposition(*arrays).rel_err == ULP
        assert sb.Decomposition(*arrays, rel_err=ULP).rel_err > 2.0 * ULP


@given(st.data(), st.integers(1, 3), st.fractions(0, 2, max_denominator=50))
@examples(60)
def test_fractions_mean_what_they_are(data, n, eps):
    weights = st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(any)
    a, b, c = (
        [Fraction(x, sum(law)) for x in law] for law in (data.draw(weights) for _ in range(3))
    )
    exp_eps = precise_exp(eps)
    true = max(brute_force(a, b, c, exp_eps, n), brute_force(b, a, c, exp_eps, n))
    found = reached(lambda: sb.delta(sb.Decomposition(a, b, c), eps, n))
    assert Fraction(found.lower) <= true <= Fraction(found.upper)


@pytest.mark.parametrize(
    "wrong",
    [
        ["0.25", "0.75"],
        np.array(["0.25", "0.75"], dtype=object),
        np.array([0.25, 0.75j], dtype=object),
        np.ma.array([0.25, 0.75], mask=[False, True]),
        [0.25, np.ma.masked],
        [True, False],
        np.array([True, 0.0], dtype=object),
        [None, 1.0],
        [[0.25], [0.5, 0.25]],
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        [Decimal("NaN"), 1.0],
        [10**400, 1.0],
        [Fraction(1, 10**400), 1.0],
        [np.longdouble("1e-400"), 1.0],
        None,
        0.5,
    ],
)
def test_what_is_no_array_of_masses_is_refused(wrong):
    good = np.array([0.25, 0.75])
    for i, name in enumerate("abc"):
        arrays = [good, good, good]
        arrays[i] = wrong
        with pytest.raises(ValueError, match=f"^{name} must "):
            sb.Decomposition(*arrays)


@pytest.mark.parametrize("rel_err", [-5, -1e-9, 1e-3, math.nan, math.inf, "0", None, True, THIRD])
def test_rel_err_is_checked(rel_err):
    with pytest.raises(ValueError, match=r"^rel_err must be a "):
        sb.Decomposition([1.0], [1.0], [1.0], rel_err=rel_err)
    with pytest.raises(ValueError, match=r"^rel_err must be a "):
        sb.Decomposition([THIRD, 2 * THIRD], [1.0, 0.0], [0.0, 0.0], rel_err=rel_err)


def test_what_is_tied_by_default():
    """What is exact, and nothing else."""
    a, b, c = [0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25] * 3
    assert sb.Decomposition(a, b, c).ties.tolist() == [False, False, True]
    assert not sb.Decomposition(a, b, c, 1e-16).ties.any()
    assert not sb.Decomposition([THIRD, 1 - THIRD], [THIRD, 1 - THIRD], c[:2]).ties.any()


@pytest.mark.parametrize(
    "tied",
    [
        [True, False, True],
        [1, 0, 1],
        [False, True],
        True,
        "x",
        [[False, False, True]],
        [[False], [False, True]],
        np.ma.array([False, False, True], mask=[False, False, True]),
    ],
)
def test_what_cannot_be_tied_is_refused(tied):
    with pytest.raises(ValueError, match=r"^tied must hold a truth value per component"):
        sb.Decomposition([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25] * 3, tied=tied)


def test_ties_are_read_once():
    """Neither who gave them nor a copy changes what is said of other numbers."""
    masses = [0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25] * 3
    given = np.array([False, False, True])
    said = sb.Decomposition(*masses, 1e-9, tied=given)
    given[:] = False
    assert replace(said, rel_err=1e-6).ties.tolist() == [False, False, True]
    for one in copies(sb.Decomposition(*masses)):
        assert one.ties.tolist() == [False, False, True]
        assert not replace(one, rel_err=1e-6).ties.any()


def test_ties_are_kept_apart():
    """What is tied is united with what is not by no operation, and survives all of them."""
    loose = np.array([False, True, False, False])
    one = sb.Decomposition([0.25] * 4, [0.25] * 4, [0.25] * 4, tied=loose)
    other = sb.Decomposition([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25] * 3)
    assert one.merge().a[one.merge().ties].tolist() == [0.25]
    assert one.joint(one).a.tolist() == [0.9375, 0.0625]
    assert one.joint(one).ties.tolist() == [False, True]
    assert one.swap().ties.tolist() == loose.tolist()
    assert one.same_input().ties.tolist() == [True]
    assert other.joint(other).a[other.joint(other).ties].tolist() == [0.0625]
    mixed = sb.subsample(other, 0.25)
    assert mixed.a[mixed.ties].tolist() == [0.8125]
    ((inner, outer),) = mixed.directions
    assert inner is outer
    assert inner.a[inner.ties].tolist() == [0.8125]


@pytest.mark.parametrize("eps", [Fraction(1, 3), Fraction(2, 3), np.longdouble(1) / 3, 2**53 + 1])
def test_eps_that_is_no_float(eps):
    """D at ε itself lies in the enclosure, though D at the nearest float may not."""
    pair = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25])
    found = sb.delta(pair, eps, 3)
    near = sb.delta(pair, float(eps), 3)
    assert found.lower <= near.lower <= near.upper <= found.upper
    if isinstance(eps, Fraction):
        masses = [[Fraction(x) for x in y.tolist()] for y in (pair.a, pair.b, pair.c)]
        true = brute_force(*masses, precise_exp(eps), 3)
        assert Fraction(found.lower) <= true <= Fraction(found.upper)
        assert found.relative_width < 1e-12
    # Where it cannot be told from outside, it is refused.
    with pytest.raises(ValueError, match="eps must be a number that a float holds exactly"):
        pair.gparv(eps)


def test_delta_that_is_no_float():
    pair = sb.KRR(3, 1.0).blanket()
    found = sb.epsilon(pair, 100, Fraction(1, 10**5))
    near = sb.epsilon(pair, 100, 1e-5)
    assert found.relative_width < 2e-4
    assert max(found.lower, near.lower) <= min(found.upper, near.upper)


def test_numbers_that_floats_hold_are_those_floats():
    pair = sb.KRR(3, 1.0).blanket()
    half = sb.delta(pair, 0.5, 100)
    assert half == sb.delta(pair, Fraction(1, 2), 100) == sb.delta(pair, np.float32(0.5), 100)
    assert sb.KRR(3, Fraction(1, 2)).eps0 == 0.5
    with pytest.raises(ValueError, match="eps0 must be a number that a float holds exactly"):
        sb.KRR(3, Fraction(1, 3))


def test_rates_and_weights_that_are_no_floats():
    """That of ⊥ is the complement of the rate itself, not of its float."""
    part = sb.KRR(2, 1.0).blanket()

    def absent(rate):
        subsampled = sb.subsample(part, rate)
        return subsampled.c[subsampled.a == subsampled.b].item()

    assert absent(1 - Fraction(1, 10**25)) == pytest.approx(1e-25, rel=1e-12, abs=0.0)
    assert absent(np.float32(0.3)) == pytest.approx(1.0 - float(np.float32(0.3)), rel=1e-14)
    with pytest.raises(ValueError, match="rate must be"):
        sb.subsample(part, Fraction(1, 10**400))


def test_values_beyond_the_range_of_floats():
    pair = sb.Decomposition([0.5, 0.5], [0.0, 1.0], [0.5, 1e-100])
    values, _ = pair.gparv(690.0)
    assert values.tolist() == [1.0, -math.inf, 0.0]
    with pytest.raises(ValueError, match=r"^eps must be at most 700 "):
        pair.gparv(701.0)


def copies(decomposition):
    return [
        pickle.loads(pickle.dumps(decomposition)),
        copy.copy(decomposition),
        copy.deepcopy(decomposition),
    ]


@pytest.mark.parametrize("evaluated", [False, True])
def test_copies_are_read_only(evaluated):
    decomposition = sb.Laplace(1.0, cells=5).blanket()
    if evaluated:  # what was computed of it lies in the object
        sb.delta(decomposition, 0.1, 100)
        assert decomposition.asymmetry == 0.0
    for copied in copies(decomposition):
        assert copied.rel_err == decomposition.rel_err
        for one, two in ((copied, decomposition), (copied.inner, decomposition.inner)):
            for name in ("a", "b", "c", "ties"):
                mine = getattr(one, name)
                np.testing.assert_array_equal(mine, getattr(two, name))
                with pytest.raises(ValueError, match="read-only"):
                    mine[0] = False
        assert copied.outer is None
        assert sb.delta(copied, 0.1, 100) == sb.delta(decomposition, 0.1, 100)


def test_a_precision_error_survives_pickling():
    error = sb.PrecisionError("too wide", sb.Enclosure(1.0, 2.0))
    error.add_note("for n = 3")
    for copied in copies(error):
        assert type(copied) is sb.PrecisionError
        assert str(copied) == "too wide"
        assert copied.enclosure == sb.Enclosure(1.0, 2.0)
        assert copied.__notes__ == ["for n = 3"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda R: sb.standard_clone(1.0).joint(R),
        lambda R: sb.subsample(R, 0.5),
        lambda R: sb.parallel([(1.0, R)]),
    ],
)
def test_what_takes_no_randomizer_says_which_of_its_decompositions_to_take(ask):
    with pytest.raises(ValueError, match=r"got KRR\(k=10.*take its blanket\(\) for what you"):
        ask(sb.KRR(10, 2.0))


@pytest.mark.parametrize("off", [9e-10, -9e-10])
@pytest.mark.parametrize("rounds", [1, 3])
def test_sums_that_are_off_are_charged(off, rounds):
    """A report tells with probability t: δ = 1 − (1 − t)^T, of a and b over their sums."""
    telling = sb.Decomposition([0.6 + off, 0.4, 0.0], [0.6 + off, 0.0, 0.4], [0.3, 0.0, 0.0])
    found = reached(lambda: sb.delta(telling, 1.0, 1, rounds=rounds))
    t = Fraction(telling.a[1]) / sum(map(Fraction, telling.a.tolist()))
    assert found.lower <= 1 - (1 - t) ** rounds <= found.upper


def test_ties_outlast_sums_that_are_off_alike():
    equal = sb.Decomposition([0.3, 0.7], [0.3, 0.7], [0.1, 0.1])
    assert equal.rel_err > 0.0
    assert all(one.ties.all() for one in [equal, *copies(equal)])
    assert not sb.Decomposition([0.3, 0.7], [0.3, 0.7 + 1e-12], [0.1, 0.1]).ties.any()
    assert not sb.Decomposition([0.3, 0.7], [0.3, 0.7], [0.1, 0.1], 1e-18).ties.any()


def test_sums_of_c_above_1_by_rounding():
    """As of a file with ten digits: what c stands for sums to at most 1."""
    rounded = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.5, 0.5 + 9e-10])
    found = reached(lambda: sb.delta(rounded, 0.1, 5))
    low, high = shuffles.divergence(shuffles.pair_of(rounded, 5), 0.1)
    assert sum(map(Fraction, rounded.c.tolist())) > 1
    assert found.lower <= high
    assert low <= found.upper
    with pytest.raises(ValueError, match="c must sum to at most 1"):
        sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.5, 0.5 + 2e-9])
