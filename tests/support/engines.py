"""D(ε) by one engine alone; `engine.divergence` chooses between both."""

from functools import partial

from shufflebounds.divergence import fourier as module
from shufflebounds.divergence import tree
from shufflebounds.divergence.engine import enclose

tree_bounds = partial(tree.tree_bounds, fourier=module.log_mean_positive_part)


def fourier(decomposition, eps, n, rtol=1e-4):
    return enclose(decomposition, eps, n, rtol, module.fourier_bounds)


def by_tree(decomposition, eps, n, rtol=1e-4):
    return enclose(decomposition, eps, n, rtol, tree_bounds)


def overlap(one, two):
    """Whether two enclosures can hold the same value."""
    return one.lower <= two.upper and two.lower <= one.upper
