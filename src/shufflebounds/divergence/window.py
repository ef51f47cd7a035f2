"""How much of the frequency axis the Fourier engine samples, and what the rest can amount to.

Notation as in `fourier`: X = S + θη² + ηZ under the tilted law, f(x) = x e^{−θx} 1{x > 0}, f^P its
repetition with period P.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shufflebounds.decomposition import FloatArray
from shufflebounds.divergence.law import Law, Tilted, U, log_mgf

# Multiples of u = √(−2 log tail)/σ to try: the neighbourhood, then everything.
CHERNOFF_FACTORS = 10.0 ** np.linspace(-1.0, 1.0, 17)
_ALL_FACTORS = 10.0 ** np.linspace(-14.0, 14.0, 113)


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


def choose_window(
    g: Law, tilted: Tilted, n: int, eta: float, rtol: float, size: float = 0.0
) -> Window | None:
    """Choose period and cut so that both cost some hundredths of rtol; None where none will do.

    `size` is what E f(X) was found to be like, 0 where nobody knows.
    """
    goal = Goal.of(tilted.theta, tilted.variance, n, eta, rtol, size)
    above, below = _chernoff(g, tilted, n, goal)
    if above is None or below is None:
        return None
    return fitted(goal, above, below)


@dataclass(frozen=True)
class Goal:
    """What a window may lose, and the scales that decide how wide it must be.

    ``sigma`` is the standard deviation of X, widened by that of f; ``allowed`` a loss of E f(X)
    that rtol has room for, ``log_tail`` the logarithm of the mass that may lie outside.
    """

    theta: float
    eta: float
    sigma: float
    allowed: float
    log_tail: float

    @staticmethod
    def of(
        theta: float, variance: float, n: int, eta: float, rtol: float, size: float = 0.0
    ) -> Goal:
        sigma = math.sqrt(n * variance + eta**2 + 1.0 / theta**2)
        # The size of E f(X) is about 1/(θ²σ√2π); losses are allowed a few hundredths of rtol of it.
        # f itself is at most 1/(eθ), whatever a wide upper bound says.
        size = min(size, 1.0 / (math.e * theta)) or 1.0 / (2.5 * theta**2 * sigma)
        allowed = 0.04 * rtol * size
        return Goal(theta, eta, sigma, allowed, math.log(allowed * math.e * theta))

    @property
    def centre(self) -> float:
        """The u of Chernoff's bound that would do for a normal X."""
        return math.sqrt(max(1.0, -2.0 * self.log_tail)) / self.sigma


def fitted(goal: Goal, above: Chernoff, below: Chernoff) -> Window | None:
    """The window for these tails; None where it would need frequencies out of range."""
    theta, eta, allowed = goal.theta, goal.eta, goal.allowed
    decay = 4.0 - math.log(allowed * theta)
    right_end = max(above.reach(goal.log_tail), (decay + math.log(decay)) / theta)
    left_end = max(below.reach(goal.log_tail), 0.0)
    # A step of few digits makes every frequency mh exact; rounding it down widens the window.
    step = rounded_down(2.0 * math.pi / (right_end + left_end))
    period = 2.0 * math.pi / step
    right_end = (period * (1.0 - 4.0 * U) - left_end) * (1.0 - 4.0 * U)
    if not theta * right_end > 1.0:  # nearly all of the window lies below 0
        return None
    wrap = _wrap(theta, period, right_end, min(1.0, above.tail(right_end) + below.tail(left_end)))

    # E f loses less than the density does, whose share is η² of it.
    cut = math.sqrt(2.0 * max(1.0, math.log(eta / (3.0 * allowed))))
    if not cut / step < 1e15 * eta:
        return None
    modes = max(1, math.ceil(cut / (eta * step)))
    last = modes * step
    beyond = math.exp(-0.5 * (eta * last) ** 2) / (math.pi * eta**2 * last) * (1.0 + 1e-9)
    share = 0.5 / theta + eta * cut / math.pi
    return Window(eta, step, modes, wrap, beyond / last**2, beyond, allowed / share)


