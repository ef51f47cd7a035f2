"""Joints of continuous reports in fewer components: order in fractions, precision by asking."""

import functools
import math
import random

import numpy as np
import pytest
from convex_order import assert_ordered
from engines import overlap
from oracles import exact

import shufflebounds as sb
from shufflebounds.randomizers import coarsening
from shufflebounds.randomizers.coarsening import STRIPS, coarsened, corners, cut, stakes
from shufflebounds.randomizers.joint import Joint

KINDS = {
    "blankets": [sb.Laplace(2.0, 6).blanket()] * 3,
    "pairs": [sb.Laplace(2.0, 9).dataset_pair()] * 4,
    "pairs on the interval": [
        sb.Laplace(1.0, 5, domain="interval", others=0.5).dataset_pair(),
        sb.Laplace(1.5, 6, domain="interval", others=1.0).dataset_pair(),
    ],
    "mixed": [sb.Laplace(1.0, 8).blanket(), sb.Laplace(0.7, 7).blanket(), sb.RAPPOR(1.0).blanket()],
    "of tiny eps0": [sb.Laplace(1e-8, 6).blanket()] * 3,
    "rare": [sb.subsample(sb.Laplace(3.0, 9).blanket(), 0.01)] * 2,
}


@pytest.fixture
def coarse(monkeypatch):
    """Coarsens whatever it is given, so far that the difference shows."""

    def given(joint, share=30.0):
        monkeypatch.setattr(coarsening, "_FEW", 0)
        monkeypatch.setattr(coarsening, "_SHORTER", 10.0)
        monkeypatch.setattr(coarsening, "_LEAST_BOXES", 0)
        monkeypatch.setattr(coarsening, "_INNER_SHARE", share)
        monkeypatch.setattr(coarsening, "_OUTER_SHARE", share)
        return coarsened(joint)

    return given


def product(factors):
    return functools.reduce(sb.Decomposition.joint, factors)


def alone(joint):
    """Both ends as decompositions of their own."""
    return [sb.Decomposition(end.a, end.b, end.c, end.rel_err) for end in joint.bounds()]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("factors", KINDS.values(), ids=KINDS)
def test_inner_is_below_and_outer_above_for_every_convex_function(factors, seed, coarse):
    source = random.Random(seed)
    joint = product(factors)
    few = coarse(joint)
    assert len(few.bounds()[0]) < len(joint.bounds()[0])
    for before, after, sign in zip(joint.bounds(), few.bounds(), (-1, 1), strict=True):
        assert_ordered(before, after, sign, source, sums=8)


@pytest.mark.parametrize("factors", KINDS.values(), ids=KINDS)
def test_few_users_by_enumeration(factors, coarse):
    joint = product(factors)
    few = coarse(joint)
    largest = math.log(np.max(joint.a / joint.b))
    for eps in (0.0, 0.2 * largest, 0.6 * largest):
        for n in (1, 2) if max(map(len, few.bounds())) < 190 else (1,):
            # The larger of both directions, as `delta` has it.
            below, above = (
                [exact(one, eps, n) for one in (end, end.swap())] for end in few.bounds()
            )
            truth = [sb.delta(end, eps, n) for end in alone(joint)]
            assert max(one.lower for one in below) <= truth[0].upper
            assert max(one.upper for one in above) >= truth[1].lower


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
    few = coarse(product(KINDS[kind]))
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


@pytest.mark.parametrize("share", [3.0, 30.0])
def test_ends_move_by_less_than_the_share(share, coarse, monkeypatch):
    """Share times distance bounds what ε moves by, at questions unlike those that were asked."""
    joint = product([sb.Laplace(1.0, 30).blanket()] * 2)
    ends = [np.stack([end.a, end.b, end.c]) for end in joint.bounds()]
    distance = stakes(*ends).distance
    few = coarse(joint, share)
    for n, delta in ((200, 1e-7), (3000, 1e-5), (10**6, 1e-9)):
        truth = [sb.epsilon(end, n, delta, rtol=1e-6) for end in alone(joint)]
        found = [sb.epsilon(end, n, delta, rtol=1e-6) for end in alone(few)]
        assert found[0].upper >= truth[0].lower * (1.0 - share * distance)
        assert found[1].lower <= truth[1].upper * (1.0 + share * distance)


@pytest.mark.parametrize("eps0", [0.3, 2.0])
def test_the_distance_is_what_the_ends_differ_by(eps0):
    joint = product([sb.Laplace(eps0, 12).blanket()] * 2)
    distance = stakes(*(np.stack([end.a, end.b, end.c]) for end in joint.bounds())).distance
    differences = []
    for n, delta in ((50, 1e-6), (1000, 1e-6), (10**6, 1e-9)):
        below, above = (sb.epsilon(end, n, delta, rtol=1e-6) for end in alone(joint))
        differences.append(above.upper / below.lower - 1.0)
    assert max(differences) <= 1.1 * distance
    assert max(differences) >= 0.3 * distance


def scattered(seed, size=400):
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(0.0, [[2.0], [1.0]], (2, size))), rng.random((2, size))


@pytest.mark.parametrize("seed", range(4))
def test_shares_at_corners_keep_the_means(seed):
    ratios, costs = scattered(seed)
    boxes = cut(ratios, costs * 10.0**seed)
    places, shares = corners(boxes.sides)
    assert shares.min() >= 0.0
    for axis, numbers in enumerate(np.divmod(places, STRIPS + 1)):
        at = boxes.sides[axis].borders[numbers]
        np.testing.assert_allclose((shares * at).sum(axis=0), ratios[axis], rtol=1e-14)
        assert (at.min(axis=0) <= ratios[axis]).all()
        assert (at.max(axis=0) >= ratios[axis]).all()
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-15)


def test_ratios_that_differ_by_rounding_are_one():
    ratios = np.stack([np.linspace(1.0, 2.0, 50), 1.0 + 1e-15 * np.arange(50)])
    boxes = cut(ratios, np.ones((2, 50)))
    side = boxes.sides[1]
    assert side.borders.size == 1
    assert np.abs(ratios[1] / side.borders[0] - 1.0).max() <= side.spread < 1e-13
    assert corners(boxes.sides)[0].shape == (2, 50)
