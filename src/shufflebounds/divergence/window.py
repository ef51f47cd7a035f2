"""How much of the frequency axis the Fourier engine samples, and what the rest can amount to.

Notation as in `fourier`: X = S + θη² + ηZ under the tilted law, f(x) = x e^{−θx} 1{x > 0}, f^P its
repetition with period P. Proofs: docs/engine.md, sections 2 to 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.core.products import FloatArray
from shufflebounds.divergence.law import U

# Share of the relative width that may be lost by each of: mass outside the window, modes beyond the
# last one, modes left out. Speed only (benchmarks/deployer_grid.py).
LOSS_SHARE = 0.04
# Smallest relative change of |φ|² over a stretch of modes that is looked at as one. Speed only.
LEAST_RISE = 0.0036
# Largest relative change of |φ|² over such a stretch. Speed only.
MOST_RISE = 0.0625
# Modes below which a stretch is not worth its look.
SHORTEST_STRETCH = 4


@dataclass(frozen=True)
class Goal:
    """What a window may lose, and the scales that decide how wide it must be.

    ``sigma`` is the standard deviation of X, widened by that of f; ``allowed`` a loss of E f(X)
    that the relative width has room for, ``log_tail`` the logarithm of the mass that may lie
    outside.
    """

    theta: float
    eta: float
    sigma: float
    allowed: float
    log_tail: float

    @staticmethod
    def of(theta: float, spread: float, eta: float, rtol: float, size: float) -> Goal:
        """From n times the tilted variance and an estimate of E f(X), 0 if there is none."""
        sigma = math.sqrt(spread + eta**2 + 1.0 / theta**2)
        # E f(X) is about 1/(θ²σ√2π), and f is at most 1/(eθ) whatever an upper bound says.
        size = min(size, 1.0 / (math.e * theta)) or 1.0 / (2.5 * theta**2 * sigma)
        allowed = LOSS_SHARE * rtol * size
        return Goal(theta, eta, sigma, allowed, math.log(allowed * math.e * theta))

    @property
    def centre(self) -> float:
        """The u of Chernoff's bound that would do for a normal X."""
        return math.sqrt(max(1.0, -2.0 * self.log_tail)) / self.sigma


@dataclass(frozen=True)
class Chernoff:
    """Pr[Y ≥ end] ≤ e^{log_moment − u·end} for Y = X or Y = −X and one u > 0."""

    u: float
    log_moment: float

    def reach(self, log_tail: float) -> float:
        """The end beyond which the probability is at most e^{log_tail}."""
        return (self.log_moment - log_tail) / self.u

    def tail(self, end: float, size: float = 0.0) -> float:
        """Bound of the probability beyond `end`, which was rounded from numbers of that `size`."""
        rounding = 16.0 * U * (abs(self.log_moment) + self.u * (abs(end) + size))
        return math.exp(min(0.0, self.log_moment - self.u * end + rounding))

    @staticmethod
    def best(u: FloatArray, log_moment: FloatArray, log_tail: float) -> Chernoff | None:
        """The one of several that reaches least far for e^{log_tail}; None where none holds."""
        usable = np.isfinite(log_moment) & (u > 0.0)
        if not usable.any():
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            reach = np.where(usable, (log_moment - log_tail) / u, np.inf)
        where = int(np.argmin(reach))
        return Chernoff(float(u[where]), float(log_moment[where]))