@dataclass(frozen=True)
class Chernoff:
    """Pr[Y ≥ end] ≤ e^{log_moment − u·end} for Y = X or Y = −X and one u > 0."""

    u: float
    log_moment: float

    def reach(self, log_tail: float) -> float:
        """The end beyond which the probability is at most e^{log_tail}."""
        return (self.log_moment - log_tail) / self.u

    def tail(self, end: float) -> float:
        """Bound of the probability beyond `end`, rounded up."""
        rounding = 8.0 * U * (abs(self.log_moment) + self.u * abs(end))
        return math.exp(min(0.0, self.log_moment - self.u * end + rounding))


def _chernoff(g: Law, tilted: Tilted, n: int, goal: Goal) -> list[Chernoff | None]:
    """The bounds that reach least far for tails of e^{log_tail}, above and below.

    u may lie many decades from its normal value, hence the logarithmic scale.
    """
    centre = goal.centre
    best: list[Chernoff | None] = [None, None]
    open_sides = [0, 1]
    for factors in (CHERNOFF_FACTORS, _ALL_FACTORS):
        # K is evaluated at the floats θ ± u, without error; u is their distance from θ, to a
        # rounding for which `tail` and `log_moments` pay.
        signs = np.array([(1.0, -1.0)[side] for side in open_sides])
        point = tilted.theta + signs[:, None] * (centre * factors)
        u = np.abs(point - tilted.theta)
        k, k_err = (x.reshape(point.shape) for x in log_mgf(g, point.ravel()))
        log_moment = log_moments(k, k_err, point, tilted, n, goal.eta)
        usable = np.isfinite(log_moment) & (u > 0.0)
        reach = np.where(usable, log_moment - goal.log_tail, np.inf) / np.where(usable, u, 1.0)
        at_end = []
        for row, side in enumerate(open_sides):
            where = int(np.argmin(reach[row]))
            if math.isfinite(reach[row, where]):
                best[side] = Chernoff(float(u[row, where]), float(log_moment[row, where]))
            if not (math.isfinite(reach[row, where]) and 0 < where < factors.size - 1):
                at_end.append(side)
        open_sides = at_end
        if not open_sides:
            break
    return best


def log_moments(
    k: FloatArray,
    k_err: FloatArray,
    point: FloatArray,
    tilted: Tilted,
    n: int | FloatArray,
    eta: float | FloatArray,
) -> FloatArray:
    """Upper bounds of log E_Q e^{uX} for θ + u = `point`, u of either sign, from K there.

    All arrays broadcast, those in `tilted` too.
    """
    u = point - tilted.theta
    with np.errstate(over="ignore", invalid="ignore"):
        normal = u * tilted.theta * eta**2 + 0.5 * (u * eta) ** 2
        rounding = n * (np.abs(k) + np.abs(tilted.log_mgf)) + np.abs(normal)
        return (
            n * (k - tilted.log_mgf)
            + normal
            + n * (k_err + tilted.log_mgf_err)
            + 8.0 * U * rounding
        )


def _wrap(theta: float, period: float, right_end: float, outside: float) -> float:
    """Bound of E f^P(X) − E f(X) when X is in [right_end − period, right_end) but for `outside`."""
    q = math.exp(-theta * period)
    copies = period * q / (1.0 - q) ** 2
    inside = math.exp(-theta * right_end) * (
        right_end / (1.0 - q) + copies
    )  # f falls beyond 1/θ, and right_end lies there
    return (inside + outside * (1.0 / (math.e * theta) + copies)) * (1.0 + 1e-9)


def rounded_down(x: float) -> float:
    """The largest float of 20 significant bits that is not above x > 0."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(math.floor(mantissa * 2**20), exponent - 20)
