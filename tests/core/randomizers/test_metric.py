"""Metric privacy: the pairs of distances, and Laplace noise between two inputs of an interval."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from engines import fourier

import shufflebounds as sb
from shufflebounds.bounds.variation_ratio import NOISES
from shufflebounds.randomizers import laplace


def variation(decomposition):
    return float(np.maximum(decomposition.a - decomposition.b, 0.0).sum())


@pytest.mark.parametrize("distance", [1e-6, 1e-3, 0.1, 1.0, 3.0, 20.0, 200.0])
def test_variations_are_those_of_the_noise_rounded_up(distance):
    with mpmath.workdps(30):
        half = mpmath.mpf(distance) / 2
        planar = 2 / mpmath.pi * mpmath.quad(lambda t: t * mpmath.besselk(1, t), [0, half])
        wanted = {"general": mpmath.tanh(half), "laplace": 1 - mpmath.exp(-half), "planar": planar}
        for noise in NOISES:
            pair = sb.metric_variation_ratio(distance, distance, noise)
            found = variation(pair)
            # The pair's own floats may round it down, which its uncertainty covers.
            assert found + 2.0 * pair.rel_err >= wanted[noise]
            assert found == pytest.approx(float(wanted[noise]), rel=2e-9 + 1e-15 / distance)


def test_components_are_those_of_the_distances():
    found = sb.metric_variation_ratio(1.0, (2.0, 3.0), "laplace")
    e, beta = math.e, 1.0 - math.exp(-0.5)
    plain = sb.variation_ratio(e, beta, (e**2, e**3))
    for name in "abc":
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-13)


@pytest.mark.parametrize("eps0", [0.3, 3.0])
def test_the_ends_of_the_interval_are_the_laplace_mechanism(eps0):
    metric, laplace = sb.MetricLaplace(eps0), sb.Laplace(eps0, domain="interval", others=1)
    for n, share in itertools.product((1, 2, 100), (0.0, 0.1, 0.5)):
        eps = share * eps0
        pairs = [(metric.blanket(), laplace.blanket())]
        pairs.append((metric.dataset_pairs()["1"], laplace.dataset_pair()))
        for mine, its in pairs:
            one, other = sb.delta(mine, eps, n), sb.delta(its, eps, n)
            assert max(one.lower, other.lower) <= min(one.upper, other.upper)


PLACES = [(0.0, 1 / 3), (1 / 3, 0.75), (0.9, 0.1), (0.45, 0.55), (0.5, 1.0), (0.2, 0.4)]


@pytest.mark.parametrize(("x0", "x1"), PLACES)
@pytest.mark.parametrize("n", [1, 2])
def test_enclosures_hold_what_integration_gives(x0, x1, n):
    """For n = 2 by a fine grid, whose own error is a hundredth of what is allowed for."""
    eps0, factor = 2.0, math.exp(0.15)
    metric = sb.MetricLaplace(eps0, x0, x1)
    edges = np.linspace(-14.0, 15.0, 2900 * 4 + 1)
    y = (edges[:-1] + edges[1:]) / 2.0

    def masses(x):
        return eps0 / 2.0 * np.exp(-eps0 * np.abs(y - x)) * (edges[1] - edges[0])

    laws = {"blanket": np.minimum(masses(0.0), masses(1.0))}
    laws |= {name: masses(float(name)) for name in ("0", "1")}
    found = {"blanket": metric.blanket(), **metric.dataset_pairs()}
    for name, c in laws.items():
        g = (masses(x0) - factor * masses(x1)) / c
        if n == 1:
            wanted = c @ np.maximum(g, 0.0)
        else:  # both draws, or one of them with the other idle
            order = np.argsort(g)
            g, c = g[order], c[order]
            above = np.cumsum(c[::-1])[::-1], np.cumsum((c * g)[::-1])[::-1]
            start = np.searchsorted(g, -g)
            mass, sums = (np.append(x, 0.0)[start] for x in above)
            wanted = 0.5 * (c @ (mass * g + sums))
            wanted += (1.0 - c.sum()) * (c @ np.maximum(g, 0.0))
        whole = _direction(found[name], n)
        assert whole.lower - 2e-6 <= wanted <= whole.upper + 2e-6
        assert whole.relative_width < 2e-3


def _direction(decomposition, n):
    """δ at ε = 0.15 in the direction (a, b) only."""
    inner, outer = (end.merge() for end in decomposition.bounds())
    return sb.Enclosure(fourier(inner, 0.15, n, 1e-5).lower, fourier(outer, 0.15, n, 1e-5).upper)


@pytest.mark.parametrize(("x0", "x1"), PLACES[:3])
def test_the_order_of_the_bounds(x0, x1):
    eps0, n, delta = 3.0, 100, 1e-4
    metric = sb.MetricLaplace(eps0, x0, x1)
    lower = max(sb.epsilon(pair, n, delta).lower for pair in metric.dataset_pairs().values())
    far = tuple(eps0 * max(x, 1.0 - x) for x in (x0, x1))
    distance = eps0 * abs(x0 - x1)
    blanket = sb.epsilon(metric.blanket(), n, delta)
    repaired = sb.epsilon(sb.metric_variation_ratio(distance, far, "laplace"), n, delta)
    general = sb.epsilon(sb.metric_variation_ratio(distance, far), n, delta)
    assert lower <= blanket.upper
    assert blanket.lower <= repaired.upper
    assert repaired.lower <= general.upper


def test_the_published_pair_fails_for_zero_and_one_of_zero_to_three():
    n, delta = 100, 1e-4
    published = sb.variation_ratio(math.e, 1.0 - math.exp(-0.5), math.exp(3.0), published=True)
    known = sb.MetricLaplace(3.0, 0.0, 1.0 / 3.0).dataset_pairs()["1"]
    assert sb.epsilon(published, n, delta).upper < 0.9 * sb.epsilon(known, n, delta).lower


@pytest.mark.parametrize(("x0", "x1"), [(0.3, 0.7), (0.0, 1.0 - 2.0**-40), (0.1, 0.1 + 1e-9)])
def test_every_point_of_the_grid_has_a_law(x0, x1):
    metric = sb.MetricLaplace(1.0, x0, x1)
    (crowd,) = metric.crowds()
    assert len(crowd.others) == len({*laplace._grid(1.0), x0, x1})
    assert len(metric.dataset_pairs()) == len({0.0, 1.0, x1})


def test_density():
    assert sb.MetricLaplace(2.0, 0.25, 0.5).density(0.25, 1.25) == pytest.approx(math.exp(-2.0))


MISTAKES = [
    (lambda: sb.metric_variation_ratio(0.0, 1.0), "distance must be"),
    (lambda: sb.metric_variation_ratio(2.0, 1.0), "farthest must be a distance of at least 2.0"),
    (lambda: sb.metric_variation_ratio(1.0, (2.0, 0.5)), "farthest must be"),
    (lambda: sb.metric_variation_ratio(1.0, (2.0, 2.0, 2.0)), "farthest must be"),
    (lambda: sb.metric_variation_ratio(1.0, math.inf), "farthest must be"),
    (lambda: sb.metric_variation_ratio(1.0, 2.0, "gauss"), "noise must be one of"),
    (lambda: sb.MetricLaplace(1.0, 0.5, 0.5), "x1 must differ from x0, got 0.5 for both"),
    (lambda: sb.MetricLaplace(1.0, -0.1, 0.5), "x0 must be"),
    (lambda: sb.MetricLaplace(1.0, 0.1, 0.5, cells=0), "cells must be an integer from 1 to 10000"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES)
def test_mistakes_are_told_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()
