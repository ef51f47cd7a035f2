"""Joints of continuous reports in fewer components: order in fractions, precision by asking."""

import functools
import math
import random

import numpy as np
import pytest
from convex_order import JOINTS, alone, assert_ordered, joint
from engines import overlap

import shufflebounds as sb
from shufflebounds.randomizers import coarsening
from shufflebounds.randomizers.coarsening import Strips, coarsened
from shufflebounds.randomizers.joint import Joint


@pytest.fixture
def coarse(monkeypatch):
    """Coarsens whatever it is given, so far that the difference shows."""

    def given(joint, share=100.0):
        monkeypatch.setattr(coarsening, "_MAX_EXACT_COMPONENTS", 0)
        monkeypatch.setattr(coarsening, "_SQUARED_WIDTH", 10.0 * share)
        return coarsened(joint)

    return given


def product(factors):
    return functools.reduce(sb.Decomposition.joint, factors)


@pytest.mark.parametrize("kind", JOINTS)
def test_inner_is_below_and_outer_above_for_every_convex_function(kind, coarse):
    source, whole = random.Random(1), joint(kind)
    few = coarse(whole)
    assert len(few.bounds()[0]) < len(whole.bounds()[0])
    for before, after, sign in zip(alone(whole), alone(few), (-1, 1), strict=True):
        assert_ordered(before, after, sign, source, sums=20)


@pytest.mark.parametrize("mass", [0.2, 1e-10])
def test_nothing_is_lost_or_counted_twice_next_to_the_axis(mass, coarse):
    """a − b is no more than 10⁻⁹ of a, but more than that of b."""
    numbers = (mass * (1.0 + i / 4096.0) for i in range(4096))
    pairs = ((a, a - 1e-9 * a) for a in numbers)
    a, b = next((a, b) for a, b in pairs if 1e-9 * b < a - b <= 1e-9 * a)
    others = np.array([0.7, 0.3]) * (1.0 - a - b)
    end = sb.Decomposition([a, b, *others], [b, a, *others[::-1]], [0.5 * a, 0.5 * a, 0.1, 0.1])
    assert end.is_symmetric()
    few = coarse(sb.Decomposition(end.a, end.b, end.c, inner=end), 1e-30)
    for one in few.bounds():
        for before, after in ((end.a, one.a), (end.b, one.b), (end.c, one.c)):
            assert math.fsum(after) == pytest.approx(math.fsum(before), rel=1e-14)


@pytest.mark.parametrize("kind", ["blankets", "mixed", "of tiny eps0"])
def test_what_is_symmetric_stays_so(kind, coarse):
    few = coarse(joint(kind))
    assert few.is_symmetric()
    assert few.bounds()[0].is_symmetric()
    assert len(few.directions) == 1


def test_finite_short_and_empty_ones_are_left_alone(coarse):
    finite = product([sb.RAPPOR(1.0).blanket()] * 3)
    assert coarse(finite) is finite
    one = sb.Laplace(1.0, 4).blanket()
    short = one.joint(one)
    assert coarsened(short) is not short
    zeros = sb.Decomposition([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.4, 0.0, 0.5], inner=one.inner)
    assert coarse(zeros) is zeros
    tiny = sb.Decomposition([1e-260, 1.0], [1e-260, 1.0], [1e-260, 0.5], inner=one.inner)
    assert coarse(tiny) is tiny


@pytest.mark.parametrize(("eps0", "k"), [(12.0, 3), (40.0, 3), (50.0, 4), (0.001, 4)])
@pytest.mark.parametrize("which", ["blanket", "dataset_pair"])
def test_ratios_of_any_width(eps0, k, which, coarse):
    """Some beyond what is coarsened, all of them without a word of warning."""
    joint = product([getattr(sb.Laplace(eps0, 5), which)()] * k)
    few = coarse(joint)
    for before, after, sign in zip(alone(joint), alone(few), (-1.0, 1.0), strict=True):
        for eps in (0.0, 0.5 * eps0 * k, 0.95 * eps0 * k):
            old, new = (
                math.fsum(np.maximum(one.a - math.exp(eps) * one.b, 0.0)) for one in (before, after)
            )
            assert sign * (new - old) >= -1e-9 * old


@pytest.mark.parametrize(("eps0", "k"), [(0.5, 5), (2.0, 3), (8.0, 2)])
def test_joints_have_fewer_components_and_say_as_much(eps0, k):
    parts = [sb.Laplace(eps0).blanket()] * k
    joint, few = product(parts), Joint([sb.Laplace(eps0)] * k).blanket()
    assert len(few.inner) < 0.7 * len(joint.inner)
    for n, delta in ((10**5, 1e-8), (10**8, 1e-6)):
        before, after = (sb.epsilon(one, n, delta) for one in (joint, few))
        assert overlap(after, before)
        assert after.relative_width < 2e-4


@pytest.mark.parametrize("cost", [1.0, 1e3, 1e6])
def test_shares_at_the_borders_keep_the_means(cost):
    rng = np.random.default_rng(int(cost))
    ratios = np.exp(rng.normal(0.0, 2.0, 400))
    strips = Strips.of(ratios, cost * rng.random(400))
    borders, shares = strips.ends()
    at = strips.borders[borders]
    assert shares.min() >= 0.0
    assert (at[0] <= ratios).all()
    assert (at[1] >= ratios).all()
    assert np.log(np.diff(strips.borders) / strips.borders[:-1] + 1.0).max() <= 4.0 + 1e-12
    np.testing.assert_allclose((shares * at).sum(axis=0), ratios, rtol=1e-14)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-15)


def test_ratios_that_differ_by_rounding_are_one():
    ratios = 1.0 + 2.0**-52 * np.array([0, 1, 3, 1000])
    strips = Strips.of(ratios, np.ones(4))
    assert strips.borders.tolist() == [1.0]
    assert ratios.max() - 1.0 <= strips.max_error < 1e-11


def test_strips_are_no_narrower_than_floats_lie_apart():
    """Where nearly all of what precision is worth is at one ratio."""
    ratios = 1.0 + 1e-11 * np.array([0.0, *[1.0] * 98, 2.0])
    strips = Strips.of(ratios, np.full(100, 1e40))
    assert (np.diff(strips.borders) > 0.0).all()
    assert np.isfinite(strips.ends()[1]).all()
