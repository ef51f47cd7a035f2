"""`rel_err` against rational arithmetic: everything within it of the entries is enclosed."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from enumeration import brute_force, precise_exp, rationals
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import exact_delta
from strategies import decompositions, epsilons, examples

import shufflebounds as sb
from shufflebounds.core.enclosure import reached
from shufflebounds.core.products import compounded
from shufflebounds.divergence.law import law_at

ULP = 2.0**-53
ERRORS = st.sampled_from([0.0, 0.5 * ULP, ULP, 1.5 * ULP, 2.0 * ULP, 5.0 * ULP, 1e-12, 4e-4])


def enclosure(decomposition, eps, n):
    """`delta`, be it as wide as it may."""
    return reached(lambda: sb.delta(decomposition, eps, n))


def uncertain(decomposition, rel_err):
    return sb.Decomposition(decomposition.a, decomposition.b, decomposition.c, rel_err)


@st.composite
def partly_tied(draw, max_components, rel_err):
    """Two components of a = b or none beside any others, and some of all that have it tied."""
    plain = draw(decompositions(max_components=max_components))
    share = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0 - 2.0**-20]))
    if share > 0.0:
        equal = 0.5 * share * np.ones(2)
        ends = [np.concatenate([(1.0 - share) * x, equal]) for x in (plain.a, plain.b)]
        sure = equal * draw(st.sampled_from([0.0, 0.5, 1.0]))
        plain = sb.Decomposition(*ends, np.concatenate([(1.0 - share) * plain.c, sure]))
    flags = st.lists(st.booleans(), min_size=len(plain), max_size=len(plain))
    tied = (plain.a == plain.b) & np.array(draw(flags))
    return sb.Decomposition(plain.a, plain.b, plain.c, rel_err, tied=tied)


@st.composite
def nearby(draw, decomposition, rel_err):
    """Rational a, b, c within `rel_err` of the entries, most of them as far off as may be."""
    shift = st.sampled_from([-1, 1, 1, -1, 0]) | st.fractions(-1, 1, max_denominator=100)
    a, b, c = (
        [x * (1 + Fraction(rel_err) * draw(shift)) for x in entries]
        for entries in rationals(decomposition)
    )
    b = [x if tied else y for x, y, tied in zip(a, b, decomposition.ties, strict=True)]
    assume(sum(c) <= 1)
    return [a, b, c]


def truth(masses, eps, n):
    a, b, c = masses
    exp_eps = precise_exp(eps)
    return max(brute_force(a, b, c, exp_eps, n), brute_force(b, a, c, exp_eps, n))


def outer(one, two):
    return [[x * y for x in xs for y in ys] for xs, ys in zip(one, two, strict=True)]


def assert_encloses(found, true):
    assert Fraction(found.lower) <= true <= Fraction(found.upper)


@given(st.lists(st.one_of(st.floats(0.0, 1e-3), st.floats(0.0, 4.0).map(lambda x: x * ULP))))
@examples(200)
def test_compounded_errors_are_the_next_float_above(errors):
    true = math.prod(1 + Fraction(error) for error in errors) - 1
    found = compounded(*errors)
    assert Fraction(math.nextafter(found, -math.inf)) < true <= Fraction(found)


@given(st.data(), ERRORS, st.integers(1, 4))
@examples(60)
def test_all_that_is_within_rel_err(data, rel_err, n):
    """Equal components, which are united first, among them."""
    decomposition = data.draw(partly_tied(4, rel_err))
    eps = data.draw(epsilons(decomposition))
    true = truth(data.draw(nearby(decomposition, rel_err)), eps, n)
    for ask in (enclosure, exact_delta):
        assert_encloses(ask(decomposition, eps, n), true)


@given(st.data(), ERRORS, st.integers(1, 3))
@examples(60)
def test_components_that_rounding_has_split(data, rel_err, n):
    """Halves of a component whose entries differ by some ulps are united, and charged for it."""
    half = data.draw(decompositions(max_components=2, decades=3.0))
    slips = st.integers(-3, 3).map(lambda k: 1.0 + 2.0 * k * ULP)
    a, b, c = (
        np.concatenate([0.5 * x, [0.5 * y * data.draw(slips) for y in x]])
        for x in (half.a, half.b, half.c)
    )
    assume(math.fsum([-1.0, *c.tolist()]) <= 0.0)
    decomposition = sb.Decomposition(a, b, c, rel_err)
    eps = data.draw(epsilons(decomposition))
    true = truth(data.draw(nearby(decomposition, rel_err)), eps, n)
    for ask in (enclosure, exact_delta):
        assert_encloses(ask(decomposition, eps, n), true)


@given(st.data(), st.tuples(ERRORS, ERRORS), st.integers(1, 3))
@examples(30)
def test_joint_composition(data, errors, n):
    parts = [data.draw(partly_tied(2, err)) for err in errors]
    joint = parts[0].joint(parts[1])
    eps = data.draw(epsilons(joint))
    masses = outer(*(data.draw(nearby(p, err)) for p, err in zip(parts, errors, strict=True)))
    assert_encloses(enclosure(joint, eps, n), truth(masses, eps, n))


@given(st.data(), st.tuples(ERRORS, ERRORS), st.fractions(0, 1), st.integers(1, 3))
@examples(30)
def test_parallel_composition_by_weights_that_are_no_floats(data, errors, weight, n):
    parts = [data.draw(partly_tied(2, err)) for err in errors]
    weights = [weight, 1 - weight]
    mixed = sb.parallel(zip(weights, parts, strict=True))
    eps = data.draw(epsilons(mixed))
    drawn = [data.draw(nearby(part, err)) for part, err in zip(parts, errors, strict=True)]
    masses = [
        [w * x for w, part in zip(weights, drawn, strict=True) for x in part[i]] for i in range(3)
    ]
    assert_encloses(enclosure(mixed, eps, n), truth(masses, eps, n))


@given(st.data(), ERRORS)
@examples(100)
def test_values_of_what_is_tied(data, rel_err):
    """The law's own errors, which a wider enclosure might hide."""
    decomposition = data.draw(partly_tied(3, rel_err))
    eps = data.draw(st.sampled_from([0.0, 1e-12, 1e-6, 1.0]))
    masses = data.draw(nearby(decomposition, rel_err))
    found = law_at(decomposition, eps)
    scale = Fraction(2) ** -int(found.exponent)
    true = [
        (a - precise_exp(eps) * b) / c * scale for a, b, c in zip(*masses, strict=True) if c > 0
    ]
    for value, err, exact in zip(
        found.values.tolist(), found.value_err.tolist(), true, strict=True
    ):
        assert abs(Fraction(value) - exact) <= Fraction(err) or value - err <= -1e99