@dataclass(frozen=True)
class Window:
    """The grid of frequencies mh, 0 ≤ m ≤ modes, and what it costs to stop there.

    ``wrap`` bounds E[f^P(X) − f(X)]; ``cut_value`` and ``cut_density`` the modes beyond the grid in
    the sums for E f and for the density at 0. ``negligible`` is a size of |φ_X| that matters to
    neither.
    """

    eta: float
    step: float
    modes: int
    wrap: float
    cut_value: float
    cut_density: float
    negligible: float

    @staticmethod
    def fitted(goal: Goal, above: Chernoff, below: Chernoff) -> Window | None:
        """The window for these tails; None where it would need frequencies out of range."""
        theta, eta, allowed = goal.theta, goal.eta, goal.allowed
        decay = 4.0 - math.log(allowed * theta)
        right_end = max(above.reach(goal.log_tail), (decay + math.log(decay)) / theta)
        left_end = max(below.reach(goal.log_tail), 0.0)
        # A step of few digits makes every frequency mh exact; rounding it down widens the window.
        step = round_down(2.0 * math.pi / (right_end + left_end))
        period = 2.0 * math.pi / step
        right_end = (period * (1.0 - 4.0 * U) - left_end) * (1.0 - 4.0 * U)
        if not theta * right_end > 1.0:  # nearly all of the window lies below 0
            return None
        outside = min(1.0, above.tail(right_end) + below.tail(left_end))
        wrap = _wrap(theta, period, right_end, outside)
        # E f loses less than the density does, whose share is η² of it.
        cut = math.sqrt(2.0 * max(1.0, math.log(eta / (3.0 * allowed))))
        if not cut / step < 1e15 * eta:
            return None
        modes = max(1, math.ceil(cut / (eta * step)))
        last = modes * step
        beyond = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last) * (1.0 + 1e-9)
        share = 0.5 / theta + eta * cut / math.pi
        return Window(eta, step, modes, wrap, beyond / last**2, beyond, allowed / share)


def _wrap(theta: float, period: float, right_end: float, outside: float) -> float:
    """Bound of E f^P(X) − E f(X) when X is in [right_end − period, right_end] but for `outside`."""
    q = math.exp(-theta * period)
    copies = period * q / (1.0 - q) ** 2
    # f falls beyond 1/θ, and right_end lies there.
    inside = math.exp(-theta * right_end) * (right_end / (1.0 - q) + copies)
    return (inside + outside * (1.0 / (math.e * theta) + copies)) * (1.0 + 1e-9)


def round_down(x: float) -> float:
    """The largest float of 20 significant bits that is not above x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(mantissa * 2**20), exponent - 20)


@dataclass(frozen=True)
class Scan:
    """Which modes of a window to evaluate, and which to look at in stretches.

    Modes 0 … near − 1 are evaluated; those from there to ``start`` are charged with ``value`` and
    ``density``, bounds of what they add to Σ 2|φ_X|/|z|² and Σ 2|φ_X|. The modes from ``start`` to
    the last one come in stretches of ``stride``, or are all evaluated if that is 1.
    """

    near: int
    start: int
    stride: int
    value: float
    density: float

    @staticmethod
    def of(low: float, high: float, fourth: float, theta: float, n: float, window: Window) -> Scan:
        """From bounds of the tilted variance, lower and upper, and of the fourth moment.

        Left out are modes with negligible |φ_X|: |φ|² ≤ 1 − t²σ² + t⁴(2μ₄ + 6σ⁴)/24 is at most
        1 − t²σ²/2 for small t. Beyond, |φ|² at both ends of a stretch of width H bounds it between
        them, where it is higher by at most σ²H²/4.
        """
        eta, step = window.eta, window.step
        last = window.modes * step
        depth = -math.log(window.negligible)
        rate = 0.25 * n * low + 0.5 * eta**2
        # The frequency up to which modes are evaluated.
        reach = math.sqrt(depth / rate) if low > 0.0 else math.inf
        if not reach < 0.5 * last:
            return Scan(near=0, start=0, stride=1, value=0.0, density=0.0)  # evaluate all modes
        # Of values this small the moments may underflow, which must not make them smaller.
        flat = math.sqrt(12.0 * low / (2.0 * fourth + 6.0 * high * high + 1e-300))
        flat = last if flat >= last else flat
        value = density = 0.0
        start = near = math.floor(reach / step) + 1
        if flat > reach:
            t = near * step
            size = math.exp(-rate * t**2)
            density = 2.0 * size * (1.0 + 1.0 / (2.0 * rate * t * step))
            value = density / (theta**2 + t**2)
            start = max(near, math.floor(flat / step) + 1)
        # To be negligible, |φ|² must stay below about 1 − 2 depth/n; σ²H²/4 should leave room.
        rise = min(max(depth / n, LEAST_RISE), MOST_RISE)
        stride = min(window.modes + 1, math.floor(2.0 * math.sqrt(rise / high) / step))
        if start >= window.modes or stride < SHORTEST_STRETCH:
            stride = 1
        return Scan(near, start, stride, value, density)
