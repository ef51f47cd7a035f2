"""The T-fold lattice engine against convolution in 60-digit and rational arithmetic."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from shufflebounds.divergence import lattice
from shufflebounds.divergence.lattice import tilt_at_delta, tilt_at_eps, tilted_sum
from shufflebounds.divergence.losses import LossLaw, LossSum, lattice_step

# Steps, like all that `lattice_step` gives, of few bits.
STEPS = [2.0**-20, 0.015625, 0.421875, 3.0]


@st.composite
def laws(draw, step):
    size = draw(st.integers(1, 5))
    points = st.integers(-30, 30)
    index = draw(st.lists(points, min_size=size, max_size=size, unique=True).map(sorted))
    mass = st.one_of(st.floats(0.05, 1.0), st.floats(0.0, 40.0).map(lambda x: 10.0**-x))
    masses = np.array(draw(st.lists(mass, min_size=size, max_size=size)))
    infinite = draw(st.sampled_from([0.0, 0.0, 0.125, 1e-12]))
    masses *= (1.0 - infinite) / masses.sum()
    return LossLaw(step, np.array(index), masses, infinite)


def convolved(composition):
    """The law of S as {index: mass}, exact, and the exact mass of infinite losses."""
    total, whole, finite = {0: Fraction(1)}, Fraction(1), Fraction(1)
    for law, times in composition.rounds:
        masses = [Fraction(x) for x in law.masses.tolist()]
        size = sum(masses)
        whole *= (size + Fraction(law.infinite)) ** times
        finite *= size**times
        for _ in range(times):
            following = {}
            for i, mass in total.items():
                for j, x in zip(law.index.tolist(), masses, strict=True):
                    following[i + j] = following.get(i + j, 0) + mass * x
            total = following
    return total, whole - finite


def truth(composition, eps):
    total, told = convolved(composition)
    with mpmath.workdps(60):
        terms = [mpmath.mpf(told.numerator) / told.denominator]
        for index, mass in total.items():
            loss = index * mpmath.mpf(composition.step)
            if loss > eps:
                gain = -mpmath.expm1(mpmath.mpf(eps) - loss)
                terms.append(gain * mass.numerator / mass.denominator)
        return mpmath.fsum(terms)


def check(composition, eps, theta=None):
    expected = truth(composition, eps)
    theta = tilt_at_eps(composition, eps) if theta is None else theta
    found = tilted_sum(composition, theta, eps)
    if found is None:
        return None
    ends = found.delta(eps)
    assert ends.lower <= expected <= ends.upper
    return ends


@given(st.data(), st.sampled_from(STEPS), st.booleans())
@examples(120)
def test_against_convolution(data, step, two_laws):
    """At lattice points and next to them, too, with any tilt."""
    each = [data.draw(laws(step)) for _ in range(1 + two_laws)]
    times = st.integers(1, 4 if two_laws else 6)
    composition = LossSum([(law, data.draw(times)) for law in each])
    span = composition.largest
    eps = data.draw(
        st.one_of(
            st.floats(-1.0, 1.0).map(lambda x: x * abs(span)),
            st.integers(-60, 60).map(lambda k: k * step),
            st.integers(-60, 60).map(lambda k: math.nextafter(k * step, math.inf)),
        )
    )
    check(composition, eps, data.draw(st.none() | st.floats(-3.0, 3.0).map(lambda x: 10.0**x)))


def test_a_tilt_that_underflows_is_refused():
    """δ(0) is 0.78 here; the tilted integrand underflows to an upper end of 0."""
    composition = LossSum([(LossLaw(1.5, np.array([1]), np.array([1.0]), 0.0), 1)])
    assert tilted_sum(composition, 1000.0, 0.0) is None
    assert check(composition, 0.0, 16.0) is not None


def test_the_largest_sum_is_bounded_from_above_where_it_is_negative():
    law = LossLaw(2.0**-20, np.array([-1]), np.array([1.0]), 0.0)
    assert LossSum([(law, 3)]).largest >= -3.0 * 2.0**-20


@given(st.data(), st.integers(1, 6), st.floats(-0.5, 0.99))
@examples(60)
def test_coefficients_that_are_only_bounded(data, times, share):
    composition = LossSum([(data.draw(laws(0.015625)), times)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "_LOG_SKIPPED", -12.0)
        check(composition, share * abs(composition.largest))


@pytest.mark.parametrize("span", [1, 2, 7])
@pytest.mark.parametrize("times", [2, 31, 1000, 20_000])
@pytest.mark.parametrize("share", [0.0, 0.7, 3.1])
def test_coefficients_that_are_large_again(span, times, share):
    """Two atoms ±1: all sums are of one parity, and |φ| = 1 half-way; with ±7, at more places.

    A sum that stops at the first decay takes the law for spread over both parities.
    """
    step = 0.015625
    p = 1.0 / (1.0 + math.exp(-span * step))
    law = LossLaw(step, np.array([-span, span]), np.array([1.0 - p, p]), 0.0)
    composition = LossSum([(law, times)])
    eps = min(share * span * step * math.sqrt(times), 0.9 * composition.largest)
    found = tilted_sum(composition, tilt_at_eps(composition, eps), eps)
    ends = found.delta(eps)
    with mpmath.workdps(80):
        high, low = (mpmath.mpf(x) for x in (p, 1.0 - p))
        first = math.floor((times - eps / (span * step)) / 2.0) + 1
        expected = mpmath.mpf(0)
        term = high**times
        for k in range(min(first, times) + 1):
            gain = -mpmath.expm1(mpmath.mpf(eps) - (times - 2 * k) * mpmath.mpf(span * step))
            if gain > 0:
                expected += term * gain
            term = term * (times - k) / (k + 1) * low / high
    assert ends.lower <= expected <= ends.upper
    assert ends.relative_width < 1e-6
    assert np.any(np.abs(found.coefficients.values[1:]) > 0.5)


def test_rounding_does_not_grow_out_of_hand():
    """A million rounds of a fine lattice: the width is that of the round-off charged."""
    step = lattice_step(1e-8)
    points = np.arange(-200, 201)
    masses = np.exp(-0.5 * (points / 25.0) ** 2 + 0.5 * points * step)
    law = LossLaw(step, points, masses / masses.sum(), 0.0)
    composition = LossSum([(law, 10**6)])
    theta, eps = tilt_at_delta(composition, 1e-100)
    ends = tilted_sum(composition, theta, eps).delta(eps)
    assert ends.relative_width < 1e-5
    assert ends.lower < 2e-100
    assert ends.upper > 5e-101


def test_too_many_points_are_refused():
    law = LossLaw(2.0**-30, np.array([-(2**30), 2**30]), np.array([0.25, 0.75]), 0.0)
    assert tilted_sum(LossSum([(law, 100)]), 1.0, 1.0) is None


@pytest.mark.parametrize("size", [1e-9, 0.3, 1.0, 7.7])
def test_steps_have_few_bits(size):
    step = lattice_step(size)
    assert 0.96 * size < step <= size
    assert (step * 2**20 * (2**20 - 1)) / (2**20 - 1) == step * 2**20
    assert math.frexp(step)[0] * 64 == int(math.frexp(step)[0] * 64)
