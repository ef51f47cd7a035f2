"""D(ε) by one engine alone; `engine.divergence` chooses between both."""

from functools import partial

from shufflebounds.divergence import tree
from shufflebounds.divergence.engine import enclose
from shufflebounds.divergence.fourier import single_bounds

tree_bounds = partial(tree.tree_bounds, fourier=single_bounds)


def fourier(decomposition, eps, n, rtol=1e-4):
    return enclose(decomposition, eps, n, rtol, single_bounds)


def by_tree(decomposition, eps, n, rtol=1e-4):
    return enclose(decomposition, eps, n, rtol, tree_bounds)


def overlap(one, two):
    """Whether two enclosures can hold the same value."""
    return one.lower <= two.upper and two.lower <= one.upper
