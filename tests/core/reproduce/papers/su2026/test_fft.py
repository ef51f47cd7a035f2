"""`fft` against `exact`, against binomial sums, and against published anchors."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from engines import overlap
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import ANCHORS, exact
from scipy import stats
from strategies import decompositions, epsilons

import shufflebounds as sb
from shufflebounds import KRR, Decomposition, standard_clone
from shufflebounds.reproduce.papers.su2026.algorithm7 import MAX_CELLS, epsilon, fft


def fraction_of_range(decomposition, eps, cells):
    """A step small beside the values of G at ε and at 0, so not smaller than their round-off."""
    size = max(float(np.abs(decomposition.gparv(x)[0]).max()) for x in (0.0, eps))
    used = decomposition.c > 0.0
    largest = np.max(decomposition.a[used] / decomposition.c[used], initial=0.0)
    return max(size / cells, decomposition.rel_err * float(largest), 1e-100)


def two_point(tilt):
    """A mirrored pair on two components that everybody else uses alike."""
    return Decomposition([0.5 + tilt, 0.5 - tilt], [0.5 - tilt, 0.5 + tilt], [0.5, 0.5])


@settings(max_examples=150, deadline=None)
@given(data=st.data(), n=st.integers(1, 6), decades=st.sampled_from([3.0, 12.0, 100.0]))
def test_encloses_the_exact_value(data, n, decades):
    decomposition = data.draw(decompositions(decades=decades))
    eps = data.draw(epsilons(decomposition))
    step = fraction_of_range(decomposition, eps, data.draw(st.floats(20.0, 2000.0)))
    truth, found = exact(decomposition, eps, n), fft(decomposition, eps, n, step)
    assert overlap(found, truth)
    # Two roundings of each of n values, by a cell and by their own uncertainty, out of n.
    assert found.upper - found.lower <= 3.0 * step + 1e-14


@pytest.mark.parametrize(("eps0", "n", "eps", "expected", "_"), ANCHORS)
def test_anchors(eps0, n, eps, expected, _):
    blanket = KRR(k=10, eps0=eps0).blanket()
    assert expected in fft(blanket, eps, n)
    fine = fft(blanket, eps, n, math.expm1(eps0) / 4000.0)
    assert expected in fine
    assert fine.relative_width < 0.2


@pytest.mark.parametrize("n", [20, 60, 100, 2000])
def test_each_end_is_the_rounded_law_up_to_round_off(n):
    """Values 1.5 and −4.5 at step 1 are 2 and −4 from above, 1 and −5 from below."""
    decomposition = two_point(3.25 / 3.5 - 0.5)
    found = fft(decomposition, math.log(2.5), n, 1.0)

    def mean_positive_part(x, y):
        with mpmath.workdps(40):
            terms = (mpmath.binomial(n, k) * max(0, k * x + (n - k) * y) for k in range(n + 1))
            return float(mpmath.fsum(terms) / n / mpmath.mpf(2) ** n)

    above, below = mean_positive_part(2, -4), mean_positive_part(1, -5)
    floor = 1e-14 * 60.0 * math.sqrt(n)
    assert above <= found.upper <= above * (1.0 + 1e-11) + floor
    assert below * (1.0 - 1e-11) - floor <= found.lower <= below


@pytest.mark.parametrize(("n", "eps"), [(10**4, 0.002), (10**6, 0.0), (10**6, 0.001)])
def test_many_users(n, eps):
    """Two components and no residual: the count on the first is binomial, plus the victim's."""
    tilt, step = 0.1, 0.01
    others = stats.binom.pmf(np.arange(-1, n + 1), n - 1, 0.5)
    first = (0.5 + tilt) * others[:-1] + (0.5 - tilt) * others[1:]
    second = (0.5 - tilt) * others[:-1] + (0.5 + tilt) * others[1:]
    truth = np.maximum((first - second) - math.expm1(eps) * second, 0.0).sum()
    found = fft(two_point(tilt), eps, n, step)
    assert truth in found
    assert found.upper - found.lower <= 3.0 * step + 1e-14


def test_deep_in_the_tail_the_lower_end_gives_up_and_the_upper_end_does_not():
    decomposition = two_point(0.25)
    truth = exact(decomposition, 0.5, 1000)
    found = fft(decomposition, 0.5, 1000)
    assert truth.upper < 1e-20
    assert found.lower == 0.0
    assert truth.lower <= found.upper < 1e3 * truth.upper
    assert fft(decomposition, 0.5, 10**5).upper > 0.0
    assert fft(decomposition, math.log(3.0) + 1e-12, 10**5).upper == 0.0


def test_reports_that_others_never_send():
    decomposition = Decomposition([0.25, 0.75], [0.0, 1.0], [0.0, 0.5])
    found = fft(decomposition, 3.0, 10**5)
    assert 0.25 in found
    assert found.relative_width < 1e-14


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("tilt_err", "sure_err", "n", "eps", "a", "b", "c"),
    [
        (1.0, 0.0, 3, 0.1, [0.55, 0.45], [0.45, 0.55], [0.25, 0.25]),
        (0.0, 1.0, 3, 0.2, [0.7, 0.3], [0.3, 0.7], [0.25, 0.25]),
        (0.0, 1.0, 2, 1.0, [0.01, 0.99], [0.0, 1.0], [0.01, 0.98]),
    ],
    ids=["values", "masses", "residual"],
)
def test_rel_err_covers_what_it_stands_for(tilt_err, sure_err, n, eps, a, b, c, sign):
    rel_err, step = 9e-4, 1e-5
    tilt = 0.4 * sign * tilt_err * rel_err * np.array([1.0, -1.0])
    sure = np.array(c) * (1.0 - 0.99 * sign * sure_err * rel_err)
    truth = exact(Decomposition(a + tilt, b - tilt, sure), eps, n)
    assert truth.upper not in fft(Decomposition(a, b, c), eps, n, step)
    found = fft(Decomposition(a, b, c, rel_err=rel_err), eps, n, step)
    assert found.lower <= truth.lower <= truth.upper <= found.upper


def test_refuses_a_window_without_end():
    with pytest.raises(ValueError, match=f"step must .* at most {MAX_CELLS} cells, got 0.0001"):
        fft(KRR(k=10, eps0=4.0).blanket(), 0.4, 10_000, step=1e-4)


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf, 1e-250, "fine"])
def test_bad_step(step):
    with pytest.raises(ValueError, match="step must be"):
        fft(standard_clone(1.0), 0.1, 10, step)


def test_an_excess_that_underflows_is_still_above_0():
    decomposition = Decomposition([1e-250, 1e-250, 1.0], [2e-251, 0.1, 0.9], [1e-3, 1e-6, 1e-3])
    truth = exact(decomposition, 1.3, 4)
    assert truth.lower > 2.6e-251
    found = fft(decomposition, 1.3, 4)
    assert found.lower <= truth.lower <= truth.upper <= found.upper


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
def test_epsilon_agrees_with_the_library(eps0):
    blanket = KRR(k=5, eps0=eps0).blanket()
    reference = sb.epsilon(blanket, 2000, 1e-5, rtol=1e-6)
    found = epsilon(blanket, 2000, 1e-5, rtol=0.02)
    assert overlap(found, reference)
    assert found.relative_width < 0.1
