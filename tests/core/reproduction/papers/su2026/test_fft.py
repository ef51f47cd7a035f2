"""Algorithm 7 against enumeration, against binomial sums, and against published anchors."""

from __future__ import annotations

import math

import mpmath
import pytest
from engines import overlap
from oracles import ANCHORS, exact

import shufflebounds as sb
from reproduction.papers.su2026.algorithm7 import divergence, epsilon
from shufflebounds import KRR, Decomposition


def two_point(tilt):
    """A mirrored pair on two components that everybody else uses alike."""
    return Decomposition([0.5 + tilt, 0.5 - tilt], [0.5 - tilt, 0.5 + tilt], [0.5, 0.5])


def ends(decomposition, eps, n, step):
    return [divergence(decomposition, eps, n, step, up=up) for up in (False, True)]


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    "decomposition",
    [
        KRR(k=3, eps0=1.0).blanket(),
        KRR(k=3, eps0=1.0).dataset_pair(),
        Decomposition([0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.0, 0.2, 0.5]),
    ],
    ids=["blanket", "pair", "exposed"],
)
def test_the_rounded_laws_enclose_the_exact_value(decomposition, eps, n):
    below, above = ends(decomposition, eps, n, 1e-3)
    truth = exact(decomposition, eps, n)
    assert below - 1e-13 <= truth.lower <= truth.upper <= above + 1e-13
    # Two roundings of each of n values, by a cell, out of n.
    assert above - below <= 2e-3


@pytest.mark.parametrize(("eps0", "n", "eps", "expected", "_"), ANCHORS)
def test_anchors(eps0, n, eps, expected, _):
    blanket = KRR(k=10, eps0=eps0).blanket()
    below, above = ends(blanket, eps, n, math.expm1(eps0) / 4000.0)
    assert below <= expected <= above <= 1.2 * below


@pytest.mark.parametrize("n", [20, 60, 100, 2000])
def test_each_end_is_the_rounded_law_up_to_round_off(n):
    """Values 1.5 and −4.5 at step 1 are 2 and −4 from above, 1 and −5 from below."""
    found = ends(two_point(3.25 / 3.5 - 0.5), math.log(2.5), n, 1.0)

    def mean_positive_part(x, y):
        with mpmath.workdps(40):
            terms = (mpmath.binomial(n, k) * max(0, k * x + (n - k) * y) for k in range(n + 1))
            return float(mpmath.fsum(terms) / n / mpmath.mpf(2) ** n)

    expected = mean_positive_part(1, -5), mean_positive_part(2, -4)
    assert found == pytest.approx(expected, rel=1e-11, abs=1e-14 * 60.0 * math.sqrt(n))


@pytest.mark.parametrize("eps0", [0.1, 1.0, 4.0])
def test_epsilon_agrees_with_the_library(eps0):
    blanket = KRR(k=5, eps0=eps0).blanket()
    reference = sb.epsilon(blanket, 2000, 1e-5, rtol=1e-6)
    found = epsilon(blanket, 2000, 1e-5, rtol=1e-3)
    assert overlap(found, reference)
    assert found.relative_width < 0.1
