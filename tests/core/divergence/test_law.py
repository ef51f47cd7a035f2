"""Laws: the tilting point and e^{iy} − 1 against 50 digits and more."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from shufflebounds.divergence.law import Law, U, away_from_one
from shufflebounds.divergence.saddlepoint import tilting_point


def objective(g, n, theta):
    """nK(θ) − 2 log θ in 50 digits."""
    with mp.workdps(50):
        mgf = 1 + mp.fsum(
            mp.mpf(float(p)) * mp.expm1(mp.mpf(float(x)) * theta)
            for p, x in zip(g.masses, g.values, strict=True)
        )
        return n * mp.log(mgf) - 2 * mp.log(theta)


def is_minimiser(g, n, theta):
    """Whether the minimum lies within 1 % of θ, as a convex function tells."""
    below, at, above = (objective(g, n, mp.mpf(theta) * x) for x in (0.99, 1, 1.01))
    return at < below and at < above


def of(values, masses):
    values, masses = np.array(values), np.array(masses)
    rest = max(0.0, 1.0 - float(masses.sum()))
    return Law(values, masses, np.array(0), np.zeros(values.size), 0.0, rest, 0.0)


@given(
    st.lists(st.floats(-60.0, 0.0), min_size=1, max_size=5),
    st.lists(st.floats(-12.0, 12.0), min_size=0, max_size=5),
    st.lists(st.floats(-14.0, 0.0), min_size=10, max_size=10),
    st.integers(1, 15).map(lambda k: 10**k),
)
@examples(100)
def test_any_law(gains, losses, masses, n):
    """Values over many decades, the largest in [½, 1) as `law` has it."""
    values = [0.75, *(0.75 * 10.0**x for x in gains), *(-(10.0**x) for x in losses)]
    p = 10.0 ** np.array(masses[: len(values)] + [-3.0] * (len(values) - 10))
    g = of(values, p / max(1.0, p.sum() * (1.0 + 1e-12)))
    assert is_minimiser(g, n, float(tilting_point([(g, n)])))


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e-300, 1e49])
@pytest.mark.parametrize("loss", [0.0, -1e-300, -1.0, -1e50])
@pytest.mark.parametrize("mass", [1.0, 1e-100, 1e-300])
@pytest.mark.parametrize("n", [1, 10**15])
def test_it_is_finite_whatever_the_law(scale, loss, mass, n):
    values, masses = np.array([0.7, loss]) * scale, np.array([0.5 * mass, 0.5])
    one = Law(
        values, masses, np.array(0), np.zeros(2), 0.0, max(0.0, 1.0 - float(masses.sum())), 0.0
    )
    assert 0.0 < tilting_point([(one, n)]) < math.inf


# e^{iy} − 1: both parts keep their relative precision.


def nearby(angle: float) -> list[float]:
    """A float and its neighbours."""
    return [math.nextafter(angle, -math.inf), angle, math.nextafter(angle, math.inf)]


ANGLES = {
    "tiny": [10.0**-k for k in (300, 160, 100, 20, 9, 8, 4)],
    "of all sizes": np.random.default_rng(1).uniform(-1.0, 1.0, 200) * np.logspace(-6, 12, 200),
    # tan(y/2) has a pole at odd multiples of π, and is 0 at even ones.
    "near multiples of pi": [x for k in (*range(1, 40), 1001, 10**6) for x in nearby(k * math.pi)],
    "near odd multiples of pi/2": [x for k in range(1, 80, 2) for x in nearby(k * math.pi / 2)],
}


@pytest.mark.parametrize("kind", ANGLES)
def test_both_parts_are_good_relatively(kind):
    y = np.array(ANGLES[kind], dtype=np.float64)
    cosine, sine = away_from_one(y)
    with mp.workdps(60):
        for angle, real, imag in zip(y.tolist(), cosine.tolist(), sine.tolist(), strict=True):
            exact = mp.sin(angle), -2 * mp.sin(mp.mpf(angle) / 2) ** 2
            assert abs(imag - exact[0]) <= 12 * U * abs(exact[0])
            # What underflows is far less than anything that is added to it.
            assert abs(real - exact[1]) <= 20 * U * abs(exact[1]) + 1e-320


def test_zero_is_exact():
    cosine, sine = away_from_one(np.zeros(3))
    assert not cosine.any()
    assert not sine.any()
