"""Decompositions in fewer components for one focus: order in fractions, loss by asking."""

import functools
import math
import random

import numpy as np
import pytest
from convex_order import JOINTS, alone, assert_ordered, joint

import shufflebounds as sb
from shufflebounds.divergence.engine import divergence
from shufflebounds.divergence.saddlepoint import log_estimate
from shufflebounds.divergence.strips import Focus, sketch, spread, united


@pytest.fixture(params=JOINTS)
def before_and_after(request, monkeypatch):
    """(sign, one end, the same in fewer components), so few that the difference shows."""
    monkeypatch.setattr("shufflebounds.divergence.strips._MAX_UNCHANGED", 0)
    monkeypatch.setattr("shufflebounds.divergence.strips._MIN_STRIPS", 40.0)
    (inner, outer), eps = alone(joint(request.param)), JOINTS[request.param][1]
    focus = Focus.about(sketch(outer), eps, 1000, 1e-6, 1e6)
    found = [(-1, inner, united(inner, focus)), (1, outer, spread(outer, focus))]
    for _, old, new in found:
        assert len(new) < 0.8 * len(old)
    return found


@pytest.mark.parametrize("seed", range(2))
def test_united_is_below_and_spread_above_for_every_convex_function(before_and_after, seed):
    source = random.Random(seed)
    for sign, before, after in before_and_after:
        assert_ordered(before, after, sign, source, sums=5)


@pytest.mark.parametrize(
    ("factors", "rate", "n", "eps"),
    [
        ([sb.Laplace(0.5, 10).blanket()] * 4, 1.0, 10**6, 0.025),
        ([sb.Laplace(1.0, 20).blanket()] * 4, 0.01, 200, 1.7),
        ([sb.Laplace(4.0, 60).dataset_pair()] * 4, 1e-2, 10**5, 4.712),
        ([sb.Laplace(2.0, 60).blanket()] * 2, 1e-4, 10**6, 2.53e-4),
    ],
)
def test_little_is_lost_where_it_was_asked_about(factors, rate, n, eps):
    """No more than some times what is aimed at, with D from the laws of all components."""
    whole = sb.subsample(functools.reduce(sb.Decomposition.joint, factors), rate)
    inner, outer = whole.directions[0]
    log, slope, _ = log_estimate(outer, eps, n)
    loss = 3e-6 * -slope * eps
    exact = divergence(outer, eps, n, 1e-3)
    assert exact.lower > 0.0
    assert math.isfinite(log)
    focus = Focus.about(sketch(outer), eps, n, exact.upper, loss)
    for before, after in ((inner, united(inner, focus)), (outer, spread(outer, focus))):
        assert len(after) < len(before)
        old, new = (divergence(one, eps, n, 0.2 * loss) for one in (before, after))
        logs = [math.log(x) for x in (old.lower, old.upper, new.lower, new.upper)]
        assert max(logs) - min(logs) <= 4.0 * loss


def test_left_as_they_are():
    """What is short, has masses of 0 or nothing to gain, or is asked about where floats end."""
    inner, eps = alone(joint("blankets"))[0], JOINTS["blankets"][1]
    focus = Focus.about(sketch(inner), eps, 1000, 1e-6, 1e-2)
    short = sb.Laplace(1.0).blanket()
    hidden = sb.Decomposition(np.full(400, 1 / 400), np.full(400, 1 / 400), np.zeros(400))
    for change in (united, spread):
        assert change(short, focus) is short
        assert change(hidden, focus) is hidden
        assert change(inner, focus._replace(eps=400.0)) is inner
        assert change(inner, focus._replace(loss=1e-300)) is inner
        nothing = Focus.about(hidden, eps, 1000, 1e-6, 1e-2)
        assert change(inner, nothing) is inner


def test_one_value_only():
    """All components of the same value lie in one strip."""
    ratios = np.linspace(1.0, 2.0, 500)
    c = np.full(500, 1e-3)
    masses = np.append(ratios * c, 1.0 - (ratios * c).sum())
    like = sb.Decomposition(masses, masses, np.append(c, 0.4))
    inner, eps = alone(joint("blankets"))[0], JOINTS["blankets"][1]
    focus = Focus.about(sketch(inner), eps, 1000, 1e-6, 1e-2)._replace(eps=0.0)
    assert len(united(like, focus)) <= 2
    assert spread(like, focus) is like


@pytest.mark.parametrize("side", ["blanket", "dataset_pair"])
def test_sketch_is_short_and_alike(side):
    whole = functools.reduce(sb.Decomposition.joint, [getattr(sb.Laplace(1.0, 30), side)()] * 4)
    rough, few = sketch(whole), alone(joint("blankets"))[1]
    assert len(rough) < 0.9 * len(whole)
    for row, other in zip((whole.a, whole.b, whole.c), (rough.a, rough.b, rough.c), strict=True):
        assert math.isclose(row.sum(), other.sum(), rel_tol=1e-12)
    logs = [log_estimate(one, 0.1, 10**4)[0] for one in (rough, whole)]
    assert math.isclose(*logs, rel_tol=0.02)
    assert sketch(few) is few
