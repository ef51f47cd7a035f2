"""`rel_err` against rational arithmetic: everything within it of the entries is enclosed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import decompositions, epsilons, examples
from test_exact import brute_force, precise_exp, rationals

import shufflebounds as sb
from shufflebounds.uncertainty import compounded

ULP = 2.0**-53
ERRORS = st.sampled_from([0.0, 0.5 * ULP, ULP, 1.5 * ULP, 2.0 * ULP, 5.0 * ULP, 1e-12, 4e-4])


def enclosure(decomposition, eps, n, engine):
    """`delta`, be it as wide as it may."""
    try:
        return sb.delta(decomposition, eps, n, engine=engine)
    except sb.PrecisionError as error:
        return error.enclosure


def uncertain(decomposition, rel_err):
    return sb.Decomposition(decomposition.a, decomposition.b, decomposition.c, rel_err)


@st.composite
def nearby(draw, decomposition, rel_err):
    """Rational a, b, c within `rel_err` of the entries, most of them as far off as may be."""
    shift = st.sampled_from([-1, 1, 1, -1, 0]) | st.fractions(-1, 1, max_denominator=100)
    masses = [
        [x * (1 + Fraction(rel_err) * draw(shift)) for x in entries]
        for entries in rationals(decomposition)
    ]
    assume(sum(masses[2]) <= 1)
    return masses


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


@pytest.mark.parametrize("engine", ["saddle", "exact"])
@given(st.data(), ERRORS, st.integers(1, 4))
@examples(60)
def test_all_that_is_within_rel_err(engine, data, rel_err, n):
    """Equal components, which are united first, among them."""
    decomposition = uncertain(data.draw(decompositions(max_components=4)), rel_err)
    eps = data.draw(epsilons(decomposition))
    masses = data.draw(nearby(decomposition, rel_err))
    assert_encloses(enclosure(decomposition, eps, n, engine), truth(masses, eps, n))


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
    masses = data.draw(nearby(decomposition, rel_err))
    for engine in ("saddle", "exact"):
        assert_encloses(enclosure(decomposition, eps, n, engine), truth(masses, eps, n))


@given(st.data(), st.tuples(ERRORS, ERRORS), st.integers(1, 3))
@examples(60)
def test_joint_composition(data, errors, n):
    parts = [uncertain(data.draw(decompositions(max_components=2)), err) for err in errors]
    joint = parts[0].joint(parts[1])
    eps = data.draw(epsilons(joint))
    masses = outer(*(data.draw(nearby(p, err)) for p, err in zip(parts, errors, strict=True)))
    assert_encloses(enclosure(joint, eps, n, "saddle"), truth(masses, eps, n))


@given(st.data(), st.tuples(ERRORS, ERRORS), st.fractions(0, 1), st.integers(1, 3))
@examples(60)
def test_parallel_composition_by_weights_that_are_no_floats(data, errors, weight, n):
    parts = [uncertain(data.draw(decompositions(max_components=2)), err) for err in errors]
    weights = [weight, 1 - weight]
    mixed = sb.parallel(zip(weights, parts, strict=True))
    eps = data.draw(epsilons(mixed))
    drawn = [data.draw(nearby(part, err)) for part, err in zip(parts, errors, strict=True)]
    masses = [
        [w * x for w, part in zip(weights, drawn, strict=True) for x in part[i]] for i in range(3)
    ]
    assert_encloses(enclosure(mixed, eps, n, "saddle"), truth(masses, eps, n))


def test_an_error_of_one_rounding_survives_merging():
    """At ε one ulp below log 3 the whole of D is made of it."""
    decomposition = sb.Decomposition([0.75, 0.25], [0.25, 0.75], [0.25, 0.25], rel_err=ULP)
    assert decomposition.merge().rel_err >= ULP
    eps, shift = math.nextafter(math.log(3.0), 0.0), Fraction(ULP)
    a, b, c = rationals(decomposition)
    masses = [[a[0] * (1 + shift), a[1]], [b[0] * (1 - shift), b[1]], c]
    found = sb.delta(decomposition, eps, 5)
    assert truth(masses, eps, 5) > 2 * Fraction(
        sb.delta(uncertain(decomposition, 0.0), eps, 5).upper
    )
    assert_encloses(found, truth(masses, eps, 5))
