"""D(ε) by one engine alone; `engine.divergence` chooses between both."""

import math
from functools import partial

import numpy as np

import shufflebounds as sb
from shufflebounds.divergence.engine import Goals, enclose_points
from shufflebounds.divergence.fourier import fourier_bounds
from shufflebounds.divergence.tree import tree_bounds


def tree_rows(laws, n, rtol, most_work=200_000):
    ends = [tree_bounds(laws.at(i), n[i], rtol[i], most_work) for i in range(n.size)]
    return tuple(np.array(x) for x in zip(*ends, strict=True))


def by_engine(bounds, decomposition, eps, n, rtol=1e-4):
    goals = Goals.of(np.array([float(n)]), np.array([float(rtol)]), np.array([math.nan]))
    lower, upper = enclose_points(
        decomposition, np.array([eps]), goals, lambda laws, goals: bounds(laws, goals.n, goals.rtol)
    )
    return sb.Enclosure(lower[0], upper[0])


fourier, by_tree = partial(by_engine, fourier_bounds), partial(by_engine, tree_rows)


def overlap(one, two):
    """Whether two enclosures can hold the same value."""
    return one.lower <= two.upper and two.lower <= one.upper
