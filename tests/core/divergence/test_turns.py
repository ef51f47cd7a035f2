"""e^{iy} − 1 against 60-digit arithmetic: both parts keep their relative precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

from shufflebounds.divergence.law import U, away_from_one


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
