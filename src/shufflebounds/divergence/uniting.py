"""Fewer nodes of the sweep that bound many: by convexity in v, one end at a time.

See docs/engine.md, section 11, and `nodes` for what a node stands for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.compress import spaced
from shufflebounds.divergence.law import U
from shufflebounds.divergence.nodes import Nodes, joined, log_weight_margin, margin


def united(nodes: Nodes, slack: FloatArray, cells: int) -> Nodes:
    """Fewer nodes of no larger Σ w E(B + v)₊: those alike in j and n′ are united at their mean.

    E(B + v)₊ is increasing and convex in v (Jensen). `slack` (N,) are logarithms of how much a node
    matters.
    """
    low, weight = nodes.value - margin(nodes), nodes.log_weight - log_weight_margin(nodes)
    large = _in_large_groups(nodes, cells)
    parts = [nodes.where(~large)]
    for group, picks in _groups(nodes, large, low, slack, cells):
        v, log_w = low[group], weight[group]
        cell = np.searchsorted(picks, np.arange(v.size), side="right") - 1
        top = np.full(picks.size, -np.inf)
        np.maximum.at(top, cell, log_w)
        with np.errstate(under="ignore"):
            w = np.exp(log_w - top[cell])
            w[w < 1e-300] = 0.0  # what has lost its precision adds nothing to a lower bound
            total = np.bincount(cell, weights=w)
            centre = np.bincount(cell, weights=w * v) / total
            size = np.bincount(cell, weights=w * np.abs(v)) / total
        draws = np.full(picks.size, nodes.draws[group[0]])
        log_total = top + np.log(total)
        err = 1e-12 + v.size * 2.0 * U + 4.0 * U * np.abs(log_total)
        law = np.full(picks.size, nodes.law[group[0]])
        parts.append(Nodes(law, draws, centre, (2.0 * v.size + 8.0) * U * size, log_total, err))
    return joined(parts)


def spread(nodes: Nodes, slack: FloatArray, cells: int) -> Nodes:
    """Fewer nodes of no smaller Σ w E(B + v)₊: those alike in j and n′ are split between some.

    Convexity again, the mean v being kept. `slack` is that of `united`.
    """
    high, weight = nodes.value + margin(nodes), nodes.log_weight + log_weight_margin(nodes)
    large = _in_large_groups(nodes, cells)
    parts = [nodes.where(~large)]
    for group, picks in _groups(nodes, large, high, slack, cells):
        v, log_w = high[group], weight[group]
        vertices = np.unique(v[picks])
        top = float(log_w.max())
        w = np.exp(np.maximum(log_w - top, -600.0))
        if vertices.size == 1:
            total = np.array([w.sum()])
        else:
            left = np.clip(np.searchsorted(vertices, v, side="right") - 1, 0, vertices.size - 2)
            width = vertices[left + 1] - vertices[left]
            shares = (vertices[left + 1] - v) / width, (v - vertices[left]) / width
            total = np.asarray(
                sum(
                    np.bincount(left + side, weights=w * share, minlength=vertices.size)
                    for side, share in enumerate(shares)
                )
            )
        draws = np.full(vertices.size, nodes.draws[group[0]])
        log_total = top + np.log(total + 1e-290)  # more than products that underflow
        err = 1e-12 + v.size * 2.0 * U + 4.0 * U * np.abs(log_total)
        law = np.full(vertices.size, nodes.law[group[0]])
        parts.append(Nodes(law, draws, vertices, 0.0 * draws, log_total, err))
    return joined(parts)


def _in_large_groups(nodes: Nodes, cells: int) -> NDArray[np.bool_]:
    """Which nodes share law and n′ with so many that uniting them to so many cells pays."""
    _, label, count = np.unique(
        np.stack([nodes.law, nodes.draws]), axis=1, return_inverse=True, return_counts=True
    )
    return np.asarray(count[label] > 2 * cells)


def _groups(
    nodes: Nodes, large: NDArray[np.bool_], value: FloatArray, slack: FloatArray, cells: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Indices of large groups of equal law and n′ by rising value, and which begin a cell."""
    # No bound at all is more than any other.
    slack = np.minimum(slack, 1e300)
    pairs = set(zip(nodes.law[large].tolist(), nodes.draws[large].tolist(), strict=True))
    for law, draws in sorted(pairs):
        group = np.flatnonzero((nodes.law == law) & (nodes.draws == draws))
        group = group[np.argsort(value[group], kind="stable")]
        with np.errstate(under="ignore"):
            weight = np.exp(slack[group] - slack.max())
        yield group, spaced(value[group], weight, cells)