def test_an_error_of_one_rounding_survives_merging():
    """At ε one ulp below log 3 the whole of D is made of it."""
    decomposition = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25], rel_err=ULP)
    assert decomposition.merge().rel_err >= ULP
    eps, shift = math.nextafter(math.log(3.0), 0.0), Fraction(ULP)
    a, b, c = rationals(decomposition)
    masses = [[a[0] * (1 + shift), a[1]], [b[0] * (1 - shift), b[1]], c]
    found = sb.delta(decomposition, eps, 5)
    certain = exact_delta(uncertain(decomposition, 0.0), eps, 5)
    assert truth(masses, eps, 5) > 2 * Fraction(certain.upper)
    assert_encloses(found, truth(masses, eps, 5))


def test_an_eps_that_is_lost_without_ties():
    """Next to D(0), where those who do not take part tell nothing if that is known exactly."""
    taking_part = sb.subsample(sb.KRR(2, 1.0).blanket(), 1e-3)
    vague = replace(taking_part, rel_err=1e-12, tied=taking_part.ties)
    target = sb.delta(taking_part, 1e-8, 1000, rtol=1e-9).upper
    found = sb.epsilon(vague, 1000, target)
    assert found.lower <= 1e-8 * (1 + 1e-4)
    assert found.upper >= 1e-8 * (1 - 1e-4)
    assert 0.0 < found.relative_width <= 1e-4
    with pytest.raises(sb.PrecisionError):
        sb.epsilon(replace(vague, tied=None), 1000, target)
