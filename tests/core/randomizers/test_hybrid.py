"""The hybrid mechanism: against its parts, and datasets of its own laws on cells."""

import math

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.divergence.supremum import supremum


def window(eps0, x):
    """Start and length of the window of x, as shares of [−C, C]."""
    length = 1.0 / (math.exp(eps0 / 2) + 1.0)
    return (x + 1.0) / 2.0 * (1.0 - length), length


def rows(mechanism, numbers):
    """The laws of numbers on cells between the ends of windows, and on Duchi's two reports."""
    eps0, share = mechanism.eps0, mechanism.share
    windows = [window(eps0, x) for x in numbers]
    ends = sorted({0.0, 1.0, *(min(e, 1.0) for s, w in windows for e in (s, s + w))})
    middles, widths = np.convolve(ends, [0.5, 0.5], "valid"), np.diff(ends)
    h, t = math.exp(eps0 / 2), math.tanh(eps0 / 2)
    laws = []
    for x, (start, length) in zip(numbers, windows, strict=True):
        inside = (middles > start) & (middles < start + length)
        piecewise = widths * np.where(inside, h, 1.0 / h)
        duchi = np.array([1.0 - x * t, 1.0 + x * t]) / 2.0
        law = np.concatenate([share * piecewise / piecewise.sum(), (1.0 - share) * duchi])
        laws.append(law)
    laws = np.array(laws)
    return laws[:, laws.max(axis=0) > 1e-15]


@pytest.mark.parametrize("eps0", [0.3, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [100, 10_000])
def test_no_dataset_is_above_the_bound(eps0, n):
    """The victim holds any two numbers of a grid, and all others any one."""
    mechanism = sb.Hybrid(eps0)
    found = sb.epsilon(mechanism, n=n, delta=1e-6)
    # Its reports of Piecewise match neither −1 nor 1, if there is such a number.
    third = max(1.0 - 2.0 * math.exp(-eps0 / 2.0), 0.0)
    laws = rows(mechanism, [-1.0, 1.0, third, 0.25, 0.5, -0.5])
    attained = []
    for first, second in ((0, 1), (0, 2), (4, 5), (1, 5)):
        for other in range(6):
            pair = sb.Decomposition(laws[first], laws[second], laws[other])
            attained.append(sb.epsilon(pair, n=n, delta=1e-6).lower)
    assert max(attained) <= found.upper
    expected = sb.epsilon(sb.Decomposition(laws[0], laws[1], laws[2]), n=n, delta=1e-6)
    known = sb.epsilon(mechanism.dataset_pairs()["third"], n=n, delta=1e-6)
    assert known.lower == pytest.approx(expected.lower, rel=1e-6)
    assert found.upper <= 1.16 * max(attained)


def test_the_blanket_is_that_of_the_mixture():
    mechanism = sb.Hybrid(2.0)
    parts = [(mechanism.share, sb.Piecewise(2.0)), (1.0 - mechanism.share, sb.Duchi(2.0))]
    expected = sb.parallel([(weight, part.blanket()) for weight, part in parts])
    for n in (100, 10_000):
        found = sb.epsilon(mechanism.blanket(), n=n, delta=1e-6)
        assert found.upper == pytest.approx(sb.epsilon(expected, n, 1e-6).upper, rel=1e-4)


@pytest.mark.parametrize(("share", "part"), [(0.0, sb.Duchi), (1.0, sb.Piecewise)])
def test_its_ends_are_its_parts(share, part):
    found = sb.epsilon(sb.Hybrid(2.0, share=share), n=10_000, delta=1e-6)
    expected = sb.epsilon(part(2.0), n=10_000, delta=1e-6)
    assert found.lower == pytest.approx(expected.lower, rel=1e-6)
    assert found.upper == pytest.approx(expected.upper, rel=1e-6)


def test_extremes_cover_pairs_that_are_alike():
    """Also a victim whose two numbers have the same report of Duchi's mechanism."""
    (crowd,) = sb.Hybrid(2.0).crowds()
    assert all(supremum(crowd, 0.15, 3000) >= supremum(x, 0.15, 3000) for x in crowd.extremes[:4])


def test_the_customary_share():
    assert sb.Hybrid(2.0).share == pytest.approx(1.0 - math.exp(-1.0))
    assert sb.Hybrid(0.5).share == 0.0
    assert sb.Hybrid(2.0, share=0.25).share == 0.25
    with pytest.raises(ValueError, match=r"^share must be a finite number with 0 <= share <= 1"):
        sb.Hybrid(2.0, share=1.5)


def test_its_error_is_below_that_of_its_parts():
    """And the same for every number, as its authors show."""
    for eps0 in (1.0, 2.0, 5.0):
        error = sb.Hybrid(eps0).error(n=1)
        assert error.mse < min(sb.Piecewise(eps0).error(1).mse, sb.Duchi(eps0).error(1).mse)
