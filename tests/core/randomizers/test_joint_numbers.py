"""Several numbers on [0, 1] in one report: the bound for all datasets against many of them."""

import numpy as np
import pytest

import shufflebounds as sb
from shufflebounds.core.decomposition import Decomposition
from shufflebounds.divergence.engine import divergence
from shufflebounds.profiles.datasets import all_datasets
from shufflebounds.randomizers.laplace import _grid, _interval_coordinate_crowds


def binned(eps0, x, edges):
    """The masses of Laplace noise between edges, one of which is x; uniting reports lowers D."""
    tails = 0.5 * np.exp(-eps0 * np.abs(edges - x))
    below, above = edges <= x, edges > x
    cdf = np.concatenate([[0.0], tails[below]])
    survival = np.concatenate([tails[below][-1:], tails[above], [0.0]])
    return np.concatenate([np.diff(cdf), -np.diff(survival)])


def pair_of(eps0, inputs):
    """The pair of datasets of the victim's two inputs among others with a third."""
    laws = []
    for eps, xs in zip(eps0, zip(*inputs, strict=True), strict=True):
        edges = np.unique([*np.linspace(0.0, 1.0, 21), *xs])
        laws.append([binned(eps, x, edges) for x in xs])
    a, b, c = (np.outer(left, right).ravel() for left, right in zip(*laws, strict=True))
    return Decomposition(a / a.sum(), b / b.sum(), c / c.sum(), 1e-12)


@pytest.mark.parametrize("eps0", [(1.0, 1.0), (0.5, 2.0), (3.0, 3.0)])
@pytest.mark.parametrize("domain", ["interval", "rounded"])
def test_pairs_of_datasets_lie_below_the_bound(eps0, domain):
    """Among them are inputs that agree in a coordinate, and inputs inside the cells of the grid."""
    rng, n = np.random.default_rng(3), 20_000
    joint = sb.Joint([sb.Laplace(x, domain=domain) for x in eps0])
    profile = all_datasets(joint.crowds(), np.array([float(n)]))
    places = [0.0, 1.0, 0.5, 0.125] if domain == "rounded" else [0.0, 1.0, 0.5, 0.03, 0.41]
    spread = np.sqrt(sum(np.expm1(x) ** 2 for x in eps0) / n)
    for eps in (0.0, 0.5 * spread, 1.5 * spread):
        upper = float(profile.deltas(np.array([eps]), 1e-3).upper[0])
        assert upper < 1.0
        for _ in range(12):
            x0, x1, others = (tuple(rng.choice(places, size=2)) for _ in range(3))
            if rng.random() < 0.3:
                x1 = (x0[0], x1[1])
            if x0 != x1:
                assert divergence(pair_of(eps0, (x0, x1, others)), eps, n, 1e-2).lower <= upper


@pytest.mark.parametrize(
    ("joint", "n", "ratio"),
    [
        (sb.Joint([sb.Laplace(1.0, domain="interval")] * 2), 10**4, 1.006),
        (sb.Joint([sb.Laplace(2.0, domain="interval")] * 2), 10**5, 1.004),
        (sb.Joint([sb.Laplace(1.0, domain="rounded")] * 2), 10**4, 1.005),
        (sb.Joint([sb.Laplace(1.0, domain="interval"), sb.KRR(10, 1.0)]), 10**4, 1.005),
        (sb.Joint([sb.Laplace(1.0, domain="interval")] * 3), 10**4, 1.07),
    ],
    ids=str,
)
def test_the_bound_is_close_to_two_datasets(joint, n, ratio):
    """Where the blanket is 22 % to 45 % above them."""
    enclosure = sb.epsilon(joint, n, 1e-6)
    assert enclosure.upper <= ratio * enclosure.lower
    assert sb.epsilon(joint.blanket(), n, 1e-6).lower > 1.2 * enclosure.lower


def test_coordinates_have_all_ordered_pairs_but_mirror_images():
    crowds = _interval_coordinate_crowds(1.0, 30, is_coarse=False)
    inputs = 2 * len(_grid(1.0, 4.0)) - 1
    cells = inputs // 2
    # Ordered pairs of different inputs, the four vertices of each cell's, and equal points.
    assert len(crowds) == inputs * (inputs - 1) // 2 + 4 * cells // 2 + cells // 2 + 1
    assert all(not crowd.extremes and crowd.is_of_one_pair for crowd in crowds)
