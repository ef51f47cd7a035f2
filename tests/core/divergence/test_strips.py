"""Decompositions in fewer components for one focus: order in fractions, loss by asking."""

import functools
import math
import random

import numpy as np
import pytest
from convex_order import assert_ordered

import shufflebounds as sb
from shufflebounds.divergence.convex_order import Focus, sketch, spread, united
from shufflebounds.divergence.engine import divergence
from shufflebounds.divergence.estimates import log_estimate

KINDS = {
    "blankets": ([sb.Laplace(2.0, 6).blanket()] * 3, 0.3),
    "blankets, most of them losses": ([sb.Laplace(2.0, 6).blanket()] * 3, 4.0),
    "pairs": ([sb.Laplace(3.0, 90).dataset_pair()] * 2, 1.0),
    "pairs the other way": ([sb.Laplace(3.0, 90).dataset_pair().swap()] * 2, 1.0),
    "pairs on the interval": (
        [
            sb.Laplace(1.0, 9, domain="interval", others=0.5).dataset_pair(),
            sb.Laplace(1.5, 11, domain="interval", others=1.0).dataset_pair(),
        ],
        0.2,
    ),
    "of tiny eps0": ([sb.Laplace(1e-8, 6).blanket()] * 3, 1e-9),
    "of large eps0": ([sb.Laplace(20.0, 15).blanket()] * 2, 18.0),
    "rare": ([sb.subsample(sb.Laplace(3.0, 9).blanket(), 0.01)] * 2, 0.4),
}


@functools.cache
def ends(kind):
    """Both ends of a joint as decompositions of their own, and an ε to ask about."""
    factors, eps = KINDS[kind]
    joint = functools.reduce(sb.Decomposition.joint, factors)
    return *(sb.Decomposition(x.a, x.b, x.c, x.rel_err) for x in joint.bounds()), eps


@pytest.fixture(params=KINDS)
def before_and_after(request, monkeypatch):
    """(sign, one end, the same in fewer components), so few that the difference shows."""
    monkeypatch.setattr("shufflebounds.divergence.convex_order._FEW", 0)
    monkeypatch.setattr("shufflebounds.divergence.convex_order._FEWEST", 40.0)
    inner, outer, eps = ends(request.param)
    focus = Focus.about(sketch(outer), eps, 1000, 1e-6, 1e-2, most=40.0)
    found = [(-1, inner, united(inner, focus)), (1, outer, spread(outer, focus))]
    for _, old, new in found:
        assert len(new) < 0.8 * len(old)
    return found


@pytest.mark.parametrize("seed", range(2))
def test_united_is_below_and_spread_above_for_every_convex_function(before_and_after, seed):
    source = random.Random(seed)
    for sign, before, after in before_and_after:
        assert_ordered(before, after, sign, source, sums=5)


def of_two(end, eps):
    """D(ε) of two users in arithmetic of 64 bits or more: E(G + G′)₊/2, and its rounding."""
    a, b, c = (row.astype(np.longdouble) for row in (end.a, end.b, end.c))
    values = np.append((a - b) - np.expm1(np.longdouble(eps)) * b, 0.0) / np.append(c, 1.0)
    masses = np.append(c, max(np.longdouble(0.0), 1 - c.sum()))
    gains = np.maximum(values[:, None] + values, 0.0)
    found = masses @ gains @ masses / 2
    return found, 2 * (end.rel_err + 1e-15) * (1 + np.exp(np.longdouble(eps)))


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 1.2])
def test_two_users_at_other_eps(before_and_after, factor, request):
    eps = KINDS[request.node.callspec.params["before_and_after"]][1] * factor
    for sign, before, after in before_and_after:
        (old, old_err), (new, new_err) = of_two(before, eps), of_two(after, eps)
        assert sign * (new - old) >= -(old_err + new_err)


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
    joint = sb.subsample(functools.reduce(sb.Decomposition.joint, factors), rate)
    inner, outer = joint.directions[0]
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
    inner, _, eps = ends("blankets")
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
    inner, _, eps = ends("blankets")
    focus = Focus.about(sketch(inner), eps, 1000, 1e-6, 1e-2)._replace(eps=0.0)
    assert len(united(like, focus)) <= 2
    assert spread(like, focus) is like


@pytest.mark.parametrize("side", ["blanket", "dataset_pair"])
def test_sketch_is_short_and_alike(side):
    joint = functools.reduce(sb.Decomposition.joint, [getattr(sb.Laplace(1.0, 30), side)()] * 4)
    rough, few = sketch(joint), ends("blankets")[1]
    assert len(rough) < 0.9 * len(joint)
    for row, other in zip((joint.a, joint.b, joint.c), (rough.a, rough.b, rough.c), strict=True):
        assert math.isclose(row.sum(), other.sum(), rel_tol=1e-12)
    logs = [log_estimate(one, 0.1, 10**4)[0] for one in (rough, joint)]
    assert math.isclose(*logs, rel_tol=0.02)
    assert sketch(few) is few
