"""What precision of the components is worth: how far ε moves if their ratios a/c and b/c do.

For many users D(ε) is about e^{nK}, K = min over θ of log E e^{θG}. So whatever n is, a change of
E e^{θG} moves the ε of a given δ by that over −∂/∂ε E e^{θG}. That is looked at for a range of ε,
and for each of it at the θ of several rates of participation. For few users D(ε) is about
E e^{sL − sε}, L = log a/b, at the best s: ε moves by the change of the logarithm over s. All this
decides where components are kept apart, and nothing else depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shufflebounds.decomposition import FloatArray

# Rates of participation, and −n K or −log D and n of questions that are asked.
_LEAST_RATE = 1e-6
_EXPONENT, _FEWEST, _MOST = 20.0, 1.0, 1e10
_EXPONENTS = (2.0, 40.0)
# Of θ times the largest value of G.
_LEAST_TILT, _LARGEST_TILT = 1e-9, 300.0
_ORDERS = tuple(2.0**k for k in range(-6, 10))
# Nobody asks for more.
_FLOOR = 1e-9


@dataclass(frozen=True)
class Stakes:
    """How far ε moves, relatively, at most.

    ``distance`` is that between both ends. ``inner`` and ``outer``, each of shape (2, J), tell by
    how much it grows with the variance of a component's log a/c, and of its log b/c.
    """

    distance: float
    inner: FloatArray
    outer: FloatArray


@dataclass(frozen=True)
class _Question:
    """An ε, its θ, and what E e^{θG} of those who take part counts for in ε, relatively."""

    eps: float
    theta: float
    weight: float


def stakes(inner: FloatArray, outer: FloatArray) -> Stakes:
    """Of the masses a, b, c > 0 of both ends, each of shape (3, J), in either direction."""
    distance = _FLOOR
    found = [np.zeros((2, end.shape[1])) for end in (inner, outer)]
    for rows in ([0, 1, 2], [1, 0, 2]):
        ends = inner[rows], outer[rows]
        largest = [np.zeros_like(end) for end in found]
        for question in _questions(ends[1]):
            moments = []
            for most, masses in zip(largest, ends, strict=True):
                moment, costs = _of_many(question, masses)
                np.maximum(most, costs, out=most)
                moments.append(moment)
            distance = max(distance, question.weight * (moments[1] - moments[0]))
        for order in _ORDERS:
            logarithms = []
            for most, masses in zip(largest, ends, strict=True):
                logarithm, weight, costs = _of_few(order, masses)
                np.maximum(most, costs, out=most)
                logarithms.append(logarithm)
            distance = max(distance, weight * (logarithms[1] - logarithms[0]))
        for total, most in zip(found, largest, strict=True):
            np.maximum(total, most[rows[:2]], out=total)
    return Stakes(distance, *found)


def _of_many(question: _Question, masses: FloatArray) -> tuple[float, FloatArray]:
    """E e^{θG} − 1 of those who take part, and the costs of their components."""
    a, b, c = masses
    exponents = question.theta * _values(question.eps, masses)
    density = c * np.exp(exponents) * (0.5 * question.weight * question.theta**2)
    scaled = np.stack([a, math.exp(question.eps) * b]) / c
    return _mean(np.expm1(exponents), c), density * scaled**2


def _of_few(order: float, masses: FloatArray) -> tuple[float, float, FloatArray]:
    """The logarithm of E e^{sL}, what it counts for in ε, and the costs of the components."""
    a, b, _ = masses
    losses = np.log(a / b)
    highest = float(losses.max())
    tilted = a * np.exp(order * (losses - highest))
    total = float(tilted.sum())
    eps = _mean(losses, tilted) / total
    logarithm = order * highest + math.log(total)
    if not (eps > 0.0 and _EXPONENTS[0] < order * eps - logarithm < _EXPONENTS[1]):
        return 0.0, 0.0, np.zeros((2, a.size))
    weight = 1.0 / (order * eps)
    # Both ratios make up the loss.
    return logarithm, weight, np.stack([tilted, tilted]) * (0.5 * weight * order**2 / total)


def _questions(masses: FloatArray) -> Iterator[_Question]:
    a, b, c = masses
    for eps in _epsilons(math.log(float(np.max(a / b)))):
        values = _values(eps, masses)
        largest = float(values.max())
        if largest <= 0.0:
            continue
        absent = -math.expm1(eps)
        theta = _least_tilt(values, c, largest)
        while theta * largest <= _LARGEST_TILT:
            tilted = c * np.exp(theta * values)
            # The rate at which θ is the minimiser: those who are absent have the value 1 − e^ε.
            pull = math.exp(theta * absent)
            away, towards = -absent * pull, max(0.0, _mean(values, tilted))
            rate = away / (away + towards) if away > 0.0 else 0.0
            if rate < _LEAST_RATE:
                break
            change = rate * _mean(np.expm1(theta * values), c)
            change += (1.0 - rate) * math.expm1(theta * absent)
            cumulant = math.log1p(change) if change > -1.0 else -math.inf
            if _EXPONENT / _MOST < -cumulant < _EXPONENT / _FEWEST:
                mean = rate * _mean(b / c, tilted) + (1.0 - rate) * pull
                yield _Question(eps, theta, rate / (theta * math.exp(eps) * eps * mean))
            theta *= 2.0


def _epsilons(largest: float) -> list[float]:
    """Of every size, and about as close as it takes: e^ε is a factor in G."""
    many = min(60, max(8, math.ceil(1.5 * largest)))
    return [
        *(np.geomspace(1e-3, 0.06, 6) * largest).tolist(),
        *(np.linspace(0.1, 0.97, many) * largest).tolist(),
    ]


def _least_tilt(values: FloatArray, masses: FloatArray, largest: float) -> float:
    """About the θ that minimises E e^{θG}, from above; infinite if beyond what is looked at."""
    lower, upper = 0.0, _LEAST_TILT / largest
    while _mean(values, masses * np.exp(upper * values)) < 0.0:
        lower, upper = upper, 4.0 * upper
        if upper * largest > _LARGEST_TILT:
            return math.inf
    for _ in range(6):
        middle = 0.5 * (lower + upper)
        if _mean(values, masses * np.exp(middle * values)) < 0.0:
            lower = middle
        else:
            upper = middle
    return upper


def _values(eps: float, masses: FloatArray) -> FloatArray:
    a, b, c = masses
    return np.asarray(((a - b) - math.expm1(eps) * b) / c)


def _mean(values: FloatArray, masses: FloatArray) -> float:
    # Not by BLAS, whose threads wait for each other where processors are busy.
    return float(np.sum(values * masses))
