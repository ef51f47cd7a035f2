"""Nodes of the sweep that the smooth engine evaluates. Proofs: docs/engine.md, section 11."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.atoms import Atoms
from shufflebounds.divergence.fourier import log_mean_positive_part
from shufflebounds.divergence.law import Law, U, cumulants, exp_down
from shufflebounds.divergence.nodes import Nodes, mean
from shufflebounds.divergence.saddlepoint import tilting_point

# Values are tame that are at most so many deviations of the common ones, those with so many draws
# on average.
_TAME, _COMMON = 15.0, 1.0
# The least work that one is worth.
_LEAST_WORK = 2.0**22
# With more excess kurtosis than this the smooth engine is slow, and draws still to be looked at.
_RARE = 4.0
# So many that came out too wide are enough to leave the others to the tree.
_MOST_FAILED = 2
# Relative widths to aim at, and what of the width allowed, given an estimate of the value.
_FINEST, _COARSEST, _CAUTION = 1e-10, 0.1, 0.5


def tame(atoms: Atoms, n: int) -> NDArray[np.bool_]:
    """From which atoms on the smooth engine may well do; shape (A,).

    The common values of law j are those beyond the largest that are drawn so often together.
    """
    h, expected = atoms.values, n * atoms.masses
    drawn = np.concatenate([[0.0], np.cumsum(expected)])
    first = np.searchsorted(drawn, drawn[:-1] + _COMMON) - 1
    spread = expected * (1.0 - atoms.masses) * h * h
    common = np.append(np.cumsum(spread[::-1])[::-1], 0.0)[np.minimum(first, h.size)]
    return np.abs(h) <= _TAME * np.sqrt(common / atoms.left[:-1])


def leaves(
    atoms: Atoms,
    nodes: Nodes,
    slack: FloatArray,
    side: FloatArray,
    goal: float,
    precise: float,
    work: float,
) -> tuple[NDArray[np.bool_], tuple[float, float]]:
    """Which nodes the smooth engine could evaluate, and bounds of their sum.

    Aims at a width of `goal` in all, by at most so much `work`, as the engine counts it. A relative
    width of `precise` is always enough.
    """
    done = np.zeros(nodes.size, dtype=bool)
    low = high = 0.0
    # Half of the width and of the work evenly, half by how much a node may be worth.
    worth = np.exp(np.maximum(slack - max(float(slack.max()), -1e300), -600.0))
    share = 0.5 * (1.0 / nodes.size + worth / worth.sum())
    allowed, most_work = goal * share, np.maximum(work * share, _LEAST_WORK)
    middle, err = mean(nodes, atoms)
    failed = 0
    for i in range(nodes.size):
        if failed == _MOST_FAILED:
            break
        node = nodes.where(np.array([i]))
        g, n = leaf(atoms, node, float(side[i])), int(node.draws[0])
        log_estimate, kurtosis = _outlook(g, n)
        if kurtosis > _RARE:
            continue
        size = min(float(slack[i]), float(node.log_weight[0]) + log_estimate)
        rtol = _CAUTION * max(float(allowed[i]) / exp_up(size), precise)
        rtol = min(max(rtol, _FINEST), _COARSEST)
        ends = log_mean_positive_part(g, n, rtol, float(most_work[i]))
        log_weight, slip = float(node.log_weight[0]), float(node.weight_err[0])
        slip += 16.0 * U * (1.0 + abs(log_weight) + max(abs(x) for x in ends if x < math.inf))
        found = exp_down(log_weight - slip + ends[0]), exp_up(log_weight + slip + ends[1])
        done[i] = found[1] - found[0] <= max(2.0 * float(allowed[i]), precise * found[0])
        failed += not done[i]
        if done[i]:
            low, high = low + found[0], high + found[1]
            if side[i] < 0.0:  # what lies below 0 comes on top of the mean
                least = float(middle[i] - err[i])
                least *= exp_up(log_weight + slip) if least < 0.0 else exp_down(log_weight - slip)
                low += least
                high += exp_up(log_weight + slip) * float(middle[i] + err[i])
    return done, (low, high)


def leaf(atoms: Atoms, node: Nodes, side: float) -> Law:
    """The law whose n′-fold sum is ±(B + v) for one node; `side` is the sign."""
    j = int(node.law[0])
    shift = float(node.value[0] / node.draws[0])
    shift_err = float(node.value_err[0] / node.draws[0]) * (1.0 + 4.0 * U)
    values = side * (np.append(atoms.values[j:], 0.0) + shift)
    mass_err = np.append(atoms.mass_err[j:], atoms.left_err[-1]) + atoms.left_err[j]
    value_err = np.append(atoms.value_err[j:], 0.0) + shift_err
    value_err = value_err * (1.0 + 4.0 * U) + 2.0 * U * (np.abs(values) + abs(shift))
    # Twice where a mass may be far larger: the errors of K take products of both for small.
    value_err = np.where(mass_err > 0.01, 2.0 * value_err + 4.0 * U * np.abs(values), value_err)
    masses = np.append(atoms.masses[j:], atoms.left[-1]) / atoms.left[j]
    return Law(values, masses, 0, value_err, 1.02 * mass_err + 4.0 * U, 0.0, 0.0)


def _outlook(g: Law, n: int) -> tuple[float, float]:
    """A saddlepoint estimate of log E[S₊], to aim with, and the excess kurtosis of the tilted S."""
    if not g.values.max() > 0.0:
        return math.inf, 0.0
    theta = tilting_point(g, n)
    k, mean, variance = cumulants(g, theta)
    spread = n * variance + 2.0 / theta / theta
    found = n * k - 2.0 * math.log(theta) - 0.5 * math.log(2.0 * math.pi * spread)
    with np.errstate(all="ignore"):
        weights = g.masses * np.exp(theta * g.values - k)
        away = np.where(weights > 0.0, g.values - mean, 0.0)
        kurtosis = float(weights @ away**4) / (n * np.square(variance))
    return found if math.isfinite(found) else math.inf, float(np.nan_to_num(kurtosis, nan=0.0))


def exp_up(x: float) -> float:
    """e^x, at least 10⁻³⁰⁰ and finite: to be added to upper bounds, or multiplied by 1 − 10⁻¹²."""
    return math.exp(min(max(x, -690.0), 709.0))
